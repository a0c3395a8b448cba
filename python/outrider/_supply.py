"""A framework's own data source in the owner's process: the sidecar asks it for groups, and gives groups back."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from outrider import _wire_pb2 as wire
from outrider._row import one_row, print_of, to_bytes
from outrider.data_source import DataSource
from outrider.errors import SourceError

log = logging.getLogger("outrider")

LONGEST_CURSOR = 1 << 20
"""Bytes of a cursor as JSON."""


class Supply:
    """Calls a data source in a thread of its own, one question after the other; ends with `stop`."""

    def __init__(self, source: DataSource) -> None:
        self._described = source
        self._source: Any = None
        self._given: dict[int, list[Any]] = {}  # by key, as they came; the thread's own
        self._last_key = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="outrider-source")

    def asked(self, question: Any, reply: Callable[[Any, Any], None]) -> None:
        """Takes a question of the sidecar's; never blocks."""
        with contextlib.suppress(RuntimeError):  # It has stopped: nobody waits for the answer.
            self._thread.submit(self._answer, question, reply)

    def stop(self) -> None:
        """Ends the thread when its present question is answered; what it has not begun is dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _answer(self, question: Any, reply: Callable[[Any, Any], None]) -> None:
        try:
            if question.HasField("pull"):
                answer = wire.Frame(pulled=self._pull(question.pull))
            else:
                answer = wire.Frame(gave_back=self._give_back(question.give_back))
        except Exception as error:
            log.warning("outrider: the data source failed", exc_info=error)
            answer = wire.Frame(error=wire.Error(kind="source", message=f"{type(error).__name__}: {error}"))
        reply(question, answer)

    def _pull(self, pull: Any) -> Any:
        described = self._described
        if self._source is None:
            self._source = described.make()
        for key in pull.forget:
            self._given.pop(key, None)
        if pull.cursor:
            described.seek(self._source, json.loads(pull.cursor))
        before = self._cursor()
        try:
            groups = self._source.get_samples(pull.groups)
            cursor = self._cursor()
            if not isinstance(groups, (list, tuple)) or not all(isinstance(group, (list, tuple)) for group in groups):
                raise SourceError(
                    f"get_samples({pull.groups}) gave a {type(groups).__name__}; let it give a list of lists of samples"
                )
        except BaseException:
            described.seek(self._source, json.loads(before))
            raise
        return wire.Pulled(groups=[self._given_as(list(group)) for group in groups], cursor=cursor)

    def _cursor(self) -> bytes:
        cursor = json.dumps(self._described.cursor(self._source), sort_keys=True).encode()
        if len(cursor) > LONGEST_CURSOR:
            raise SourceError(
                f"its cursor has {len(cursor)} bytes as JSON; at most {LONGEST_CURSOR} go into a state: let cursor say less"
            )
        return cursor

    def _given_as(self, group: list[Any]) -> Any:
        """Keeps a group under a key of its own and says what the owner needs to know of it."""
        self._last_key += 1
        self._given[self._last_key] = group
        identities = [self._identify(sample) for sample in group]
        given = wire.Given(
            key=self._last_key,
            group=identities[0][0] if identities else -1,
            of=[of for of, _ in identities],
            parents=[parent for _, parent in identities],
        )
        try:
            batch = one_row(self._described.row(group), None)
        except Exception as error:
            given.problem = f"its row cannot be made: {type(error).__name__}: {error}"
            batch = one_row({"problem": given.problem}, None)
        given.digest = hashlib.sha256(print_of(batch)).digest()[:16]
        given.row = to_bytes(batch)
        return given

    def _identify(self, sample: Any) -> tuple[int, int]:
        """Identities as the wire has them; −1 where there is none."""
        try:
            group, own = self._described.identify(sample)
        except Exception:
            return -1, -1
        return _number(group), _number(own)

    def _give_back(self, back: Any) -> Any:
        answer = wire.GaveBack()
        for key in back.keys:
            try:
                self._source.add_samples([self._given[key]])
            except Exception as error:
                log.warning("outrider: the data source did not take a group back", exc_info=error)
                answer.failed.append(key)
                answer.error = f"add_samples raised {type(error).__name__}: {error}"
            else:
                del self._given[key]
        return answer


def _number(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return -1
    number = int(value.__index__())
    return number if 0 <= number < 1 << 62 else -1

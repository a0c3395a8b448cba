"""Prompts that are pushed while the run goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from outrider import _wire_pb2 as wire
from outrider._check import Problems, count, shown
from outrider._memory import write_stream
from outrider._row import one_row, print_of, to_bytes
from outrider.errors import ConfigError, DataError

LONGEST = 1024
"""Bytes of an id."""


class Stream:
    """A source without rows of its own: `Run.push` gives them. Made by `stream`; pickles.

    Attributes:
        waiting: Pushed groups that may be unsettled.
    """

    def __init__(self, identity: bytes, waiting: int) -> None:
        self._identity = identity
        self.waiting = waiting

    def to_wire(self) -> Any:
        """How the owner takes what is pushed."""
        return wire.Source(kind="stream", identity=self._identity, waiting=self.waiting)

    def write(self) -> int:
        """Writes a table that nobody reads, as every owner gets one, into a memfd, which the caller passes on and closes."""
        return unread_table("stream")


def unread_table(kind: str) -> int:
    """The table of a source whose rows come while the run goes on, as a memfd of the caller's."""
    batch = pa.RecordBatch.from_arrays([pa.array([0])], [kind])
    return write_stream(batch.schema, [batch], "table")


def stream(name: str = "stream", *, waiting: int = 1024) -> Stream:
    """A source of prompt groups that are pushed while the run goes on: `run.push(id, row)`, and `run.end_stream()` at the end.

    Args:
        name: Of the supply: a state that was made under another name is refused.
        waiting: Groups that may be pushed and not settled; a push beyond it waits. At least `batch_groups`.

    Returns:
        The source, for `outrider.start` or `outrider.own`. It needs ownership="leases".

    Raises:
        ConfigError: Arguments that cannot work, all in one message.
    """
    problems = Problems()
    if not isinstance(name, str) or not name:
        problems.say(f"stream(name={shown(name)}) names nothing; give text")
    waiting = problems.of(count, "waiting", waiting, 1, 1 << 24)
    problems.tell()
    return Stream(hashlib.sha256(name.encode()).digest(), waiting)


def to_push(rows: Iterable[tuple[Any, Any]], wait: bool) -> Any:
    """Pushes in the wire's form, in order.

    Raises:
        ConfigError: An id of the wrong kind.
        DataError: What is not one row.
    """
    push = wire.Push(wait=_waits("push", wait))
    for name, made in rows:
        identity, digest, batch = _prompt("push", name, made)
        push.ids.append(identity)
        push.digests.append(digest)
        push.rows.append(to_bytes(batch))
    return push


def to_offer(name: Any, made: Any, wait: bool) -> Any:
    """The prompt of a group that a worker has made by itself: in the wire's form.

    Raises:
        ConfigError: An id of the wrong kind.
        DataError: What is not one row.
    """
    identity, digest, batch = _prompt("offer", name, made)
    return wire.Offer(id=identity, digest=digest, row=to_bytes(batch), wait=_waits("offer", wait))


def _waits(call: str, wait: Any) -> bool:
    if not isinstance(wait, bool):
        raise ConfigError(f"outrider: {call}(wait={wait!r}) is a {type(wait).__name__}; give True or False")
    return wait


def _prompt(call: str, name: Any, made: Any) -> tuple[bytes, bytes, pa.RecordBatch]:
    """Id, digest and row of a prompt."""
    identity = _bytes_of(call, name)
    try:
        batch = one_row(made, None)
    except DataError as error:
        raise DataError(f"outrider: {call}({name!r}): {str(error).removeprefix('outrider: ')}") from error
    return identity, hashlib.sha256(print_of(batch)).digest()[:16], batch


def pairs(rows: Any) -> list[tuple[Any, Any]]:
    """What `push_many` takes, as pairs.

    Raises:
        ConfigError: Neither a mapping nor pairs.
    """
    if isinstance(rows, Mapping):
        return list(rows.items())
    try:
        return [(name, made) for name, made in rows]
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"outrider: push_many(rows) is a {type(rows).__name__}; give a dict of rows by id, or pairs of id and row"
        ) from error


def _bytes_of(call: str, name: Any) -> bytes:
    """An id as bytes; text and numbers of the same look differ.

    Raises:
        ConfigError: Neither text, bytes nor an integer, or too long.
    """
    if isinstance(name, str):
        data = b"s" + name.encode()
    elif isinstance(name, bytes):
        data = b"b" + name
    elif hasattr(name, "__index__") and not isinstance(name, bool):
        data = b"i%d" % name.__index__()
    else:
        raise ConfigError(f"outrider: {call}(id={name!r}) is a {type(name).__name__}; give text, bytes or an integer")
    if not 1 < len(data) <= LONGEST:
        raise ConfigError(f"outrider: {call}(id=...) has {len(data) - 1} bytes; give 1 to {LONGEST - 1}")
    return data

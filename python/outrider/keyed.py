"""Prompts that workers make from an index."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from outrider import _ray
from outrider import _wire_pb2 as wire
from outrider._check import MOST_GROUPS, UINT64, Problems, count, flag, optional_count, shown
from outrider._memory import write_stream
from outrider._report import Finished
from outrider._row import one_row, print_of
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.work import Work

log = logging.getLogger("outrider")

MAKERS = 8
"""Rows that one worker makes at once."""


class Keyed:
    """Rows made on demand. Made by `keyed`; pickles with its function.

    Attributes:
        length: Rows in one epoch.
        shuffle: Whether each epoch has an order of its own.
        seed: Of that order.
        epochs: Times through the rows; None: endless.
    """

    def __init__(
        self, length: int, made_by: bytes, identity: bytes, shuffle: bool, seed: int, epochs: int | None
    ) -> None:
        self.length = length
        self._made_by = made_by
        self._identity = identity
        self.shuffle = shuffle
        self.seed = seed
        self.epochs = epochs

    def to_wire(self) -> Any:
        """How the owner goes through the indices."""
        return wire.Source(
            kind="keyed",
            rows=self.length,
            identity=self._identity,
            shuffle=self.shuffle,
            seed=self.seed,
            epochs=self.epochs or 0,
        )

    def write(self) -> int:
        """Writes the function for the workers, as an Arrow IPC stream in a memfd, which the caller passes on and closes."""
        batch = pa.RecordBatch.from_arrays([pa.array([self._made_by], pa.binary())], ["row"])
        return write_stream(batch.schema, [batch], "table")


def keyed(
    length: int,
    row: Callable[[int], Mapping[str, Any] | pa.RecordBatch],
    *,
    digest: str | bytes,
    schema: pa.Schema | None = None,
    shuffle: bool = False,
    seed: int = 0,
    epochs: int | None = None,
) -> Keyed:
    """A source of prompt groups whose rows are made where they are used: `row(i)` runs in the worker that got group `i`.

    Args:
        length: Rows in one epoch.
        row: Takes an index 0..length−1 and returns that prompt: a dict, or a record batch of one row. It must give every
            process the same for one index, as one that draws from a generator seeded by the index does, and it runs in threads.
            What it raises fails that group's data and nothing else. Pickled by value where Ray is installed.
        digest: Names the content of the rows, a version or a hash: a state that was made under another name is refused.
        schema: The columns of every row. None: those of the first row that is reported.
        shuffle: Give each epoch an order of its own, the same for ever for one seed.
        seed: Of the shuffle.
        epochs: Times through the rows; None: endless.

    Returns:
        The source, for `outrider.start` or `outrider.own`.

    Raises:
        ConfigError: Arguments that cannot work, all in one message, or a function that cannot be pickled.
    """
    problems = Problems()
    length = problems.of(count, "length", length, 1, MOST_GROUPS)
    if not callable(row):
        problems.say(f"keyed(row={shown(row)}) is a {type(row).__name__}; give a function of an index")
    if not isinstance(digest, (str, bytes)) or not digest:
        problems.say(f"keyed(digest={shown(digest)}) names no content; give text or bytes that change when the rows do")
    if schema is not None and not isinstance(schema, pa.Schema):
        problems.say(f"keyed(schema={shown(schema)}) is a {type(schema).__name__}; give a pyarrow.Schema")
    shuffle = problems.of(flag, "shuffle", shuffle)
    seed = problems.of(count, "seed", seed, 0, UINT64)
    epochs = problems.of(optional_count, "epochs", epochs, 1)
    problems.tell()
    try:
        made_by = _ray.pickled((row, None if schema is None else schema.serialize().to_pybytes()))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"outrider: keyed(row={row!r}) cannot be pickled for the workers: {error}; give a function of a module, without open files or locks"
        ) from error
    name = digest.encode() if isinstance(digest, str) else digest
    return Keyed(length, made_by, hashlib.sha256(name).digest(), shuffle, seed, epochs)


class Rows:
    """A worker's way from indices to prompts; its threads end with `stop`."""

    def __init__(self, made_by: bytes) -> None:
        try:
            self._row, schema = _ray.unpickled(made_by)
        except Exception as error:
            raise ConfigError(
                f"outrider: the function of the keyed source cannot be loaded here: {type(error).__name__}: {error}; let every worker's process import what it needs"
            ) from error
        self._schema: pa.Schema | None = None if schema is None else pa.ipc.read_schema(pa.py_buffer(schema))
        self._threads = ThreadPoolExecutor(MAKERS, thread_name_prefix="outrider-row")

    def make(self, works: list[Work], ready: Callable[[list[Work]], None]) -> None:
        """Makes each work's prompt in a thread and then calls ready with it; a work whose prompt fails ends as a failure."""
        with contextlib.suppress(RuntimeError):  # It has stopped: nobody waits for these.
            for work in works:
                self._threads.submit(self._make, work, ready)

    def stop(self) -> None:
        """Ends the threads; what they have not begun is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _make(self, work: Work, ready: Callable[[list[Work]], None]) -> None:
        try:
            batch = one_row(self._row(work.row), self._schema)
        except Exception as error:
            log.warning(
                "outrider: group %d attempt %d: row(%d) failed", work.group, work.attempt, work.row, exc_info=error
            )
            work.submit(Finished(work, "failure", f"row({work.row}): {type(error).__name__}: {error}"))
            return
        work.made(batch, print_of(batch))
        ready([work])

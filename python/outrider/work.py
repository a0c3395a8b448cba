"""One execution of one prompt group, for workers that batch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from outrider import _wire_pb2 as wire
from outrider._memory import joined
from outrider._report import Finished
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.config import count
from outrider.errors import Closed, DataError, Stale
from outrider.identity import identify
from outrider.prompt import Prompt
from outrider.sample import Row, Sample, same_kind, to_row

if TYPE_CHECKING:
    from outrider.worker import Worker

T = TypeVar("T")


class Work:
    """The right, and the duty, to run one prompt group: end it by exactly one of complete, retry, fail, discard.

    Attributes:
        worker: Whose it is.
        group: Index of the group in the source's endless order.
        attempt: Which reservation of the group this is, from 1.
        execution: Which execution of that reservation, a number of its own over the whole run.
        row: The prompt's index in its source.
        print: Digest of the prompt, where this worker has made it; empty otherwise.
        version: Weight version that was announced when the work was dispatched.
        promise: Bytes that its host has set aside for its rows; None: there is no bound.
        granted: The `Receipts` that it came with: the timeline and the worker session of its own receipt.
    """

    __slots__ = (
        "_cancelled",
        "_done",
        "_ending",
        "_prompt",
        "attempt",
        "execution",
        "granted",
        "group",
        "print",
        "promise",
        "row",
        "version",
        "worker",
    )

    def __init__(
        self,
        worker: Worker,
        granted: Any,
        group: int,
        attempt: int,
        execution: int,
        row: int,
        version: int,
        promise: int | None = None,
    ) -> None:
        self.worker = worker
        self.granted = granted
        self.group = group
        self.attempt = attempt
        self.execution = execution
        self.row = row
        self.version = version
        self.promise = promise
        self._done = 0  # a bit for each slot whose place is free
        self._ending = False
        self._cancelled = False
        self._prompt: pa.RecordBatch | None = None
        self.print = b""

    def __repr__(self) -> str:
        return f"<outrider.Work group={self.group} attempt={self.attempt}{' cancelled' if self._cancelled else ''}>"

    @property
    def receipt(self) -> Any:
        """The execution receipt in the wire's form; void once the group has gone elsewhere."""
        return wire.Receipt(
            timeline=self.granted.timeline,
            group=self.group,
            attempt=self.attempt,
            execution=self.execution,
            worker=self.granted.worker,
        )

    @property
    def cancelled(self) -> bool:
        """Whether the owner wants it stopped; end it with `retry` when it has stopped. A result that is there counts all the same."""
        return self._cancelled

    @property
    def prompts(self) -> pa.RecordBatch:
        """The pristine prompt, once for each parent slot: `group_size` equal rows, copied, so yours to change."""
        return self._row().take(pa.array(np.zeros(self.worker.group_size, np.int64)))

    def prompt(self, slot: int) -> Prompt:
        """The prompt of one parent slot as a mapping."""
        return Prompt(self._row(), self.group, slot, self.attempt, self.version)

    def made(self, prompt: pa.RecordBatch, digest: bytes) -> None:
        """The prompt, where it is in no table of the worker's."""
        self._prompt, self.print = prompt, digest

    def _row(self) -> pa.RecordBatch:
        return self.worker.prompt_row(self.row) if self._prompt is None else self._prompt

    def done(self, slot: int) -> None:
        """Says that a slot's generation has ended (before scoring, say), so that its place is free for other work. Idempotent."""
        bit = 1 << count("slot", slot, 0, self.worker.group_size - 1)
        if not self._done & bit and not self._ending:
            self._done |= bit
            self.worker.samples_done([(self, 1)])

    def complete(self, data: pa.RecordBatch | pa.Table | Sequence[Sample | Sequence[Sample]]) -> bool:
        """Reports success: writes the group's rows once into shared memory, as soon as the host's byte budget has room for them.

        Args:
            data: One sample (or list of samples) for each slot, in order; or the rows as Arrow, with the columns `group` and
                `slot` unless there is exactly one row a slot.

        Returns:
            True: the owner took it; with full="evict" an older group may have given way to it (`StepStats.evictions`). False: nobody waits for it any more, because the group had gone elsewhere meanwhile (its
            receipt is stale) or the run is over; nothing is left to do.

        Raises:
            DataError: Rows that break the schema rules, carry another group's identity, or are more than the byte budget of the whole
                host: nothing was written.
            Closed: The sidecar has died.
        """
        return blocking(self._complete(data, self.worker.reporter.submit_here))

    async def complete_async(self, data: pa.RecordBatch | pa.Table | Sequence[Sample | Sequence[Sample]]) -> bool:
        """`complete`, awaited; the writing happens in the worker's own thread."""
        return await awaiting(self._complete(data, self.worker.reporter.submit))

    def retry(self, reason: str) -> bool:
        """Asks for another attempt that is not counted as the data's fault (the engine aborted, say). Returns as `complete` does."""
        return blocking(self.end(Finished(self, "retry", str(reason)), self.worker.reporter.submit_here))

    async def retry_async(self, reason: str) -> bool:
        """`retry`, awaited."""
        return await awaiting(self.end(Finished(self, "retry", str(reason)), self.worker.reporter.submit))

    def fail(self, error: BaseException | str) -> bool:
        """Reports that the data itself made the run fail; counted against `max_attempts`. Returns as `complete` does."""
        return blocking(self.end(Finished(self, "failure", describe(error)), self.worker.reporter.submit_here))

    async def fail_async(self, error: BaseException | str) -> bool:
        """`fail`, awaited."""
        return await awaiting(self.end(Finished(self, "failure", describe(error)), self.worker.reporter.submit))

    def discard(self, reason: str) -> bool:
        """Settles the group as consumed without training, counted under the reason. Returns as `complete` does."""
        return blocking(self.end(Finished(self, "discard", str(reason)), self.worker.reporter.submit_here))

    async def discard_async(self, reason: str) -> bool:
        """`discard`, awaited."""
        return await awaiting(self.end(Finished(self, "discard", str(reason)), self.worker.reporter.submit))

    def _complete(self, data: Any, submit: Callable[[Finished], None]) -> Steps[bool]:
        if isinstance(data, pa.Table):
            data = joined(data.to_batches()) if data.num_rows else pa.RecordBatch.from_pylist([], schema=data.schema)
        if isinstance(data, pa.RecordBatch):
            finished = Finished(self, "success", batch=identify(data, [self.group], self.worker.group_size)[0])
        else:
            finished = Finished(self, "success", rows=self.rows(data))
        return (yield from self.end(finished, submit))

    def rows(self, slots: Any) -> list[Row]:
        """Checks one sample (or list of samples) a slot and brings them into columns."""
        size = self.worker.group_size
        if not isinstance(slots, Sequence) or len(slots) != size:
            found = f"{len(slots)} entries" if isinstance(slots, Sequence) else f"a {type(slots).__name__}"
            raise DataError(
                f"outrider: group {self.group}: complete() got {found}, group_size is {size}; give one Sample, or a list of Samples, for each slot"
            )
        rows = [row for slot, given in enumerate(slots) for row in self.slot_rows(slot, given)]
        same_kind(rows, self.group)
        return rows

    def slot_rows(self, slot: int, given: Any) -> list[Row]:
        """The same for one slot."""
        samples = [given] if isinstance(given, Sample) or not isinstance(given, Sequence) else given
        if not samples:
            raise DataError(
                f"outrider: slot {slot} of group {self.group}: no sample; return at least one (an empty response needs a Sample with response_length=0)"
            )
        return [to_row(sample, self.group, slot, part) for part, sample in enumerate(samples)]

    def end(self, finished: Finished, submit: Callable[[Finished], None]) -> Steps[bool]:
        """Ends this execution; the core of complete, retry, fail and discard."""
        self.begin_end()
        submit(finished)
        error = yield Wait(finished.answer)
        return self.worker.accepted(error)

    def submit(self, finished: Finished) -> None:
        """Ends this execution without waiting for the owner's word."""
        self.begin_end()
        self.worker.reporter.submit(finished)

    def begin_end(self) -> None:
        """From here on nothing else can end it.

        Raises:
            Stale: Something has ended it before.
        """
        if self._ending:
            raise Stale(f"outrider: group {self.group} attempt {self.attempt} was ended before; end each work once")
        self._ending = True

    @property
    def ending(self) -> bool:
        """Whether it has been ended here."""
        return self._ending

    def cancel(self) -> None:
        """From the reading thread: the owner wants it stopped."""
        self._cancelled = True


def describe(error: BaseException | str) -> str:
    """An exception in one line."""
    return error if isinstance(error, str) else f"{type(error).__name__}: {error}"


class Stream(Generic[T]):
    """Work as it comes, for `for` in a thread and for `async for` on an event loop; ends with the run."""

    def __init__(self, worker: Worker, most: int, single: bool) -> None:
        self._worker = worker
        self._most = most
        self._single = single

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return self._give(blocking(self._worker.inbox.take(self._most)))
        except Closed as error:
            if self._worker.over(error):
                raise StopIteration from None
            raise

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        try:
            return self._give(await awaiting(self._worker.inbox.take(self._most)))
        except Closed as error:
            if self._worker.over(error):
                raise StopAsyncIteration from None
            raise

    def _give(self, works: list[Work]) -> T:
        result: Any = works[0] if self._single else works
        return result  # type: ignore[no-any-return]

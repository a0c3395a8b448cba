"""One execution of one prompt group, for workers that batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from outrider._check import count
from outrider._execution import Execution
from outrider._memory import one_batch
from outrider._report import Finished
from outrider._steps import Steps, awaiting, blocking
from outrider.errors import DataError
from outrider.identity import identify
from outrider.prompt import Prompt
from outrider.sample import Row, Sample, same_kind, to_row

if TYPE_CHECKING:
    from outrider.worker import Worker


Data: TypeAlias = pa.RecordBatch | pa.Table | Sequence[Sample | Sequence[Sample]]
"""What a group's rows are given as."""


class Work(Execution):
    """The right, and the duty, to run one prompt group: end it by exactly one of complete, retry, fail, discard.

    Attributes:
        worker: Whose it is.
        group: Index of the group in the source's endless order.
        attempt: Which reservation of the group this is, from 1.
        execution: Which execution of that reservation, a number of its own over the whole run.
        row: The prompt's index in its source.
        version: Weight version that was announced when the work was dispatched.
    """

    __slots__ = ("_done", "_prompt", "row", "version", "worker")

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
        super().__init__(worker, granted, group, attempt, execution, promise)
        self.worker = worker
        self.row = row
        self.version = version
        self._done = 0  # a bit for each slot whose place is free
        self._prompt: pa.RecordBatch | None = None

    @property
    def prompts(self) -> pa.RecordBatch:
        """The pristine prompt, once for each parent slot: `group_size` equal rows, copied, so yours to change."""
        return self._row().take(pa.array(np.zeros(self.worker.group_size, np.int64)))

    def prompt(self, slot: int) -> Prompt:
        """The prompt of one parent slot as a mapping."""
        slot = count("slot", slot, 0, self.worker.group_size - 1)
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

    def complete(self, data: Data) -> bool:
        """Reports success: writes the group's rows once into shared memory, as soon as the host's byte budget has room for them.

        Args:
            data: One sample (or list of samples) for each slot, in order; or the rows as Arrow, with the columns `group` and
                `slot` unless there is exactly one row a slot.

        Returns:
            True: the owner took it; with full="evict" an older group may have given way to it (`StepStats.evictions`). False: nobody waits for it any more, because the group had gone elsewhere meanwhile (its
            receipt is stale) or the run is over; nothing is left to do.

        Raises:
            DataError: Rows that break the schema rules or carry another group's identity: nothing was written; complete it with other
                rows, or `fail` it. Rows above the byte budget of the whole host, or with a column that has another type in a group
                before: that was a failed attempt, and this work has ended.
            Closed: The sidecar has died.
        """
        return blocking(self._complete(data, self.worker.reporter.submit_here))

    async def complete_async(self, data: Data) -> bool:
        """`complete`, awaited; the writing happens in the worker's own thread."""
        return await awaiting(self._complete(data, self.worker.reporter.submit))

    def _complete(self, data: Any, submit: Callable[[Finished], None]) -> Steps[bool]:
        if isinstance(data, pa.Table):
            data = one_batch(data)
        if isinstance(data, pa.RecordBatch):
            finished = Finished(self, "success", batch=identify(data, [self.group], self.worker.group_size)[0])
        else:
            finished = Finished(self, "success", rows=self.rows(data))
        return (yield from self.end(finished, submit))

    def rows(self, slots: Any) -> list[Row]:
        """One sample (or list of samples) a slot, checked and brought into columns."""
        return group_rows(slots, self.group, self.worker.group_size)


def group_rows(slots: Any, group: int, group_size: int) -> list[Row]:
    """Checks one sample (or list of samples) a slot and brings them into columns.

    Raises:
        DataError: Names group, slot and column.
    """
    if not isinstance(slots, Sequence) or len(slots) != group_size:
        found = f"{len(slots)} entries" if isinstance(slots, Sequence) else f"a {type(slots).__name__}"
        raise DataError(
            f"outrider: group {group}: got {found}, group_size is {group_size}; give one Sample, or a list of Samples, for each slot"
        )
    rows = [row for slot, given in enumerate(slots) for row in slot_rows(given, group, slot)]
    same_kind(rows, group)
    return rows


def slot_rows(given: Any, group: int, slot: int) -> list[Row]:
    """The same for one slot."""
    samples = [given] if isinstance(given, Sample) or not isinstance(given, Sequence) else given
    if not samples:
        raise DataError(
            f"outrider: slot {slot} of group {group}: no sample; return at least one (an empty response is a Sample with response_length=0 and its status)"
        )
    return [to_row(sample, group, slot, part) for part, sample in enumerate(samples)]

"""Finished groups on their way out: packed, written once, reported in batches, off the event loop's path."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from outrider import _credit
from outrider import _wire_pb2 as wire
from outrider._channel import DESCRIPTORS, Answer
from outrider._memory import nbytes, write_checked, write_stream
from outrider.errors import Closed, DataError, Error, from_wire, kind_of
from outrider.sample import Row, kind_of_row, to_batch

if TYPE_CHECKING:
    from outrider._execution import Execution
    from outrider._member import Member

log = logging.getLogger("outrider")

_TOGETHER = 64
"""Groups that one report takes along; they are those that have finished while the last one was written."""
_SHARED = 4 << 20
"""Bytes up to which groups share a segment: its memory goes when the last of them has settled."""


class Written(NamedTuple):
    """A segment, not sealed yet.

    Attributes:
        fd: The memfd.
        checksum: Its CRC-32, if the run has checksums.
        masked: Whether every `loss_mask` in it has been seen to be of 0 and 1.
    """

    fd: int
    checksum: int | None
    masked: bool


@dataclass(eq=False)
class Finished:
    """The end of one execution.

    Attributes:
        work: Whose.
        kind: "success", "retry", "failure" or "discard".
        reason: Of anything but success.
        rows: Of a success: samples in their final dtypes, or
        batch: the rows as the user made them.
        answer: None when the owner took it, else why not.
    """

    work: Execution
    kind: str
    reason: str = ""
    rows: Sequence[Row] = ()
    batch: pa.RecordBatch | None = None
    answer: Future[Error | None] = field(default_factory=Future)

    def kind_of_data(self) -> Any:
        """Equal for groups whose rows fit one segment."""
        if self.batch is not None:
            return self.batch.schema.to_string(show_schema_metadata=False)
        return tuple(sorted(kind_of_row(self.rows[0]))) if self.rows else ()

    def count(self) -> int:
        """Rows."""
        return len(self.rows) if self.batch is None else int(self.batch.num_rows)

    def size(self) -> int:
        """Bytes, about."""
        if self.batch is not None:
            return nbytes([self.batch])
        return sum(getattr(value, "nbytes", 64) for row in self.rows for value in row.values())


class Reporter:
    """Writes and reports what a worker has finished. Its one daemon thread begins with the first group and ends with `stop`."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._queue: queue.SimpleQueue[Finished | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards _thread
        self._writing = threading.Lock()  # held by the thread that writes and reports
        self._thread: threading.Thread | None = None
        self._stopped = False

    def submit(self, finished: Finished) -> None:
        """Takes a finished group; never blocks. One that is larger than was set aside for it waits for its host to have room."""
        if finished.kind == "success" and _credit.exceeds(finished.work, size := finished.size()):
            (asked,) = _credit.ask(self._member, [finished.work], [size])
            asked.add_done_callback(lambda answered: self._credited(finished, answered))
            return
        self._put(finished)

    def _credited(self, finished: Finished, answered: Future[Answer]) -> None:
        """From the reading thread: the group may be written, or never will be."""
        error = answered.exception()
        if error is None:
            self._put(finished)
            return
        why = error if isinstance(error, Error) else Error(str(error))
        if isinstance(why, Closed) or self._stopped:
            finished.answer.set_result(why)
            return
        # The execution ends all the same; its caller hears why.
        ended = Finished(finished.work, "failure" if isinstance(why, DataError) else "retry", str(why))
        ended.answer.add_done_callback(lambda _: finished.answer.set_result(why))
        self._put(ended)

    def _put(self, finished: Finished) -> None:
        self._queue.put(finished)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="outrider-report", daemon=True)
                self._thread.start()

    def submit_here(self, finished: Finished) -> None:
        """The same for a caller who waits for the answer anyway: this thread writes, unless another does."""
        exceeds = finished.kind == "success" and _credit.exceeds(finished.work, finished.size())
        if exceeds or not self._writing.acquire(blocking=False):
            self.submit(finished)
            return
        try:
            send(self._member, [finished])
        finally:
            self._writing.release()

    def stop(self) -> None:
        """Ends the thread after what has been submitted."""
        self._stopped = True
        self._queue.put(None)

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            together, ends = [first], False
            while len(together) < _TOGETHER:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    ends = True
                    break
                together.append(more)
            with self._writing:
                send(self._member, together)
            if ends:
                return


def send(member: Member, together: Sequence[Finished]) -> None:
    """Writes the groups' rows and reports them; the answers complete each group's future."""
    report = Report()
    try:
        for members in _bins([finished for finished in together if finished.kind == "success"]):
            try:
                written = _write(member, members)
            except Exception as error:
                # Memory, descriptors: not the data's fault, so another attempt that does not count.
                log.warning(
                    "outrider: %d finished groups could not be written: %s; they are generated again",
                    len(members),
                    error,
                )
                for one in members:
                    report.ended(one.work, "retry", f"not written: {error}", one.answer)
                continue
            ends = list(accumulate(one.count() for one in members))
            report.succeeded([one.work for one in members], ends, written, [one.answer for one in members])
            if report.full:
                report.send(member)
                report = Report()
        for finished in together:
            if finished.kind != "success":
                report.ended(finished.work, finished.kind, finished.reason, finished.answer)
    finally:
        report.send(member)


class Report:
    """One report in the making: segments with the groups that are in them, and other ends of executions. Send it once."""

    def __init__(self) -> None:
        self._message = wire.Report()
        self._fds: list[int] = []
        self._successes: dict[
            bytes, tuple[Any, list[Execution], list[Future[Error | None]]]
        ] = {}  # by timeline and session
        self._ended: list[Execution] = []
        self._answers: list[Future[Error | None]] = []  # of _ended

    @property
    def full(self) -> bool:
        """Whether it takes no further segment."""
        return len(self._fds) == DESCRIPTORS

    def succeeded(
        self,
        works: Sequence[Execution],
        ends: Sequence[int],
        written: Written,
        answers: Sequence[Future[Error | None]] = (),
    ) -> None:
        """Adds a segment, which becomes the report's to close.

        Args:
            works: The groups in it, in the order of their rows.
            ends: Where the rows of each end.
            written: The segment; its memfd must have no other descriptor, because the sidecar seals it.
            answers: Completed with the owner's word on each; may be left out.
        """
        number = len(self._fds)
        self._fds.append(written.fd)
        if written.checksum is not None:
            self._message.checksums.append(written.checksum)
        self._message.masked = written.masked and (self._message.masked or number == 0)
        self._message.columns = works[0].adds
        starts = [0, *ends]
        first = 0
        for _, run in groupby(works, lambda work: id(work.granted)):
            part = list(run)
            last = first + len(part)
            granted = part[0].granted
            key = granted.timeline.SerializeToString() + granted.worker.to_bytes(8, "little")
            if key not in self._successes:
                made = self._message.successes.add(
                    receipts=wire.Receipts(timeline=granted.timeline, worker=granted.worker)
                )
                self._successes[key] = made, [], []
            columns, sent, theirs = self._successes[key]
            columns.receipts.groups.extend([work.group for work in part])
            columns.receipts.attempts.extend([work.attempt for work in part])
            columns.receipts.executions.extend([work.execution for work in part])
            columns.segments.extend([number] * len(part))
            columns.first_rows.extend(starts[first:last])
            columns.rows.extend([ends[at] - starts[at] for at in range(first, last)])
            if part[0].print:
                columns.prints.extend([work.print for work in part])
            sent += part
            theirs += answers[first:last]
            first = last

    def ended(self, work: Execution, kind: str, reason: str, answer: Future[Error | None]) -> None:
        """Adds an end that is no success."""
        self._message.outcomes.add(receipt=work.receipt, kind=kind, reason=reason)
        self._ended.append(work)
        self._answers.append(answer)

    def send(self, member: Member) -> Future[list[Error | None]]:
        """Sends it in one frame and closes its descriptors.

        Returns:
            A future of the owner's word on each group, None where it took it: the successes first, then the other ends. It is
            completed by the reading thread and never fails.
        """
        works = [*(work for _, sent, _ in self._successes.values() for work in sent), *self._ended]
        answers = [*(one for _, _, theirs in self._successes.values() for one in theirs), *self._answers]
        said: Future[list[Error | None]] = Future()
        if not works:
            said.set_result([])
            return said
        try:
            future = member.ask(tuple(self._fds), report=self._message)
        finally:
            for fd in self._fds:
                os.close(fd)
        future.add_done_callback(lambda answered: _settle(answered, works, answers, said))
        return said


def _settle(
    answered: Future[Answer],
    works: Sequence[Execution],
    answers: Sequence[Future[Error | None]],
    said: Future[list[Error | None]],
) -> None:
    """From the reading thread: completes the futures with what the owner said."""
    errors: list[Error | None]
    failure = answered.exception()
    if failure is not None:
        errors = [failure if isinstance(failure, Error) else Error(str(failure))] * len(works)
    else:
        errors = [None] * len(works)
        reported = answered.result().frame.reported
        for place, error in zip(reported.places, reported.errors, strict=True):
            errors[place] = from_wire(error.kind, error.message)
        _warn([(work, error) for work, error in zip(works, errors, strict=True) if error is not None])
    works[0].runner.forget(works)
    for answer, word in zip(answers, errors, strict=False):
        answer.set_result(word)
    said.set_result(errors)


def _warn(refused: Sequence[tuple[Execution, Error]]) -> None:
    """Says in one line what of a report was refused."""
    for level, found in (
        (logging.WARNING, [one for one in refused if kind_of(one[1]) != "stale"]),
        (logging.DEBUG, [one for one in refused if kind_of(one[1]) == "stale"]),
    ):
        if found:
            work, error = found[0]
            others = [other.group for other, _ in found[1:]]
            more = f"; so were {len(others)} more of this report: groups {others[:8]}" if others else ""
            log.log(level, "outrider: group %d attempt %d was refused: %s%s", work.group, work.attempt, error, more)


def _bins(finished: list[Finished]) -> list[list[Finished]]:
    """Groups that share a segment: equal columns, and small enough together."""
    if len(finished) == 1:
        return [finished]
    open_bins: dict[Any, tuple[list[Finished], int]] = {}
    bins: list[list[Finished]] = []
    for one in finished:
        kind, size = one.kind_of_data(), one.size()
        group, total = open_bins.get(kind, ([], 0))
        if group and total + size <= _SHARED:
            group.append(one)
        else:
            group, total = [one], 0
            bins.append(group)
        open_bins[kind] = group, total + size
    return bins


def _write(member: Member, members: Sequence[Finished]) -> Written:
    batches = [one.batch for one in members if one.batch is not None]
    if not batches:
        batches = [to_batch([row for one in members for row in one.rows])]
    return write(member, batches)


def write(member: Member, batches: list[pa.RecordBatch]) -> Written:
    """Writes a segment.

    Args:
        member: Its run says whether there are checksums.
        batches: Its rows, of one schema.

    Returns:
        The segment; its memfd is the caller's.
    """
    schema, masked = batches[0].schema, all(_masked(batch) for batch in batches)
    if member.joined.checksums:
        return Written(*write_checked(schema, batches, "segment"), masked)
    return Written(write_stream(schema, batches, "segment"), None, masked)


def _masked(batch: pa.RecordBatch) -> bool:
    """Whether no value of `loss_mask` is other than 0 and 1; what is wrong the sidecar says, group by group.

    Looked at here, where the bytes are written anyway, so that the sidecar need not read them again.
    """
    for place in batch.schema.get_all_field_indices("loss_mask"):
        column = batch.column(place)
        if not pa.types.is_list(column.type) or column.type.value_type != pa.uint8():
            return False
        values = column.flatten()
        if values.null_count or (len(values) and values.to_numpy().max() > 1):
            return False
    return True

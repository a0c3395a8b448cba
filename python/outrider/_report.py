"""Finished groups on their way out: packed, written once, reported in batches, off the event loop's path."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from outrider import _wire_pb2 as wire
from outrider._channel import DESCRIPTORS, Answer
from outrider._memory import write_stream
from outrider.errors import Error, from_wire
from outrider.sample import Row, kind_of_row, to_batch

if TYPE_CHECKING:
    from outrider._member import Member
    from outrider.work import Work

log = logging.getLogger("outrider")

_TOGETHER = 64
"""Groups that one report takes along; they are those that have finished while the last one was written."""
_SHARED = 4 << 20
"""Bytes up to which groups share a segment: its memory goes when the last of them has settled."""


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

    work: Work
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
            return int(self.batch.nbytes)
        return sum(getattr(value, "nbytes", 64) for row in self.rows for value in row.values())


class Reporter:
    """Writes and reports what a worker has finished. Its one daemon thread begins with the first group and ends with `stop`."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._queue: queue.SimpleQueue[Finished | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards _thread
        self._thread: threading.Thread | None = None

    def submit(self, finished: Finished) -> None:
        """Takes a finished group; never blocks."""
        self._queue.put(finished)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="outrider-report", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread after what has been submitted."""
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
            send(self._member, together)
            if ends:
                return


def send(member: Member, together: Sequence[Finished]) -> None:
    """Writes the groups' rows and reports them in one frame; the answers complete each group's future."""
    outcomes: list[Any] = []
    sent: list[Finished] = []
    fds: list[int] = []
    try:
        for finished in together:
            if finished.kind != "success":
                outcomes.append(wire.Outcome(receipt=finished.work.receipt, kind=finished.kind, reason=finished.reason))
                sent.append(finished)
        for members in _bins([finished for finished in together if finished.kind == "success"]):
            try:
                fd = _write(members)
            except Exception as error:
                # Memory, descriptors: not the data's fault, so another attempt that does not count.
                log.warning(
                    "outrider: %d finished groups could not be written: %s; they are generated again",
                    len(members),
                    error,
                )
                outcomes += [
                    wire.Outcome(receipt=one.work.receipt, kind="retry", reason=f"not written: {error}")
                    for one in members
                ]
                sent += members
                continue
            first = 0
            for one in members:
                rows = one.count()
                outcomes.append(
                    wire.Outcome(receipt=one.work.receipt, kind="success", segment=len(fds), first_row=first, rows=rows)
                )
                sent.append(one)
                first += rows
            fds.append(fd)
            if len(fds) == DESCRIPTORS:
                report(member, outcomes, fds, sent)
                outcomes, sent, fds = [], [], []
        if outcomes:
            report(member, outcomes, fds, sent)
            fds = []
    finally:
        for fd in fds:
            os.close(fd)


def report(member: Member, outcomes: Sequence[Any], fds: list[int], sent: Sequence[Finished]) -> None:
    """Sends one report and closes its descriptors, which must have no other: the sidecar seals them."""
    try:
        future = member.ask(tuple(fds), report=wire.Report(outcomes=outcomes))
    finally:
        for fd in fds:
            os.close(fd)
    future.add_done_callback(lambda answered: _settle(answered, sent))


def _settle(answered: Future[Answer], sent: Sequence[Finished]) -> None:
    """From the reading thread: completes each group's future with what the owner said."""
    failure = answered.exception()
    if failure is not None:
        for finished in sent:
            finished.work.ended()
            finished.answer.set_result(failure if isinstance(failure, Error) else Error(str(failure)))
        return
    errors = answered.result().frame.reported.errors
    for number, finished in enumerate(sent):
        error = (
            from_wire(errors[number].kind, errors[number].message)
            if number < len(errors) and errors[number].kind
            else None
        )
        if error is not None:
            level = logging.DEBUG if errors[number].kind == "stale" else logging.WARNING
            log.log(level, "outrider: group %d attempt %d: %s", finished.work.group, finished.work.attempt, error)
        finished.work.ended()
        finished.answer.set_result(error)


def _bins(finished: list[Finished]) -> list[list[Finished]]:
    """Groups that share a segment: equal columns, and small enough together."""
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


def _write(members: Sequence[Finished]) -> int:
    batches = [one.batch for one in members if one.batch is not None]
    if not batches:
        batches = [to_batch([row for one in members for row in one.rows])]
    return write_stream(batches[0].schema, batches, "segment")

"""A worker: runs prompt groups and reports what came of them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from outrider import _credit
from outrider import _wire_pb2 as wire
from outrider._inbox import Inbox
from outrider._member import Member
from outrider._memory import nbytes, write_stream
from outrider._report import Report, Reporter
from outrider._row import from_bytes
from outrider._segment import Segment
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.config import count
from outrider.engine import confirming, engine_name
from outrider.errors import Closed, ConfigError, EndOfRun, Error, Stale, kind_of
from outrider.identity import identify
from outrider.keyed import Rows
from outrider.serve import serve
from outrider.work import Stream, Work

if TYPE_CHECKING:
    from outrider.run import Run


class Worker:
    """This process runs prompt groups. Its sidecar is up when this returns.

    Args:
        run: The run.
        slots: Parent slots that it runs at once, from when it first asks for work: by `serve`, `groups` or `batches`.
        engine: True: it holds the serving weights itself and confirms them. A name: they are in the processes that are
            `outrider.Engine(run, name)`, and it gets work when those have confirmed them. False: nobody confirms any.
        name: Shown in logs, status and errors; None: the actor's name or class.

    Raises:
        ConfigError: An argument of the wrong kind.
        StartError: The sidecar did not come up.
        Closed: The run is over.
    """

    def __init__(self, run: Run, slots: int = 64, engine: bool | str = True, name: str | None = None) -> None:
        uses = "" if isinstance(engine, bool) else engine_name("engine", engine)
        self.capacity = count("slots", slots, 1, (1 << 31) - 1)
        role = wire.WorkerRole(slots=0, engine=engine is True, uses=uses)
        self._member = Member(run, "worker", name=name, worker=role)
        self._slots = self.capacity
        self._asked = False
        self.group_size = int(self._member.joined.group_size)
        self.closing = False
        self.inbox: Inbox[Work] = Inbox()
        self.reporter = Reporter(self._member)
        self._lock = threading.Lock()  # guards _works and _idle
        self._works: dict[int, Work] = {}  # by execution number, until the owner has answered its report
        self._idle: Future[None] | None = None
        self._on_cancel: Callable[[list[Work]], None] = lambda works: None
        table, *others = self._member.fds
        for fd in others:
            os.close(fd)
        self._table = Segment(table)
        self._rows: Rows | None = None
        if self._member.joined.source == "keyed":
            try:
                self._rows = Rows(self._table.batches[0].column(0)[0].as_py())
            except Error:
                blocking(self._member.leave("this worker"))
                raise
        self._member.listen(self._on_push, self._on_ended)

    @property
    def slots(self) -> int:
        """Parent slots that it runs at once: 0 up to what it was made with.

        Setting it waits for the owner. `worker.slots = 0` keeps new work from a colocated engine while its memory is needed for
        something else: what was on its way has come when this returns, what runs goes on, and nobody takes the worker for lost.

        Raises:
            ConfigError: Not a whole number from 0 to what it was made with.
            Closed: The run is over.
        """
        return self._slots

    @slots.setter
    def slots(self, value: int) -> None:
        blocking(self._set_slots(value))

    async def set_slots_async(self, value: int) -> None:
        """`slots = value`, awaited."""
        await awaiting(self._set_slots(value))

    def _set_slots(self, value: int) -> Steps[None]:
        self._slots = count("slots", value, 0, self.capacity)
        if self._asked:
            yield Wait(self._member.ask(set_slots=wire.SetSlots(slots=self._slots)))

    def ask_for_work(self) -> None:
        """Says once that somebody takes what is granted here."""
        if not self._asked:
            self._asked = True
            self._member.tell(set_slots=wire.SetSlots(slots=self._slots))

    async def serve(self, function: Callable[..., Any]) -> None:
        """Runs a function on every prompt, `slots` calls at once, until the run ends or the worker is closed.

        Args:
            function: Takes a `Prompt`, returns a `Sample` or a list of them for its slot. An async function runs on this event
                loop; any other in threads. One that raises fails that execution and nothing else; `raise outrider.Retry(...)`
                asks for another attempt that is not counted as the data's fault.

        Raises:
            Closed: The sidecar has died.
            Error: The run ended with an error.
        """
        await serve(self, function)

    def serve_blocking(self, function: Callable[..., Any]) -> None:
        """`serve` for a process without an event loop; returns when the run ends."""
        import asyncio

        asyncio.run(serve(self, function))

    def groups(self) -> Stream[Work]:
        """Prompt groups as they come, for engines that batch: `async for work in worker.groups()` (or a plain `for` in a thread)."""
        self.ask_for_work()
        return Stream(self, 1, True)

    def batches(self, max: int = 64) -> Stream[list[Work]]:  # noqa: A002  (read as English where it is called)
        """The same in lists of up to `max`: whatever is there, at least one. Made for `complete_many`."""
        most = count("max", max, 1)
        self.ask_for_work()
        return Stream(self, most, False)

    def complete_many(self, works: Sequence[Work], batch: pa.RecordBatch) -> list[bool]:
        """Reports success of several groups at once: one record batch, one shared segment, one report.

        Args:
            works: Groups in the order of their rows.
            batch: All their rows, group after group; with the columns `group` and `slot` unless there is exactly one row a slot.

        Returns:
            For each group whether the owner took it, as `Work.complete` says it.

        Raises:
            DataError: Rows that do not belong to these groups in this order, that break the schema rules, or that are together more
                than the byte budget of their host: fewer at once may be less.
            Closed: The sidecar has died.
        """
        return blocking(self._complete_many(works, batch))

    async def complete_many_async(self, works: Sequence[Work], batch: pa.RecordBatch) -> list[bool]:
        """`complete_many`, awaited; the rows are written by this call before it waits."""
        return await awaiting(self._complete_many(works, batch))

    def _complete_many(self, works: Sequence[Work], batch: pa.RecordBatch) -> Steps[list[bool]]:
        for work in works:
            if work.worker is not self:
                raise ConfigError(
                    f"outrider: group {work.group} was granted to another worker; complete each group where it came from"
                )
        batch, ends = identify(batch, [work.group for work in works], self.group_size)
        if not works:
            return []
        for work in works:
            if work.ending:
                work.begin_end()  # Refuses, before anything has been written.
        total = nbytes([batch])
        sizes = [total * (end - start) // batch.num_rows for start, end in zip([0, *ends], ends, strict=False)]
        if any(_credit.exceeds(work, size) for work, size in zip(works, sizes, strict=True)):
            for asked in _credit.ask(self._member, works, sizes):
                with contextlib.suppress(Stale):  # The answer to the report says of which.
                    yield Wait(asked)
        report = Report()
        report.succeeded(works, ends, write_stream(batch.schema, [batch], "segment"))
        for work in works:
            work.begin_end()
        errors = yield Wait(report.send(self._member))
        return [self.accepted(error) for error in errors] if any(errors) else [True] * len(works)

    def confirm(self, version: int, digest: str | None = None) -> None:
        """Says that this process holds these weights; from here it may get work again.

        Args:
            version: As given to `send`.
            digest: Of the weights, to be compared between engines and trainer.

        Raises:
            Refused: Not the version of an update that is on, nor the announced one.
        """
        blocking(confirming(self._member, version, digest))

    async def confirm_async(self, version: int, digest: str | None = None) -> None:
        """`confirm`, awaited."""
        await awaiting(confirming(self._member, version, digest))

    def drain(self) -> None:
        """Takes no new work and waits until what runs has been reported; then `groups` and `serve` end.

        Finished groups stay in this process's sidecar until they are trained. `close` before that hands them to another process of the
        run on this host, and where there is none gives them back to the source.
        """
        blocking(self._drain())

    async def drain_async(self) -> None:
        """`drain`, awaited."""
        await awaiting(self._drain())

    def _drain(self) -> Steps[None]:
        yield Wait(self._member.ask(drain=wire.Drain()))
        idle: Future[None] = Future()
        with self._lock:
            self._idle = idle
            if not self._works:
                idle.set_result(None)
        yield Wait(idle)
        self.closing = True
        self.inbox.end(Closed("outrider: this worker has drained; make a new one to go on"))

    def close(self) -> None:
        """Leaves the run; what still runs is given back, what is finished stays with another process of the run on this host, if there is one. Idempotent."""
        blocking(self._close())

    async def close_async(self) -> None:
        """`close`, awaited."""
        await awaiting(self._close())

    def _close(self) -> Steps[None]:
        self.closing = True
        yield from self._member.leave("this worker")
        self._stop_rows()
        self.reporter.stop()

    def _stop_rows(self) -> None:
        if self._rows is not None:
            self._rows.stop()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def accepted(self, error: Error | None) -> bool:
        """Whether the owner took a report; raises what is the user's to know."""
        if error is None:
            return True
        if kind_of(error) == "stale" or self.over(error):
            return False
        raise error

    def over(self, error: Error) -> bool:
        """Whether this is the run's or the worker's ordinary end, and no failure."""
        return isinstance(error, EndOfRun) or (
            isinstance(error, Closed) and (self.closing or kind_of(error) == "closed")
        )

    def prompt_row(self, row: int) -> pa.RecordBatch:
        """One row of the table of prompts, in place."""
        return self._table.rows(row, 1)[0]

    def samples_done(self, counts: Iterable[tuple[Work, int]]) -> None:
        """More slots of some works are free."""
        ended = [wire.SampleCount(receipt=work.receipt, samples=samples) for work, samples in counts]
        if ended:
            self._member.tell(sample_done=wire.SampleDone(counts=ended))

    def forget(self, works: Iterable[Work]) -> None:
        """The owner has answered these works' report."""
        with self._lock:
            for work in works:
                self._works.pop(work.execution, None)
            idle = self._idle if not self._works else None
        if idle is not None and not idle.done():
            idle.set_result(None)

    def on_cancel(self, function: Callable[[list[Work]], None]) -> None:
        """Takes cancels from here on, in the reading thread."""
        self._on_cancel = function

    def _on_push(self, frame: Any, fds: list[int]) -> None:
        """From the reading thread."""
        kind = frame.WhichOneof("body")
        if kind == "grant":
            grant = frame.grant
            receipts = grant.receipts
            promises = grant.promises or [None] * len(receipts.groups)
            columns = (receipts.groups, receipts.attempts, receipts.executions, grant.rows, grant.versions, promises)
            works = [Work(self, receipts, *values) for values in zip(*columns, strict=True)]
            with self._lock:
                self._works.update((work.execution, work) for work in works)
            for work, row in zip(works, grant.pushed, strict=False):  # One for each, or none at all.
                work.made(from_bytes(row), b"")
            if self._rows is None:
                self.inbox.put(works)
            else:
                self._rows.make(works, self.inbox.put)
        elif kind == "cancel":
            with self._lock:
                named = [self._works.get(receipt.execution) for receipt in frame.cancel.receipts]
            found = [work for work in named if work is not None]
            for work in found:
                work.cancel()
            self._on_cancel(found)

    def _on_ended(self) -> None:
        """From the reading thread: the member has left, or the run or the sidecar has ended."""
        error: Error = self._member.ended or EndOfRun("outrider: the run is over")
        with self._lock:
            self._works.clear()
            idle = self._idle
        self._stop_rows()
        if idle is not None and not idle.done():
            idle.set_result(None)
        self.inbox.end(error)

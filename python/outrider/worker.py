"""A worker: runs prompt groups and reports what came of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from outrider import _credit
from outrider import _wire_pb2 as wire
from outrider._channel import Answer
from outrider._check import count, instance
from outrider._memory import nbytes
from outrider._offer import numbered, unnumbered
from outrider._report import Finished, Report, write
from outrider._row import from_bytes
from outrider._runner import Runner, Stream
from outrider._segment import Segment
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.engine import confirming, engine_name
from outrider.errors import ConfigError, Error, Stale, from_wire
from outrider.identity import identify
from outrider.keyed import Rows
from outrider.serve import serve
from outrider.stream import to_offer
from outrider.work import Data, Work

if TYPE_CHECKING:
    from outrider.run import Run


class Worker(Runner[Work]):
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
        role = wire.WorkerRole(slots=0, engine=engine is True, uses=uses)
        super().__init__(run, slots, name, role)
        table, *others = self._member.fds
        for fd in others:
            os.close(fd)
        self._table = Segment(table)
        self._rows: Rows | None = None
        if self._member.joined.source == "keyed":
            try:
                self._rows = Rows(self._table.batches[0].column(0)[0].as_py())
            except Error:
                blocking(self._member.leave(self._what))
                raise
        self._member.listen(self._on_push, self._on_ended)

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
            DataError: Rows that do not belong to these groups in this order, or that are together more than the byte budget of their
                host (fewer at once may be less): nothing is reported. Rows that break the schema rules: of the first such group, with
                its row counted from its own first; the others are taken.
            Closed: The sidecar has died.
        """
        return blocking(self._complete_many(works, batch))

    async def complete_many_async(self, works: Sequence[Work], batch: pa.RecordBatch) -> list[bool]:
        """`complete_many`, awaited; the rows are written by this call before it waits."""
        return await awaiting(self._complete_many(works, batch))

    def _complete_many(self, works: Sequence[Work], batch: pa.RecordBatch) -> Steps[list[bool]]:
        instance("batch", batch, pa.RecordBatch, "all rows of these works as one pyarrow.RecordBatch")
        for work in instance("works", works, Sequence, "a list of what batches() or groups() gave"):
            if instance("works", work, Work, "what batches() or groups() gave").worker is not self:
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
        report.succeeded(works, ends, write(self._member, [batch]))
        for work in works:
            work.begin_end()
        errors = yield Wait(report.send(self._member))
        return [self.accepted(error) for error in errors] if any(errors) else [True] * len(works)

    def offer(
        self,
        id: str | bytes | int,  # noqa: A002  (read as English where it is called)
        row: Mapping[str, Any] | pa.RecordBatch,
        data: Data,
        wait: bool = True,
    ) -> bool:
        """Gives the run a group that this process has made by itself; the source is `outrider.stream()`.

        Its prompt is pushed as `run.push` does it, and reserved for this worker, which ends it at once with this data. From then on it is
        a group as any other: bounds, order, staleness and leases are the same. When it has to be made again (it was too stale, say, or its
        data was lost), the prompt goes to a worker that takes groups by `serve` or `groups`; where there is none it waits until it is
        offered again.

        Args:
            id: Of the prompt, unique in the run: text, bytes or an integer.
            row: The prompt: a dict, or a record batch of one row; copied.
            data: As `Work.complete` takes it, without a column `group`. Samples without `versions` count as made with the version that is
                announced at this call.
            wait: Wait until there is room, as a push does, and until the run takes new groups: a trainer is here to log them, no hold
                stands, `retained` and `pace` have room. This process keeps the data meanwhile. False: refuse.

        Returns:
            True: the run has the data, and goes on with it when its owner is lost. False: nobody waits for it: the id was offered or pushed before and its group is with somebody, is
            finished or has settled; or the run went back behind the weights meanwhile, or is over. Nothing is left to do.

        Raises:
            Conflict: The id was offered or pushed before with another row.
            Refused: No stream, or it has ended, or this worker drains, or there is no room and `wait` is False.
            DataError: What is not one row, or not the rows of one group. What only the run finds wrong (a slot without a sample, say)
                counts as a failed attempt, and the prompt stays in the source.
            Closed: The sidecar has died.
        """
        return blocking(self._offer(id, row, data, wait))

    async def offer_async(
        self,
        id: str | bytes | int,  # noqa: A002
        row: Mapping[str, Any] | pa.RecordBatch,
        data: Data,
        wait: bool = True,
    ) -> bool:
        """`offer`, awaited. One that is cancelled while it waits may count all the same."""
        return await awaiting(self._offer(id, row, data, wait))

    def _offer(self, name: Any, row: Any, data: Any, wait: bool) -> Steps[bool]:
        offer = to_offer(name, row, wait)
        batch = unnumbered(name, data, self.group_size)
        ended: Future[Error | None] = Future()
        asked = self._member.ask(offer=offer)
        asked.add_done_callback(lambda answered: self._offered(answered, batch, ended))
        return self.accepted((yield Wait(ended)))

    def _offered(self, answered: Future[Answer], batch: pa.RecordBatch, ended: Future[Error | None]) -> None:
        """From the reading thread: reports the data of an offer by the execution that was granted for it, whoever still waits."""
        error = answered.exception()
        if error is not None:
            ended.set_result(error if isinstance(error, Error) else Error(str(error)))
            return
        grant = answered.result().frame.offered.grant
        works = self._granted(grant)
        if not works:
            ended.set_result(from_wire("stale", "outrider: nobody waits for the data of this offer"))
            return
        (work,) = works
        work.begin_end()
        self.reporter.submit(Finished(work, "success", batch=numbered(batch, work.group), answer=ended))

    def confirm(self, version: int, digest: str | None = None) -> None:
        """Says that this process holds these weights; from here it may get work again.

        Args:
            version: As given to `send`.
            digest: Of the weights, to be compared between engines and trainer.

        Raises:
            Refused: A digest other than the trainer's of that version, or a version that nobody sent.
        """
        blocking(confirming(self._member, version, digest))

    async def confirm_async(self, version: int, digest: str | None = None) -> None:
        """`confirm`, awaited."""
        await awaiting(confirming(self._member, version, digest))

    def drain(self) -> None:
        """Takes no new work and waits until what runs has been reported; then `groups` and `serve` end.

        Finished groups stay in this process's sidecar until they are trained. `close` before that hands them to another process of the
        run on this host, and where there is none gives them back to the source. An `offer` that waits is not waited for: its own call is.
        """
        super().drain()

    def close(self) -> None:
        """Leaves the run; what still runs is given back, what is finished stays with another process of the run on this host, if there is one. Idempotent."""
        super().close()

    def _stopped(self) -> None:
        if self._rows is not None:
            self._rows.stop()

    def prompt_row(self, row: int) -> pa.RecordBatch:
        """One row of the table of prompts, in place."""
        return self._table.rows(row, 1)[0]

    def samples_done(self, counts: Iterable[tuple[Work, int]]) -> None:
        """More slots of some works are free."""
        ended = [wire.SampleCount(receipt=work.receipt, samples=samples) for work, samples in counts]
        if ended:
            self._member.tell(sample_done=wire.SampleDone(counts=ended))

    def _on_push(self, frame: Any, fds: list[int]) -> None:
        """From the reading thread."""
        kind = frame.WhichOneof("body")
        if kind == "grant":
            grant = frame.grant
            works = self._granted(grant)
            for work, row in zip(works, grant.pushed, strict=False):  # One for each, or none at all.
                work.made(from_bytes(row), b"")
            if self._rows is None:
                self.inbox.put(works)
            else:
                self._rows.make(works, self.inbox.put)
        elif kind == "cancel":
            self.cancelled(frame.cancel.receipts)

    def _granted(self, grant: Any) -> list[Work]:
        """What a grant gives to this worker, noted as running here."""
        receipts = grant.receipts
        promises = grant.promises or [None] * len(receipts.groups)
        columns = (receipts.groups, receipts.attempts, receipts.executions, grant.rows, grant.versions, promises)
        works = [Work(self, receipts, *values) for values in zip(*columns, strict=True)]
        self.began(works)
        return works

"""A run, from the side of whoever drives it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import pyarrow as pa

from outrider import _wire_pb2 as wire
from outrider import stats as _stats
from outrider._attachment import Attachment
from outrider._channel import Answer
from outrider._check import count, counts, flag, text
from outrider._key import Key
from outrider._locator import Locator
from outrider._member import Member
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.errors import Closed
from outrider.hold import Hold
from outrider.lease import Lease, take
from outrider.stats import Stats
from outrider.stream import pairs, to_push
from outrider.update import Send, UpdateReport, rebroadcast, update_weights

log = logging.getLogger("outrider")


@dataclass(frozen=True)
class Rewound:
    """What going back has done.

    Attributes:
        rollout: Last rollout that the ledger contains, −1: none.
        groups: Groups that replay.
        version: Weight version that is announced again.
    """

    rollout: int
    groups: int
    version: int


class Run:
    """A run. Pickles, also into Ray actors; where it arrives it joins as a client at the first call that needs it.

    Made by `outrider.start`, `outrider.own` and `outrider.connect`. Any thread may call it. Every call that waits has an
    `_async` form for event loops.

    Attributes:
        name: Unique among the runs of a Ray namespace.
        id: 16 random bytes in hex; a run of the same name later has another.
    """

    def __init__(
        self,
        key: Key,
        locator: Locator,
        owner: Attachment | None = None,
    ) -> None:
        self.name = key.name
        self.id = key.id
        self._key = key
        self._locator = locator
        self._owner = owner
        self._lock = threading.Lock()  # guards _client_member, _closing
        self._client_member: Member | None = None
        self._closing: Future[Answer] | None = None
        self._final: tuple[Stats, bytes] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Run, (self._key, self._locator)

    def __repr__(self) -> str:
        return f"<outrider.Run {self.name!r} {self.id[:8]}>"

    @property
    def next_rollout(self) -> int:
        """Rollout to be taken next: one above the last that was committed. Asks the owner, and waits while a restarted one learns it."""
        return blocking(self._stats(ready=True)).next_rollout

    async def next_rollout_async(self) -> int:
        """`next_rollout`, awaited."""
        await self._join()
        return (await awaiting(self._stats(ready=True))).next_rollout

    @property
    def final_state(self) -> bytes | None:
        """State bytes of the cut at the run's end, everything unsettled in it; None before `close`."""
        return None if self._final is None else self._final[1]

    def take(self, rollout: int, timeout: float | None = None) -> Lease:
        """Takes a batch: waits until a batch is complete and leases it under a rollout id.

        The same rollout asked again by this process gives the same open lease.

        Args:
            rollout: Id of the training step that the batch is for.
            timeout: Seconds to wait; None: as long as it takes.

        Returns:
            The open lease: commit it, roll it back, or use it as a context manager. Metadata only; no token bytes come here.

        Raises:
            TimeoutError: Not enough groups were complete in time; none is lost.
            Conflict: Another process has a lease of this rollout.
            Refused: The run went back, and another rollout comes next; the message says which.
            NoWorkers: Nobody was there for `Policy.join_timeout` who could work.
            EndOfRun: The source is exhausted and everything has settled.
            RunFailed: Too many groups have failed.
            Closed: The run was closed.
        """
        return blocking(take(self._client(), rollout, timeout))

    async def take_async(self, rollout: int, timeout: float | None = None) -> Lease:
        """`take`, awaited. Cancelling it loses no group."""
        await self._join()
        return await awaiting(take(self._client(), rollout, timeout))

    def update_weights(
        self,
        version: int,
        send: Send,
        restore: Any = None,
        mode: str = "drain",
        resend: int = 1,
        digest: str | None = None,
    ) -> UpdateReport:
        """Announces new weights at this point of the caller's own thread: hold, wait, send, confirm, record, reopen.

        Args:
            version: Number of the new weights, above the announced one.
            send: `send(version, members)` moves the weights to the engines `members`; each engine then calls `confirm`.
                An exception is kept as a cause and the engines that confirmed go on.
            restore: `restore(version)` puts the trainer back to the last version, and has it say so (`Trainer.restored`).
                Given: a failure takes weights and ledger back together and raises. Not given: the run goes forward with the engines that confirmed.
            mode: "drain": wait until what runs has ended, then send; "in_flight": send while it runs.
            resend: Times that `send` is called again for engines that have not confirmed.
            digest: Of the weights. An engine that confirms this version with another digest is refused, and has not loaded it. None: the
                digests that engines give are compared with each other. Those that contradict each other do not count as confirmed, since
                nobody says which is right; one that they agree on is recorded as the version's. An engine that gives none is not compared.

        Returns:
            Who confirmed, who did not, which leases were revoked by the staleness bound, and what went wrong on the way.

        Raises:
            UpdateFailed: No engine confirmed (the run stays held until `rebroadcast`, `rewind` or `close`; `Stats.waits_for` says so), or it
                was rolled back. After the last group of a finite source no engine is needed: they have left.
            Conflict: The caller is inside of a `hold` block of its own; an update waits for the end of every earlier hold.
            Refused: The version is not above the announced one.
            ConfigError: An argument of the wrong kind.
        """
        return blocking(update_weights(self._client(), version, send, restore, mode, resend, digest))

    async def update_weights_async(
        self,
        version: int,
        send: Send,
        restore: Any = None,
        mode: str = "drain",
        resend: int = 1,
        digest: str | None = None,
    ) -> UpdateReport:
        """`update_weights`, awaited; `send` and `restore` may be async functions and run on this event loop."""
        await self._join()
        return await awaiting(update_weights(self._client(), version, send, restore, mode, resend, digest))

    def rebroadcast(self, send: Send) -> UpdateReport:
        """Brings engines that (re)joined to the announced version, at this point of the caller's own thread.

        Where the trainer has trained more since that version was announced, `update_weights` is the call: engines that name the digest
        of other weights than the version's are refused.

        Args:
            send: As in `update_weights`; gets the announced version and the engines that have not confirmed it. Not called
                when all have. While no engine is attached, the call waits for the first: a driver may be ready before its engines are.

        Returns:
            Who confirmed, who did not.

        Raises:
            UpdateFailed: Engines were there, and not one holds the announced version afterwards.
            NoWorkers: No engine came for `Policy.join_timeout`.
        """
        return blocking(rebroadcast(self._client(), send))

    async def rebroadcast_async(self, send: Send) -> UpdateReport:
        """`rebroadcast`, awaited."""
        await self._join()
        return await awaiting(rebroadcast(self._client(), send))

    def hold(self, reason: str) -> Hold:
        """Keeps new reservations and new leases out while a `with` (or `async with`) block runs.

        The block begins when what ran before has ended. Holds overlap, also several of one process; admission reopens after the last. A hold and
        a weight update exclude each other, the earlier one goes first: what is evaluated on the run's own engines sees one version.
        Evaluation of a snapshot, on engines that are not the run's, needs no hold.

        Args:
            reason: Shown in status and log.

        Raises:
            Closed: The run was closed.
            UpdateFailed: On entry: the run is held by an update that failed.
        """
        self._open()
        return Hold(self, reason)

    def cancel(self, groups: Sequence[int], reason: str = "") -> int:
        """Asks the workers of running groups to end them: their `serve` calls are cancelled, a `Work` says `cancelled`.

        A group goes elsewhere only when its worker says that it has ended, or is lost; a result that was there already counts.

        Args:
            groups: Indices of groups; those that do not run are left alone.
            reason: Shown in the log.

        Returns:
            How many workers' executions were asked to end; those that had been asked before do not count.

        Raises:
            Closed: The run is over.
        """
        return blocking(self._cancel(groups, reason))

    async def cancel_async(self, groups: Sequence[int], reason: str = "") -> int:
        """`cancel`, awaited."""
        await self._join()
        return await awaiting(self._cancel(groups, reason))

    def _cancel(self, groups: Sequence[int], reason: str) -> Steps[int]:
        named = wire.CancelGroups(groups=counts("groups", groups, 0), reason=text("reason", reason))
        answer = yield Wait(self._client().ask(cancel_groups=named))
        return int(answer.frame.groups_cancelled.asked)

    def rewind(self, rollout: int) -> Rewound:
        """Goes back: acknowledgements and discards after `rollout` replay, open leases roll back, later versions are void.

        The trainer's weights go back by your own hand; each rank that had trained more says so by `Trainer.restored`.

        Args:
            rollout: Last rollout to keep; −1: none.

        Raises:
            Refused: Above the last commit, or below what `saved` let go.
        """
        return blocking(self._rewind(rollout))

    async def rewind_async(self, rollout: int) -> Rewound:
        """`rewind`, awaited."""
        await self._join()
        return await awaiting(self._rewind(rollout))

    def _rewind(self, rollout: int) -> Steps[Rewound]:
        answer = yield Wait(self._client().ask(rewind=wire.Rewind(rollout=count("rollout", rollout, -1))))
        rewound = answer.frame.rewound
        return Rewound(rewound.rollout, rewound.groups, rewound.version)

    def state(self, rollout: int) -> bytes:
        """The run at the cut of a rollout, for the trainer's own checkpoint: at once, without draining anything.

        Args:
            rollout: Last rollout in the checkpoint's parameters.

        Returns:
            Bytes for `start(state=…)` and `Trainer(state=…)`; normally below 1 MB.

        Raises:
            Refused: A lease of a rollout at or below it is open, nothing was committed under it, or it lies below one saved.
        """
        return blocking(self._state(rollout))

    async def state_async(self, rollout: int) -> bytes:
        """`state`, awaited."""
        await self._join()
        return await awaiting(self._state(rollout))

    def _state(self, rollout: int) -> Steps[bytes]:
        answer = yield Wait(self._client().ask(get_state=wire.GetState(rollout=count("rollout", rollout, -1))))
        return bytes(answer.frame.state_bytes.state)

    def saved(self, rollout: int) -> None:
        """Says that `state(rollout)` is durable: older acknowledgements need not be kept.

        Raises:
            Refused: That state was never given, or a later one was saved.
        """
        blocking(self._saved(rollout))

    async def saved_async(self, rollout: int) -> None:
        """`saved`, awaited."""
        await self._join()
        await awaiting(self._saved(rollout))

    def _saved(self, rollout: int) -> Steps[None]:
        yield Wait(self._client().ask(saved=wire.Saved(rollout=count("rollout", rollout, -1))))

    def push(self, id: str | bytes | int, row: Mapping[str, Any] | pa.RecordBatch, wait: bool = True) -> bool:  # noqa: A002  (read as English where it is called)
        """Gives one prompt to a run whose source is `outrider.stream()`; copied.

        An id that was pushed before with an equal row counts once, however often and by whomever it is said, also after a restart:
        a producer that does not know how far it came pushes again. Ids are known until 16,384 later ones have settled in a saved
        state. This process's sidecar keeps the row until its group has settled in a state that was `saved`; so does the run, which
        holds at most 24 MiB of rows, and lets pushes wait beyond that.

        Args:
            id: Of the prompt, unique in the run: text, bytes or an integer.
            row: A dict, or a record batch of one row.
            wait: Wait while `waiting` groups are unsettled; False: refuse.

        Returns:
            Whether it is new.

        Raises:
            Conflict: The id was pushed before with another row.
            Refused: No stream, or it has ended, or there is no room and `wait` is False.
            DataError: What is not one row.
        """
        return blocking(self._push([(id, row)], wait)) == 1

    async def push_async(
        self,
        id: str | bytes | int,  # noqa: A002
        row: Mapping[str, Any] | pa.RecordBatch,
        wait: bool = True,
    ) -> bool:
        """`push`, awaited."""
        await self._join()
        return await awaiting(self._push([(id, row)], wait)) == 1

    def push_many(self, rows: Mapping[Any, Any] | Iterable[tuple[Any, Any]], wait: bool = True) -> int:
        """`push` of several at once, in order: all of them or none. At most `waiting` new ones, and 8 MiB of rows.

        Args:
            rows: Rows by id, or pairs of id and row.
            wait: As in `push`; it waits until there is room for all of them.

        Returns:
            How many are new.

        Raises:
            Conflict: An id was pushed before with another row.
            Refused: As in `push`, or more than ever fit.
            DataError: What is not one row.
        """
        return blocking(self._push(pairs(rows), wait))

    async def push_many_async(self, rows: Mapping[Any, Any] | Iterable[tuple[Any, Any]], wait: bool = True) -> int:
        """`push_many`, awaited."""
        await self._join()
        return await awaiting(self._push(pairs(rows), wait))

    def _push(self, rows: Iterable[tuple[Any, Any]], wait: bool) -> Steps[int]:
        answer = yield Wait(self._client().ask(push=to_push(rows, wait)))
        return int(answer.frame.pushed.fresh)

    def end_stream(self) -> None:
        """Says that nothing new will be pushed: the run ends when all that was has settled. Idempotent.

        Raises:
            Refused: The source is no stream.
        """
        blocking(self._end_stream())

    async def end_stream_async(self) -> None:
        """`end_stream`, awaited."""
        await self._join()
        await awaiting(self._end_stream())

    def _end_stream(self) -> Steps[None]:
        yield Wait(self._client().ask(end_stream=wire.EndStream()))

    def stats(self, *, step: bool = False) -> Stats:
        """One look at the run; after `close`, the last one.

        Args:
            step: Also what happened since this was asked for the last time, as `Stats.step`: ask once per training step.
                The counters are the run's: whoever asks starts them again.
        """
        return blocking(self._stats(step=step))

    async def stats_async(self, *, step: bool = False) -> Stats:
        """`stats`, awaited."""
        await self._join()
        return await awaiting(self._stats(step=step))

    def _stats(self, ready: bool = False, step: bool = False) -> Steps[Stats]:
        if self._final is not None:
            return self._final[0]
        answer = yield Wait(self._client().ask(get_stats=wire.GetStats(ready=ready, step=flag("step", step))))
        return _stats.from_wire(answer.frame.stats)

    def metrics(self) -> str:
        """The run's numbers, books included, and its owner's process in the Prometheus text format.

        Raises:
            Closed: The run was closed; `stats` still has the last look.
        """
        return blocking(self._metrics())

    async def metrics_async(self) -> str:
        """`metrics`, awaited."""
        await self._join()
        return await awaiting(self._metrics())

    def _metrics(self) -> Steps[str]:
        answer = yield Wait(self._client().ask(get_metrics=wire.GetMetrics()))
        return str(answer.frame.metrics.text)

    def progress(self) -> str:
        """One live line: rollout, version, books, what executes and what is completed of how much, staleness, what it waits for."""
        return self.stats().line()

    async def progress_async(self) -> str:
        """`progress`, awaited."""
        return (await self.stats_async()).line()

    def close(self, force: bool = False) -> Stats:
        """Ends the run for everybody: new work stops, what runs is cancelled and awaited, the rest goes back to the source.

        Idempotent; several callers share one close. The owner's actor ends with it.

        Args:
            force: Roll open leases back instead of refusing.

        Returns:
            The final counts, books closed; logged at level INFO.

        Raises:
            Refused: Leases are open (without `force`); lists rollouts and admission ids.
            Error: The books do not close. The run has ended all the same, and `final_state` is there.
        """
        return blocking(self._close(force))

    async def close_async(self, force: bool = False) -> Stats:
        """`close`, awaited."""
        await self._join()
        return await awaiting(self._close(force))

    def _close(self, force: bool) -> Steps[Stats]:
        if self._final is not None:
            return self._final[0]
        client = self._client()
        with self._lock:
            closing = self._closing
            if closing is None or (closing.done() and closing.exception() is not None):
                closing = self._closing = client.ask(close=wire.Close(force=flag("force", force)))
        answer = yield Wait(closing)
        with self._lock:
            if self._final is not None:
                return self._final[0]
            self._final = _stats.from_wire(answer.frame.closed.stats), bytes(answer.frame.closed.state)
            owner, self._owner = self._owner, None
        yield from client.leave(f"run {self.name!r}")
        if owner is not None:
            owner.release()
        self._locator.end()
        books = self._final[0].books
        log.info("the books of run %r at its end: %s", self.name, books)
        books.check()
        return self._final[0]

    def detach(self) -> None:
        """Leaves the run without closing it. Idempotent; a later call joins again."""
        blocking(self._detach())

    async def detach_async(self) -> None:
        """`detach`, awaited."""
        await awaiting(self._detach())

    def _detach(self) -> Steps[None]:
        with self._lock:
            client, self._client_member = self._client_member, None
        if client is not None:
            yield from client.leave(f"run {self.name!r} in this process")

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close(force=True)
        except Exception as second:
            # The first error is the one to see.
            error.__context__ = second

    async def __aenter__(self) -> Run:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close_async()
            return
        try:
            await self.close_async(force=True)
        except Exception as second:
            error.__context__ = second

    def _wire(self) -> Any:
        return self._key.to_wire()

    async def _join(self) -> None:
        """Joins off the event loop where this process has not joined yet."""
        if self._client_member is None and self._final is None:
            await asyncio.to_thread(self._client)

    def _open(self) -> None:
        if self._final is not None:
            raise Closed(f"outrider: run {self.name!r} is closed; start a new one")

    def _client(self) -> Member:
        """The session of this process's driver side; joins at the first call."""
        self._open()
        with self._lock:
            if self._client_member is None:
                if self._owner is not None and self._owner.channel.ended is not None:
                    raise copy(self._owner.channel.ended)  # nobody takes the place of an owner in this process
                member = Member(self, "client")
                member.listen(lambda frame, fds: None, lambda: None)
                self._client_member = member
            return self._client_member

"""What a run looks like from outside: counts, bounds, books."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from outrider.errors import Error


@dataclass(frozen=True)
class Count:
    """A number of groups with their samples and tokens."""

    groups: int
    samples: int
    tokens: int


@dataclass(frozen=True)
class Books:
    """Where every reserved group has gone: reserved = acknowledged + discarded + failed + live.

    Attributes:
        reserved: Groups taken from the source.
        acknowledged: Accepted for training.
        discarded: Consumed without training, by reason.
        failed: Parked, because their own data failed too often.
        live: Not settled.
        live_groups: The same in groups, by state.
    """

    reserved: Count
    acknowledged: Count
    discarded: dict[str, Count]
    failed: Count
    live: Count
    live_groups: dict[str, int]

    @property
    def closed(self) -> bool:
        """Whether both sides are equal in groups, and in samples and tokens of what has been generated."""
        return not self._gaps()

    def check(self) -> None:
        """Does nothing when the books are closed.

        Raises:
            Error: They are not; names the unit and both sides.
        """
        gaps = self._gaps()
        if gaps:
            raise Error(
                f"outrider: the books are open: {'; '.join(gaps)}; this is a defect of outrider: please report it with the owner's log"
            )

    def _gaps(self) -> list[str]:
        settled = (self.acknowledged, self.failed, self.live, *self.discarded.values())
        gaps = []
        for unit in ("groups", "samples", "tokens"):
            reserved, found = getattr(self.reserved, unit), sum(getattr(part, unit) for part in settled)
            if reserved != found:
                gaps.append(f"{reserved} {unit} reserved, but {found} acknowledged, discarded, failed and live")
        return gaps


@dataclass(frozen=True)
class Bound:
    """One of the four bounds. `limit` 0: none."""

    used: int
    limit: int


@dataclass(frozen=True)
class MemberStats:
    """One attached session.

    Attributes:
        name: The actor's name, class, or the driver's pid.
        role: "worker", "engine", "client", or the trainer's …
        session: Number of its session.
        executing: Samples that run there.
        slots: Parent slots that it runs at once.
        confirmed_version: Version of the weights that it says it holds.
        confirmed: Whether that is the announced one.
        stuck: Those of the executing samples that it did not end when it was told to.
        orphans: Of an engine: samples of lost workers that may still run under its name.
        pid: Of its process, on its own host.
        mapped_bytes: Of a trainer rank: segments of rollouts that its process has mapped, in whole, whatever rows it reads of
            them. Its sidecar reads it from the kernel each second or so, whatever Python does: a batch, an array or a tensor that
            is a view of one keeps it mapped. Pages that ranks of one host share count for each of their processes, and the ranks of
            one process all say the same; what a fork of the process keeps is not known, nor what is kept after `close()`.
        held_segments: Those of them that have been mapped for longer than `policy.held_warning`.
        held_bytes: Their bytes.
        held_seconds: For how long the first of them has been; 0 without any.
    """

    name: str
    role: str
    session: int
    executing: int
    slots: int
    confirmed_version: int
    confirmed: bool
    stuck: int
    orphans: int
    pid: int
    mapped_bytes: int
    held_segments: int
    held_bytes: int
    held_seconds: float

    @property
    def held(self) -> str:
        """What it holds in words, "held by actor … pid … for 600 s, 3 segments, 412 MB"; empty when it holds nothing."""
        if not self.held_segments:
            return ""
        megabytes = self.held_bytes / 1e6
        size = f"{megabytes:.3g}" if megabytes < 100 else f"{megabytes:.0f}"  # as the owner's warning has it
        return (
            f"held by actor {self.name} pid {self.pid} for {self.held_seconds:.0f} s,"
            f" {self.held_segments} segments, {size} MB"
        )


@dataclass(frozen=True)
class Eviction:
    """The receipt of a finished group that is not trained as it is.

    Attributes:
        group: Index of the victim in the source's endless order.
        attempt: Which reservation of it, from 1.
        worker: Number of the session that made it.
        reason: "full": it gave way to another group in a full buffer; "stale": it was beyond `max_staleness`.
        min_version: Oldest weight version that it used.
        max_version: Newest one.
        became: "requeued" or "discarded".
        kept: The group that has its place; None where nobody waited for that.
    """

    group: int
    attempt: int
    worker: int
    reason: str
    min_version: int
    max_version: int
    became: str
    kept: int | None


@dataclass(frozen=True)
class StepStats:
    """What happened since step statistics were asked for the last time, and what is buffered.

    Attributes:
        consumed: Groups acknowledged.
        consumed_staleness_mean: Versions, over those.
        consumed_staleness_max: Versions.
        evicted_full: Groups that gave way in a full buffer.
        evicted_stale: Groups that were beyond `max_staleness`.
        requeued: Groups that went back to the source, for whatever reason.
        buffered: Finished groups that are in no batch.
        buffered_staleness_mean: Versions, over those.
        buffered_staleness_max: Versions.
        evictions: Receipts of the evicted groups in order, the last 64.
    """

    consumed: int
    consumed_staleness_mean: float
    consumed_staleness_max: int
    evicted_full: int
    evicted_stale: int
    requeued: int
    buffered: int
    buffered_staleness_mean: float
    buffered_staleness_max: int
    evictions: tuple[Eviction, ...]


@dataclass(frozen=True)
class Stats:
    """One look at a run, of one moment.

    Attributes:
        books: Where the groups are.
        next_rollout: Rollout that is to be taken next.
        announced_version: Version of the weights that the trainer announced last.
        timeline: Rises when the run goes back to older weights.
        term: Rises with each life of the owner.
        executing: Samples.
        retained: Groups.
        completed: Groups.
        bytes: Bytes of segments, of the fullest host.
        holds: Claims that keep new work out.
        workers: Attached.
        trainers: Attached ranks.
        requeued: Groups that went back to the source, all told.
        stale_outcomes: Reports that came with a void receipt.
        evicted: Groups that gave way to fresher ones.
        staleness_mean: Versions, over all acknowledged groups.
        staleness_max: Versions.
        rewinds: Times that the run went back.
        resident_bytes: Memory of the owner's sidecar.
        ownership: "leases" or "none".
        members: Everybody attached.
        unconfirmed: Engines that get no work until they confirm the announced version.
        recovering: Whether a restarted owner still waits for its base or for its members.
        cursor: Groups that were ever reserved: each one is acknowledged, discarded, failed, live or to be replayed.
        replay: Groups below the cursor that are back in the source.
        stuck: Samples that their workers did not end when they were told to.
        orphans: Samples that lost workers ran on engines elsewhere, which may run them still.
        resting: Groups that wait before they go out again, because their executions were lost one after the other.
        waiting_for_bytes: Producers of finished groups that wait until their host has room to write them.
        overdrawn: Groups that went beyond the byte bound because somebody waited for them, in this life of the owner.
        interrupted: Executions that were lost with their worker or to their deadline, in this life of the owner.
        kept: Finished groups that a process beside their worker came to have as well, in this life of the owner.
        rescued: Those of them whose worker was lost, or left, before they had settled: they are trained all the same.
        waits_for: What the first waiting take lacks when nothing that runs will bring it, for example engines that have not
            confirmed the announced version, or a trainer rank that is not attached; else empty.
        sampled_tokens: Lengths of the groups that were generated: element i counts groups of less than 2**i tokens that no
            element before it counts.
        trained_tokens: The same of those that were acknowledged: where the two differ, long groups are trained less often.
        stale_requeues: Element i counts groups that came to their end after they had been too stale i times; element 5 that
            or more.
        step: Of `run.stats(step=True)`, else None.
    """

    books: Books
    next_rollout: int
    announced_version: int
    timeline: int
    term: int
    executing: Bound
    retained: Bound
    completed: Bound
    bytes: Bound
    holds: int
    workers: int
    trainers: int
    requeued: int
    stale_outcomes: int
    evicted: int
    staleness_mean: float
    staleness_max: int
    rewinds: int
    resident_bytes: int
    ownership: str
    members: tuple[MemberStats, ...]
    unconfirmed: int
    recovering: bool
    cursor: int
    replay: int
    stuck: int
    orphans: int
    resting: int
    waiting_for_bytes: int
    overdrawn: int
    interrupted: int
    kept: int
    rescued: int
    waits_for: str
    sampled_tokens: tuple[int, ...] = ()
    trained_tokens: tuple[int, ...] = ()
    stale_requeues: tuple[int, ...] = ()
    step: StepStats | None = None

    @property
    def held_by(self) -> tuple[str, ...]:
        """Who holds memory of rollouts for long, in words: `MemberStats.held` of each who does."""
        return tuple(member.held for member in self.members if member.held)

    def line(self) -> str:
        """All of it in one line, for a live display."""
        discarded = sum(part.groups for part in self.books.discarded.values())
        return (
            f"rollout {self.next_rollout} · version {self.announced_version} · {self.books.acknowledged.groups} acknowledged"
            f" · {self.books.live.groups} live · {discarded} discarded · {self.books.failed.groups} failed"
            f" · executing {_of(self.executing)} · completed {_of(self.completed)}"
            f" · staleness {self.staleness_mean:.2f}/{self.staleness_max} · {self.workers} workers{' · held' if self.holds else ''}{' · recovering' if self.recovering else ''}{f' · waits: {self.waits_for}' if self.waits_for else ''}"
            f"{''.join(f' · {held}' for held in self.held_by)}"
        )


def _of(bound: Bound) -> str:
    return f"{bound.used}/{bound.limit}" if bound.limit else str(bound.used)


def from_wire(stats: Any) -> Stats:
    """The frozen form of a `Stats` message."""
    bounds: dict[str, Any] = {
        name: Bound(getattr(stats, name), getattr(stats, f"{name}_limit"))
        for name in ("executing", "retained", "completed", "bytes")
    }
    return Stats(
        books=Books(
            reserved=_count(stats.books.reserved),
            acknowledged=_count(stats.books.acknowledged),
            discarded={reason: _count(part) for reason, part in stats.books.discarded.items()},
            failed=_count(stats.books.failed),
            live=_count(stats.books.live),
            live_groups=dict(stats.books.live_groups),
        ),
        timeline=stats.timeline.number,
        term=stats.term.number,
        **bounds,
        **{name: getattr(stats, name) for name in _SAME},
        sampled_tokens=tuple(stats.sampled_tokens),
        trained_tokens=tuple(stats.trained_tokens),
        stale_requeues=tuple(stats.stale_requeues),
        step=_step(stats.step) if stats.HasField("step") else None,
        members=tuple(
            MemberStats(**{name: getattr(member, name) for name in MemberStats.__dataclass_fields__})
            for member in stats.members
        ),
    )


_SAME = (
    "next_rollout",
    "announced_version",
    "holds",
    "workers",
    "trainers",
    "requeued",
    "stale_outcomes",
    "evicted",
    "staleness_mean",
    "staleness_max",
    "rewinds",
    "resident_bytes",
    "ownership",
    "unconfirmed",
    "recovering",
    "cursor",
    "replay",
    "stuck",
    "orphans",
    "resting",
    "waiting_for_bytes",
    "overdrawn",
    "interrupted",
    "kept",
    "rescued",
    "waits_for",
)


def _step(step: Any) -> StepStats:
    same = {name: getattr(step, name) for name in StepStats.__dataclass_fields__ if name != "evictions"}
    return StepStats(evictions=tuple(_eviction(one) for one in step.evictions), **same)


def _eviction(one: Any) -> Eviction:
    return Eviction(
        group=one.receipt.group,
        attempt=one.receipt.attempt,
        worker=one.receipt.worker,
        reason=one.reason,
        min_version=one.min_version,
        max_version=one.max_version,
        became=one.became,
        kept=one.kept.group if one.HasField("kept") else None,
    )


def _count(count: Any) -> Count:
    return Count(count.groups, count.samples, count.tokens)

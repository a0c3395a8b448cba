"""What a run may use and how it decides: checked here for kind, by the owner for sense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from outrider._check import MILLION, MOST_GROUPS, Problems, choice, count, flag, optional_count, real, size

YEAR = 366 * 86400.0

WORDS = {
    "submission": ("sample", "group"),
    "order": ("fifo", "lifo", "windowed", "freshest"),
    "stale": ("requeue", "drop"),
    "full": ("block", "evict"),
    "last_batch": ("short", "drop", "next_epoch"),
    "commit_order": ("refuse", "wait"),
    "rewind": ("allow", "refuse"),
}
"""What the words of a policy can be."""

TIMES = {
    "execution_deadline": True,
    "cancel_grace": False,
    "orphan_ttl": False,
    "start_deadline": True,
    "join_timeout": True,
    "stall_warning": True,
    "held_warning": True,
}
"""The spans of time of a policy; whether None, no limit, is an option."""


def seconds(name: str, value: Any, optional: bool) -> float | None:
    """Checks a span of time: more than 0 s, at most a year; None, where that is an option: no limit.

    Raises:
        ConfigError: Something else.
    """
    return None if optional and value is None else real(name, value, 0.001, YEAR)


@dataclass(frozen=True)
class Limits:
    """The four bounds. What is left out is derived from batch, group and worker sizes; the owner's log says how.

    Attributes:
        executing: Samples that run at once.
        retained: Groups between reservation and settlement.
        completed: Finished groups that wait for a batch or are in one.
        bytes: Bytes of segments on each host, of all workers there together: an integer, or text such as "4GiB". None: half of the
            memory that the least of the host's containers may use. A finished group waits for room before it is written; the oldest
            one that a take waits for may go beyond, one at a time, with a warning. What a stage adds counts, and waits for no room.
            Counted until the run lets go of the data: what a rank reads for longer is reported (`run.stats().held_by`) and not in it.

    Raises:
        ConfigError: Bounds that are no positive whole numbers, all in one message.
    """

    executing: int | None = None
    retained: int | None = None
    completed: int | None = None
    bytes: int | str | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        for name in ("executing", "retained", "completed"):
            value = problems.of(optional_count, f"limits.{name}", getattr(self, name), 1, MOST_GROUPS)
            object.__setattr__(self, name, value)
        if self.bytes is not None:
            object.__setattr__(self, "bytes", problems.of(size, "limits.bytes", self.bytes))
        problems.tell()


@dataclass(frozen=True)
class Policy:
    """How the run decides.

    Attributes:
        submission: "sample": a prompt group goes out as soon as enough samples have ended, wherever; "group": when a whole group has.
        order: Which finished group is trained first. "fifo": the one that finished first; "lifo": last. "freshest": the one whose
            oldest token is of the highest version. "windowed": the one that was dispatched first; while that runs, others may pass
            it as long as fewer than `window` were dispatched from it to them.
        window: Of the order "windowed", in groups; None: `batch_groups`. A group is passed by `window` − 1 others at most, so it is
            trained at most ceil((window − 1) / (batch_groups · batches_per_update)) versions later than in order of dispatch. It
            keeps short responses from being trained first. 1 is strict order.
        max_staleness: Weight versions that a trained group may lie behind the announced one; None: no bound.
        pace: Keeps the bound without throwing anything away: no more is generated than can be trained within it, and a batch waits for
            groups that would be too old in the next version. Needs `max_staleness`, and weights announced after every
            `batches_per_update` batches.
        batches_per_update: Batches that make one weight version.
        stale: What becomes of a group beyond the bound: "requeue" (generated anew) or "drop" (discarded and counted).
        full: With no place for a finished group: "block" (it waits) or "evict" (the stalest goes back to the source).
        last_batch: What becomes of the last groups of a finite source when they fill no batch: "short" (a smaller batch, marked),
            "drop" (discarded and counted), or "next_epoch" (their batch is filled with the first groups of the epoch that would
            follow, of one epoch at most).
        commit_order: What becomes of a commit while the lease of a lower rollout is open: "refuse", or "wait" until that is
            committed; it is refused when that is rolled back. With "wait", whoever holds both leases commits the lower one first, or
            each in a thread or task of its own: a caller that waits for its own later commit waits for ever.
        max_attempts: Times that a group's own data may fail before it is parked as failed.
        max_requeues: Times that a group which ends too stale is simply generated anew, with stale="requeue". After that it goes out
            first when the next version is announced; if it ends too stale even so, it is discarded and counted as "stale".
        max_failed: The run ends with `RunFailed` when this share of the source's groups, at least one group, has been parked.
        rewind: Whether a trainer with older weights may take the run back: "allow" or "refuse".
        join_window: Seconds, at least 0.001, that a restarted owner waits for members to bring what they hold.
        execution_deadline: Seconds that one execution of a group may take, all its samples together, before its worker is told to
            cancel it; None: for ever. No data attempt is used up.
        cancel_grace: Seconds that a worker may take to end what it was told to cancel for its deadline. After that the execution
            is void: its group goes elsewhere, and its samples count against the worker's slots as stuck until they do end. A
            worker with more than half of its slots stuck gets no work.
        orphan_ttl: Seconds that what a lost worker ran on an `outrider.Engine` counts against that, and is waited for by a draining
            update, unless the engine says `quiet`.
        start_deadline: Seconds that a worker may be attached without asking for work or, when it is its own engine, without
            confirmed weights, before a warning names it and it is not counted on any more; None: for ever.
        join_timeout: Seconds that a waiting take waits while no worker is there that can work; then it raises `NoWorkers` and
            says what is missing. None: for ever.
        stall_warning: Seconds without a finished group, while some run or a take waits, before a warning gives counts and the
            oldest execution; further warnings come ever slower. None: no warning.
        held_warning: Seconds that a rank's process may have a segment mapped, by a batch or by any view of it, before it counts as
            held: `run.stats().held_by` names who holds it, and a warning does so once until nothing is held. None: nothing is.
        checksums: Whether each segment carries a CRC-32 of the engine's columns also on its own host: compared before the group
            counts as finished, and again before a rank reads it. A segment is sealed from its writing on, so this finds columns that are
            changed while they are written, and broken memory. Measured: half a second for each GB in the engine, off the event loop,
            a fifth in each sidecar that reads. Between hosts there is always a checksum of the transport.

    Raises:
        ConfigError: Words and numbers that cannot work, all in one message; names each argument, its value, and what can.
    """

    submission: str = "sample"
    order: str = "fifo"
    window: int | None = None
    max_staleness: int | None = None
    pace: bool = False
    batches_per_update: int = 1
    stale: str = "requeue"
    full: str = "block"
    last_batch: str = "short"
    commit_order: str = "refuse"
    max_attempts: int = 3
    max_requeues: int = 3
    max_failed: float = 0.01
    rewind: str = "allow"
    join_window: float = 5.0
    execution_deadline: float | None = 3600.0
    cancel_grace: float = 30.0
    orphan_ttl: float = 600.0
    start_deadline: float | None = 300.0
    join_timeout: float | None = 600.0
    stall_warning: float | None = 30.0
    held_warning: float | None = 600.0
    checksums: bool = False

    def __post_init__(self) -> None:
        problems = Problems()

        def check(name: str, how: Callable[..., Any], *bounds: Any) -> None:
            object.__setattr__(self, name, problems.of(how, f"policy.{name}", getattr(self, name), *bounds))

        for name, words in WORDS.items():
            check(name, choice, words)
        check("window", optional_count, 1, MOST_GROUPS)
        check("max_staleness", optional_count, 0, MILLION)
        check("pace", flag)
        check("checksums", flag)
        check("batches_per_update", count, 1, MILLION)
        check("max_attempts", count, 1, 255)
        check("max_requeues", count, 1, 254)
        check("max_failed", real, 0.0, 1.0)
        check("join_window", real, 0.001, 3600.0)
        for name, optional in TIMES.items():
            check(name, seconds, optional)
        problems.tell()

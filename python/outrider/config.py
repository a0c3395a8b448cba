"""What a run may use and how it decides: checked here for kind, by the owner for sense."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outrider import _wire_pb2 as wire
from outrider.adds import declared, stage_name
from outrider.errors import ConfigError

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "TIB": 1 << 40,
}
_INT64 = (1 << 63) - 1
_TIMES = (
    "execution_deadline",
    "cancel_grace",
    "orphan_ttl",
    "start_deadline",
    "join_timeout",
    "stall_warning",
    "held_warning",
)


def count(name: str, value: Any, least: int, most: int = _INT64) -> int:
    """Checks a count.

    Args:
        name: Of the argument, for the message.
        value: What the user gave; numpy integers count as integers, booleans and floats do not.
        least: Smallest value that works.
        most: Largest value that works.

    Returns:
        The value as an int.

    Raises:
        ConfigError: Not an integer, or out of range.
    """
    bound = f"at least {least}" if most == _INT64 else f"from {least} to {most}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ConfigError(
            f"outrider: {name}={value!r} is a {type(value).__name__}, not an integer; give a whole number, {bound}"
        )
    number = int(value.__index__())
    if not least <= number <= most:
        raise ConfigError(f"outrider: {name}={number} is out of range; give a whole number, {bound}")
    return number


def real(name: str, value: Any, least: float, most: float) -> float:
    """Checks a finite real number in [least, most]; booleans are refused.

    Raises:
        ConfigError: Not a number, not finite, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(
            f"outrider: {name}={value!r} is a {type(value).__name__}, not a number; give one from {least:g} to {most:g}"
        )
    if not math.isfinite(value) or not least <= value <= most:
        raise ConfigError(f"outrider: {name}={value!r} is out of range; give a number from {least:g} to {most:g}")
    return float(value)


def seconds(policy: Policy, name: str, optional: bool = False) -> None:
    """Checks a span of time of a policy: more than 0 s, at most a year; None, where that is an option: no limit.

    Raises:
        ConfigError: Something else.
    """
    value = getattr(policy, name)
    if optional and value is None:
        return
    object.__setattr__(policy, name, real(f"policy.{name}", value, 0.001, 366 * 86400.0))


def choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Checks a word.

    Raises:
        ConfigError: Not one of the choices.
    """
    if value not in choices:
        raise ConfigError(f"outrider: {name}={value!r} is unknown; choose one of {', '.join(map(repr, choices))}")
    return str(value)


def size(name: str, value: Any) -> int:
    """Bytes as an integer or as text with a unit ("4GiB", "500MB").

    Raises:
        ConfigError: Neither, or not positive.
    """
    if not isinstance(value, str):
        return count(name, value, 1)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
    if match is None or match[2].upper() not in _UNITS:
        raise ConfigError(
            f"outrider: {name}={value!r} is no size; give bytes as an integer or text such as '4GiB' or '500MB'"
        )
    return count(name, int(float(match[1]) * _UNITS[match[2].upper()]), 1)


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
        ConfigError: A bound that is no positive whole number.
    """

    executing: int | None = None
    retained: int | None = None
    completed: int | None = None
    bytes: int | str | None = None

    def __post_init__(self) -> None:
        for name in ("executing", "retained", "completed"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, count(f"limits.{name}", value, 1))
        if self.bytes is not None:
            object.__setattr__(self, "bytes", size("limits.bytes", self.bytes))


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
            committed; it is refused when that is rolled back.
        max_attempts: Times that a group's own data may fail before it is parked as failed.
        max_requeues: Times that a group which ends too stale is simply generated anew, with stale="requeue". After that it goes out
            first when the next version is announced; if it ends too stale even so, it is discarded and counted as "stale".
        max_failed: Share of the source's groups that may be parked before the run ends.
        rewind: Whether a trainer with older weights may take the run back: "allow" or "refuse".
        join_window: Seconds that a restarted owner waits for members to bring what they hold.
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
        ConfigError: A word or number that cannot work; names the argument, its value, and what can.
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
        choice("policy.submission", self.submission, ("sample", "group"))
        choice("policy.order", self.order, ("fifo", "lifo", "windowed", "freshest"))
        choice("policy.stale", self.stale, ("requeue", "drop"))
        choice("policy.full", self.full, ("block", "evict"))
        choice("policy.last_batch", self.last_batch, ("short", "drop", "next_epoch"))
        choice("policy.commit_order", self.commit_order, ("refuse", "wait"))
        choice("policy.rewind", self.rewind, ("allow", "refuse"))
        if self.max_staleness is not None:
            object.__setattr__(self, "max_staleness", count("policy.max_staleness", self.max_staleness, 0))
        if self.window is not None:
            object.__setattr__(self, "window", count("policy.window", self.window, 1))
        for name in ("pace", "checksums"):
            if not isinstance(value := getattr(self, name), bool):
                raise ConfigError(f"outrider: policy.{name}={value!r} is a {type(value).__name__}; give True or False")
        per_update = count("policy.batches_per_update", self.batches_per_update, 1, (1 << 31) - 1)
        object.__setattr__(self, "batches_per_update", per_update)
        object.__setattr__(self, "max_attempts", count("policy.max_attempts", self.max_attempts, 1, (1 << 32) - 1))
        object.__setattr__(self, "max_requeues", count("policy.max_requeues", self.max_requeues, 1, 254))
        object.__setattr__(self, "max_failed", real("policy.max_failed", self.max_failed, 0.0, 1.0))
        object.__setattr__(self, "join_window", real("policy.join_window", self.join_window, 0.0, 3600.0))
        for name in _TIMES:
            seconds(self, name, optional=name not in ("cancel_grace", "orphan_ttl"))


def to_wire(
    *,
    source: Any,
    group_size: Any,
    batch_groups: Any,
    batch_samples: Any,
    batch_tokens: Any,
    limits: Limits | None,
    policy: Policy | None,
    stages: Any,
    ownership: Any,
) -> Any:
    """The whole configuration of a run as the owner's sidecar takes it.

    Raises:
        ConfigError: Something of the wrong kind; whether the numbers work together is the owner's to say.
    """
    for name, value, kind in (("limits", limits, Limits), ("policy", policy, Policy)):
        if value is not None and not isinstance(value, kind):
            raise ConfigError(
                f"outrider: {name}={value!r} is a {type(value).__name__}; give an outrider.{kind.__name__}(...)"
            )
    if isinstance(stages, Mapping) or not isinstance(stages, Sequence):
        raise ConfigError(
            f"outrider: stages={stages!r} is a {type(stages).__name__}; give a list with the columns of each stage, such as [{{'reward': 'float64'}}]"
        )
    limits, policy = limits or Limits(), policy or Policy()
    if batch_groups is None and batch_samples is None:
        raise ConfigError(
            "outrider: batch_groups is missing; give the groups of a batch, with batch_tokens the most that it may have, or batch_samples"
        )
    return wire.Config(
        source=source.to_wire(),
        group_size=count("group_size", group_size, 1, (1 << 31) - 1),
        batch_groups=0 if batch_groups is None else count("batch_groups", batch_groups, 1, (1 << 31) - 1),
        batch_samples=0 if batch_samples is None else count("batch_samples", batch_samples, 1),
        batch_tokens=0 if batch_tokens is None else count("batch_tokens", batch_tokens, 1),
        executing=limits.executing or 0,
        retained=limits.retained or 0,
        completed=limits.completed or 0,
        bytes=0 if limits.bytes is None else size("limits.bytes", limits.bytes),
        submission=policy.submission,
        order=policy.order,
        window=policy.window or 0,
        max_staleness=-1 if policy.max_staleness is None else policy.max_staleness,
        pace=policy.pace,
        batches_per_update=policy.batches_per_update,
        stale=policy.stale,
        full=policy.full,
        last_batch=policy.last_batch,
        commit_order=policy.commit_order,
        max_attempts=policy.max_attempts,
        max_requeues=policy.max_requeues,
        max_failed=policy.max_failed,
        rewind=policy.rewind,
        stages=[stage_name(declared(f"stages[{at}]", adds)) for at, adds in enumerate(stages)],
        checksums=policy.checksums,
        ownership=choice("ownership", ownership, ("leases", "none")),
        join_window_ms=round(policy.join_window * 1000),
        times=wire.Times(
            **{
                name: -1 if value is None else max(1, round(value * 1000))
                for name in _TIMES
                for value in (getattr(policy, name),)
            }
        ),
    )

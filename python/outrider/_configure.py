"""What `own` and `start` are given, checked and put into the wire's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from outrider import _wire_pb2 as wire
from outrider._check import MILLION, MOST_GROUPS, Problems, choice, count, instance, optional_count, shown, state_bytes
from outrider.adds import declared, stage_name
from outrider.config import TIMES, Limits, Policy
from outrider.data_source import DataSource
from outrider.keyed import Keyed
from outrider.source import Table
from outrider.stream import Stream
from outrider.tls import TLS


def configure(
    *,
    name: Any,
    source: Any,
    group_size: Any,
    batch_groups: Any = None,
    batch_samples: Any = None,
    batch_tokens: Any = None,
    limits: Any = None,
    policy: Any = None,
    stages: Any = (),
    ownership: Any = "leases",
    state: Any = None,
    tls: Any = None,
) -> Any:
    """Checks everything that needs no sidecar; gives the whole configuration of a run as the owner's sidecar takes it.

    Raises:
        ConfigError: Arguments of the wrong kind, all in one message; whether the numbers work together is the owner's to say.
    """
    problems = Problems()
    if not isinstance(name, str) or not name or len(name) > 128 or not name.isprintable() or "/" in name:
        problems.say(f"name={shown(name)} cannot name a run; give 1 to 128 printable characters without '/'")
    if not isinstance(source, (Table, Keyed, Stream, DataSource)):
        problems.say(
            f"source={type(source).__name__} is no source; give outrider.table(rows), outrider.keyed(length, row), outrider.stream() or outrider.data_source(source)"
        )
    if batch_groups is None and batch_samples is None:
        problems.say(
            "batch_groups is missing; give the groups of a batch, with batch_tokens the most that it may have, or batch_samples"
        )
    config = wire.Config(
        group_size=problems.of(count, "group_size", group_size, 1, MILLION),
        batch_groups=problems.of(optional_count, "batch_groups", batch_groups, 1, MILLION),
        batch_samples=problems.of(optional_count, "batch_samples", batch_samples, 1, MOST_GROUPS),
        batch_tokens=problems.of(optional_count, "batch_tokens", batch_tokens, 1),
        ownership=problems.of(choice, "ownership", ownership, ("leases", "none")),
    )
    for argument, value, kind in (("limits", limits, Limits), ("policy", policy, Policy)):
        if value is not None:
            problems.of(instance, argument, value, kind, f"an outrider.{kind.__name__}(...)")
    added = _stages(problems, stages)
    problems.of(state_bytes, state)
    if tls is not None and not isinstance(tls, TLS):
        problems.say(f"tls={type(tls).__name__} is no certificates; give outrider.TLS(ca=..., cert=..., key=...)")
    problems.tell()
    config.source.CopyFrom(source.to_wire())
    config.stages.extend(added)
    config.MergeFrom(_decided(limits or Limits(), policy or Policy()))
    return config


def _stages(problems: Problems, stages: Any) -> list[str]:
    if isinstance(stages, Mapping) or not isinstance(stages, Sequence):
        problems.say(
            f"stages={shown(stages)} is a {type(stages).__name__}; give a list with the columns of each stage, such as [{{'reward': 'float64'}}]"
        )
        return []
    columns = [problems.of(declared, f"stages[{at}]", adds) for at, adds in enumerate(stages)]
    return [stage_name(one) for one in columns if one is not None]


def _decided(limits: Limits, policy: Policy) -> Any:
    """The part of the configuration that was checked when it was made."""
    times = {name: getattr(policy, name) for name in TIMES}
    return wire.Config(
        executing=limits.executing,
        retained=limits.retained,
        completed=limits.completed,
        bytes=cast("int | None", limits.bytes),
        submission=policy.submission,
        order=policy.order,
        window=policy.window,
        max_staleness=-1 if policy.max_staleness is None else policy.max_staleness,
        pace=policy.pace,
        checksums=policy.checksums,
        batches_per_update=policy.batches_per_update,
        stale=policy.stale,
        full=policy.full,
        last_batch=policy.last_batch,
        commit_order=policy.commit_order,
        max_attempts=policy.max_attempts,
        max_requeues=policy.max_requeues,
        max_failed=policy.max_failed,
        rewind=policy.rewind,
        join_window_ms=round(policy.join_window * 1000),
        times=wire.Times(
            **{name: -1 if value is None else max(1, round(value * 1000)) for name, value in times.items()}
        ),
    )

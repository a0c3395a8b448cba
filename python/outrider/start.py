"""Ways to a run: start one in an actor of its own, own one in this process, find one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from outrider import _ray
from outrider import _wire_pb2 as wire
from outrider._attachment import Attachment, attach
from outrider._check import text
from outrider._configure import configure
from outrider._key import Key
from outrider._locator import Static
from outrider._supply import Supply
from outrider.config import Limits, Policy
from outrider.data_source import DataSource
from outrider.run import Run
from outrider.source import Source
from outrider.tls import TLS


def own(
    name: str,
    *,
    source: Source,
    group_size: int,
    batch_groups: int | None = None,
    batch_samples: int | None = None,
    batch_tokens: int | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    stages: Sequence[Mapping[str, Any]] = (),
    ownership: str = "leases",
    state: bytes | None = None,
    tls: TLS | None = None,
) -> Run:
    """Owns a run in this process; no Ray is needed. The run ends with this process: to have it outlive its owner, use `start`.

    Args:
        name: Unique among the runs of a Ray namespace.
        source: From `outrider.table`, `outrider.keyed`, `outrider.stream` or `outrider.data_source`.
        group_size: Samples of each prompt group.
        batch_groups: Groups of each batch. With `batch_samples` or `batch_tokens`: the most that one may have.
        batch_samples: Size of a batch in samples: it has as few groups as reach it.
        batch_tokens: Size of a batch in tokens, likewise; needs `batch_groups`. A batch of that many groups with fewer tokens is
            marked as `short`.
        limits: The four bounds; what is left out is derived.
        policy: How the run decides.
        stages: What every group goes through after its generation, in order, before it is complete: for each stage the columns that it
            adds, name → type, e.g. [{"reward": "float64"}]; see `outrider.Stage`. A group between them counts as retained.
        ownership: "leases", or "none": a plain queue, the off switch.
        state: What `run.state(R)` gave, from the trainer's checkpoint; None: a fresh run.
        tls: Certificates for what goes from host to host; None: in the clear, for a network that you trust.

    Returns:
        The run; `close` it. It pickles, for other processes of this host (or of the cluster, where Ray is running).

    Raises:
        ConfigError: Arguments or limits that cannot work, all problems in one message.
        ConfigError: State bytes of another source, seed or group size, or damaged ones.
        StartError: The sidecar did not come up.
    """
    config = configure(
        name=name,
        source=source,
        group_size=group_size,
        batch_groups=batch_groups,
        batch_samples=batch_samples,
        batch_tokens=batch_tokens,
        limits=limits,
        policy=policy,
        stages=stages,
        ownership=ownership,
        state=state,
        tls=tls,
    )
    return own_as(Key.made(name, tls), source, config, state)


def start(
    name: str,
    *,
    source: Source,
    group_size: int,
    batch_groups: int | None = None,
    batch_samples: int | None = None,
    batch_tokens: int | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    stages: Sequence[Mapping[str, Any]] = (),
    ownership: str = "leases",
    state: bytes | None = None,
    tls: TLS | None = None,
) -> Run:
    """Starts a run whose owner lives in a Ray actor of its own, `outrider:<name>`, which Ray restarts when it dies.

    The actor takes no CPU from the job, is on this process's node, and ends with `Run.close`, with this process, or with the job.

    Args:
        name: Unique among the runs of this Ray namespace.
        source: From `outrider.table`, `outrider.keyed`, `outrider.stream` or `outrider.data_source`.
        group_size: Samples of each prompt group.
        batch_groups: Groups of each batch. With `batch_samples` or `batch_tokens`: the most that one may have.
        batch_samples: Size of a batch in samples: it has as few groups as reach it.
        batch_tokens: Size of a batch in tokens, likewise; needs `batch_groups`. A batch of that many groups with fewer tokens is
            marked as `short`.
        limits: The four bounds; what is left out is derived.
        policy: How the run decides.
        stages: What every group goes through after its generation, in order, before it is complete: for each stage the columns that it
            adds, name → type, e.g. [{"reward": "float64"}]; see `outrider.Stage`. A group between them counts as retained.
        ownership: "leases", or "none": a plain queue, the off switch.
        state: What `run.state(R)` gave, from the trainer's checkpoint; None: a fresh run.
        tls: Certificates for what goes from host to host; None: in the clear, for a network that you trust.

    Returns:
        The run; `close` it, or use it as a context manager. It pickles: give it to any actor.

    Raises:
        ConfigError: Arguments or limits that cannot work, all problems in one message.
        ConfigError: State bytes of another source, seed or group size, or damaged ones.
        Conflict: A run of that name is there already.
        StartError: Ray is not initialised, or the sidecar did not come up.
    """
    from outrider._owner import start_actor

    config = configure(
        name=name,
        source=source,
        group_size=group_size,
        batch_groups=batch_groups,
        batch_samples=batch_samples,
        batch_tokens=batch_tokens,
        limits=limits,
        policy=policy,
        stages=stages,
        ownership=ownership,
        state=state,
        tls=tls,
    )
    return start_actor(Key.made(name, tls), source, config, state)


def connect(name: str) -> Run:
    """Finds a run that `outrider.start` began in this Ray namespace.

    Args:
        name: Of the run.

    Returns:
        The run; this process joins at the first call that needs it.

    Raises:
        OwnerLost: There is no run of that name, or its owner does not answer.
        StartError: Ray is not initialised here.
    """
    from outrider import _owner

    return _owner.connect(text("name", name))


def own_as(key: Key, source: Source, config: Any, state: bytes | None, recover: bool = False) -> Run:
    """Owns a run of a given key: a later life of an owner has the same."""
    address: list[str] = []
    attachment: Attachment = attach(key.id, "owner", lambda: address[0])
    try:
        if isinstance(source, DataSource):
            attachment.supply = Supply(source)
        fd = source.write()
        try:
            request = wire.Own(
                run=key.to_wire(),
                config=config,
                state=bytes(state or b""),
                recover=bool(recover),
                ip=_ray.node_ip(),
            )
            future = attachment.ask(0, (fd,), own=request)
        finally:
            os.close(fd)
        address.append(future.result().frame.owned.address)
    except BaseException:
        attachment.release()
        raise
    return Run(key, Static(address[0]), attachment)

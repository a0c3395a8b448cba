"""The Ray actor that owns a run for `outrider.start`, and how others find it."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import Any, cast

from outrider import _metrics, _ray
from outrider import _wire_pb2 as wire
from outrider._key import Key
from outrider.errors import Conflict, Error, OwnerLost, StartError
from outrider.run import Run
from outrider.source import Source
from outrider.start import own_as

log = logging.getLogger("outrider")

INLINE_BYTES = 64 << 10
"""Source and state of at most this, pickled, are in the actor's own description; more is an object of the process that starts the run.
Ray itself makes an object of any argument above 100 KiB, and warns at each start of an actor whose next life needs one."""

LOCATE_SECONDS = 10.0
"""How long one look for the owner's actor may take; the sidecar asks again."""


class OwnerActor:
    """Runs in an actor of its own. Ray restarts it; each life has the run's identity and learns the rest from the members."""

    def __init__(
        self,
        key: Key,
        begins: bytes | list[Any],
        config: bytes,
    ) -> None:
        """Owns the run. A first life that cannot keeps the reason for `describe`; a later one ends, so that Ray tries again.

        Args:
            key: What opens the run.
            begins: The run's source and state, pickled, or a list of the reference to both.
            config: The wire's configuration.
        """
        self._key = key
        self._failure: Error | None = None
        recover = _ray.actor_was_restarted()
        try:
            message = wire.Config.FromString(config)
            source, state = _begins(begins)
            self._run = own_as(key, source, message, None if recover else state, recover)
        except Error as error:
            if recover:
                log.exception("outrider: a later life of run %r's owner could not start", key.name)
                os._exit(1)
            self._failure = error
            return
        owner = self._run._owner
        assert owner is not None

        def lost() -> None:
            # Without its sidecar this process owns nothing: Ray's restart is the way on. A sidecar that drained has closed the run.
            if owner.sidecar.exit_code == 0:
                return
            # Ray ends an actor's children before the actor: an actor that is being ended does not outlive this pause.
            time.sleep(1.0)
            os._exit(1)

        owner.on_lost = lost
        _metrics.export(owner)

    def describe(self) -> tuple[Key, str] | Error:
        """The run's key and the owner's address, or why it could not start."""
        return self._failure or (self._key, self._run._locator.hint)


@dataclass(frozen=True)
class InActor:
    """An owner in an actor that Ray restarts, on any node.

    Attributes:
        hint: Address of the life that was met last.
        actor: The actor's handle.
        begins: Keeps the object of a large source for later lives: Ray lets go of a constructor's arguments once the first life is up.
    """

    hint: str
    actor: Any
    begins: Any = None

    def address(self) -> str:
        """Asks the actor, which answers as soon as its present life is up.

        Raises:
            OwnerLost: It has no life any more, and gets none.
        """
        import ray

        try:
            # As a future: ray.get in a thread of an async actor warns of an event loop that this thread does not block.
            found = self.actor.describe.remote().future().result(LOCATE_SECONDS)
        except ray.exceptions.ActorDiedError as error:
            raise OwnerLost(
                "outrider: the owner's actor has ended and Ray does not restart it; start the run again with the checkpoint's state"
            ) from error
        if isinstance(found, Error):
            raise found
        return str(found[1])

    def end(self) -> None:
        """Ends the actor for good; its name is free at once."""
        import ray

        try:
            ray.kill(self.actor, no_restart=True)
        except Exception as error:
            log.debug("outrider: the owner's actor had ended: %s", error)


def start_actor(key: Key, source: Source, config: Any, state: bytes | None) -> Run:
    """Starts the owner's actor and waits until it owns the run.

    Raises:
        Conflict: A run of that name is there already.
        StartError: The actor did not come up.
    """
    ray = _ray.ray_if_running()
    if ray is None:
        raise StartError(
            "outrider: start() puts the owner into a Ray actor, and Ray is not initialised here; call ray.init() first, or own the run in this process: outrider.own"
        )
    options = {
        "name": _actor(key.name),
        "num_cpus": 0,
        "memory": 1,  # byte: Ray places whoever asks for nothing at random, against any wish
        "max_restarts": -1,
        "max_task_retries": -1,
        "max_concurrency": 4,
        # The actor ends with this process in any case, so beside it is where the loss of no other node ends a life of the owner.
        "scheduling_strategy": _ray.this_node(),
    }
    pickled = _ray.pickled((source, state))
    kept = None if len(pickled) <= INLINE_BYTES else ray.put((source, state))
    # Inside a list the reference stays one, and the actor's every life gets the object itself.
    begins = pickled if kept is None else [kept]
    try:
        actor = ray.remote(OwnerActor).options(**options).remote(key, begins, config.SerializeToString())
    except ValueError as error:
        if "already" not in str(error):
            raise
        raise Conflict(
            f"outrider: run {key.name!r} exists already in namespace {_ray.namespace()!r}; give another name, close that run, or join it: outrider.connect({key.name!r})"
        ) from None
    try:
        found = ray.get(actor.describe.remote())
    except ray.exceptions.RayError as error:
        raise StartError(f"outrider: the owner's actor of run {key.name!r} did not come up: {error}") from error
    if isinstance(found, Error):
        ray.kill(actor, no_restart=True)
        raise found
    return Run(key, InActor(found[1], actor, kept))


def _begins(given: bytes | list[Any]) -> tuple[Source, bytes | None]:
    """Source and state as the actor was given them."""
    if isinstance(given, list):
        import ray

        return cast("tuple[Source, bytes | None]", ray.get(given[0]))
    return cast("tuple[Source, bytes | None]", _ray.unpickled(given))


def connect(name: str) -> Run:
    """The core of `outrider.connect`."""
    ray = _ray.ray_if_running()
    if ray is None:
        raise StartError(
            "outrider: connect() looks the run up in Ray, and Ray is not initialised here; call ray.init(address=...) first"
        )
    try:
        actor = ray.get_actor(_actor(name))
    except ValueError:
        raise OwnerLost(
            f"outrider: no run {name!r} in namespace {_ray.namespace()!r}; start it with outrider.start, or pass the Run object itself"
        ) from None
    try:
        found = ray.get(actor.describe.remote(), timeout=LOCATE_SECONDS * 6)
    except ray.exceptions.RayError as error:
        raise OwnerLost(
            f"outrider: the owner of run {name!r} does not answer: {error}; start the run again with the checkpoint's state"
        ) from error
    if isinstance(found, Error):
        raise found
    return Run(found[0], InActor(found[1], actor))


def _actor(name: str) -> str:
    return f"outrider:{name}"

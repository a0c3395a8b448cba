"""Weight updates: ordered, confirmed and recorded here; moved by the caller's own `send`, in the caller's own thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from outrider import _ray
from outrider import _wire_pb2 as wire
from outrider._check import choice, count, function, optional_text
from outrider._steps import Call, Steps, Wait
from outrider.errors import Error, Stale, UpdateFailed, kind_of
from outrider.hold import not_inside

if TYPE_CHECKING:
    from outrider._member import Member

_LIVES = 3
"""Lives of the owner that one update may meet: with each, its hold is void and it begins again."""


@dataclass(frozen=True)
class EngineState:
    """One process that holds serving weights, as an update found it.

    Attributes:
        name: As it joined: the actor's name or class.
        session: Of its membership; a restarted actor has another.
        confirmed_version: Version that it confirmed last; 0 before it confirmed any.
        digest: That it gave of those weights; "" if none.
    """

    name: str
    session: int
    confirmed_version: int
    digest: str
    _handle: bytes = field(repr=False)

    @property
    def actor(self) -> Any:
        """Its Ray actor handle; None for an engine outside of Ray."""
        return _ray.load_handle(self._handle)


class Members(Sequence[EngineState]):
    """The engines that `send` is to reach."""

    def __init__(self, engines: Iterable[EngineState]) -> None:
        self._engines = tuple(engines)

    @overload
    def __getitem__(self, index: int) -> EngineState: ...
    @overload
    def __getitem__(self, index: slice) -> Members: ...
    def __getitem__(self, index: int | slice) -> EngineState | Members:
        return Members(self._engines[index]) if isinstance(index, slice) else self._engines[index]

    def __len__(self) -> int:
        return len(self._engines)

    def __repr__(self) -> str:
        return f"<outrider.Members {[engine.name for engine in self._engines]}>"

    @property
    def actors(self) -> list[Any]:
        """Ray actor handles, for the caller's own remote calls; engines outside of Ray are left out."""
        return [actor for engine in self._engines if (actor := engine.actor) is not None]


Send = Callable[[int, Members], Any]
"""`send(version, members)` moves the weights; what it returns is ignored (an awaitable is awaited by the `_async` forms)."""


@dataclass(frozen=True)
class UpdateReport:
    """How an update went.

    Attributes:
        version: Announced by it.
        confirmed: Engines that hold it; only they get work.
        unconfirmed: Engines that do not; out of dispatch until a rebroadcast or the next update.
        revoked: Admission ids of open leases that the version made too stale; they were rolled back: take again.
        errors: What `send` raised on the way.
    """

    version: int
    confirmed: Members
    unconfirmed: Members
    revoked: tuple[int, ...]
    errors: tuple[BaseException, ...]


def update_weights(
    client: Member, version: Any, send: Send, restore: Any, mode: Any, resend: Any, digest: Any
) -> Steps[UpdateReport]:
    """The core of `Run.update_weights`."""
    version = count("version", version, 1)
    resend = count("resend", resend, 0)
    choice("mode", mode, ("drain", "in_flight"))
    for name, given in (("send", send), ("restore", restore)):
        if name == "send" or given is not None:
            function(name, given)
    begin = wire.BeginUpdate(version=version, mode=mode, digest=optional_text("digest", digest))
    not_inside(client, f"the update to version {version}")
    return (yield from _over_lives(client, begin, send, restore, resend))


def rebroadcast(client: Member, send: Send) -> Steps[UpdateReport]:
    """The core of `Run.rebroadcast`."""
    function("send", send)
    not_inside(client, "a rebroadcast")
    return (yield from _over_lives(client, wire.BeginUpdate(mode="drain", rebroadcast=True), send, None, 0))


def _over_lives(client: Member, begin: Any, send: Send, restore: Any, resend: int) -> Steps[UpdateReport]:
    """Runs an update; begins again when the owner was restarted under it."""
    update = _Update(client, begin, send, restore, resend)
    for life in range(_LIVES):
        if life and not begin.rebroadcast:
            # The former life may have recorded it before its answer was lost.
            answer = yield Wait(client.ask(get_stats=wire.GetStats()))
            if answer.frame.stats.announced_version == begin.version:
                return update.report(())
        try:
            return (yield from update.run())
        except Stale as error:
            if kind_of(error) != "stale" or life == _LIVES - 1:
                raise
    raise AssertionError("unreachable")


class _Update:
    """One update under one hold."""

    def __init__(self, client: Member, begin: Any, send: Send, restore: Any, resend: int) -> None:
        self.client = client
        self.begin = begin
        self.send = send
        self.restore = restore
        self.resend = resend
        self.state = wire.UpdateState()
        self.causes: list[BaseException] = []

    def run(self) -> Steps[UpdateReport]:
        try:
            answer = yield Wait(self.client.ask(begin_update=self.begin))
        except Error:
            raise
        except BaseException:
            # Nothing was sent, and nothing is to be held for it. Not awaited: the caller may be a cancelled task.
            self.client.ask(release_hold=wire.ReleaseHold())
            raise
        self.state = answer.frame.update_state
        revoked = tuple(self.state.revoked)
        if self.begin.rebroadcast and not self._unconfirmed():
            yield Wait(self.client.ask(record_update=wire.RecordUpdate(hold=self.state.hold)))
            return self.report(revoked)
        for _ in range(1 + self.resend):
            yield from self._send()
            if not self._unconfirmed():
                break
        needed = not self.state.ended  # by then engines have left, or are about to
        if needed and self.restore is not None and (self._unconfirmed() or not self.state.engines):
            yield from self._roll_back()
        what = "no engine confirmed it; the run is held: bring engines up and call rebroadcast, rewind or close"
        if needed and not self.state.engines:
            raise self._failed(what)
        yield from self._record(what)
        return self.report(tuple(self.state.revoked) or revoked)

    def _record(self, failed: str) -> Steps[None]:
        """Announces the version, unless the owner finds that nobody holds it: then the run stays held, and says why."""
        try:
            answer = yield Wait(self.client.ask(record_update=wire.RecordUpdate(hold=self.state.hold)))
        except UpdateFailed:
            raise self._failed(failed) from (self.causes[-1] if self.causes else None)
        self.state = answer.frame.update_state

    def _send(self) -> Steps[None]:
        """Lets the caller move the weights to whoever has not confirmed, then looks who has."""
        missing = self._unconfirmed()
        if missing:
            version = self.state.version
            try:
                yield Call(lambda: self.send(version, missing))
            except Exception as error:
                self.causes.append(error)
        answer = yield Wait(self.client.ask(get_update=wire.GetUpdate(hold=self.state.hold)))
        self.state = answer.frame.update_state

    def _roll_back(self) -> Steps[None]:
        """Takes trainer, ledger and engines back to the last version together, then raises."""
        last = self.state.last_version
        missing = [engine.name for engine in self._unconfirmed()]
        try:
            yield Call(lambda: self.restore(last))
        except Exception as error:
            self.causes.append(error)
            raise self._failed(
                f"engines {missing} did not confirm it and restore({last}) raised; the run is held: put the trainer right, then rewind or close"
            ) from error
        answer = yield Wait(self.client.ask(undo_update=wire.UndoUpdate(hold=self.state.hold)))
        self.state = answer.frame.update_state
        yield from self._send()
        yield from self._record(
            f"engines {missing} did not confirm it, and none confirmed version {last} again; the run is held: call rebroadcast, rewind or close"
        )
        raise self._failed(
            f"engines {missing} did not confirm it; trainer, ledger and engines are back at version {last}"
        )

    def _failed(self, what: str) -> UpdateFailed:
        # Sent again it mostly fails in the same words.
        said = "".join(dict.fromkeys(f"; {_ray.in_words(cause)}" for cause in self.causes))
        version = self.begin.version or self.state.version
        failed = UpdateFailed(f"outrider: update to version {version}: {what}{said}", tuple(self.causes))
        failed.__cause__ = self.causes[-1] if self.causes else None
        return failed

    def _engines(self, confirmed: bool) -> Members:
        return Members(
            EngineState(engine.name, engine.session, engine.confirmed_version, engine.digest, engine.handle)
            for engine in self.state.engines
            if engine.confirmed == confirmed
        )

    def _confirmed(self) -> Members:
        return self._engines(True)

    def _unconfirmed(self) -> Members:
        return self._engines(False)

    def report(self, revoked: tuple[int, ...]) -> UpdateReport:
        return UpdateReport(self.state.version, self._confirmed(), self._unconfirmed(), revoked, tuple(self.causes))

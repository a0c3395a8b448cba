"""Holds: keep training work out for a while."""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING

from outrider import _wire_pb2 as wire
from outrider._check import text
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.errors import Closed, Conflict, Error

if TYPE_CHECKING:
    from outrider._member import Member
    from outrider.run import Run


_inside: ContextVar[tuple[Hold, ...]] = ContextVar("outrider_holds", default=())
"""Holds whose blocks the calling thread or task is in."""


def not_inside(client: Member, what: str) -> None:
    """Refuses what would wait for a hold that its own caller has: it would wait for ever."""
    for hold in _inside.get():
        if hold._client is client and hold._id:
            raise Conflict(
                f"outrider: {what} waits for the end of every hold, and its caller is inside of hold {hold._reason!r}: end that block first"
            )


class Hold:
    """A hold as a context manager; see `Run.hold`."""

    def __init__(self, run: Run, reason: str) -> None:
        self._run = run
        self._reason = text("reason", reason)
        self._id = 0

    def __enter__(self) -> Hold:
        blocking(self._acquire())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        blocking(self._release(error))

    async def __aenter__(self) -> Hold:
        await self._run._join()
        await awaiting(self._acquire())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await awaiting(self._release(error))

    def _acquire(self) -> Steps[None]:
        self._client = self._run._client()
        answer = yield Wait(self._client.ask(hold=wire.Hold(reason=self._reason)))
        hold = answer.frame.hold_granted.hold
        try:
            yield Wait(self._client.ask(await_frontier=wire.AwaitFrontier(hold=hold)))
        except BaseException:
            # The wait is over; the hold must not outlive it. Not awaited: the caller may be a cancelled task.
            self._client.ask(release_hold=wire.ReleaseHold(hold=hold))
            raise
        self._id = hold
        _inside.set((*_inside.get(), self))

    def _release(self, error: BaseException | None) -> Steps[None]:
        hold, self._id = self._id, 0
        _inside.set(tuple(other for other in _inside.get() if other is not self))
        try:
            yield Wait(self._client.ask(release_hold=wire.ReleaseHold(hold=hold)))
        except Closed:
            pass  # The hold went with the run.
        except Error:
            if error is None:
                raise

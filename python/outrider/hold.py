"""Holds: keep training work out for a while."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from outrider import _wire_pb2 as wire
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.errors import Closed, Error

if TYPE_CHECKING:
    from outrider._member import Member


class Hold:
    """A hold as a context manager; see `Run.hold`."""

    def __init__(self, client: Member, reason: str) -> None:
        self._client = client
        self._reason = str(reason)
        self._id = 0

    def __enter__(self) -> Hold:
        blocking(self._acquire())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        blocking(self._release(error))

    async def __aenter__(self) -> Hold:
        await awaiting(self._acquire())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await awaiting(self._release(error))

    def _acquire(self) -> Steps[None]:
        answer = yield Wait(self._client.ask(hold=wire.Hold(reason=self._reason)))
        self._id = answer.frame.hold_granted.hold
        try:
            yield Wait(self._client.ask(await_frontier=wire.AwaitFrontier(hold=self._id)))
        except BaseException:
            # The wait is over; the hold must not outlive it. Not awaited: the caller may be a cancelled task.
            self._client.ask(release_hold=wire.ReleaseHold(hold=self._id))
            raise

    def _release(self, error: BaseException | None) -> Steps[None]:
        try:
            yield Wait(self._client.ask(release_hold=wire.ReleaseHold(hold=self._id)))
        except Closed:
            pass  # The hold went with the run.
        except Error:
            if error is None:
                raise

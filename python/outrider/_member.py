"""One role of this process in a run: the session that a `Run`, `Worker` or `Trainer` speaks through."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from copy import copy
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from outrider import _ray
from outrider import _wire_pb2 as wire
from outrider._attachment import Attachment, attach
from outrider._channel import Answer
from outrider._check import instance
from outrider._steps import Steps, Wait
from outrider.errors import Closed, EndOfRun, Error, from_wire

if TYPE_CHECKING:
    from outrider.run import Run

L = TypeVar("L", bound="Leaves")


def joined_to(run: Any) -> Run:
    """Checks what a member is made for.

    Raises:
        ConfigError: No run.
    """
    from outrider.run import Run

    return cast("Run", instance("run", run, Run, "what outrider.start, own or connect gave"))


class Leaves(ABC):
    """What is in a run and leaves it by `close`, or at the end of a `with` or `async with` block."""

    @abstractmethod
    def close(self) -> None:
        """Leaves the run. Idempotent."""

    @abstractmethod
    async def close_async(self) -> None:
        """`close`, awaited."""

    def __enter__(self: L) -> L:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self: L) -> L:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_async()


class Member:
    """A joined session. Its pushes go to a handler; its end is remembered, so that later calls say why.

    Attributes:
        attachment: The sidecar that it lives on; held until `leave`.
        joined: What the owner said at the join (`Joined`).
        fds: Descriptors that came with it; the maker's to close.
    """

    def __init__(
        self,
        run: Run,
        role: str,
        *,
        name: str | None = None,
        worker: Any = None,
        trainer: Any = None,
        engine: Any = None,
    ) -> None:
        """Joins; waits for the owner's answer.

        Raises:
            StartError: The sidecar did not come up.
            Refused: The owner does not take this member.
            Closed: The run is over.
        """
        self.attachment: Attachment = attach(run.id, role, run._locator.address)
        self.number = 0
        self.ended: Error | None = None
        self._left = False
        self._handler: Callable[[Any, list[int]], None] | None = None
        self._on_ended: Callable[[], None] = lambda: None
        self._lock = threading.Lock()  # guards ended and _left
        join = wire.Join(
            run=run._wire(),
            address=run._locator.hint,
            name=name or _ray.actor_name() or f"driver-{os.getpid()}",
            handle=_ray.actor_handle(),
            worker=worker,
            trainer=trainer,
            engine=engine,
        )
        try:
            frame, self.fds = self.attachment.ask(0, join=join).result()
        except BaseException:
            self.attachment.release()
            raise
        self.joined = frame.joined
        self.number = self.joined.member

    def listen(self, handler: Callable[[Any, list[int]], None], on_ended: Callable[[], None]) -> None:
        """Takes pushes from here on; both functions run in the reading thread and must not block."""
        self._handler = handler
        self._on_ended = on_ended
        self.attachment.register(self.number, self)

    def ask(self, fds: tuple[int, ...] = (), **body: Any) -> Future[Answer]:
        """Asks the sidecar about this member; fails at once when the member has left or the run is over."""
        ended = self.ended
        if ended is not None:
            future: Future[Answer] = Future()
            future.set_exception(copy(ended))
            return future
        return self.attachment.ask(self.number, fds, **body)

    def tell(self, **body: Any) -> None:
        """Sends a push about this member."""
        if self.ended is None:
            self.attachment.tell(self.number, **body)

    def leave(self, what: str) -> Steps[None]:
        """Leaves the run and lets go of the sidecar. Idempotent.

        Args:
            what: Names this member in the error of later calls.
        """
        with self._lock:
            if self._left:
                return
            self._left = True
        future = self.ask(leave=wire.Leave())
        self._end(Closed(f"outrider: {what} is closed; make a new one to go on"))
        try:
            yield Wait(future)
        except Error:
            pass  # Whoever is gone has been left.
        finally:
            self.attachment.forget(self.number)
            self.attachment.release()

    def on_push(self, frame: Any, fds: list[int]) -> None:
        """From the reading thread."""
        if frame.WhichOneof("body") == "end":
            if frame.end.HasField("error"):
                self._end(from_wire(frame.end.error.kind, frame.end.error.message))
            else:
                self._end(EndOfRun("outrider: the run is over: every group has settled or the run was closed"))
        elif self._handler is not None:
            self._handler(frame, fds)

    def on_end(self, error: Error) -> None:
        """From the reading thread: the sidecar is gone."""
        self._end(error)

    def _end(self, error: Error) -> None:
        with self._lock:
            if self.ended is not None:
                return
            self.ended = error
        self._on_ended()

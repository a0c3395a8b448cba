"""What a `Worker` and a `Stage` have in common: groups come, each is ended, the owner's word on it comes back."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from outrider import _wire_pb2 as wire
from outrider._check import INT32, count, optional_text
from outrider._execution import Execution
from outrider._inbox import Inbox
from outrider._member import Leaves, Member, joined_to
from outrider._report import Reporter
from outrider._steps import Steps, Wait, awaiting, blocking
from outrider.errors import Closed, EndOfRun, Error, kind_of

if TYPE_CHECKING:
    from outrider.run import Run

E = TypeVar("E", bound=Execution)
T = TypeVar("T")


class Runner(Leaves, Generic[E]):
    """A member that is given groups.

    Attributes:
        capacity: `slots` that it was made with.
        group_size: Parent slots of a prompt group.
        inbox: What has been given and not been taken.
        reporter: Takes what has ended.
        closing: Whether it has been closed or drained here.
    """

    _what = "this worker"

    def __init__(self, run: Run, slots: int, name: str | None, role: Any) -> None:
        self.capacity = count("slots", slots, 1, INT32)
        self._member = Member(joined_to(run), "worker", name=optional_text("name", name), worker=role)
        self._slots = self.capacity
        self._asked = False
        self.group_size = int(self._member.joined.group_size)
        self.closing = False
        self.inbox: Inbox[E] = Inbox()
        self.reporter = Reporter(self._member)
        self._lock = threading.Lock()  # guards _works and _idle
        self._works: dict[int, E] = {}  # by execution number, until the owner has answered its report
        self._idle: Future[None] | None = None
        self._on_cancel: Callable[[list[E]], None] = lambda works: None

    @property
    def slots(self) -> int:
        """What it runs at once: 0 up to what it was made with; parent slots of a worker, groups of a stage.

        Setting it waits for the owner. `worker.slots = 0` keeps new work from a colocated engine while its memory is needed for
        something else: what was on its way has come when this returns, what runs goes on, and nobody takes the worker for lost.

        Raises:
            ConfigError: Not a whole number from 0 to what it was made with.
            Closed: The run is over.
        """
        return self._slots

    @slots.setter
    def slots(self, value: int) -> None:
        blocking(self._set_slots(value))

    async def set_slots_async(self, value: int) -> None:
        """`slots = value`, awaited."""
        await awaiting(self._set_slots(value))

    def _set_slots(self, value: int) -> Steps[None]:
        self._slots = count("slots", value, 0, self.capacity)
        if self._asked:
            yield Wait(self._member.ask(set_slots=wire.SetSlots(slots=self._slots)))

    def ask_for_work(self) -> None:
        """Says once that somebody takes what is granted here."""
        if not self._asked:
            self._asked = True
            self._member.tell(set_slots=wire.SetSlots(slots=self._slots))

    def drain(self) -> None:
        """Takes no new work and waits until what runs has been reported; then `groups` and `serve` end.

        What was made here stays in this process's sidecar until it is trained: `close` before that has it made again.
        """
        blocking(self._drain())

    async def drain_async(self) -> None:
        """`drain`, awaited."""
        await awaiting(self._drain())

    def _drain(self) -> Steps[None]:
        yield Wait(self._member.ask(drain=wire.Drain()))
        idle: Future[None] = Future()
        with self._lock:
            self._idle = idle
            if not self._works:
                idle.set_result(None)
        yield Wait(idle)
        self.closing = True
        self.inbox.end(Closed(f"outrider: {self._what} has drained; make a new one to go on"))

    def close(self) -> None:
        """Leaves the run; what still runs is given back. Idempotent."""
        blocking(self._close())

    async def close_async(self) -> None:
        """`close`, awaited."""
        await awaiting(self._close())

    def _close(self) -> Steps[None]:
        self.closing = True
        yield from self._member.leave(self._what)
        self._stopped()
        self.reporter.stop()

    def _stopped(self) -> None:
        """Nothing is made here any more."""

    def accepted(self, error: Error | None) -> bool:
        """Whether the owner took a report; raises what is the user's to know."""
        if error is None:
            return True
        if kind_of(error) == "stale" or self.over(error):
            return False
        raise error

    def over(self, error: Error) -> bool:
        """Whether this is the run's or the member's ordinary end, and no failure."""
        return isinstance(error, EndOfRun) or (
            isinstance(error, Closed) and (self.closing or kind_of(error) == "closed")
        )

    def on_cancel(self, function: Callable[[list[E]], None]) -> None:
        """Takes cancels from here on, in the reading thread."""
        self._on_cancel = function

    def began(self, works: list[E]) -> None:
        """From the reading thread: they are here, and somebody has to end them."""
        with self._lock:
            self._works.update((work.execution, work) for work in works)

    def cancelled(self, receipts: Iterable[Any]) -> None:
        """From the reading thread: the owner wants these stopped."""
        with self._lock:
            named = [self._works.get(receipt.execution) for receipt in receipts]
        found = [work for work in named if work is not None]
        for work in found:
            work.cancel()
        self._on_cancel(found)

    def forget(self, works: Iterable[Execution]) -> None:
        """The owner has answered these works' report."""
        with self._lock:
            for work in works:
                self._works.pop(work.execution, None)
            idle = self._idle if not self._works else None
        if idle is not None and not idle.done():
            idle.set_result(None)

    def _on_ended(self) -> None:
        """From the reading thread: the member has left, or the run or the sidecar has ended."""
        error: Error = self._member.ended or EndOfRun("outrider: the run is over")
        with self._lock:
            self._works.clear()
            idle = self._idle
        self._stopped()
        if idle is not None and not idle.done():
            idle.set_result(None)
        self.inbox.end(error)


class Stream(Generic[T]):
    """Work as it comes, for `for` in a thread and for `async for` on an event loop; ends with the run."""

    def __init__(self, runner: Runner[Any], most: int, single: bool) -> None:
        self._runner = runner
        self._most = most
        self._single = single

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return self._give(blocking(self._runner.inbox.take(self._most)))
        except Closed as error:
            if self._runner.over(error):
                raise StopIteration from None
            raise

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        try:
            return self._give(await awaiting(self._runner.inbox.take(self._most)))
        except Closed as error:
            if self._runner.over(error):
                raise StopAsyncIteration from None
            raise

    def _give(self, works: list[Any]) -> T:
        result: Any = works[0] if self._single else works
        return result  # type: ignore[no-any-return]

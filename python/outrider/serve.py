"""`Worker.serve`: a function on every parent slot of every group."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from outrider import _check
from outrider._execution import describe
from outrider._report import Finished
from outrider.errors import Retry
from outrider.sample import Row, same_kind
from outrider.work import Work, slot_rows

if TYPE_CHECKING:
    from outrider.worker import Worker

log = logging.getLogger("outrider")


async def serve(worker: Worker, function: Callable[..., Any]) -> None:
    """The core of `Worker.serve`."""
    await _Server(worker, _check.function("function", function)).run()


class _Server:
    """One call of `serve`, on one event loop."""

    def __init__(self, worker: Worker, function: Callable[..., Any]) -> None:
        self.worker = worker
        self.function = function
        self.slots = asyncio.Semaphore(worker.capacity)
        self.tasks: dict[int, tuple[asyncio.Task[None], list[asyncio.Task[list[Row]]]]] = {}
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self.free: dict[Work, int] = {}
        self.threads = None if is_async else ThreadPoolExecutor(worker.capacity, thread_name_prefix="outrider-serve")

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self.worker.on_cancel(lambda works: _call_soon(loop, lambda: self.cancel(works)))
        try:
            async for work in self.worker.groups():
                slots = [asyncio.ensure_future(self.slot(work, number)) for number in range(self.worker.group_size)]
                task = asyncio.ensure_future(self.group(work, slots))
                self.tasks[work.execution] = task, slots
        finally:
            # The run is over, or the caller was cancelled: nobody takes what still runs.
            self.worker.on_cancel(lambda works: None)
            running: list[asyncio.Task[Any]] = [
                task for group, slots in self.tasks.values() for task in (group, *slots)
            ]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            if self.threads is not None:
                self.threads.shutdown(wait=False, cancel_futures=True)

    def cancel(self, works: list[Work]) -> None:
        """The owner wants works stopped: their slots are cancelled, and each group reports when all of them have ended."""
        for work in works:
            for slot in self.tasks.get(work.execution, (None, []))[1]:
                slot.cancel()

    async def group(self, work: Work, slots: list[asyncio.Task[list[Row]]]) -> None:
        """Waits for a group's slots and reports once all of them have ended, because only then the execution is over."""
        try:
            await asyncio.wait(slots, return_when=asyncio.FIRST_EXCEPTION)
            failed = next(
                (slot for slot in slots if slot.done() and not slot.cancelled() and slot.exception() is not None), None
            )
            for slot in slots:
                slot.cancel()
            await asyncio.gather(*slots, return_exceptions=True)
            # What the owner says of it is logged by the reporter: the group is attempted again or parked by its rules.
            work.submit(self.outcome(work, slots, failed))
        finally:
            self.tasks.pop(work.execution, None)

    def outcome(
        self, work: Work, slots: list[asyncio.Task[list[Row]]], failed: asyncio.Task[list[Row]] | None
    ) -> Finished:
        """What became of a group whose slots have all ended."""
        error = None if failed is None else failed.exception()
        if error is None and any(slot.cancelled() for slot in slots):
            if work.cancelled:
                return Finished(work, "retry", "cancelled")
            error = asyncio.CancelledError("raised by the function; nobody had cancelled it")
        if error is None:
            try:
                rows = [row for slot in slots for row in slot.result()]
                same_kind(rows, work.group)
                return Finished(work, "success", rows=rows)
            except Exception as found:
                error = found
        if isinstance(error, Retry):
            return Finished(work, "retry", str(error) or "Retry")
        log.warning("outrider: group %d attempt %d: the function raised", work.group, work.attempt, exc_info=error)
        return Finished(work, "failure", describe(error))

    async def slot(self, work: Work, number: int) -> list[Row]:
        """Runs the function once; frees the slot's place as soon as it returns."""
        async with self.slots:
            prompt = work.prompt(number)
            try:
                made = await self.function(prompt) if self.threads is None else await self.in_thread(prompt)
            finally:
                self.done(work)
        return slot_rows(made, work.group, number)

    def done(self, work: Work) -> None:
        """A slot is free; said once for all slots that end in the same turn of the loop."""
        if not self.free:
            asyncio.get_running_loop().call_soon(self.say_done)
        self.free[work] = self.free.get(work, 0) + 1

    def say_done(self) -> None:
        free, self.free = self.free, {}
        # A group that has ended meanwhile frees its slots by its report.
        self.worker.samples_done((work, slots) for work, slots in free.items() if not work.ending)

    async def in_thread(self, prompt: Any) -> Any:
        """Runs a plain function. A call that has begun cannot be stopped, so its slot ends when it does, cancelled or not."""
        assert self.threads is not None
        call = self.threads.submit(self.function, prompt)
        try:
            made = await asyncio.shield(asyncio.wrap_future(call))
        except asyncio.CancelledError:
            if not call.cancel():
                await asyncio.wait({asyncio.ensure_future(_quiet(call))})
            raise
        return await made if inspect.isawaitable(made) else made


async def _quiet(call: Any) -> None:
    with contextlib.suppress(Exception):
        await asyncio.wrap_future(call)


def _call_soon(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # The loop may be closed; then nothing runs there.
        loop.call_soon_threadsafe(function)

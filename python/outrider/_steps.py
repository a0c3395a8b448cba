"""One core for the blocking and the await form of a call.

A call that waits is written once, as a generator: it yields a `Wait` or a `Call` and gets the answer back. `blocking` and
`awaiting` run the same generator; neither knows what the call is about.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from outrider.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True)
class Wait:
    """Wait for a future.

    Attributes:
        future: Completed by the thread that reads the sidecar's socket.
        deadline: On `time.monotonic`'s clock; past it, `TimeoutError` is thrown into the generator and the future lives on.
    """

    future: Future[Any]
    deadline: float | None = None


@dataclass(frozen=True)
class Call:
    """Call a user's function in the thread (or on the event loop) that runs the generator."""

    function: Callable[[], Any]


Steps = Generator["Wait | Call", Any, T]


def blocking(steps: Steps[T]) -> T:
    """Runs a call to its end in this thread."""
    try:
        wanted = next(steps)
        while True:
            try:
                value = _answer(wanted)
            except BaseException as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result


async def awaiting(steps: Steps[T]) -> T:
    """Runs a call to its end on the running event loop, which is never blocked."""
    try:
        wanted = next(steps)
        while True:
            try:
                value = await _answer_async(wanted)
            except BaseException as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result


def _answer(wanted: Wait | Call) -> Any:
    if isinstance(wanted, Call):
        value = wanted.function()
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise ConfigError("outrider: an async function was given to a blocking call: use the call's _async form")
        return value
    if wanted.deadline is None:
        return wanted.future.result()
    try:
        return wanted.future.result(max(0.0, wanted.deadline - monotonic()))
    except FutureTimeout:
        if wanted.future.done():
            return wanted.future.result()
        raise TimeoutError from None


async def _answer_async(wanted: Wait | Call) -> Any:
    if isinstance(wanted, Call):
        value = wanted.function()
        return await value if inspect.isawaitable(value) else value
    if wanted.future.done():
        return wanted.future.result()
    future = asyncio.wrap_future(wanted.future)
    if wanted.deadline is None:
        return await asyncio.shield(future)
    done, _ = await asyncio.wait({future}, timeout=max(0.0, wanted.deadline - monotonic()))
    if not done:
        raise TimeoutError
    return future.result()

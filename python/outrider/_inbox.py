"""Work on its way from the reading thread to whoever runs it."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from copy import copy
from typing import Generic, TypeVar

from outrider._steps import Steps, Wait
from outrider.errors import Error

T = TypeVar("T")


class Inbox(Generic[T]):
    """A queue that several takers may wait on, blocking or awaited."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards all below
        self._items: deque[T] = deque()
        self._waiting: deque[Future[None]] = deque()
        self._ended: Error | None = None

    def put(self, items: list[T]) -> None:
        """Adds items; never blocks."""
        with self._lock:
            self._items.extend(items)
            woken = [self._waiting.popleft() for _ in range(min(len(items), len(self._waiting)))]
        _wake(woken)

    def end(self, error: Error) -> None:
        """Nothing comes any more: what is queued is void, every taker gets the error."""
        with self._lock:
            if self._ended is None:
                self._ended = error
            self._items.clear()
            woken, self._waiting = list(self._waiting), deque()
        _wake(woken)

    def remove(self, items: set[T]) -> None:
        """Takes items out that nobody has taken yet."""
        with self._lock:
            self._items = deque(item for item in self._items if item not in items)

    def take(self, most: int) -> Steps[list[T]]:
        """Waits for at least one item and takes up to `most`; raises the error it ended with."""
        while True:
            with self._lock:
                if self._ended is not None:
                    raise copy(self._ended)
                if self._items:
                    return [self._items.popleft() for _ in range(min(most, len(self._items)))]
                turn: Future[None] = Future()
                self._waiting.append(turn)
            try:
                yield Wait(turn)
            except BaseException:
                with self._lock:
                    if turn in self._waiting:
                        self._waiting.remove(turn)
                        woken = []
                    else:
                        # This taker was woken for an item that it will not take: the next one's turn.
                        woken = [self._waiting.popleft()] if self._items and self._waiting else []
                _wake(woken)
                raise


def _wake(woken: list[Future[None]]) -> None:
    for turn in woken:
        if turn.set_running_or_notify_cancel():
            turn.set_result(None)

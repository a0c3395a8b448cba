"""This process's part in runs: one sidecar for each run, shared by every `Run`, `Worker` and `Trainer` object of the process."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol
from weakref import WeakValueDictionary

from outrider import _wire_pb2 as wire
from outrider._channel import Answer, Channel
from outrider._segment import Segment
from outrider._sidecar import Sidecar
from outrider._supply import Supply
from outrider.errors import Closed, Error, OwnerLost

log = logging.getLogger("outrider")
_LEVELS = {"warn": logging.WARNING, "warning": logging.WARNING, "error": logging.ERROR}


class Receiver(Protocol):
    """A member of a run in this process, as the reading thread sees it."""

    def on_push(self, frame: Any, fds: list[int]) -> None:
        """Takes a grant, a cancel, an end …; the descriptors are the receiver's to close. Must not block."""

    def on_end(self, error: Error) -> None:
        """The sidecar is gone: nothing comes any more. Must not block."""


class Attachment:
    """One sidecar and the members that live on it. Counted: the last `release` ends the sidecar.

    Attributes:
        channel: For questions to the sidecar.
        on_lost: Called in the reading thread when the sidecar has ended by itself.
        supply: A framework's own data source, in the owner's process of such a run.
        segments: Segments that this process has mapped, as long as somebody holds them.
    """

    def __init__(self, run_id: str, role: str, locate: Callable[[], str]) -> None:
        self._run_id = run_id
        self._locate = locate
        self._holders = 1
        self._lock = threading.Lock()  # guards _receivers, _early and _ended
        self._receivers: dict[int, Receiver] = {}
        self._early: dict[int, list[tuple[Any, list[int]]]] = {}
        self._closing = False
        self.on_lost: Callable[[], None] = lambda: None
        self.supply: Supply | None = None
        self.segments: WeakValueDictionary[tuple[int, int], Segment] = WeakValueDictionary()
        self.sidecar = Sidecar(role)
        self.channel = Channel(self.sidecar.sock, self._on_push, self._on_end)
        self.channel.start()

    def ask(self, member: int, fds: tuple[int, ...] = (), **body: Any) -> Future[Answer]:
        """Asks the sidecar. `body` is one field of `Frame`, such as `take=wire.Take(rollout=3)`."""
        return self.channel.ask(wire.Frame(member=member, **body), fds)

    def tell(self, member: int, fds: tuple[int, ...] = (), **body: Any) -> None:
        """Sends a frame that has no answer."""
        self.channel.tell(wire.Frame(member=member, **body), fds)

    def map(self, ids: Sequence[Any], fds: Sequence[int]) -> dict[tuple[int, int], Segment]:
        """Maps segments, by holder and number; those that this process has mapped already are used as they are.

        Args:
            ids: `SegmentId` messages.
            fds: A descriptor of each; closed here.

        Raises:
            Error: Descriptors are missing: this process had no room for them.
        """
        left = list(fds)
        found: dict[tuple[int, int], Segment] = {}
        try:
            for segment in ids:
                key = (segment.holder, segment.number)
                if not left:
                    raise Error(
                        f"outrider: {len(fds)} of {len(ids)} segments arrived: this process is out of file descriptors; "
                        f"raise its limit (ulimit -n) above {len(ids) + 64} and try again"
                    )
                fd = left.pop(0)
                known = self.segments.get(key)
                if known is None:
                    known = self.segments[key] = Segment(fd)
                else:
                    os.close(fd)
                found[key] = known
        finally:
            for fd in left:
                os.close(fd)
        return found

    def register(self, member: int, receiver: Receiver) -> None:
        """Hands a member's pushes to its receiver, those first that came before anybody knew the member's number."""
        with self._lock:
            for frame, fds in self._early.pop(member, []):
                receiver.on_push(frame, fds)
            self._receivers[member] = receiver
        if self.channel.ended is not None:
            receiver.on_end(self.channel.ended)

    def forget(self, member: int) -> None:
        """Stops handing pushes to a member that has left."""
        with self._lock:
            self._receivers.pop(member, None)

    def release(self) -> None:
        """One holder less; the last one ends the sidecar and waits for its exit."""
        with _registry_lock():
            self._holders -= 1
            if self._holders > 0:
                return
            if _attachments.get(self._run_id) is self:
                del _attachments[self._run_id]
        self._closing = True
        with contextlib.suppress(Error):  # It may have ended by itself.
            self.ask(0, leave=wire.Leave()).result()
        self.channel.close()
        self.sidecar.stop()
        if self.supply is not None:
            self.supply.stop()

    def _on_push(self, frame: Any, fds: list[int]) -> None:
        kind = frame.WhichOneof("body")
        if kind == "log_line":
            log.log(_LEVELS.get(frame.log_line.level.lower(), logging.WARNING), "%s", frame.log_line.message)
        elif kind in ("pull", "give_back") and self.supply is not None:
            self.supply.asked(frame, self.channel.reply)
        elif kind == "locate":
            threading.Thread(target=self._answer_locate, args=(frame,), name="outrider-locate", daemon=True).start()
        else:
            with self._lock:
                receiver = self._receivers.get(frame.member)
                if receiver is None:
                    self._early.setdefault(frame.member, []).append((frame, fds))
                    return
            receiver.on_push(frame, fds)

    def _answer_locate(self, question: Any) -> None:
        """Looks the owner up, off the reading thread because the name directory may take its time."""
        try:
            answer = wire.Frame(located=wire.Located(address=self._locate()))
        except OwnerLost as error:
            answer = wire.Frame(error=wire.Error(kind="owner_lost", message=str(error)))
        except Exception as error:
            log.debug("outrider: the owner is not to be found at this time: %s", error)
            answer = wire.Frame(located=wire.Located())
        self.channel.reply(question, answer)

    def _on_end(self) -> Error:
        if self._closing:
            error: Error = Closed("outrider: closed in this process: its last Run, Worker or Trainer was closed")
        else:
            error = Closed(
                f"outrider: {self.sidecar.how_it_ended()}; attach again in a new process or make a new Worker, Trainer or Run"
            )
            with _registry_lock():
                if _attachments.get(self._run_id) is self:
                    del _attachments[self._run_id]
        with self._lock:
            receivers = list(self._receivers.values())
        for receiver in receivers:
            receiver.on_end(error)
        if not self._closing:
            self.on_lost()
        return error


_attachments: dict[str, Attachment] = {}
_guard: list[threading.Lock] = [threading.Lock()]  # guards _attachments; in a list because a forked child replaces it
_watching_forks = False


def _registry_lock() -> threading.Lock:
    return _guard[0]


def attach(run_id: str, role: str, locate: Callable[[], str]) -> Attachment:
    """This process's attachment to a run: the one it has, held once more, or a new one.

    Args:
        run_id: Of the run.
        role: Names the log file of a sidecar that has to be started.
        locate: Finds the owner's address; called in a thread of the attachment's own.

    Returns:
        The attachment; `release` it.

    Raises:
        StartError: Its sidecar did not come up.
    """
    global _watching_forks
    with _registry_lock():
        if not _watching_forks:
            os.register_at_fork(after_in_child=_after_fork)
            _watching_forks = True
        found = _attachments.get(run_id)
        if found is not None and found.channel.ended is None:
            found._holders += 1
            return found
        made = Attachment(run_id, role, locate)
        _attachments[run_id] = made
        return made


def _after_fork() -> None:
    """A forked child has no part in its parent's runs and must not keep the parent's sockets open."""
    _guard[0] = threading.Lock()
    for attachment in _attachments.values():
        attachment.channel.abandon()
    _attachments.clear()

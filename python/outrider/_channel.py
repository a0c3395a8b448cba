"""The socket between this process and its sidecar: frames out, answers and pushes in.

One datagram of a SOCK_SEQPACKET pair is one protobuf frame with its descriptors. One daemon thread reads; it owns the table of
open questions and ends with the socket. Any thread may ask.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from copy import copy
from itertools import count
from typing import Any, NamedTuple

from outrider import _wire_pb2 as wire
from outrider._memory import write_bytes
from outrider.errors import Closed, Error, from_wire

DATAGRAM = 150_000
"""Bytes of the largest frame that goes as a datagram; a larger one rides in a memfd."""
DESCRIPTORS = 64
"""Descriptors that one of our frames carries at most; the kernel's own limit is 253."""

_BUFFER = 1 << 20
_ANCILLARY = socket.CMSG_SPACE(254 * 4)

log = logging.getLogger("outrider")


class Answer(NamedTuple):
    """An answer frame and its descriptors, which are the receiver's to close."""

    frame: Any
    fds: list[int]


class Channel:
    """Questions, answers and pushes over one socket.

    Args:
        sock: This process's end; the channel closes it.
        on_push: Called in the reading thread with each frame that is no answer, and its descriptors; must not block.
        on_end: Called once in the reading thread when the other end is gone; gives the error for whoever still waits.
    """

    def __init__(
        self, sock: socket.socket, on_push: Callable[[Any, list[int]], None], on_end: Callable[[], Error]
    ) -> None:
        self._sock = sock
        self._on_push = on_push
        self._on_end = on_end
        self._ids = count(1)
        self._lock = threading.Lock()  # guards _pending, _ended and _outbox; nothing blocks under it
        self._pending: dict[int, Future[Answer]] = {}
        self._ended: Error | None = None
        self._ahead: dict[
            int, list[int]
        ] = {}  # by member: descriptors that came before their Admitted; the reading thread's own
        self._outbox: deque[tuple[bytes, list[int]]] = deque()
        self._reader = threading.Thread(target=self._read, name="outrider-reader", daemon=True)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER)

    def start(self) -> None:
        """Starts the reading thread; answers arrive from here on."""
        self._reader.start()

    def ask(self, frame: Any, fds: Sequence[int] = ()) -> Future[Answer]:
        """Sends a question.

        Args:
            frame: A `Frame` with a body and, where it is about one, a member; gets its id here.
            fds: Descriptors to send along; they stay the caller's and may be closed on return.

        Returns:
            A future of the answer. It fails with the sidecar's error, or with `Closed` when the sidecar is gone.
        """
        future: Future[Answer] = Future()
        frame.id = next(self._ids)
        with self._lock:
            ended = self._ended
            if ended is None:
                self._pending[frame.id] = future
        if ended is not None:
            future.set_exception(copy(ended))
            return future
        # The reader sees the end of the socket too, and fails the future with what became of the sidecar.
        with contextlib.suppress(OSError):
            self._send(frame, fds)
        return future

    def tell(self, frame: Any, fds: Sequence[int] = ()) -> None:
        """Sends a frame that has no answer; nothing happens when the sidecar is gone."""
        with contextlib.suppress(OSError):
            self._send(frame, fds)

    def reply(self, question: Any, frame: Any) -> None:
        """Answers a question of the sidecar's."""
        frame.id, frame.answer, frame.member = question.id, True, question.member
        self.tell(frame)

    def close(self) -> None:
        """Ends the socket; every open question fails. Idempotent."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        if self._reader.ident is not None and self._reader is not threading.current_thread():
            self._reader.join()
        self._sock.close()

    def abandon(self) -> None:
        """After a fork, in the child: lets go of the parent's socket without a word and without the parent's locks."""
        self._lock = threading.Lock()
        self._ended = Closed("outrider: this process was forked from the one that attached; attach in the child")
        self._pending = {}
        with contextlib.suppress(OSError):
            os.close(self._sock.detach())

    @property
    def ended(self) -> Error | None:
        """Why nothing can be asked any more; None while the socket lives."""
        return self._ended

    def _send(self, frame: Any, fds: Sequence[int]) -> None:
        data = frame.SerializeToString()
        if len(data) <= DATAGRAM:
            self._post(data, fds)
            return
        spilled = write_bytes(data, "frame")
        try:
            note = wire.Frame(spilled=wire.Spilled(bytes=len(data)))
            self._post(note.SerializeToString(), [spilled, *fds])
        finally:
            os.close(spilled)

    def _post(self, data: bytes, fds: Sequence[int]) -> None:
        """Sends one datagram, at once if the socket has room; else a thread sends it, so that no event loop ever waits here."""
        with self._lock:
            if not self._outbox:
                try:
                    self._sendmsg(data, fds, socket.MSG_DONTWAIT)
                    return
                except BlockingIOError:
                    threading.Thread(target=self._drain, name="outrider-writer", daemon=True).start()
            self._outbox.append((data, [os.dup(fd) for fd in fds]))

    def _drain(self) -> None:
        """Sends what did not fit, in order, until nothing is left or the socket ends."""
        while True:
            with self._lock:
                if not self._outbox:
                    return
                data, fds = self._outbox[0]
            try:
                self._sendmsg(data, fds, 0)
            except OSError:
                with self._lock:
                    dropped = list(self._outbox)
                    self._outbox.clear()
                for _, held in dropped:
                    _close_all(held)
                return
            _close_all(fds)
            with self._lock:
                self._outbox.popleft()

    def _sendmsg(self, data: bytes, fds: Sequence[int], flags: int) -> None:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []
        self._sock.sendmsg([data], ancillary, flags | socket.MSG_NOSIGNAL)

    def _read(self) -> None:
        buffer = bytearray(_BUFFER)
        view = memoryview(buffer)
        while True:
            try:
                size, ancillary, _, _ = self._sock.recvmsg_into([buffer], _ANCILLARY, socket.MSG_CMSG_CLOEXEC)
            except OSError:
                break
            if size == 0:
                break
            fds = [
                fd
                for _, kind, data in ancillary
                if kind == socket.SCM_RIGHTS
                for (fd,) in struct.iter_unpack("i", data[: len(data) // 4 * 4])
            ]
            try:
                frame = wire.Frame.FromString(bytes(view[:size]))
                if frame.HasField("spilled"):
                    frame, fds = _unspill(frame.spilled.bytes, fds), fds[1:]
                self._arrived(frame, fds)
            except Exception:
                # A frame that cannot be understood must not end the conversation: its question stays open and the log says so.
                log.exception("outrider: a frame of %d bytes from the sidecar was not understood", size)
        self._end()

    def _arrived(self, frame: Any, fds: list[int]) -> None:
        if not frame.answer:
            if frame.WhichOneof("body") == "fetched":
                # The sidecar sends an answer with many descriptors in one go: nothing else about this member comes between.
                self._ahead.setdefault(frame.member, []).extend(fds)
            else:
                self._on_push(frame, fds)
            return
        if frame.WhichOneof("body") == "admitted":
            fds = self._ahead.pop(frame.member, []) + fds
        with self._lock:
            future = self._pending.pop(frame.id, None)
        if future is None or not future.set_running_or_notify_cancel():
            _close_all(fds)
        elif frame.HasField("error"):
            _close_all(fds)
            future.set_exception(from_wire(frame.error.kind, frame.error.message))
        else:
            future.set_result(Answer(frame, fds))

    def _end(self) -> None:
        error = self._on_end()
        with self._lock:
            self._ended = error
            pending, self._pending = self._pending, {}
        for future in pending.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(copy(error))  # a raised exception grows a traceback and is one waiter's alone


def _unspill(size: int, fds: list[int]) -> Any:
    try:
        data = os.pread(fds[0], size, 0)
    finally:
        os.close(fds[0])
    return wire.Frame.FromString(data)


def _close_all(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)

"""The sidecar process: find the binary, start it tied to this process, wait until it answers, see it end."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import tempfile
from pathlib import Path

from outrider import _ray
from outrider import _wire_pb2 as wire
from outrider.errors import StartError

PROTOCOL = (2, 2)
"""Lowest and highest wire protocol that this shim speaks."""
START_SECONDS = 30.0
"""How long a sidecar may take to say that it is up; it takes milliseconds."""
END_SECONDS = 5.0
"""How long a sidecar may take to drain after its socket has ended, before it is told by signal."""

_EXITS = {
    0: "drained",
    1: "internal error",
    2: "usage",
    3: "parent lost",
    4: "incompatible protocol",
    5: "state refused",
}
_TAIL = 4096


class Sidecar:
    """One running sidecar.

    Attributes:
        sock: This process's end of the socket pair; whoever takes it closes it.
        pid: Of the sidecar.
        log: Path of its log file.
        version: As it says itself.
    """

    def __init__(self, role: str, start_seconds: float = START_SECONDS) -> None:
        """Starts it and waits for its first frame, or for its end, whichever is first.

        Args:
            role: What this process is first to the run; part of the log's name.
            start_seconds: Seconds until an unanswered start is given up.

        Raises:
            StartError: No binary, or it ended or kept silent; with the tail of what it wrote to stderr.
        """
        binary = find_binary()
        self.log = log_path(role)
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stderr = os.memfd_create("outrider:stderr", os.MFD_CLOEXEC)
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [
                        binary,
                        "sidecar",
                        "--socket",
                        str(theirs.fileno()),
                        "--log",
                        self.log,
                        "--parent",
                        str(os.getpid()),
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                    start_new_session=True,
                )
        except OSError as error:
            self.sock.close()
            os.close(self._stderr)
            raise StartError(
                f"outrider: sidecar {binary} cannot be started: {error}; reinstall the wheel or point OUTRIDER_BINARY to a working binary"
            ) from error
        self.pid = self._process.pid
        try:
            self.version = self._handshake(binary, start_seconds)
        except BaseException:
            self.sock.close()
            self.stop(0.0)
            raise

    def _handshake(self, binary: str, seconds: float) -> str:
        self.sock.setblocking(False)
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        died = os.pidfd_open(self.pid)
        try:
            poll.register(died, select.POLLIN)
            poll.poll(seconds * 1000)
            try:
                data = self.sock.recv(1 << 16)
            except (BlockingIOError, ConnectionResetError):
                data = b""
        finally:
            os.close(died)
        if not data:
            raise StartError(self._no_start(binary, seconds))
        frame = wire.Frame.FromString(data)
        if not frame.HasField("ready"):
            raise StartError(
                f"outrider: {binary} is not a sidecar: its first frame is {frame.WhichOneof('body')!r}, not 'ready'; point OUTRIDER_BINARY to outrider's own binary"
            )
        ready = frame.ready
        if ready.protocol_max < PROTOCOL[0] or ready.protocol_min > PROTOCOL[1]:
            raise StartError(
                f"outrider: sidecar {ready.version} speaks protocol {ready.protocol_min}..{ready.protocol_max}, this package {PROTOCOL[0]}..{PROTOCOL[1]}; install the same version of both"
            )
        self.sock.setblocking(True)
        hello = wire.Frame(hello=wire.Hello(protocol_min=PROTOCOL[0], protocol_max=PROTOCOL[1], version=ready.version))
        self.sock.send(hello.SerializeToString(), socket.MSG_NOSIGNAL)
        return str(ready.version)

    def _no_start(self, binary: str, seconds: float) -> str:
        try:
            code: int | None = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            code = None
        what = (
            f"did not answer within {seconds:g} s"
            if code is None
            else f"ended with {describe_exit(code)} before it was up"
        )
        tail = self.stderr_tail()
        said = f"; it said:\n{tail}" if tail else "; it said nothing"
        return f"outrider: sidecar {binary} (pid {self.pid}) {what}; its log is {self.log}{said}"

    def stderr_tail(self) -> str:
        """The last 4 KiB that the sidecar wrote to stderr."""
        try:
            size = os.fstat(self._stderr).st_size
            return os.pread(self._stderr, _TAIL, max(0, size - _TAIL)).decode(errors="replace").strip()
        except OSError:
            return ""

    def how_it_ended(self) -> str:
        """Its pid and exit code, for an error: called when its socket has ended. Waits a moment for the process to follow its socket."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return f"the sidecar (pid {self.pid}) has closed its socket"
        tail = self.stderr_tail()
        return f"the sidecar (pid {self.pid}) ended with {describe_exit(code)}; its log is {self.log}" + (
            f"; it said:\n{tail}" if tail else ""
        )

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._process.poll()

    def stop(self, seconds: float = END_SECONDS) -> int:
        """Waits for the end of the process after its socket was closed; tells it by signal when it lingers; reaps it. Idempotent.

        Returns:
            The exit code; negative for a signal.
        """
        for insist in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                insist()
        code = self._process.wait()
        if self._stderr >= 0:
            os.close(self._stderr)
            self._stderr = -1
        return code


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        return f"signal {-code}"
    return f"exit code {code} ({_EXITS[code]})" if code in _EXITS else f"exit code {code}"


def find_binary() -> str:
    """Path of the sidecar's binary: $OUTRIDER_BINARY, else the one in this package.

    Raises:
        StartError: Neither is an executable file.
    """
    path = Path(os.environ.get("OUTRIDER_BINARY") or Path(__file__).parent / "_bin" / "outrider")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise StartError(
            f"outrider: {path} is not an executable file; install the wheel for this platform (linux x86_64 or aarch64) or point OUTRIDER_BINARY to the sidecar's binary"
        )
    return str(path)


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError:  # It looks for one that can be written: on full disks there is none.
        return Path("/tmp")


def log_path(role: str) -> str:
    """Where a sidecar of this process logs: beside Ray's own logs if this is a Ray process, else a directory of this user.

    The sidecar says it when that cannot be written, and goes on without.
    """
    name = f"outrider-{role}-{_ray.actor_name() or 'driver'}-{os.getpid()}.log".replace("/", "_")
    directory = _ray.logs_directory()
    if directory is None:
        directory = _temporary() / f"outrider-{os.getuid()}"
        with contextlib.suppress(OSError):
            directory.mkdir(mode=0o700, exist_ok=True)
    return str(directory / name)

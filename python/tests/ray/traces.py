"""What a run leaves on this host: processes, abstract sockets, shared memory; read from /proc, for those that carry a mark.

Other runs may be on the same host, so nothing is judged by its name alone: a process belongs to a test when its environment
carries the test's mark, and a socket or a memfd when such a process held it.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

MARK = "OUTRIDER_TEST_MARK"
SECONDS = 5.0
"""How long anything of a run may outlive the process it was made for."""


def until(condition, seconds=60.0, step=0.02):
    """Waits for a condition; returns its last value. The deadline only ends a test that fails anyway."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(step)  # /proc has no event for the end of a socket or of a mapping


def alive(pid):
    """Whether a process runs; a zombie does not, whoever has yet to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pids(mark):
    """Processes whose environment carries the mark; this one, which set it after its start, does not."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0") and alive(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def sidecars(mark):
    """The marked sidecars."""
    return [pid for pid in pids(mark) if command(pid)[1:2] == [b"sidecar"]]


def parent(pid):
    """Of a process; 0 when it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def sockets(pid):
    """Names of the abstract sockets that a process listens at."""
    held = {link[8:-1] for link in _links(pid).values() if link.startswith("socket:[")}
    return {name for inode, name in _listening() if inode in held}


def all_sockets():
    """Names of every sidecar's abstract socket of this network namespace."""
    return {name for _, name in _listening()}


def memory(pid):
    """Inodes of the memfds that a process holds, by descriptor or mapping."""
    found = set()
    for fd, link in _links(pid).items():
        if link.startswith("/memfd:outrider"):
            try:
                found.add(Path(f"/proc/{pid}/fd/{fd}").stat().st_ino)
            except OSError:
                continue
    try:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            parts = line.split()
            if len(parts) > 5 and parts[5].startswith("/memfd:outrider"):
                found.add(int(parts[4]))
    except OSError:
        pass
    return found


def all_memory():
    """Inodes of every sidecar's memfds on this host."""
    return {inode for entry in Path("/proc").iterdir() if entry.name.isdigit() for inode in memory(int(entry.name))}


@dataclass(frozen=True)
class Traces:
    """What some processes hold at one moment.

    Attributes:
        pids: Of them.
        sockets: Abstract names.
        memory: Inodes of memfds that nobody but them holds.
    """

    pids: frozenset[int]
    sockets: frozenset[str]
    memory: frozenset[int]

    def left(self):
        """What of it is still there."""
        return [
            *(f"process {pid} {command(pid)}" for pid in self.pids if alive(pid)),
            *(f"socket {name}" for name in self.sockets & all_sockets()),
            *(f"memory of inode {inode}" for inode in self.memory & all_memory()),
        ]


def of(those, mark):
    """Traces of some of the marked processes."""
    mine = set().union(*(memory(pid) for pid in those))
    others = set().union(*(memory(pid) for pid in pids(mark) if pid not in those), memory(os.getpid()))
    names = set().union(*(sockets(pid) for pid in those))
    return Traces(frozenset(those), frozenset(names), frozenset(mine - others))


def assert_gone(traces, ended):
    """Nothing of them is left 5 s after the processes `ended` that they were made for; when those end is Ray's business."""
    assert until(lambda: not any(alive(pid) for pid in ended)), f"Ray has not ended {ended}"
    until(lambda: not traces.left(), SECONDS)
    assert traces.left() == []


def _links(pid):
    found = {}
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                found[entry.name] = str(entry.readlink())
            except OSError:
                continue
    except OSError:
        pass
    return found


def _listening():
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        parts = line.split()
        if len(parts) > 7 and parts[7].startswith("@outrider/"):
            yield parts[6], parts[7]

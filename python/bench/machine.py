"""What the numbers were measured on, and its one setting that matters."""

from __future__ import annotations

import atexit
import os
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType

HUGE = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")


def describe() -> str:
    """Processors, memory, kernel, versions, load."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {_version(name)}" for name in ("ray", "grpcio", "protobuf", "numpy", "pyarrow"))
    return (
        f"machine  {os.cpu_count()} x {model}, {memory:.0f} GiB, Linux {platform.release()}, load {os.getloadavg()[0]:.1f} before the run\n"
        f"         Python {platform.python_version()}, {packages}\n"
        f"         shared-memory huge pages: {huge_pages() or 'unknown'}"
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def huge_pages() -> str | None:
    """The kernel's setting for shared memory, None where it has none."""
    try:
        text = HUGE.read_text()
    except OSError:
        return None
    return text[text.index("[") + 1 : text.index("]")]


@contextmanager
def huge_pages_set(value: str) -> Iterator[bool]:
    """Sets the kernel's shared-memory huge pages for a block.

    The former value comes back when the block ends, at the interpreter's exit, and on SIGINT, SIGTERM and SIGHUP.

    Yields:
        Whether the setting is in force; False without the right to write it.
    """
    before = huge_pages()
    if before is None or before == value:
        yield before == value
        return
    try:
        HUGE.write_text(value)
    except OSError:
        yield False
        return

    def restore() -> None:
        HUGE.write_text(before)

    def ended(number: int, _: FrameType | None) -> None:
        restore()
        sys.exit(128 + number)

    atexit.register(restore)
    handlers = {number: signal.signal(number, ended) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield True
    finally:
        restore()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        atexit.unregister(restore)


def children() -> set[int]:
    """Process ids of this process's children."""
    return {child for child, _ in _by_parent().get(os.getpid(), [])}


def processor_seconds(roots: set[int]) -> float:
    """Processor time so far, user and system, of children of this process and all that descends from them."""
    by_parent = _by_parent()
    todo = [(child, ticks) for child, ticks in by_parent.get(os.getpid(), []) if child in roots]
    total = 0
    while todo:
        process, ticks = todo.pop()
        total += ticks
        todo += by_parent.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def descendants(process: int) -> set[int]:
    """Process ids of all that descend from a process."""
    by_parent = _by_parent()
    todo, found = [process], set()
    while todo:
        below = [child for child, _ in by_parent.get(todo.pop(), [])]
        found.update(below)
        todo += below
    return found


def host_seconds() -> float:
    """Processor time so far, user and system, of all processes that this one sees: in a process namespace, those of its host."""
    return sum(ticks for found in _by_parent().values() for _, ticks in found) / os.sysconf("SC_CLK_TCK")


def _by_parent() -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            found.setdefault(int(fields[1]), []).append((int(entry.name), int(fields[11]) + int(fields[12])))
    return found

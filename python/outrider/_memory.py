"""Shared memory: read-only mappings that live as long as their last view, and fresh memfds written as Arrow streams."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import mmap
import os
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from outrider import _ipc, _pages

_FAILED = ctypes.c_void_p(-1).value


@functools.cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc


def allow_writes(address: int, size: int) -> bool:
    """Lets this process write into a part of a `Mapping`, for consumers that cannot be told that memory is read-only.

    What they write goes to pages of this process's own, copied at the first write: the segment, and everybody else who reads it,
    keep what the engine wrote.

    Args:
        address: First byte.
        size: Bytes.

    Returns:
        Whether the kernel allowed it.
    """
    first = address & -mmap.PAGESIZE
    return bool(_libc().mprotect(first, address + size - first, mmap.PROT_READ | mmap.PROT_WRITE) == 0)


class Mapping:
    """Pages of a sealed memfd, mapped read-only.

    Every Arrow buffer and numpy view made from it holds it; the pages go with the last of them, whatever has become of
    lease, batch or sidecar. No descriptor stays open for it (Python's own `mmap` keeps one before 3.13).
    """

    __slots__ = ("__weakref__", "_munmap", "address", "size")

    def __init__(self, fd: int) -> None:
        """Maps the whole file.

        Args:
            fd: A memfd; stays the caller's, who may close it at once.

        Raises:
            OSError: The kernel refused the mapping.
        """
        libc = _libc()
        self.size = os.fstat(fd).st_size
        self.address = 0
        self._munmap = libc.munmap
        if self.size == 0:
            return
        # Private, not shared: the same pages for a reader on every kernel (before 6.7 it refuses shared mappings of write-sealed
        # memory), and whoever writes all the same (see `allow_writes`) gets pages of its own.
        address = libc.mmap(None, self.size, mmap.PROT_READ, mmap.MAP_PRIVATE, fd, 0)
        if address != _FAILED:
            self.address = address
            return
        error = ctypes.get_errno()
        raise OSError(error, f"outrider: mapping {self.size} bytes of shared memory: {os.strerror(error)}")

    def __del__(self) -> None:
        # Runs wherever the last view dies: one system call, no lock, no message.
        if self.address:
            self._munmap(self.address, self.size)
            self.address = 0

    def buffer(self) -> pa.Buffer:
        """The mapped bytes as an immutable Arrow buffer that keeps the mapping; shared, not copied."""
        if self.address == 0:
            return pa.py_buffer(b"")
        return pa.foreign_buffer(self.address, self.size, base=self)


def read_stream(fd: int) -> list[pa.RecordBatch]:
    """Reads an Arrow IPC stream in place.

    Args:
        fd: A sealed memfd; stays the caller's.

    Returns:
        The stream's record batches over the mapped memory; nothing is copied.
    """
    buffer = Mapping(fd).buffer()
    head, schema = _opened(buffer)
    if schema is None:
        with pa.ipc.open_stream(buffer) as reader:
            return list(reader)
    source = pa.BufferReader(buffer)
    source.seek(head)
    batches = []
    while buffer.size - source.tell() > _MARKER:
        batches.append(pa.ipc.read_record_batch(pa.ipc.read_message(source), schema))
    return batches


_MARKER = 8
"""Bytes of a stream's end marker, behind which a sealed segment has none."""


def _opened(buffer: pa.Buffer) -> tuple[int, pa.Schema | None]:
    """Where a stream's record batches begin, and its schema: None when pyarrow has to read it from the start.

    Segments of one run mostly have one schema, and reading it again costs more than reading a batch.
    """
    prefix = buffer[:8].to_pybytes()
    if prefix[:4] != b"\xff\xff\xff\xff" or len(prefix) < 8:
        return 0, None
    head = 8 + int.from_bytes(prefix[4:], "little")
    return head, _schema(buffer[:head].to_pybytes())


@functools.lru_cache(maxsize=64)
def _schema(message: bytes) -> pa.Schema | None:
    """The schema of a stream; None when dictionaries follow it, which only a reader of the whole stream puts together."""
    schema = pa.ipc.read_schema(pa.py_buffer(message))
    return None if any(_has_dictionary(kind) for kind in schema.types) else schema


def _has_dictionary(kind: pa.DataType) -> bool:
    children = [kind.field(i).type for i in range(kind.num_fields)]
    return pa.types.is_dictionary(kind) or any(_has_dictionary(child) for child in children)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Record batches of one schema as a single one; copied, unless there is only one.

    Args:
        batches: At least one.
    """
    if len(batches) == 1:
        return batches[0]
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table as one batch; shares its memory where it has one chunk."""
    return joined(table.to_batches()) if table.num_rows else pa.RecordBatch.from_pylist([], schema=table.schema)


def write_stream(schema: pa.Schema, batches: list[pa.RecordBatch], name: str) -> int:
    """Writes record batches once, as an Arrow IPC stream, into a fresh memfd.

    The columns' buffers go to the kernel as they lie, and nothing can change them from then on; the receiver takes no memfd without
    all seals and sets the last of them itself.

    Args:
        schema: Of all batches.
        batches: Rows; may be empty.
        name: Shown in /proc; no meaning.

    Returns:
        The memfd, the caller's to pass on and close.

    Raises:
        OSError: No descriptor or no memory is left.
    """
    return _written(schema, batches, name, lambda pieces: None)


def write_checked(schema: pa.Schema, batches: list[pa.RecordBatch], name: str) -> tuple[int, int]:
    """`write_stream`, and the CRC-32 of the columns as they lay here before they were written: half a second for each GB.

    Columns that pyarrow has to write itself are read back instead: then it says what was written, not what was to be.
    """
    sums: list[int] = []
    fd = _written(schema, batches, name, lambda pieces: sums.append(functools.reduce(_crc32, pieces, 0)))
    if not sums:
        sums.append(zlib.crc32(Mapping(fd).buffer()))
    return fd, sums[0]


def _crc32(before: int, piece: _ipc.Bytes) -> int:
    return zlib.crc32(piece, before)


def _written(
    schema: pa.Schema, batches: list[pa.RecordBatch], name: str, look: Callable[[list[_ipc.Bytes]], None]
) -> int:
    """What `write_stream` says; look sees the bytes before they are written, where they are in memory."""
    fd = os.memfd_create(f"outrider:{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        if nbytes(batches) <= _SMALL:
            sink = pa.BufferOutputStream()
            _write(schema, batches, sink)
            pieces: list[_ipc.Bytes] | None = [sink.getvalue()]
        else:
            pieces = _ipc.stream(schema, batches)
        if pieces:
            look(pieces)
            _pages.write(fd, pieces)
        else:
            # By path: the descriptor stays ours, and the stream's own is closed before the memfd is sealed.
            with pa.OSFile(f"/proc/self/fd/{fd}", "wb") as file:
                _write(schema, batches, file)
        _seal(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


# Below this a stream is put together in memory and written by one call; above, each buffer is written from where it lies, to a
# boundary of 64 bytes where it can.
_SMALL = 256 << 10


_ADD_SEALS, _SEALS = 1033, 2 | 4 | 8  # F_ADD_SEALS; F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE


def _seal(fd: int) -> None:
    """Seals right after the write, which is the cheapest moment.

    The kernel seals what nobody else uses. Fresh pages count as used until the processor that wrote them has done its bookkeeping:
    here that is done on the spot, a process on another processor would have to wait for all of them.
    """
    with contextlib.suppress(OSError):  # whatever is in the way, the receiver refuses with its reason
        fcntl.fcntl(fd, _ADD_SEALS, _SEALS)


def nbytes(batches: Iterable[pa.RecordBatch]) -> int:
    """Bytes of the batches' columns; of small ones an upper bound, which is cheaper to tell."""
    return sum(bound if (bound := batch.get_total_buffer_size()) <= _SMALL else batch.nbytes for batch in batches)


def _write(schema: pa.Schema, batches: list[pa.RecordBatch], sink: Any) -> None:
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def write_bytes(data: bytes, name: str) -> int:
    """Puts bytes into a fresh memfd; the caller closes it."""
    fd = os.memfd_create(f"outrider:{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        _ipc.write(fd, [data])
    except BaseException:
        os.close(fd)
        raise
    return fd

"""Arrow IPC streams whose buffers all lie on 64-byte boundaries, written without a copy in this process.

pyarrow's own writer aligns buffers to 8 bytes, and consumers that want 64 (XLA, by DLPack) then copy. The layout of a stream is
that of the Arrow columnar specification, "Serialization and Interprocess Communication". What depends on the schema alone
comes from pyarrow once: its messages for one row, in which only numbers change from batch to batch.
"""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

ALIGNMENT = 64
_END = b"\xff\xff\xff\xff\0\0\0\0"
_ZEROS = bytes(ALIGNMENT)
_IOV_MAX = 1024

Bytes: TypeAlias = "bytes | bytearray | pa.Buffer"


class _Batch(NamedTuple):
    """The message of a record batch, with the places of what changes: row count, body length, nodes, buffers."""

    message: bytes
    rows: int
    body: int
    nodes: int
    node_count: int
    buffers: int
    buffer_count: int


def stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> list[Bytes] | None:
    """The stream in pieces, those of the columns shared with the batches.

    Args:
        schema: Of all batches.
        batches: Rows.

    Returns:
        What to write one after the other; None for a shape that pyarrow's own writer has to lay out: nulls, slices, types
        beyond numbers, text, lists and structs.
    """
    head = schema.serialize().to_pybytes()
    plans, template = _templates(head)
    if template is None:
        return None
    pieces: list[Bytes] = [head]
    at = len(head)
    for batch in batches:
        lengths: list[int] = []
        buffers: list[pa.Buffer | None] = []
        if not batch.num_rows or not all(
            _collect(column, plan, lengths, buffers) for column, plan in zip(batch.columns, plans, strict=True)
        ):
            return None
        message, body = _message(template, batch.num_rows, lengths, buffers, at)
        pieces.append(message)
        for buffer in buffers:
            if buffer is not None and buffer.size:
                pieces.append(buffer)
                if rest := -buffer.size % ALIGNMENT:
                    pieces.append(_ZEROS[:rest])
        at += len(message) + body
    pieces.append(_END)
    return pieces


def write(fd: int, pieces: list[Bytes]) -> None:
    """Writes pieces one after the other from where fd stands; the kernel takes them from where they lie.

    Raises:
        OSError: No memory is left.
    """
    views = [memoryview(piece) for piece in pieces]
    at = 0
    while at < len(views):
        written = os.writev(fd, views[at : at + _IOV_MAX])
        while at < len(views) and written >= views[at].nbytes:
            written -= views[at].nbytes
            at += 1
        if written:
            views[at] = views[at].cast("B")[written:]


class _Plan(NamedTuple):
    """How the arrays of one type lie: bytes of a value (0 for none), 32-bit offsets or not, and the children."""

    width: int
    offsets: bool
    children: tuple[_Plan, ...]


def _plan(kind: pa.DataType) -> _Plan | None:
    """None for a type that is left to pyarrow."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _Plan(kind.byte_width, False, ())
    if pa.types.is_string(kind):
        return _Plan(1, True, ())
    if not pa.types.is_list(kind) and not pa.types.is_struct(kind):
        return None
    children = [_plan(kind.field(i).type) for i in range(kind.num_fields)]
    known = tuple(child for child in children if child is not None)
    return _Plan(0, pa.types.is_list(kind), known) if len(known) == len(children) else None


def _collect(array: pa.Array, plan: _Plan, lengths: list[int], buffers: list[pa.Buffer | None]) -> bool:
    """Appends an array's nodes and buffers, depth first, as the format orders them. False when it is sliced or has nulls."""
    rows = len(array)
    if array.offset or array.null_count:
        return False
    lengths.append(rows)
    buffers.append(None)
    if rows == 0:  # whatever it has for buffers, none of their bytes counts
        buffers.extend([None] * (plan.offsets + (plan.width > 0)))
    elif plan.offsets or plan.width:
        own = array.buffers()
        if plan.offsets:
            if any(own[1][:4]):
                return False
            buffers.append(own[1][: 4 * rows + 4])
            if plan.width:
                buffers.append(own[2])
        else:
            buffers.append(own[1][: plan.width * rows])
    if not plan.children:
        return True
    if plan.offsets:
        return _collect(array.values, plan.children[0], lengths, buffers)
    return all(_collect(array.field(i), child, lengths, buffers) for i, child in enumerate(plan.children))


def _message(
    template: _Batch, rows: int, lengths: list[int], buffers: list[pa.Buffer | None], at: int
) -> tuple[bytearray, int]:
    """The message of a batch that stands at byte `at`, padded so that its body begins on a boundary, and the body's size."""
    if len(lengths) != template.node_count or len(buffers) != template.buffer_count:
        raise AssertionError(f"outrider: {len(lengths)} nodes and {len(buffers)} buffers, the schema has {template}")
    message = bytearray(template.message)
    message += _ZEROS[: -(at + len(message)) % ALIGNMENT]
    sizes = np.array([buffer.size if buffer is not None else 0 for buffer in buffers], np.int64)
    padded = sizes + -sizes % ALIGNMENT
    places = np.frombuffer(message, np.int64, 2 * len(buffers), template.buffers)
    np.cumsum(padded[:-1], out=places[2::2])
    places[0] = 0
    places[1::2] = sizes
    nodes = np.frombuffer(message, np.int64, 2 * len(lengths), template.nodes)
    nodes[0::2] = lengths
    nodes[1::2] = 0
    body = int(padded.sum())
    struct.pack_into("<i", message, 4, len(message) - 8)
    struct.pack_into("<q", message, template.rows, rows)
    struct.pack_into("<q", message, template.body, body)
    return message, body


@functools.lru_cache(maxsize=64)
def _templates(head: bytes) -> tuple[tuple[_Plan, ...], _Batch | None]:
    """The columns' plans, and the message of a batch of one row: None when there is none to write.

    Args:
        head: The schema's message; not the schema, which equals others of other metadata.
    """
    schema = pa.ipc.read_schema(pa.py_buffer(head))
    plans = tuple(plan for plan in map(_plan, schema.types) if plan is not None)
    if not plans or len(plans) < len(schema.types):
        return (), None
    one = pa.RecordBatch.from_arrays([pa.nulls(1, kind) for kind in schema.types], schema=schema)
    whole = one.serialize().to_pybytes()
    (size,) = struct.unpack_from("<i", whole, 4)
    return plans, _places(whole[: 8 + size])


def _places(message: bytes) -> _Batch:
    """Finds the numbers in a record batch's message.

    Message.fbs: Message is version, header type, header, body length; RecordBatch is length, nodes, buffers.
    """
    table = 8 + struct.unpack_from("<I", message, 8)[0]
    header = _field(message, table, 2)
    header += struct.unpack_from("<I", message, header)[0]
    nodes, node_count = _vector(message, _field(message, header, 1))
    buffers, buffer_count = _vector(message, _field(message, header, 2))
    rows, body = _field(message, header, 0), _field(message, table, 3)
    return _Batch(message, rows, body, nodes, node_count, buffers, buffer_count)


def _field(message: bytes, table: int, index: int) -> int:
    """Place of a field of a flatbuffers table, which must be there."""
    vtable = table - struct.unpack_from("<i", message, table)[0]
    (offset,) = struct.unpack_from("<H", message, vtable + 4 + 2 * index)
    if not offset:
        raise AssertionError(f"outrider: pyarrow {pa.__version__} left out field {index} of a message")
    return int(table + offset)


def _vector(message: bytes, field: int) -> tuple[int, int]:
    """Place of a vector's first element, and how many there are."""
    at = field + struct.unpack_from("<I", message, field)[0]
    return at + 4, struct.unpack_from("<I", message, at)[0]

"""One prompt on its own: made by a worker, or pushed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from outrider.errors import DataError


def one_row(made: Any, schema: pa.Schema | None) -> pa.RecordBatch:
    """Brings what a user's function made into columns.

    Raises:
        DataError: Not one row, or not of the schema.
    """
    try:
        if isinstance(made, Mapping):
            batch = pa.RecordBatch.from_pylist([dict(made)], schema=schema)
            missing = set(made) - set(batch.schema.names)
            if missing:
                raise DataError(f"outrider: the row has {sorted(missing)}, which schema= does not; leave them out")
        elif isinstance(made, pa.RecordBatch):
            batch = made
        else:
            raise DataError(
                f"outrider: the row is a {type(made).__name__}; return a dict, or a record batch of one row"
            )
    except pa.ArrowException as error:
        raise DataError(
            f"outrider: the row cannot be made into columns: {error}; give values of the schema's types"
        ) from error
    if batch.num_rows != 1 or batch.num_columns == 0:
        raise DataError(
            f"outrider: the row has {batch.num_rows} rows and {batch.num_columns} columns; return one row of at least one"
        )
    if schema is not None and not batch.schema.equals(schema, check_metadata=False):
        raise DataError(
            f"outrider: the row's columns are {named(batch.schema)}, schema= says {named(schema)}; return those of schema="
        )
    return batch


def named(schema: pa.Schema) -> str:
    """Names and types in one line."""
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def print_of(batch: pa.RecordBatch) -> bytes:
    """32 bytes: half a digest of the columns, half one of the values, whatever the layout of the arrays."""
    columns = hashlib.sha256(named(batch.schema).encode()).digest()
    values = hashlib.sha256(repr(batch.to_pylist()).encode("utf-8", "surrogatepass")).digest()
    return columns[:16] + values[:16]


def to_bytes(batch: pa.RecordBatch) -> bytes:
    """An Arrow IPC stream of one row."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.RecordBatch:
    """What `to_bytes` gave; shares the memory of the bytes."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()

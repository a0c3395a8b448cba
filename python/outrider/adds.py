"""What a stage adds: names and types of columns, and values brought into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from outrider.columns import TYPES, domain, is_list
from outrider.errors import ConfigError, DataError

_GENERATED = ("group", "slot", "trajectory", "part", "tokens", "response_length", "versions", "status")
"""Columns that only a generation gives: the run keeps its books by them."""


def declared(what: str, adds: Any) -> list[pa.Field]:
    """The columns that a stage adds, by name.

    Args:
        what: Names the argument in messages.
        adds: Name → type: a numpy dtype or its name ("float64"), "text", a `pa.DataType`, or a `pa.Field` whose metadata gives a
            list its domain.

    Raises:
        ConfigError: No columns, a name that is taken, or a type that a column cannot have.
    """
    if not isinstance(adds, Mapping) or not adds:
        raise ConfigError(f"outrider: {what}={adds!r} names no columns; give a dict such as {{'reward': 'float64'}}")
    return [_field(what, name, kind) for name, kind in sorted(adds.items())]


def _field(what: str, name: Any, kind: Any) -> pa.Field:
    if not isinstance(name, str) or not name or name in _GENERATED:
        raise ConfigError(
            f"outrider: {what}: a stage cannot add a column {name!r}: a group has it from its generation; give another name"
        )
    metadata = None
    if isinstance(kind, pa.Field):
        kind, metadata = kind.type, kind.metadata
    if not isinstance(kind, pa.DataType):
        try:
            kind = pa.utf8() if kind in ("text", str) else pa.from_numpy_dtype(np.dtype(kind))
        except (TypeError, ValueError, pa.ArrowException):
            raise ConfigError(
                f"outrider: {what}: column {name!r} is of type {kind!r}; give a numpy dtype, 'text', a pa.DataType or a pa.Field"
            ) from None
    if is_list(kind):
        kind = pa.list_(pa.field("item", kind.value_type, nullable=False))
    if name in TYPES and not kind.equals(TYPES[name]):
        raise ConfigError(f"outrider: {what}: column {name!r} is {kind}; it has to be {TYPES[name]}")
    return pa.field(name, kind, nullable=False, metadata=metadata)


def stage_name(fields: list[pa.Field]) -> str:
    """A stage's name: what it adds. Runs and members that say the same columns mean the same stage."""
    return ", ".join(
        f"{field.name}: {field.type.value_type} for each {domain(field)}"
        if is_list(field.type)
        else f"{field.name}: {field.type}"
        for field in fields
    )


def to_columns(fields: list[pa.Field], values: Mapping[str, Any], rows: int, group: int) -> pa.RecordBatch:
    """Brings the values that a stage gives one group into its columns.

    Args:
        fields: What the stage adds.
        values: By name: a value for each row, as a numpy array, an Arrow array, or anything that iterates.
        rows: Of the group.
        group: Named in errors.

    Raises:
        DataError: Other columns than the stage adds, another number of rows, a null, or a value of another type; names column and
            row, what was expected and what was found.
    """
    if sorted(values) != [field.name for field in fields]:
        raise DataError(
            f"outrider: group {group}: the columns {sorted(values)} were given, its stage adds {[field.name for field in fields]}; give each of them in one call"
        )
    arrays = [
        _column(field, values[field.name], rows, f"outrider: group {group}: column {field.name!r}") for field in fields
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _column(field: pa.Field, values: Any, rows: int, what: str) -> pa.Array:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise DataError(f"{what}: expected {rows} values, one for each row, found a {type(values).__name__}")
    if len(values) != rows:
        raise DataError(f"{what}: expected {rows} values, one for each row, found {len(values)}")
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        array = values
        if not array.type.equals(field.type):
            raise DataError(f"{what}: expected {field.type}, found {array.type}")
        if array.null_count:
            row = next(row for row, there in enumerate(array.is_valid().to_pylist()) if not there)
            raise DataError(f"{what}: row {row}: expected {field.type}, found a null")
        return array
    if is_list(field.type):
        lists = [_numbers(field.type.value_type, value, f"{what}: row {row}", 1) for row, value in enumerate(values)]
        offsets = np.zeros(rows + 1, np.int32)
        np.cumsum([len(one) for one in lists], out=offsets[1:])
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(lists)), type=field.type)
    if pa.types.is_string(field.type):
        for row, value in enumerate(values):
            if not isinstance(value, str):
                raise DataError(f"{what}: row {row}: expected text, found {value!r} ({type(value).__name__})")
        return pa.array(list(values), field.type)
    return pa.array(_numbers(field.type, values, what, 0))


def _numbers(kind: pa.DataType, values: Any, what: str, depth: int) -> Any:
    """A 1-d numpy array of the type; numbers that it cannot hold are refused."""
    want = np.dtype(kind.to_pandas_dtype())
    if not isinstance(values, np.ndarray):
        for at, value in enumerate(values):
            if isinstance(value, (bool, np.bool_)) or not hasattr(
                value, "__index__" if want.kind in "iu" else "__float__"
            ):
                place = f"value {at}" if depth else f"row {at}"
                raise DataError(f"{what}: {place}: expected {kind}, found {value!r} ({type(value).__name__})")
        values = np.asarray(values) if len(values) else np.empty(0, want)
    if values.ndim != 1:
        raise DataError(f"{what}: expected a 1-d array of {kind}, found {values.ndim} dimensions {list(values.shape)}")
    if values.dtype == want:
        return values
    if values.dtype.kind not in ("iu" if want.kind in "iu" else "iuf"):
        raise DataError(f"{what}: expected {kind}, found {values.dtype}")
    if want.kind in "iu" and values.size:
        limits, low, high = np.iinfo(want), int(values.min()), int(values.max())
        if low < limits.min or high > limits.max:
            raise DataError(f"{what}: expected {kind}, found a value of {low if low < limits.min else high}")
    return values.astype(want)

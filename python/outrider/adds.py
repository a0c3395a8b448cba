"""What a stage or a rank adds: names and types of columns, and values brought into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from outrider.columns import TYPES, domain, is_list
from outrider.errors import ConfigError, DataError

_GENERATED = ("group", "slot", "trajectory", "part", "tokens", "response_length", "versions", "status")
"""Columns that only a generation gives: the run keeps its books by them."""


def declared(what: str, adds: Any) -> list[pa.Field]:
    """The columns that are added, by name.

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
            f"outrider: {what}: nobody can add a column {name!r}: a group has it from its generation; give another name"
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


def inferred(what: str, values: Mapping[str, Any]) -> list[pa.Field]:
    """The columns that values make, by name.

    Raises:
        ConfigError: No columns, a name that is taken, or values that no column can have.
    """
    return declared(what, {name: TYPES.get(name) or _kind(value) for name, value in values.items()})


def _kind(values: Any) -> Any:
    """The type of a column that values make; an object that is no type where they make none."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values.type
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype != object:
        return values.dtype
    try:
        first = values[0]
        if isinstance(first, str):
            return pa.utf8()
        return (
            pa.list_(pa.from_numpy_dtype(np.asarray(first).dtype))
            if hasattr(first, "__len__")
            else np.asarray(values).dtype
        )
    except (TypeError, ValueError, LookupError, pa.ArrowException):
        return type(values)


def check_domains(added: pa.RecordBatch, rows: Sequence[pa.RecordBatch], what: str) -> None:
    """Sees that lists are as long, row by row, as those of the same domain that are there.

    Raises:
        DataError: Names column, row, what was expected and what was found.
    """
    have = [field for field in (rows[0].schema if rows else ()) if is_list(field.type) and domain(field) != "free"]
    for field, column in zip(added.schema, added.columns, strict=True):
        like = next((one for one in have if is_list(field.type) and domain(one) == domain(field)), None)
        if like is None:
            continue
        lengths = pc.list_value_length(column).to_numpy()
        expected = np.concatenate([pc.list_value_length(one.column(like.name)).to_numpy() for one in rows])
        for row in np.flatnonzero(lengths != expected)[:1]:
            raise DataError(
                f"{what}: column {field.name!r}: row {row}: expected {expected[row]} values, as in column {like.name!r} of the same domain {domain(field)}, found {lengths[row]}"
            )


def stage_name(fields: list[pa.Field]) -> str:
    """A stage's name: what it adds. Runs and members that say the same columns mean the same stage."""
    return ", ".join(
        f"{field.name}: {field.type.value_type} for each {domain(field)}"
        if is_list(field.type)
        else f"{field.name}: {field.type}"
        for field in fields
    )


def to_columns(fields: list[pa.Field], values: Mapping[str, Any], rows: int, what: str) -> pa.RecordBatch:
    """Brings values into the columns that were declared.

    Args:
        fields: What is added.
        values: By name: a value for each row, as a numpy array, an Arrow array, or anything that iterates.
        rows: How many there are.
        what: Names the rows in errors.

    Raises:
        DataError: Other columns than were declared, another number of rows, a null, or a value of another type; names column and
            row, what was expected and what was found.
    """
    if sorted(values) != [field.name for field in fields]:
        raise DataError(
            f"{what}: the columns {sorted(values)} were given, {[field.name for field in fields]} are to be added; give each of them in one call"
        )
    arrays = [_column(field, values[field.name], rows, f"{what}: column {field.name!r}") for field in fields]
    for field, array in zip(fields, arrays, strict=True):
        if field.name == "loss_mask":
            _check_mask(array, f"{what}: column 'loss_mask'")
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


def _check_mask(column: pa.ListArray, what: str) -> None:
    mask = column.flatten().to_numpy()
    for at in np.flatnonzero(mask > 1)[:1]:
        row = int(np.searchsorted(np.cumsum(pc.list_value_length(column).to_numpy()), at, side="right"))
        raise DataError(f"{what}: row {row}: expected 0 or 1 for each token, found {mask[at]}")


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

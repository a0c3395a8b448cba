"""What one run of a parent slot made, and how samples become columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from outrider.columns import STATUS, TYPES
from outrider.errors import DataError

_INT32 = np.iinfo(np.int32)
_CODES = {word: code for code, word in enumerate(STATUS)}


class Sample:
    """One sample. Lists, numpy arrays and anything that numpy reads are taken; columns that no sample has are left out.

    Lists are slow: numpy reads them number by number. Give arrays of the column's type where there are many tokens.

    Args:
        tokens: int32 [n], prompt + response token ids.
        response_length: Tokens of the response, the tail of `tokens`.
        logprobs: float32 [response_length], rollout log-probabilities.
        loss_mask: uint8 or bool [response_length], 1 = trained.
        reward: Scalar.
        status: "completed"; "truncated" where its length was cut; "aborted": its group is attempted again, and it is nobody's
            fault; "failed": its group is not trained, and it counts as a failed attempt. None: "completed", but an empty
            response must say what it is. To keep a bad sample without training on it, say "completed" with a `loss_mask` of zeros.
        versions: Weight version of the response, or runs of (version, length) that add up to `response_length`. None: the
            version that was announced when the work was dispatched.
        trajectory: Trajectory within the group; samples of one trajectory share it. None: the slot.
        part: Order within the trajectory. None: the place in the list that the slot returned.
        text: Response text.
        label: Anything that names the expected answer.
        metadata: JSON text, or a mapping that becomes it.
        **columns: More columns, by name: numbers, text, or 1-d arrays of numbers; of one type in every group of a run, so say 1.0 where others
            say 0.5. An empty list is of the type that the group's other samples have, float64 if all are empty; an empty array
            has its own. `group` and `slot` may be given; they are filled if not.
    """

    __slots__ = ("columns",)

    def __init__(
        self,
        tokens: Any,
        response_length: int,
        logprobs: Any = None,
        loss_mask: Any = None,
        reward: float | None = None,
        status: str | None = None,
        versions: int | Sequence[tuple[int, int]] | None = None,
        trajectory: int | None = None,
        part: int | None = None,
        text: str | None = None,
        label: str | None = None,
        metadata: str | Mapping[str, Any] | None = None,
        **columns: Any,
    ) -> None:
        given = {
            "tokens": tokens,
            "response_length": response_length,
            "logprobs": logprobs,
            "loss_mask": loss_mask,
            "reward": reward,
            "status": status,
            "versions": versions,
            "trajectory": trajectory,
            "part": part,
            "text": text,
            "label": label,
            "metadata": metadata,
        }
        self.columns: dict[str, Any] = {
            name: value for name, value in {**given, **columns}.items() if value is not None
        }

    def __repr__(self) -> str:
        return f"outrider.Sample({', '.join(f'{name}={value!r}' for name, value in self.columns.items() if name not in ('tokens', 'logprobs', 'loss_mask'))})"


Row = dict[str, Any]
"""One sample's columns in their final dtypes: numpy arrays and scalars, str, and for `versions` an int64 [runs, 2] array."""


def to_row(sample: Any, group: int, slot: int, part: int = 0) -> Row:
    """Checks a sample and brings its columns into their dtypes; arrays that have theirs already are shared.

    Args:
        sample: What the user's function returned for one slot.
        group: Filled in where the sample names none.
        slot: Likewise; names the sample in errors; also the trajectory where the sample names none.
        part: Likewise.

    Raises:
        DataError: Names slot, column, what was expected and what was found.
    """
    if not isinstance(sample, Sample):
        raise DataError(
            f"outrider: slot {slot} of group {group}: a {type(sample).__name__} is no sample; return outrider.Sample(...) or a list of them"
        )
    row: Row = {
        "group": np.int64(group),
        "slot": np.int32(slot),
        "trajectory": np.int64(slot),
        "part": np.int32(part),
        "status": np.uint8(_CODES["completed"]),
    }
    for name, value in sample.columns.items():
        try:
            row[name] = _CONVERT.get(name, _other)(value)
        except (DataError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"outrider: slot {slot} of group {group}: column {name!r}: {error}") from None
    length, tokens = int(row["response_length"]), len(row["tokens"])
    if not 0 <= length <= tokens:
        raise DataError(
            f"outrider: slot {slot} of group {group}: response_length={length}, but the sample has {tokens} tokens; give 0 to {tokens}"
        )
    if not length and "status" not in sample.columns:
        raise DataError(
            f'outrider: slot {slot} of group {group}: an empty response says itself what it is; give status="completed" (an answer of no tokens),'
            ' "truncated", "aborted" or "failed"'
        )
    for name in ("logprobs", "loss_mask"):
        if name in row and len(row[name]) != length:
            raise DataError(
                f"outrider: slot {slot} of group {group}: column {name!r} has {len(row[name])} values, response_length is {length}; give one for each response token"
            )
    if "versions" in row:
        runs = row["versions"]
        if runs.shape == (1, 1):
            row["versions"] = runs = np.array([[runs[0, 0], length]], np.int64)
        if int(runs[:, 1].sum()) != length:
            raise DataError(
                f"outrider: slot {slot} of group {group}: column 'versions' covers {int(runs[:, 1].sum())} tokens, response_length is {length}; its lengths must add up to it"
            )
    return row


def _array(value: Any, expected: str) -> npt.NDArray[Any]:
    """As numpy reads it; what numpy can only keep as objects is refused."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(f"expected {expected}, found sequences of different lengths") from None
    if array.dtype == object:
        values = list(enumerate(array.flat))
        strange = [one for one in values if not isinstance(one[1], (int, float, np.number))]
        at, found = strange[0] if strange else max(values, key=lambda one: abs(one[1]))  # no dtype is that wide
        raise DataError(f"expected {expected}, found {found!r} ({type(found).__name__}) at position {at}")
    return array


def _integers(kind: Any) -> Any:
    limits = np.iinfo(kind)

    def convert(value: Any) -> npt.NDArray[Any]:
        array = _array(value, f"a 1-d array of {np.dtype(kind)}")
        if array.ndim != 1:
            raise DataError(
                f"expected a 1-d array of {np.dtype(kind)}, found {array.ndim} dimensions {list(array.shape)}"
            )
        if array.dtype == kind:
            return array
        if array.size == 0:
            return np.empty(0, kind)
        if array.dtype.kind not in "iu":
            raise DataError(f"expected {np.dtype(kind)}, found {array.dtype}")
        low, high = int(array.min()), int(array.max())
        if low < limits.min or high > limits.max:
            raise DataError(f"expected {np.dtype(kind)}, found a value of {low if low < limits.min else high}")
        return array.astype(kind)

    return convert


def _logprobs(value: Any) -> npt.NDArray[np.float32]:
    array = _array(value, "a 1-d array of float32")
    if array.ndim != 1:
        raise DataError(f"expected a 1-d array of float32, found {array.ndim} dimensions {list(array.shape)}")
    if array.size and array.dtype.kind not in "fiu":
        raise DataError(f"expected float32, found {array.dtype}")
    return array.astype(np.float32, copy=False)


def _mask(value: Any) -> npt.NDArray[np.uint8]:
    array = _array(value, "a 1-d array of uint8")
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    checked: npt.NDArray[np.uint8] = _integers(np.uint8)(array)
    if checked.size and checked.max() > 1:
        raise DataError(f"expected 0 or 1, found {int(checked.max())}")
    return checked


def _integer(kind: Any) -> Any:
    limits = np.iinfo(kind)

    def convert(value: Any) -> Any:
        if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
            raise DataError(f"expected {np.dtype(kind)}, found {value!r} ({type(value).__name__})")
        number = value.__index__()
        if not limits.min <= number <= limits.max:
            raise DataError(f"expected {np.dtype(kind)}, found {number}")
        return kind(number)

    return convert


def _float(value: Any) -> np.float64:
    if isinstance(value, (bool, np.bool_, str)):
        raise DataError(f"expected float64, found {value!r} ({type(value).__name__})")
    return np.float64(float(value))


def _status(value: Any) -> np.uint8:
    if value not in _CODES:
        raise DataError(f"expected one of {', '.join(map(repr, STATUS))}, found {value!r}")
    return np.uint8(_CODES[value])


def _versions(value: Any) -> npt.NDArray[np.int64]:
    """int64 [runs, 2]; a single version comes as [[version]] until the response's length is known."""
    if not isinstance(value, (bool, np.bool_)) and hasattr(value, "__index__"):
        return np.array([[value.__index__()]], np.int64)
    runs = np.asarray(value)
    if runs.size == 0:
        return np.empty((0, 2), np.int64)
    if runs.ndim != 2 or runs.shape[1] != 2 or runs.dtype.kind not in "iu":
        raise DataError(f"expected an integer or pairs of (version, length), found {value!r}")
    if runs.min() < 0 or runs[:, 1].max() > _INT32.max:
        raise DataError(f"expected versions and lengths of 0 or more, found {value!r}")
    return runs.astype(np.int64)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"expected text, found {value!r} ({type(value).__name__})")
    return value


def _metadata(value: Any) -> str:
    return json.dumps(value) if isinstance(value, Mapping) else _text(value)


def _other(value: Any) -> Any:
    """A user's own column: text, a number, or a 1-d array of numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and not value:
        return _EMPTY
    if isinstance(value, Mapping):
        raise DataError(
            f"expected a number, text, or a 1-d array of numbers, found a mapping; give each of {sorted(map(str, value))} as a column of its own"
        )
    array = _array(value, "a number, text, or a 1-d array of numbers")
    if array.dtype.kind == "b":
        raise DataError("expected numbers or text, found bool; masks are uint8")
    if array.dtype.kind not in "iuf" or array.ndim > 1:
        raise DataError(
            f"expected a number, text, or a 1-d array of numbers, found {array.dtype} of shape {list(array.shape)}"
        )
    return array if array.ndim else array[()]


_CONVERT: dict[str, Any] = {
    "group": _integer(np.int64),
    "slot": _integer(np.int32),
    "trajectory": _integer(np.int64),
    "part": _integer(np.int32),
    "tokens": _integers(np.int32),
    "response_length": _integer(np.int32),
    "logprobs": _logprobs,
    "loss_mask": _mask,
    "versions": _versions,
    "reward": _float,
    "status": _status,
    "text": _text,
    "label": _text,
    "metadata": _metadata,
}


Kind = tuple[tuple[str, str], ...]


def kind_of_row(row: Row) -> Kind:
    """Columns and dtypes of a row, in the row's order: rows of one kind fit one record batch."""
    return tuple(
        [
            (name, "text" if isinstance(value, str) else _DIMENSIONS[value.ndim] + value.dtype.name)
            for name, value in row.items()
        ]
    )


_DIMENSIONS = ("", "list of ", "runs of ")
_EMPTY = np.empty(0)
"""An empty list, which has no type of its own."""


def same_kind(rows: Sequence[Row], group: int) -> Kind:
    """The kind of a group's rows. An empty list becomes one of the type that other rows have.

    Raises:
        DataError: Two of its samples have different columns; names slots and column.
    """
    for name in {name for row in rows for name, value in row.items() if value is _EMPTY}:
        typed = next((row[name] for row in rows if np.ndim(row.get(name, 0)) and row[name] is not _EMPTY), _EMPTY)
        for row in rows:
            if row.get(name) is _EMPTY:
                row[name] = np.empty(0, typed.dtype)
    kind = kind_of_row(rows[0])
    for row in rows[1:]:
        other = kind_of_row(row)
        if other != kind and sorted(other) != sorted(kind):
            name, _ = next(iter(set(kind) ^ set(other)))
            raise DataError(
                f"outrider: group {group}: column {name!r} is {dict(kind).get(name, 'missing')} in slot {int(rows[0]['slot'])}"
                f" and {dict(other).get(name, 'missing')} in slot {int(row['slot'])}; give every sample of a group the same columns"
            )
    return kind


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows of one kind as a record batch; each list column is gathered once.

    Args:
        rows: At least one, all of one kind.
    """
    fields, arrays = [], []
    for name, first in sorted(rows[0].items()):
        values = [row[name] for row in rows]
        array = _column(name, first, values)
        fields.append(pa.field(name, array.type, nullable=False))
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _column(name: str, first: Any, values: list[Any]) -> pa.Array:
    if isinstance(first, str):
        return pa.array(values, pa.utf8())
    if first.ndim == 0:
        return pa.array(np.array(values, first.dtype))
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    joined = np.concatenate(values)
    if name == "versions":
        kind = TYPES["versions"]
        runs = pa.StructArray.from_arrays(
            [pa.array(joined[:, 0].copy()), pa.array(joined[:, 1].astype(np.int32))], fields=list(kind.value_type)
        )
        return pa.ListArray.from_arrays(pa.array(offsets), runs, type=kind)
    inner = pa.array(joined)
    return pa.ListArray.from_arrays(
        pa.array(offsets), inner, type=pa.list_(pa.field("item", inner.type, nullable=False))
    )

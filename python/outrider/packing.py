"""Copies that say so: one flat array for a shard, or one padded one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from outrider._check import shown, text
from outrider.columns import DOMAINS, flat, is_list, numbers
from outrider.errors import DataError
from outrider.view import Missing


class Packed:
    """Columns of a shard, each one contiguous array, by attribute or item.

    Attributes:
        cu_seqlens: int32 [rows + 1], offsets of the token-domain column that was asked for, else of the first list column.
    """

    def __init__(self, arrays: dict[str, npt.NDArray[Any]], offsets: dict[str, npt.NDArray[np.int32]]) -> None:
        self._arrays = arrays
        self._offsets = offsets

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._arrays:
            raise Missing(f"outrider: {name!r} was not packed; packed are {sorted(self._arrays)}")
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    @property
    def cu_seqlens(self) -> npt.NDArray[np.int32]:
        """int32 [rows + 1]; see the class."""
        if not self._offsets:
            raise Missing(
                f"outrider: no list column was packed, so there are no offsets; packed are {sorted(self._arrays)}"
            )
        token = next((name for name in self._offsets if DOMAINS.get(name) == "token"), None)
        return self._offsets[token or next(iter(self._offsets))]

    def offsets(self, name: str) -> npt.NDArray[np.int32]:
        """int32 [rows + 1]: where each row's values of a list column begin and end in its flat array."""
        if text("name", name) not in self._offsets:
            raise Missing(f"outrider: no list column {name!r} was packed; packed are {sorted(self._offsets)}")
        return self._offsets[name]


def pack(columns: dict[str, pa.ChunkedArray], out: Any) -> Packed:
    """Gathers columns.

    Args:
        columns: By name, all of one row order.
        out: None, a mapping from name to array, or one array for one column.

    Returns:
        Arrays and offsets; each array is new memory or the front of the user's.

    Raises:
        DataError: A column without a flat form, or an `out` that does not fit.
    """
    targets: dict[str, Any] = {}
    if out is not None:
        if not hasattr(out, "keys"):
            if len(columns) != 1:
                raise DataError(
                    f"outrider: packed(out=...) is one array for {len(columns)} columns {sorted(columns)}; name one column, or give a mapping from name to array"
                )
            out = dict.fromkeys(columns, out)
        targets = {name: out[name] for name in out}
        if set(targets) - set(columns):
            raise DataError(
                f"outrider: packed(out=...) names {sorted(set(targets) - set(columns))}, packed are {sorted(columns)}; give arrays for these names only"
            )
    arrays: dict[str, npt.NDArray[Any]] = {}
    offsets: dict[str, npt.NDArray[np.int32]] = {}
    for name, column in columns.items():
        if is_list(column.type):
            pieces = []
            ends = []
            for chunk in column.chunks:
                values, local = flat(chunk)
                pieces.append(numbers(name, values))
                ends.append(local)
            offsets[name] = _join_offsets(name, ends)
        else:
            pieces = [numbers(name, chunk) for chunk in column.chunks]
        arrays[name] = _gather(name, pieces, targets.get(name))
    return Packed(arrays, offsets)


def pad(name: str, column: pa.ChunkedArray, value: Any) -> npt.NDArray[Any]:
    """A list column as [rows, longest]; copied once, row ends filled with `value`."""
    if not is_list(column.type):
        raise DataError(f"outrider: column {name!r} is {column.type}, one value a row; padded() is for list columns")
    packed = pack({name: column}, None)
    values, ends = packed[name], packed.offsets(name)
    lengths = np.diff(ends)
    width = int(lengths.max(initial=0))
    try:
        result = np.full((len(lengths), width), value, values.dtype)
    except (OverflowError, TypeError, ValueError):
        raise DataError(
            f"outrider: padded({name!r}, value={shown(value)}) for a column of {values.dtype}; give one number that {values.dtype} holds"
        ) from None
    result[np.arange(width) < lengths[:, None]] = values
    return result


def _join_offsets(name: str, parts: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    bases = list(accumulate((int(part[-1]) for part in parts), initial=0))
    if bases[-1] > np.iinfo(np.int32).max:
        raise DataError(
            f"outrider: column {name!r} has {bases[-1]} values in this shard, above {np.iinfo(np.int32).max}: int32 offsets cannot count them; use smaller shards"
        )
    joined = [np.zeros(1, np.int32)] + [
        np.asarray(part[1:]) + np.int32(base) for part, base in zip(parts, bases, strict=False)
    ]
    return np.concatenate(joined)


def _gather(name: str, pieces: list[npt.NDArray[Any]], target: Any) -> npt.NDArray[Any]:
    total = sum(len(piece) for piece in pieces)
    if target is None:
        return np.concatenate([np.asarray(piece) for piece in pieces]) if pieces else np.empty(0)
    array = np.asarray(target)
    dtype = pieces[0].dtype if pieces else array.dtype
    if array.ndim != 1 or array.dtype != dtype or len(array) < total or not array.flags.writeable:
        raise DataError(
            f"outrider: packed(out=...) for {name!r} is {array.dtype} {list(array.shape)}{'' if array.flags.writeable else ' read-only'};"
            f" it takes a writable 1-d {dtype} array of at least {total}"
        )
    front = array[:total]
    np.concatenate([np.asarray(piece) for piece in pieces], out=front)
    return front

"""Identity columns: filled where the user gave none, never changed where there are some."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from outrider.errors import DataError

Integers = npt.NDArray[np.integer]


_IDENTITY = {"group", "slot", "trajectory", "part"}


def identify(batch: pa.RecordBatch, groups: Sequence[int], group_size: int) -> tuple[pa.RecordBatch, list[int]]:
    """Gives rows of one or more groups their identity.

    Args:
        batch: The rows, group after group.
        groups: Group indices in the order of their rows.
        group_size: Parent slots of each.

    Returns:
        The batch with `group`, `slot`, `trajectory` and `part` (its own columns are shared, not copied), and for each group
        where its rows end. A trajectory that is not named is its slot; a part is the row's position in its trajectory.

    Raises:
        DataError: `group` or `slot` is missing and cannot be told, because there is not exactly one row a slot, or the rows
            are not those of these groups in this order.
    """
    have = set(batch.schema.names)
    if not have & _IDENTITY and batch.num_rows == group_size * len(groups):
        return _plain(batch, groups, group_size)
    if not {"group", "slot"} <= have and batch.num_rows != group_size * len(groups):
        missing = "group" if "group" not in have else "slot"
        raise DataError(
            f"outrider: {_named(groups)}: {batch.num_rows} rows without a column {missing!r}, "
            f"group_size is {group_size}; add the column, or give one row a slot"
        )
    if "group" in have:
        group = _column(batch, "group")
        ends = [*(np.flatnonzero(np.diff(group)) + 1).tolist(), batch.num_rows] if batch.num_rows else []
        if len(ends) != len(groups) or (len(groups) > 1 and [int(group[end - 1]) for end in ends] != list(groups)):
            found = [int(group[end - 1]) for end in ends]
            raise DataError(
                f"outrider: {_named(groups)}: the rows are of groups {found[:8]}; "
                "give each group's rows together, in the order of the works"
            )
    else:
        group = np.repeat(np.asarray(groups, np.int64), group_size)
        ends = list(range(group_size, batch.num_rows + 1, group_size))
    slot = _column(batch, "slot") if "slot" in have else np.tile(np.arange(group_size, dtype=np.int32), len(groups))
    trajectory = _column(batch, "trajectory") if "trajectory" in have else slot.astype(np.int64)
    made = {"group": group, "slot": slot, "trajectory": trajectory}
    if "part" not in have:
        made["part"] = _positions(group, trajectory)
    missing_columns = {name: pa.array(values) for name, values in made.items() if name not in have}
    if not missing_columns:
        return batch, ends
    fields = [pa.field(name, column.type, nullable=False) for name, column in missing_columns.items()]
    schema = pa.schema([*fields, *batch.schema], metadata=batch.schema.metadata)
    return pa.RecordBatch.from_arrays([*missing_columns.values(), *batch.columns], schema=schema), ends


def _plain(batch: pa.RecordBatch, groups: Sequence[int], group_size: int) -> tuple[pa.RecordBatch, list[int]]:
    """`identify` for one row a slot and no identity column at all."""
    slot, trajectory, part = _slots(len(groups), group_size)
    group = pa.array(np.repeat(np.asarray(groups, np.int64), group_size))
    schema = pa.schema([*_FIELDS, *batch.schema], metadata=batch.schema.metadata)
    made = pa.RecordBatch.from_arrays([group, slot, trajectory, part, *batch.columns], schema=schema)
    return made, list(range(group_size, batch.num_rows + 1, group_size))


_FIELDS = [
    pa.field("group", pa.int64(), nullable=False),
    pa.field("slot", pa.int32(), nullable=False),
    pa.field("trajectory", pa.int64(), nullable=False),
    pa.field("part", pa.int32(), nullable=False),
]


@functools.lru_cache(maxsize=64)
def _slots(groups: int, group_size: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The columns slot, trajectory and part of one row a slot; batches share them."""
    slot = np.tile(np.arange(group_size, dtype=np.int32), groups)
    return pa.array(slot), pa.array(slot.astype(np.int64)), pa.array(np.zeros(len(slot), np.int32))


def _column(batch: pa.RecordBatch, name: str) -> Integers:
    column = batch.column(batch.schema.get_field_index(name))
    if not pa.types.is_integer(column.type) or column.null_count:
        found = f"{column.null_count} nulls" if column.null_count else f"type {column.type}"
        raise DataError(f"outrider: column {name!r}: expected integers without nulls, found {found}")
    values: Integers = column.to_numpy()
    return values


def _positions(group: Integers, trajectory: Integers) -> npt.NDArray[np.int32]:
    """int32: how many rows of the same group and trajectory come before each row."""
    order = np.lexsort((trajectory, group))
    positions = np.zeros(len(group), np.int32)
    if len(group) == 0:
        return positions
    fresh = np.r_[True, (np.diff(group[order]) != 0) | (np.diff(trajectory[order]) != 0)]
    starts = np.maximum.accumulate(np.where(fresh, np.arange(len(group)), 0))
    positions[order] = np.arange(len(group)) - starts
    return positions


def _named(groups: Sequence[int]) -> str:
    return f"group {groups[0]}" if len(groups) == 1 else f"{len(groups)} groups {list(groups[:8])}"

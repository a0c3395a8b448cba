"""Groups that a worker has made by itself: the rows, before the run has given them a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from outrider._memory import one_batch
from outrider.errors import DataError
from outrider.identity import identify
from outrider.sample import to_batch
from outrider.work import group_rows

_UNNUMBERED = -1


def unnumbered(name: Any, data: Any, group_size: int) -> pa.RecordBatch:
    """The rows of one group with every identity column, of which `group` is to be filled by `numbered`.

    Args:
        name: The id that it is offered under, for errors.
        data: As `Work.complete` takes it, without a group.
        group_size: Parent slots of a group.

    Raises:
        DataError: What `Work.complete` refuses as well, or rows that name a group.
    """
    try:
        return (
            _from_arrow(data, group_size)
            if isinstance(data, (pa.RecordBatch, pa.Table))
            else _from_samples(data, group_size)
        )
    except DataError as error:
        what = str(error).removeprefix("outrider: ").replace(f" of group {_UNNUMBERED}", "")
        raise DataError(f"outrider: offer({name!r}): {what.removeprefix(f'group {_UNNUMBERED}: ')}") from error


def numbered(batch: pa.RecordBatch, group: int) -> pa.RecordBatch:
    """The same with the group's number; the other columns are shared."""
    at = batch.schema.get_field_index("group")
    return batch.set_column(at, batch.schema.field(at), pa.array(np.full(batch.num_rows, group, np.int64)))


def _from_arrow(data: pa.RecordBatch | pa.Table, group_size: int) -> pa.RecordBatch:
    if "group" in data.schema.names:
        raise _named()
    if isinstance(data, pa.Table):
        data = one_batch(data)
    if "slot" in data.schema.names:
        number = pa.array(np.full(data.num_rows, _UNNUMBERED, np.int64))
        field = pa.field("group", pa.int64(), nullable=False)
        data = pa.RecordBatch.from_arrays(
            [number, *data.columns], schema=pa.schema([field, *data.schema], data.schema.metadata)
        )
    return identify(data, [_UNNUMBERED], group_size)[0]


def _from_samples(data: Any, group_size: int) -> pa.RecordBatch:
    rows = group_rows(data, _UNNUMBERED, group_size)
    if any(int(row["group"]) != _UNNUMBERED for row in rows):
        raise _named()
    return to_batch(rows)


def _named() -> DataError:
    return DataError("outrider: the rows name a group; leave the column 'group' out: the run gives the number")

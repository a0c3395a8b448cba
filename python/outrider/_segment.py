"""A sealed segment as this process reads it."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from outrider._memory import read_stream


class Segment:
    """One segment, mapped in place.

    Attributes:
        batches: Its record batches, over the mapped memory. Sealed and validated by the sidecar before it was announced,
            so nothing in them can change.
    """

    __slots__ = ("__weakref__", "_ends", "batches")

    def __init__(self, fd: int) -> None:
        """Maps the segment and closes the descriptor."""
        try:
            self.batches = read_stream(fd)
        finally:
            os.close(fd)
        self._ends = list(accumulate(batch.num_rows for batch in self.batches))

    def rows(self, first: int, count: int) -> list[pa.RecordBatch]:
        """Rows [first, first + count) as slices of the segment's batches; shared, not copied."""
        if self._ends == [count] and first == 0:
            return [self.batches[0]]
        slices = []
        at = bisect_right(self._ends, first)
        while count > 0:
            start = self._ends[at] - self.batches[at].num_rows
            part = self.batches[at].slice(first - start, count)
            slices.append(part)
            first, count, at = first + part.num_rows, count - part.num_rows, at + 1
        return slices


class Carried:
    """Rows that came with a pickled batch, in memory of this process."""

    __slots__ = ("_rows",)

    def __init__(self, rows: pa.RecordBatch) -> None:
        self._rows = rows

    def rows(self, first: int, count: int) -> list[pa.RecordBatch]:
        """As `Segment.rows`."""
        return [self._rows.slice(first, count)]


class Selected:
    """One column of a segment."""

    __slots__ = ("_name", "_segment")

    def __init__(self, segment: Segment, name: str) -> None:
        self._segment = segment
        self._name = name

    def rows(self, first: int, count: int) -> list[pa.RecordBatch]:
        """As `Segment.rows`, of that column alone."""
        return [rows.select([self._name]) for rows in self._segment.rows(first, count)]


def places(at: Any, segments: Mapping[tuple[int, int], Segment]) -> tuple[tuple[Segment, int], ...]:
    """Where a group's rows begin in each segment that has columns of them, the engine's own first.

    Args:
        at: A `Locator`.
        segments: By holder and number.
    """
    return tuple((segments[one.segment.holder, one.segment.number], int(one.first_row)) for one in (at, *at.columns))


def side_by_side(places: Sequence[tuple[Segment | Selected | Carried, int]], count: int) -> list[pa.RecordBatch]:
    """The columns of some rows from all their segments; shared, not copied.

    Args:
        places: Segments, with the first row in each.
        count: Rows.

    Returns:
        Record batches: where the segments are cut into batches differently, one ends wherever one of any does.
    """
    first, *more = [segment.rows(at, count) for segment, at in places]
    if not more:
        return first
    tables = [pa.Table.from_batches(slices) for slices in (first, *more)]
    table = pa.Table.from_arrays(
        [column for table in tables for column in table.columns],
        schema=pa.schema([field for table in tables for field in table.schema]),
    )
    slices: list[pa.RecordBatch] = table.to_batches()
    return slices

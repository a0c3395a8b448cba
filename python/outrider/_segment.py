"""A sealed segment as this process reads it."""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import accumulate

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

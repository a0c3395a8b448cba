"""A trainer rank's shard, read in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from outrider._added import Added
from outrider._check import text
from outrider._memory import joined
from outrider._segment import Carried, Segment, Selected, side_by_side
from outrider._steps import Steps, awaiting, blocking
from outrider.adds import check_domains, declared, inferred, to_columns
from outrider.columns import flat, is_fixed, is_list, numbers
from outrider.errors import DataError, Refused
from outrider.packing import Packed, pack, pad
from outrider.view import Missing


class Part(NamedTuple):
    """Neighbouring rows of one group.

    Attributes:
        group: Index in the source's endless order.
        attempt: Which reservation of it this is.
        places: Where they begin in each segment that has columns of them, the engine's own first.
        rows: How many.
    """

    group: int
    attempt: int
    places: tuple[tuple[Segment | Selected | Carried, int], ...]
    rows: int

    def follows(self, other: Part, rows: int) -> bool:
        """Whether its rows come `rows` after the first of another, in the same segments."""
        return len(self.places) == len(other.places) and all(
            segment is other_segment and first == other_first + rows
            for (segment, first), (other_segment, other_first) in zip(self.places, other.places, strict=True)
        )


class Group:
    """The rows of one prompt group in this shard, as the engine wrote them.

    Attribute access by column name: a list column gives its flat values, a fixed-width column one value a row, both as
    read-only numpy views; a text column gives a list of str (copied). Pickled, it carries its own rows only.

    Attributes:
        group: Index in the source's endless order.
        attempt: Which reservation of it this is, from 1.
        rows: The rows as an Arrow record batch over the shared memory. Pickle the group instead: what Arrow pickles of a part of
            a segment is the whole of it.
    """

    __slots__ = ("attempt", "group", "rows")

    def __init__(self, group: int, attempt: int, rows: pa.RecordBatch) -> None:
        self.group = group
        self.attempt = attempt
        self.rows = rows

    def __reduce__(self) -> tuple[Any, ...]:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema) as writer:
            writer.write_batch(self.rows)
        return _load_group, (self.group, self.attempt, sink.getvalue().to_pybytes())

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """The rows by the Arrow PyCapsule protocol, as a struct array; shared, not copied."""
        return self.rows.__arrow_c_array__(requested_schema)

    def __repr__(self) -> str:
        return f"<outrider.Group {self.group} attempt={self.attempt} rows={self.rows.num_rows}>"

    def column(self, name: str) -> pa.Array:
        """A column as an Arrow array; shared, not copied. Pickle the group instead: Arrow pickles the whole segment.

        Raises:
            Missing: There is none of that name.
        """
        index = self.rows.schema.get_field_index(text("name", name))
        if index < 0:
            raise Missing(f"outrider: group {self.group} has no column {name!r}; it has {self.rows.schema.names}")
        return self.rows.column(index)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        array = self.column(name)
        if is_list(array.type):
            return numbers(name, flat(array)[0])
        if is_fixed(array.type):
            return numbers(name, array)
        return array.to_pylist()

    @property
    def cu_seqlens(self) -> npt.NDArray[np.int32]:
        """int32 [rows + 1]: where each sample's tokens begin and end in `tokens`.

        A view of the column's own offsets where they start at 0; a rebased copy where the group is not the first of its segment.
        """
        return flat(self.column("tokens"))[1]

    def offsets(self, name: str) -> npt.NDArray[np.int32]:
        """int32 [rows + 1]: the same for another list column, such as "logprobs"."""
        return flat(self.column(name))[1]


def _load_group(group: int, attempt: int, data: bytes) -> Group:
    with pa.ipc.open_stream(data) as reader:
        return Group(group, attempt, reader.read_next_batch())


class Batch:
    """One shard of a publication, admitted: this rank has exactly these rows.

    Attribute access by column name gives a fixed-width column gathered over all rows (`batch.reward`; copied, it is small).
    A view stays valid for as long as Python holds it, whatever happens to the lease, the batch, or the sidecar.
    Pickled, it carries its own rows only, columns that were joined among them; nothing can be added to what arrives.

    Attributes:
        rollout: Rollout id that the batch was taken under.
        admission: Identity of its lease.
    """

    def __init__(self, rollout: int, admission: int, parts: list[Part], added: Added | None = None) -> None:
        self.rollout = rollout
        self.admission = admission
        self._parts = parts
        self._added = added
        self._slices: list[pa.RecordBatch] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_batch, (self.rollout, self.admission, list(self.groups()))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The shard's rows by the Arrow PyCapsule protocol, as a stream of record batches; shared, not copied.

        Raises:
            DataError: Its groups have different columns.
        """
        runs = self._runs()
        for rows in runs:
            if not rows.schema.equals(runs[0].schema):
                raise DataError(
                    f"outrider: groups of rollout {self.rollout} have the columns {runs[0].schema.names} and {rows.schema.names}; a stream has one schema, take column() or groups()"
                )
        return pa.Table.from_batches(runs, schema=None if runs else pa.schema([])).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<outrider.Batch rollout={self.rollout} rows={self.num_rows}>"

    @property
    def num_rows(self) -> int:
        """Samples in this shard."""
        return sum(part.rows for part in self._parts)

    @property
    def nbytes(self) -> int:
        """Bytes of these rows' columns in shared memory."""
        return sum(rows.nbytes for rows in self._runs())

    def groups(self) -> Iterator[Group]:
        """The groups in the publication's order."""
        at = 0
        while at < len(self._parts):
            first = self._parts[at]
            slices: list[pa.RecordBatch] = []
            while at < len(self._parts) and self._parts[at].group == first.group:
                slices += side_by_side(self._parts[at].places, self._parts[at].rows)
                at += 1
            # A group whose rows lie apart (a shard that reorders them, a writer that split them) is joined by one copy.
            yield Group(first.group, first.attempt, joined(slices))

    def column(self, name: str) -> pa.ChunkedArray:
        """A column over the whole shard, in row order; shared, not copied. Pickle the batch instead: Arrow pickles whole segments.

        Raises:
            Missing: No group has it.
            DataError: Some groups have it and others do not, or with another type.
        """
        text("name", name)
        runs = self._runs()
        chunks = []
        for rows in runs:
            index = rows.schema.get_field_index(name)
            if index < 0:
                have = [other for other in runs if other.schema.get_field_index(name) >= 0]
                if not have:
                    raise Missing(
                        f"outrider: the batch of rollout {self.rollout} has no column {name!r}; it has {rows.schema.names}"
                    )
                raise DataError(
                    f"outrider: column {name!r} is missing in {sum(r.num_rows for r in runs) - sum(r.num_rows for r in have)} of {self.num_rows} rows"
                    f" of rollout {self.rollout}; give it in every sample or in none"
                )
            chunks.append(rows.column(index))
        for chunk in chunks:
            if not chunk.type.equals(chunks[0].type):
                raise DataError(
                    f"outrider: column {name!r} is {chunks[0].type} in some rows of rollout {self.rollout} and {chunk.type} in others; write it with one type"
                )
        return pa.chunked_array(chunks) if chunks else pa.chunked_array([], pa.null())

    def add(self, adds: Mapping[str, Any] | None = None, /, **columns: Any) -> None:
        """Adds columns to these rows, for every rank of the lease that reads them: a critic's values, say.

        They are no part of the groups: a run that goes back, or a group that is replayed, is without them. They can be read until the
        next rollout is committed.

        Args:
            adds: Name → type, as `outrider.Stage` takes it: a `pa.Field` gives a list its domain. None: as the values are.
            columns: By name, one value a row of this batch in its order (a list of numbers a row for a list column): numpy or Arrow
                arrays, or lists.

        Raises:
            ConfigError: A name that no column can have, or values without a type.
            DataError: Another number of rows, a null, a name that the rows have, lists that do not fit their domain; names column and
                row, and nothing has been added.
            Conflict: Another rank has added a column of that name to some of these rows.
            Stale: The lease was rolled back, or a later rollout is committed.
        """
        blocking(self._add(adds, columns))

    async def add_async(self, adds: Mapping[str, Any] | None = None, /, **columns: Any) -> None:
        """`add`, awaited."""
        await awaiting(self._add(adds, columns))

    def join(self, *names: str) -> None:
        """Brings columns in that other ranks of the lease have added to these rows: from here on they are columns like the others.

        They are joined by row and not copied. Call it after the rank that adds: a column that is not there yet is not waited for.

        Raises:
            Refused: Nobody has added a column of that name to all of these rows.
            DataError: The rows have a column of that name.
            Stale: The lease was rolled back, or a later rollout is committed.
        """
        blocking(self._join(_texts(names)))

    async def join_async(self, *names: str) -> None:
        """`join`, awaited."""
        await awaiting(self._join(_texts(names)))

    def _add(self, adds: Mapping[str, Any] | None, columns: Mapping[str, Any]) -> Steps[None]:
        added, what = self._shared(), f"outrider: rollout {self.rollout}"
        fields = inferred("add()", columns) if adds is None else declared("adds", adds)
        rows = to_columns(fields, columns, self.num_rows, what)
        self._free(rows.schema.names)
        check_domains(rows, self._runs(), what)
        yield from added.put(rows)
        yield from self._join(rows.schema.names)

    def _join(self, names: Sequence[str]) -> Steps[None]:
        self._free(names)
        parts = self._parts
        for name in names:
            beside: list[Part] = []
            for segment, first, rows in (yield from self._shared().get(name)):
                for part in _within(parts[len(beside) :], rows):
                    beside.append(part._replace(places=(*part.places, (segment, first))))
                    first += part.rows
            parts = beside
        self._parts, self._slices = parts, None

    def _shared(self) -> Added:
        if self._added is None:
            raise Refused("outrider: this batch was not admitted here; add to the one that Trainer.admit gave")
        return self._added

    def _free(self, names: Sequence[str]) -> None:
        """Refuses names that the rows have."""
        for rows in self._runs():
            for name in names:
                if name in rows.schema.names:
                    raise DataError(
                        f"outrider: rollout {self.rollout}: column {name!r}: expected a name that is not taken, found that the rows have it; give another name"
                    )

    def packed(self, *names: str, out: Any = None) -> Packed:
        """Gathers columns of the whole shard, one copy.

        Args:
            names: Columns; list columns come as their flat values, fixed-width ones with one value a row.
            out: Arrays to write into, by name (or one array for one name); e.g. pinned memory. Right dtype, 1-d, at least as long.

        Returns:
            The arrays as attributes, with `cu_seqlens` of the token domain.

        Raises:
            DataError: A column without a flat numpy form, or an `out` that does not fit.
        """
        return pack({name: self.column(name) for name in _texts(names)}, out)

    def padded(self, name: str, value: Any = 0) -> npt.NDArray[Any]:
        """A list column as [rows, longest], the rest filled with `value`; copied.

        Raises:
            DataError: Not a list column of numbers.
        """
        return pad(name, self.column(name), value)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        column = self.column(name)
        if is_list(column.type):
            raise DataError(
                f"outrider: column {name!r} has a list in each row; use packed({name!r}), padded({name!r}) or groups()"
            )
        if not is_fixed(column.type):
            raise DataError(
                f"outrider: column {name!r} is {column.type}, which has no numpy form; use column({name!r})"
            )
        return pack({name: column}, None)[name]

    def _runs(self) -> list[pa.RecordBatch]:
        """The rows as few slices: neighbours in one segment are one."""
        if self._slices is None:
            slices: list[pa.RecordBatch] = []
            at = 0
            while at < len(self._parts):
                part, rows = self._parts[at], self._parts[at].rows
                at += 1
                while at < len(self._parts) and self._parts[at].follows(part, rows):
                    rows += self._parts[at].rows
                    at += 1
                slices += side_by_side(part.places, rows)
            self._slices = slices
        return self._slices


def _texts(names: Sequence[Any]) -> list[str]:
    return [text("names", name) for name in names]


def _load_batch(rollout: int, admission: int, groups: list[Group]) -> Batch:
    return Batch(
        rollout, admission, [Part(g.group, g.attempt, ((Carried(g.rows), 0),), g.rows.num_rows) for g in groups]
    )


def _within(parts: Sequence[Part], rows: int) -> Iterator[Part]:
    """The first of some parts that make up so many rows."""
    for part in parts:
        if rows <= 0:
            return
        rows -= part.rows
        yield part

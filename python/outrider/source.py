"""Where prompt groups come from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from outrider import _wire_pb2 as wire
from outrider._check import UINT64, Problems, count, flag, optional_count
from outrider._memory import write_stream
from outrider.data_source import DataSource
from outrider.errors import ConfigError
from outrider.keyed import Keyed
from outrider.stream import Stream


class Table:
    """A table of prompts, one row a group. Made by `table`; pickles with its rows.

    Attributes:
        rows: The prompts.
        shuffle: Whether each epoch has an order of its own.
        seed: Of that order.
        epochs: Times through the table; None: endless.
    """

    def __init__(self, rows: pa.Table, shuffle: bool, seed: int, epochs: int | None) -> None:
        self.rows = rows
        self.shuffle = shuffle
        self.seed = seed
        self.epochs = epochs

    def to_wire(self) -> Any:
        """How the owner goes through the table."""
        return wire.Source(shuffle=self.shuffle, seed=self.seed, epochs=self.epochs or 0)

    def write(self) -> int:
        """Writes the rows once, as one Arrow IPC stream in a memfd, which the caller passes on and closes."""
        whole = self.rows.combine_chunks()
        return write_stream(whole.schema, whole.to_batches(), "table")


Source: TypeAlias = Table | Keyed | Stream | DataSource
"""What `outrider.start` and `outrider.own` take."""


def table(
    rows: pa.Table
    | pa.RecordBatch
    | Sequence[Mapping[str, Any]]
    | str
    | os.PathLike[str]
    | Sequence[str | os.PathLike[str]],
    *,
    shuffle: bool = False,
    seed: int = 0,
    epochs: int | None = None,
) -> Table:
    """A source of prompt groups from a table: each row is one prompt, sampled `group_size` times.

    Args:
        rows: An Arrow table or record batch, a list of dicts, or the path (or paths) of Parquet or Arrow files. Files are read
            here and now; the owner needs no path.
        shuffle: Give each epoch an order of its own, the same for ever for one seed.
        seed: Of the shuffle.
        epochs: Times through the table; None: endless.

    Returns:
        The source, for `outrider.start` or `outrider.own`.

    Raises:
        ConfigError: No rows, rows of another kind, or numbers that cannot work, all in one message.
    """
    problems = Problems()
    shuffle = problems.of(flag, "shuffle", shuffle)
    seed = problems.of(count, "seed", seed, 0, UINT64)
    epochs = problems.of(optional_count, "epochs", epochs, 1)
    whole = problems.of(_read, rows)
    problems.tell()
    return Table(whole, shuffle, seed, epochs)


def _read(rows: Any) -> pa.Table:
    whole = _table_of(rows)
    if whole.num_rows == 0:
        raise ConfigError("outrider: table(rows) has 0 rows; a run needs at least 1 prompt")
    if whole.num_columns == 0:
        raise ConfigError("outrider: table(rows) has no columns; a prompt needs at least 1")
    return whole


def _table_of(rows: Any) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, (str, os.PathLike)):
        return _read_file(Path(rows))
    if isinstance(rows, Sequence):
        if all(isinstance(row, (str, os.PathLike)) for row in rows) and rows:
            return pa.concat_tables([_read_file(Path(path)) for path in rows])
        if all(isinstance(row, Mapping) for row in rows):
            try:
                return pa.Table.from_pylist([dict(row) for row in rows])
            except pa.ArrowException as error:
                raise ConfigError(
                    f"outrider: table(rows) cannot be made into columns: {error}; give every row the same keys and each key one type"
                ) from error
    raise ConfigError(
        f"outrider: table(rows) is a {type(rows).__name__}; give a pyarrow.Table, a list of dicts, or paths of Parquet or Arrow files"
    )


def _read_file(path: Path) -> pa.Table:
    try:
        with path.open("rb") as file:
            magic = file.read(6)
        if magic[:4] == b"PAR1":
            import pyarrow.parquet

            return pyarrow.parquet.read_table(path)
        with pa.OSFile(str(path), "rb") as file:
            return (pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream)(file).read_all()
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(
            f"outrider: table({str(path)!r}) cannot be read: {error}; give a Parquet file or an Arrow file or stream"
        ) from error

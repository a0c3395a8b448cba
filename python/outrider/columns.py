"""Which columns a group's rows have, and how list columns turn into flat values and offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from outrider.errors import DataError
from outrider.view import view

TYPES: dict[str, pa.DataType] = {
    "group": pa.int64(),
    "slot": pa.int32(),
    "trajectory": pa.int64(),
    "part": pa.int32(),
    "tokens": pa.list_(pa.field("item", pa.int32(), nullable=False)),
    "response_length": pa.int32(),
    "logprobs": pa.list_(pa.field("item", pa.float32(), nullable=False)),
    "loss_mask": pa.list_(pa.field("item", pa.uint8(), nullable=False)),
    "versions": pa.list_(
        pa.field(
            "item",
            pa.struct(
                [pa.field("version", pa.int64(), nullable=False), pa.field("length", pa.int32(), nullable=False)]
            ),
            nullable=False,
        )
    ),
    "reward": pa.float64(),
    "status": pa.uint8(),
    "text": pa.utf8(),
    "label": pa.utf8(),
    "metadata": pa.utf8(),
}
"""The default columns. A user may add any other that has no nulls in its leaves."""

DOMAINS = {"tokens": "token", "logprobs": "response", "loss_mask": "response", "versions": "free"}
"""Domain of the default list columns; lists of one domain have equal lengths row by row."""

DOMAIN_KEY = b"outrider.domain"
"""Field metadata that gives a user's list column its domain."""

STATUS = ("completed", "truncated", "aborted", "failed")
"""Codes of the column `status`, by position."""


def domain(field: pa.Field) -> str:
    """Domain of a list column: by its field's metadata, else by its name, else "free"."""
    said = (field.metadata or {}).get(DOMAIN_KEY)
    return said.decode() if said is not None else DOMAINS.get(field.name, "free")


def is_list(kind: pa.DataType) -> bool:
    """Whether each row has a list of values."""
    return bool(pa.types.is_list(kind))


def is_fixed(kind: pa.DataType) -> bool:
    """Whether values are numbers that numpy reads in place."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def flat(array: pa.ListArray) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Values and offsets of a list column.

    Args:
        array: A list array, possibly a slice.

    Returns:
        The values of these rows as one array (shared), and int32 [rows + 1] offsets that start at 0: a view of the list's own
        where they do already, else a rebased copy.
    """
    offsets = view(array.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    values = array.values.slice(first, last - first)
    return values, offsets if first == 0 else np.asarray(offsets) - np.int32(first)


def numbers(name: str, array: pa.Array) -> npt.NDArray[Any]:
    """A numeric column as a read-only view.

    Raises:
        DataError: The column holds something else; says how to get at it.
    """
    if not is_fixed(array.type):
        raise DataError(
            f"outrider: column {name!r} is {array.type}, which has no flat numpy form; read it with column({name!r})"
        )
    return view(array)

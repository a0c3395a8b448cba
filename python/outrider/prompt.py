"""What a worker gets to generate from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa


class Prompt(Mapping[str, Any]):
    """One parent slot's prompt: the row's columns by name, as Python values of its own (a pristine copy).

    Attributes:
        group: Index of the group in the source's endless order.
        slot: Parent slot, 0..group_size−1.
        attempt: Which reservation of the group this is, from 1.
        version: Weight version that was announced when the work was dispatched.
    """

    __slots__ = ("_row", "_values", "attempt", "group", "slot", "version")

    def __init__(self, row: pa.RecordBatch, group: int, slot: int, attempt: int, version: int) -> None:
        self._row = row
        self._values: dict[str, Any] | None = None
        self.group = group
        self.slot = slot
        self.attempt = attempt
        self.version = version

    def _dict(self) -> dict[str, Any]:
        if self._values is None:
            self._values = self._row.to_pylist()[0]
        return self._values

    def __getitem__(self, name: str) -> Any:
        return self._dict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict())

    def __len__(self) -> int:
        return int(self._row.num_columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self._dict(), self.group, self.slot, self.attempt, self.version)

    def __repr__(self) -> str:
        return f"<outrider.Prompt group={self.group} slot={self.slot} attempt={self.attempt} {self._dict()!r}>"


def _load(values: dict[str, Any], group: int, slot: int, attempt: int, version: int) -> Prompt:
    return Prompt(pa.RecordBatch.from_pylist([values]), group, slot, attempt, version)

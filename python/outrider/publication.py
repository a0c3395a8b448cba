"""Publications: who reads what of a leased batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from outrider import _wire_pb2 as wire
from outrider._check import count, counts
from outrider.errors import ConfigError


class Publication:
    """The immutable identity of a leased batch, for every rank to admit. Pickles.

    Attributes:
        message: The wire's own form; its digest covers all of it.
    """

    def __init__(self, message: Any) -> None:
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self.message.SerializeToString(),)

    def __repr__(self) -> str:
        return f"<outrider.Publication rollout={self.rollout} admission={self.admission} shards={len(self.message.shards)} roles={self.roles}>"

    @property
    def admission(self) -> int:
        """Admission id of the lease."""
        return int(self.message.admission)

    @property
    def rollout(self) -> int:
        """Rollout id of the lease."""
        return int(self.message.rollout)

    @property
    def roles(self) -> dict[str, int]:
        """Role → world size of the ranks that must admit."""
        return dict(self.message.roles)

    @property
    def generation(self) -> int:
        """Of the cohort."""
        return int(self.message.generation)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the publication."""
        return bytes(self.message.digest)

    @property
    def shards(self) -> tuple[tuple[int, ...], ...]:
        """Group indices of each shard, in reading order, each as often as it has row ranges there."""
        return tuple(tuple(shard.groups) for shard in self.message.shards)


def _cut(groups: Sequence[Any], shards: int) -> list[Any]:
    """Neighbouring groups, as many in each shard as in any other, give or take one."""
    if shards > len(groups):
        raise ConfigError(
            f"outrider: shards={shards} of a batch of {len(groups)} groups; give at most one shard for each group, or lists of rows to cut groups apart"
        )
    cuts = [len(groups) * i // shards for i in range(shards + 1)]
    return [
        wire.Shard(
            locators=[g.locator for g in groups[first:last]],
            groups=[g.group for g in groups[first:last]],
            attempts=[g.attempt for g in groups[first:last]],
        )
        for first, last in pairwise(cuts)
    ]


def _load(data: bytes) -> Publication:
    return Publication(wire.Publication.FromString(data))


def plan(groups: Sequence[Any], shards: Sequence[Sequence[int]] | int) -> list[Any]:
    """Turns lists of batch rows into lists of row ranges.

    Args:
        groups: `LeasedGroup` messages of the lease.
        shards: Row lists, or into how many shards of neighbouring groups to cut.

    Returns:
        `Shard` messages; neighbouring rows of one group share a locator.

    Raises:
        ConfigError: A row that is missing, out of range, or there twice; an empty shard; more shards than groups.
    """
    if not isinstance(shards, Iterable):
        return _cut(groups, count("shards", shards, 1))
    owner = [(g, row) for g in groups for row in range(g.locator.rows)]
    seen: set[int] = set()
    result = []
    for number, rows in enumerate(shards):
        shard = wire.Shard()
        last: tuple[Any, int] | None = None
        for at in counts(f"shards[{number}]", rows, 0):
            if at >= len(owner) or at in seen:
                what = "is there twice" if at in seen else f"is not in a batch of {len(owner)} rows"
                raise ConfigError(
                    f"outrider: shards[{number}] names row {at}, which {what}; give each row 0..{len(owner) - 1} to exactly one shard"
                )
            seen.add(at)
            group, row = owner[at]
            if last is not None and last[0] is group and last[1] + 1 == row:
                shard.locators[-1].rows += 1
            else:
                shard.locators.add(segment=group.locator.segment, first_row=group.locator.first_row + row, rows=1)
                shard.groups.append(group.group)
                shard.attempts.append(group.attempt)
            last = group, row
        if not shard.groups:
            raise ConfigError(f"outrider: shards[{number}] is empty; give each shard at least one row, or fewer shards")
        result.append(shard)
    if len(seen) < len(owner):
        missing = next(row for row in range(len(owner)) if row not in seen)
        raise ConfigError(
            f"outrider: shards leave out row {missing} (and {len(owner) - len(seen) - 1} more); give each row 0..{len(owner) - 1} to exactly one shard"
        )
    return result

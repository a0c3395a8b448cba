"""Leave to write: bytes are counted against the host's budget before they exist."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from itertools import groupby
from typing import TYPE_CHECKING

from outrider import _wire_pb2 as wire
from outrider._channel import Answer

if TYPE_CHECKING:
    from outrider._execution import Execution
    from outrider._member import Member

_FRAME = 4096
"""Bytes that a stream takes beside its columns, about."""


def exceeds(work: Execution, size: int) -> bool:
    """Whether a group's rows are more than its host has set aside for it."""
    return work.promise is not None and size > work.promise


def ask(member: Member, works: Sequence[Execution], sizes: Sequence[int]) -> list[Future[Answer]]:
    """Asks for leave to write groups that are reported together.

    Args:
        member: Whose they are.
        works: The groups.
        sizes: Bytes of the columns of each.

    Returns:
        One future for each question: completed when the host has room; fails with `DataError` when it never could have, with
        `Stale` when a group has gone elsewhere.
    """
    asked = []
    for _, run in groupby(zip(works, sizes, strict=True), lambda one: id(one[0].granted)):
        part = list(run)
        granted = part[0][0].granted
        credit = wire.Credit(receipts=wire.Receipts(timeline=granted.timeline, worker=granted.worker))
        for work, size in part:
            credit.receipts.groups.append(work.group)
            credit.receipts.attempts.append(work.attempt)
            credit.receipts.executions.append(work.execution)
            credit.bytes.append(size + _FRAME // len(part))
        asked.append(member.ask(credit=credit))
    return asked

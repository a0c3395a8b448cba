"""The life of a group in plain Python: what a careful person writes without Outrider.

Dicts, records with `__slots__`, receipts that are checked, an order for replay. No sessions, terms, timelines, staleness or bytes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

Receipt = tuple[int, int, int]
"""(group, attempt, execution)."""

EXECUTING, COMPLETED, LEASED = range(3)


@dataclass(slots=True, eq=False)
class Group:
    """One retained group. A receipt counts only while it names this attempt and this execution."""

    group: int
    attempt: int
    execution: int
    state: int
    data: Any = None


@dataclass(slots=True, eq=False)
class Lease:
    """One batch under one admission."""

    rollout: int
    groups: list[Group]


class Stale(Exception):
    """The receipt means nothing any more."""


class Ledger:
    """Who owns which group. Not safe for threads; one owner feeds it."""

    __slots__ = ("_admissions", "_executions", "acknowledged", "buffer", "cursor", "last_rollout", "leases", "live", "replay", "retained")

    def __init__(self, retained: int) -> None:
        self.retained = retained
        self.cursor = 0
        self.replay: deque[tuple[int, int]] = deque()  # (group, next attempt)
        self.live: dict[int, Group] = {}
        self.buffer: deque[Group] = deque()
        self.leases: dict[int, Lease] = {}
        self.acknowledged = 0
        self.last_rollout = -1
        self._executions = 0
        self._admissions = 0

    def reserve(self, most: int) -> list[Receipt]:
        """Takes up to `most` groups from the source and dispatches them."""
        receipts = []
        for _ in range(min(most, self.retained - len(self.live))):
            if self.replay:
                index, attempt = self.replay.popleft()
            else:
                index, attempt = self.cursor, 1
                self.cursor += 1
            self._executions += 1
            self.live[index] = Group(index, attempt, self._executions, EXECUTING)
            receipts.append((index, attempt, self._executions))
        return receipts

    def complete(self, receipt: Receipt, data: Any) -> None:
        """Ends an execution with success; the group enters the buffer."""
        group = self.live.get(receipt[0])
        if group is None or group.attempt != receipt[1] or group.execution != receipt[2] or group.state != EXECUTING:
            raise Stale(receipt)
        group.state = COMPLETED
        group.data = data
        self.buffer.append(group)

    def take(self, rollout: int, size: int) -> tuple[int, list[Group]] | None:
        """Leases a full batch under an admission id; None while there is none."""
        if rollout <= self.last_rollout:
            raise Stale(rollout)
        if len(self.buffer) < size:
            return None
        groups = [self.buffer.popleft() for _ in range(size)]
        for group in groups:
            group.state = LEASED
        self._admissions += 1
        self.leases[self._admissions] = Lease(rollout, groups)
        return self._admissions, groups

    def commit(self, admission: int) -> None:
        """Accepts a leased batch for training: its groups settle."""
        lease = self.leases.pop(admission, None)
        if lease is None:
            raise Stale(admission)
        for group in lease.groups:
            if self.live.pop(group.group, None) is not group:
                raise Stale(group.group)
        self.acknowledged += len(lease.groups)
        self.last_rollout = lease.rollout

    def rollback(self, admission: int) -> None:
        """Gives a leased batch back: its groups replay under another attempt."""
        lease = self.leases.pop(admission, None)
        if lease is None:
            raise Stale(admission)
        for group in lease.groups:
            del self.live[group.group]
            self.replay.append((group.group, group.attempt + 1))

"""The life of a group in plain Python: what a careful person writes without Outrider.

Dicts, records with `__slots__`, the same events one by one, receipts that are checked, bounds, versions, publication digests, an
order for replay. No sessions, terms, rewinds, holds, overflow rules, doubt, recovery or log lines.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Receipt = tuple[int, int, int]
"""(group, attempt, execution)."""

RESERVED, EXECUTING, TERMINAL, COMPLETED, LEASED, ACKNOWLEDGED = range(6)


@dataclass(slots=True, eq=False)
class Group:
    """One retained group. A receipt counts only while it names this attempt and this execution."""

    group: int
    attempt: int
    execution: int
    state: int
    version: int = 0
    tokens: int = 0
    data: Any = None

    @property
    def receipt(self) -> Receipt:
        """What settles it."""
        return self.group, self.attempt, self.execution


@dataclass(slots=True, eq=False)
class Lease:
    """One batch under one admission."""

    rollout: int
    groups: list[Group]
    digest: bytes = b""
    admitted: bool = False


class Stale(Exception):
    """The receipt means nothing any more."""


class Ledger:
    """Who owns which group. Not safe for threads; one owner feeds it."""

    __slots__ = (
        "_admissions", "_executions", "_size", "acknowledged", "buffer", "completed", "counts", "cursor", "last_rollout", "leases",
        "live", "log", "replay", "retained", "staleness", "tokens", "version", "waiting",
    )  # fmt: skip

    def __init__(self, retained: int, completed: int, group_size: int, staleness: int = 1 << 40) -> None:
        self.retained = retained
        self.completed = completed
        self.staleness = staleness
        self.version = 0
        self.cursor = 0
        self.replay: deque[tuple[int, int]] = deque()  # (group, next attempt)
        self.live: dict[int, Group] = {}
        self.waiting: deque[Group] = deque()
        self.buffer: deque[Group] = deque()
        self.leases: dict[int, Lease] = {}
        self.counts = [0] * 6
        self.acknowledged = 0
        self.tokens = 0
        self.last_rollout = -1
        self.log: deque[tuple[int, int, list[int]]] = deque(maxlen=20)
        self._size = group_size
        self._executions = 0
        self._admissions = 0

    def _become(self, group: Group, state: int) -> None:
        self.counts[group.state] -= 1
        self.counts[state] += 1
        group.state = state

    def reserve(self) -> Group | None:
        """Takes a group from the source, None while no more may be retained."""
        if len(self.live) >= self.retained:
            return None
        if self.replay:
            index, attempt = self.replay.popleft()
        else:
            index, attempt = self.cursor, 1
            self.cursor += 1
        group = self.live[index] = Group(index, attempt, 0, RESERVED)
        self.counts[RESERVED] += 1
        return group

    def dispatch(self, group: Group) -> Receipt:
        """Gives a reserved group to the worker."""
        self._executions += 1
        group.execution = self._executions
        group.version = self.version
        self._become(group, EXECUTING)
        return group.receipt

    def complete(self, receipt: Receipt, slots: Sequence[int], tokens: int, data: Any) -> None:
        """Ends an execution with success; the group enters the buffer when a place is free."""
        group = self.live.get(receipt[0])
        if group is None or group.attempt != receipt[1] or group.execution != receipt[2] or group.state != EXECUTING:
            raise Stale(receipt)
        if len(set(slots)) != self._size or min(slots) < 0 or max(slots) >= self._size:
            raise ValueError(f"group {receipt[0]}: slots {slots}")
        group.tokens = tokens
        group.data = data
        self._become(group, TERMINAL)
        self.waiting.append(group)
        self._promote()

    def _promote(self) -> None:
        while self.waiting and self.counts[COMPLETED] + self.counts[LEASED] < self.completed:
            group = self.waiting.popleft()
            self._become(group, COMPLETED)
            self.buffer.append(group)

    def take(self, rollout: int, size: int) -> tuple[int, list[Group]] | None:
        """Leases a full batch under an admission id; None while there is none."""
        if rollout <= self.last_rollout:
            raise Stale(rollout)
        while self.buffer and self.version - self.buffer[0].version > self.staleness:
            self._requeue(self.buffer.popleft())
        if len(self.buffer) < size:
            return None
        groups = [self.buffer.popleft() for _ in range(size)]
        groups.sort(key=lambda group: group.group)
        for group in groups:
            self._become(group, LEASED)
        self._admissions += 1
        self.leases[self._admissions] = Lease(rollout, groups)
        return self._admissions, groups

    def publish(self, admission: int) -> bytes:
        """Fixes what the trainer is to hold; the digest is its identity."""
        lease = self._lease(admission)
        named = [(admission, lease.rollout), *(group.receipt for group in lease.groups)]
        lease.digest = hashlib.sha256(repr(named).encode()).digest()
        return lease.digest

    def admit(self, admission: int, digest: bytes) -> None:
        """The trainer holds exactly that."""
        lease = self._lease(admission)
        if lease.digest != digest:
            raise Stale(admission)
        lease.admitted = True

    def commit(self, admission: int) -> None:
        """Accepts a leased batch for training: its groups settle."""
        lease = self._lease(admission)
        if not lease.admitted:
            raise Stale(admission)
        self.log.append((admission, lease.rollout, [group.group for group in lease.groups]))
        for group in lease.groups:
            if self.live.pop(group.group, None) is not group:
                raise Stale(group.group)
            self._become(group, ACKNOWLEDGED)
            self.tokens += group.tokens
        del self.leases[admission]
        self.acknowledged += len(lease.groups)
        self.last_rollout = lease.rollout
        self._promote()

    def rollback(self, admission: int) -> None:
        """Gives a leased batch back: its groups replay under another attempt."""
        for group in self._lease(admission).groups:
            self._requeue(group)
        del self.leases[admission]

    def _requeue(self, group: Group) -> None:
        del self.live[group.group]
        self.counts[group.state] -= 1
        self.replay.append((group.group, group.attempt + 1))

    def _lease(self, admission: int) -> Lease:
        lease = self.leases.get(admission)
        if lease is None:
            raise Stale(admission)
        return lease

"""The same life by plain Ray actor calls: the owner is a Python actor with the plain ledger."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import numpy as np
import ray

from bench.ledger import Ledger, Receipt
from bench.life import COMPLETED, RETAINED, WARM
from bench.rows import BATCH_GROUPS, GROUP_SIZE, small_bytes

SLOTS = tuple(range(GROUP_SIZE))


@ray.remote(num_cpus=0)
class Owner:
    """Keeps the ledger; waits inside its event loop."""

    def __init__(self) -> None:
        self._ledger = Ledger(RETAINED, COMPLETED, GROUP_SIZE)
        self._changed = asyncio.Condition()

    async def reserve(self, most: int) -> list[Receipt]:
        """Up to `most` receipts, at least one."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._ledger.live) < RETAINED)
        receipts: list[Receipt] = []
        while len(receipts) < most and (group := self._ledger.reserve()) is not None:
            receipts.append(self._ledger.dispatch(group))
        return receipts

    async def complete(self, receipts: list[Receipt], rows: list[bytes]) -> None:
        """Ends executions with success."""
        for receipt, data in zip(receipts, rows, strict=True):
            self._ledger.complete(receipt, SLOTS, 16 * GROUP_SIZE, data)
        await self._notify()

    async def take(self, rollout: int) -> tuple[int, list[tuple[Receipt, bytes]]]:
        """A leased batch, published and admitted, with its rows."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._ledger.buffer) >= BATCH_GROUPS)
        taken = self._ledger.take(rollout, BATCH_GROUPS)
        assert taken is not None
        self._ledger.admit(taken[0], self._ledger.publish(taken[0]))
        return taken[0], [((g.group, g.attempt, g.execution), g.data) for g in taken[1]]

    async def commit(self, admission: int) -> None:
        """Accepts a batch for training."""
        self._ledger.commit(admission)
        await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


@ray.remote(num_cpus=0)
class Worker:
    """Two calls for up to 64 groups."""

    def run(self, owner: Any) -> None:
        """Works until it is killed."""
        rows = small_bytes()
        while True:
            receipts = ray.get(owner.reserve.remote(BATCH_GROUPS))
            ray.get(owner.complete.remote(receipts, [rows] * len(receipts)))


@ray.remote(num_cpus=0)
class Trainer:
    """Two calls a batch."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._rollout = 0

    def measure(self, batches: int) -> float:
        """Seconds for that many batches."""
        for _ in range(WARM + COMPLETED // BATCH_GROUPS):
            self._step()
        start = time.perf_counter()
        for _ in range(batches):
            self._step()
        return time.perf_counter() - start

    def _step(self) -> Any:
        admission, groups = ray.get(self._owner.take.remote(self._rollout))
        self._rollout += 1
        rows = np.frombuffer(b"".join([data for _, data in groups]), np.float64)
        ray.get(self._owner.commit.remote(admission))
        return rows[::16].sum()


class RayLife:
    """Owner, worker and trainer as actors; as `life.Life` otherwise. Ray must be initialised."""

    def __init__(self) -> None:
        self._owner = Owner.remote()
        self._worker = Worker.remote()
        self._trainer = Trainer.remote(self._owner)
        self._working = self._worker.run.remote(self._owner)

    def measure(self, batches: int) -> float:
        """Groups trained a second over that many batches."""
        return batches * BATCH_GROUPS / float(ray.get(self._trainer.measure.remote(batches)))

    def close(self) -> None:
        """Ends the actors."""
        for actor in (self._trainer, self._worker, self._owner):
            with contextlib.suppress(Exception):
                ray.kill(actor)

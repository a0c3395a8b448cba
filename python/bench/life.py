"""The whole life of 1 KB groups through Outrider: owner, worker and trainer are processes, each with a sidecar, no Ray."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import outrider
from bench.machine import children, processor_seconds
from bench.rows import BATCH_GROUPS, GROUP_SIZE, small_rows
from outrider import _report

RETAINED, COMPLETED = 1024, 512
WARM = 4
"""Batches before the clock starts: more than one may have been finished while nobody looked."""


class Life:
    """A run that is ready to be measured in turns with others; between its turns its buffer is full and it rests.

    Args:
        work: Runs in the worker's process.

    Attributes:
        processor: Microseconds of processor time for each group, of all processes together, by turn.
    """

    def __init__(self, work: Callable[[outrider.Run], None]) -> None:
        before = children()
        self._run = outrider.own(
            f"bench-{work.__name__}",
            source=outrider.table([{"question": i} for i in range(4096)]),
            group_size=GROUP_SIZE,
            batch_groups=BATCH_GROUPS,
            limits=outrider.Limits(executing=GROUP_SIZE * RETAINED, retained=RETAINED, completed=COMPLETED),
        )
        self.processor: list[float] = []
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._worker = context.Process(target=work, args=(self._run,), daemon=True)
        self._trainer = context.Process(target=train, args=(self._run, theirs), daemon=True)
        self._worker.start()
        self._trainer.start()
        self._processes = children() - before

    def measure(self, batches: int) -> float:
        """Groups trained a second over that many batches."""
        before = processor_seconds(self._processes)
        self._pipe.send(batches)
        seconds: float = self._pipe.recv()
        self.processor.append(
            (processor_seconds(self._processes) - before)
            / ((batches + WARM + COMPLETED // BATCH_GROUPS) * BATCH_GROUPS)
            * 1e6
        )
        return batches * BATCH_GROUPS / seconds

    def close(self) -> None:
        """Ends run and processes."""
        self._pipe.send(0)
        self._trainer.join(10)
        self._run.close(force=True)
        self._worker.join(10)
        for process in (self._trainer, self._worker):
            if process.is_alive():
                process.kill()


def together(run: outrider.Run) -> None:
    """Worker: the groups that are there, at most 64, go out in one segment and one report."""
    rows = small_rows(BATCH_GROUPS)
    with outrider.Worker(run, slots=GROUP_SIZE * RETAINED, engine=False) as worker:
        for works in worker.batches(BATCH_GROUPS):
            worker.complete_many(works, rows.slice(0, len(works) * GROUP_SIZE))


def alone(run: outrider.Run) -> None:
    """Worker: the groups that are there, at most 64, are completed at once, each in a segment of its own, as large groups are."""
    asyncio.run(_alone(run))


async def _alone(run: outrider.Run) -> None:
    _report._SHARED = 0  # Bytes up to which finished groups share a segment.
    rows = small_rows(1)
    worker = outrider.Worker(run, slots=GROUP_SIZE * RETAINED, engine=False)
    async for works in worker.batches(BATCH_GROUPS):
        await asyncio.gather(*(work.complete_async(rows) for work in works))
    await worker.close_async()


def train(run: outrider.Run, pipe: Connection) -> None:
    """Trainer: takes, admits and commits batches as fast as they come; reads one column of each in place."""
    with outrider.Trainer(run) as trainer:
        rollout = 0

        def step() -> Any:
            nonlocal rollout
            batch = trainer.next(rollout)
            rollout += 1
            return batch.reward.sum()

        while batches := pipe.recv():
            for _ in range(WARM + COMPLETED // BATCH_GROUPS):
                step()
            start = time.perf_counter()
            for _ in range(batches):
                step()
            pipe.send(time.perf_counter() - start)

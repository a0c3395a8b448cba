"""One batch, read by many processes of one host: the memory that all parties together take for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ray

import outrider
from bench.handover import TOUCHED, Engine, samples_of
from bench.machine import descendants
from bench.rows import PROMPT, RESPONSE, columns

RANKS = 8
SMALL = 1.0
"""Megabytes of the batch that every process meets once before anything is measured."""

SEGMENTS, STORE = "/memfd:outrider", "/dev/shm/plasma"
"""What the shared memory of the contestants is called."""


@ray.remote(num_cpus=0)
class Rank:
    """Reads every byte of what it gets, and holds it until it is told to let go."""

    def __init__(self, run: outrider.Run, rank: int) -> None:
        self._trainer = outrider.Trainer(run, role="ranks", rank=rank, world_size=RANKS)
        self._held: Any = None

    def admit(self, publication: outrider.Publication) -> float:
        """The batch through Outrider."""
        self._held = self._trainer.admit(publication, 0)
        return float(sum(np.sum(getattr(group, name)) for group in self._held.groups() for name in TOUCHED))

    def get(self, refs: list[Any]) -> float:
        """The batch through Ray's object store."""
        self._held = ray.get(refs[0])
        return float(sum(np.sum(self._held[name]) for name in TOUCHED))

    def release(self) -> None:
        """Lets go."""
        self._held = None


class Readers:
    """An engine and eight ranks, all Ray actors. Ray must be initialised."""

    def __init__(self) -> None:
        self._store = shared(STORE)
        self._run = outrider.start(
            "bench-readers",
            source=outrider.table([{"question": i} for i in range(64)]),
            group_size=8,
            batch_groups=1,
        )
        self._engine = Engine.remote(self._run)
        self._ranks = [Rank.remote(self._run, rank) for rank in range(RANKS)]
        self._rollout = 0
        self.outrider(SMALL)
        self.ray(SMALL)

    def outrider(self, megabytes: float) -> float:
        """Peak bytes of all parties over what they had, for each byte of columns."""
        ray.get(self._engine.prepare.remote("outrider", megabytes))

        def read() -> None:
            done = self._engine.complete.remote()
            with self._run.take(self._rollout) as lease:
                publication = lease.publish(roles={"ranks": RANKS})
                ray.get([rank.admit.remote(publication) for rank in self._ranks])
                lease.commit()
            ray.get(done)
            self._rollout += 1

        return self._measure(read, SEGMENTS, 0, megabytes)

    def ray(self, megabytes: float) -> float:
        """The same by `ray.put` of packed columns, and `ray.get`."""
        ray.get(self._engine.prepare.remote("packed", megabytes))

        def read() -> None:
            refs = [ray.get(self._engine.put_only.remote())]
            ray.get([rank.get.remote(refs[0]) for rank in self._ranks])

        peak = self._measure(read, STORE, self._store, megabytes)
        time.sleep(2)  # The store hears late that nobody needs an object, and meanwhile puts the next one elsewhere.
        return peak

    def _measure(self, read: Callable[[], None], name: str, before: int, megabytes: float) -> float:
        size = sum(column.nbytes for column in columns(samples_of(megabytes), PROMPT, RESPONSE).values())
        with Peak(name) as peak:
            read()
        ray.get([rank.release.remote() for rank in self._ranks])
        return (peak.bytes - before) / size

    def close(self) -> None:
        """Ends run and actors."""
        self._run.close(force=True)
        for actor in (self._engine, *self._ranks):
            ray.kill(actor)


class Peak:
    """Watches, while its block runs, the memory of this process and of all that descend from it.

    Attributes:
        bytes: The most of: memory of each process's own beyond what it had at the start, and shared memory, each file once.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.bytes = 0

    def __enter__(self) -> Peak:
        self._own = anonymous()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            ends = self._ends.wait(0.01)
            self.bytes = max(self.bytes, anonymous() - self._own + shared(self._name))
            if ends:
                return


def anonymous() -> int:
    """Bytes of memory that this process and all its descendants have for themselves."""
    total = 0
    for pid in parties():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        total += 1024 * sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon"))
    return total


def shared(name: str) -> int:
    """Bytes in shared files of that name that any of them has open, each file once."""
    found = {}
    for pid in parties():
        try:
            for fd in Path(f"/proc/{pid}/fd").iterdir():
                if str(fd.readlink()).startswith(name):
                    file = fd.stat()
                    found[file.st_ino] = 512 * file.st_blocks
        except OSError:
            continue
    return sum(found.values())


def parties() -> set[int]:
    """This process and all that descend from it."""
    return {os.getpid(), *descendants(os.getpid())}

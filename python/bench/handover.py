"""Rollouts of any size from an engine actor to a trainer actor, both real Ray actors on this host."""

from __future__ import annotations

import gc
import time
from itertools import pairwise
from typing import Any

import numpy as np
import ray

import outrider
from bench.rows import PROMPT, RESPONSE, Columns, array_samples, columns, list_samples, record_batch

GROUP_SIZE = 8
KINDS = ("packed", "arrays", "lists")
EACH = 4 * (PROMPT + RESPONSE) + 5 * RESPONSE + 33
"""Bytes of a sample's columns."""
TOUCHED = ("tokens", "logprobs", "loss_mask", "response_length", "reward")


def columns_of(megabytes: float, samples: int | None) -> Columns:
    """That many megabytes of columns: as samples of PROMPT and RESPONSE tokens, or as a given number of samples of whatever length."""
    if samples is None:
        return columns(samples_of(megabytes), PROMPT, RESPONSE)
    longer = megabytes / (samples * EACH / 1e6)
    return columns(samples, round(PROMPT * longer), round(RESPONSE * longer))


def samples_of(megabytes: float) -> int:
    """How many samples make that many megabytes (10^6) of columns."""
    return max(1, round(megabytes * 1e6 / EACH / GROUP_SIZE)) * GROUP_SIZE


def _touch(batch: outrider.Batch) -> None:
    group = next(batch.groups())
    for name in TOUCHED:
        float(getattr(group, name)[0])


class SealClock:
    """Says when this process had written and sealed a segment; the sidecar is told afterwards."""

    def __init__(self) -> None:
        from outrider import _report

        self._write = _report.write_stream
        self.sealed = 0
        """Monotonic ns of the last."""
        _report.write_stream = self._written

    def _written(self, *args: Any) -> int:
        fd = self._write(*args)
        self.sealed = time.monotonic_ns()
        return fd


@ray.remote(num_cpus=0)
class Engine:
    """Has columns; gives them away in one way or another."""

    def __init__(self, run: outrider.Run) -> None:
        self._clock = SealClock()
        self._worker = outrider.Worker(run, slots=GROUP_SIZE, engine=False)
        self._works = iter(self._worker.groups())
        self._data: Any = None

    def prepare(self, kind: str, megabytes: float, samples: int | None = None) -> None:
        """Makes the data in the form that this engine is said to have it in; not part of what is measured."""
        cols = columns_of(megabytes, samples)
        self._data = {
            "outrider": lambda: cols,
            "packed": lambda: cols,
            "arrays": lambda: array_samples(cols),
            "lists": lambda: list_samples(cols),
        }[kind]()
        gc.collect()
        gc.freeze()

    def complete(self) -> tuple[int, int]:
        """Completes one group with the columns. Monotonic ns: at the start, when they were sealed."""
        work = next(self._works)
        cols = self._data
        count = len(cols["reward"])
        time.sleep(0.02)  # The trainer is to be waiting; `put` rests as long.
        start = time.monotonic_ns()
        group = np.full(count, work.group, np.int64)
        slot = (np.arange(count) // (count // GROUP_SIZE)).astype(np.int32)
        assert work.complete(record_batch(cols, group, slot))
        return start, self._clock.sealed

    def put(self, trainer: Any) -> tuple[int, int]:
        """Puts the data into Ray's store and tells the trainer. Monotonic ns: at the start, at the first values."""
        time.sleep(0.02)  # As long as the other contestants rest.
        start = time.monotonic_ns()
        return start, ray.get(trainer.get.remote([ray.put(self._data)]))

    def put_only(self) -> list[Any]:
        """Puts the data into Ray's store and tells nobody else."""
        return [ray.put(self._data)]


@ray.remote(num_cpus=0)
class Trainer:
    """Wants the first value of every column."""

    def __init__(self, run: outrider.Run) -> None:
        self._run = run
        self._trainer = outrider.Trainer(run)
        self._rollout = 0

    def next(self) -> int:
        """One batch through Outrider, committed. Monotonic ns when the first value of each column was read."""
        batch = self._trainer.next(self._rollout)
        _touch(batch)
        first = time.monotonic_ns()  # while it is held: whoever lets go of memory last frees it, page by page
        self._rollout += 1
        return first

    def steps(self) -> dict[str, int]:
        """One batch by the single calls that `next` is made of. Monotonic ns when each was over."""
        at = {}
        lease = self._run.take(self._rollout)
        at["taken"] = time.monotonic_ns()
        publication = lease.publish()
        at["published"] = time.monotonic_ns()
        batch = self._trainer.admit(publication)
        at["admitted"] = time.monotonic_ns()
        _touch(batch)
        at["first"] = time.monotonic_ns()
        lease.commit()
        at["committed"] = time.monotonic_ns()
        self._rollout += 1
        return at

    def get(self, refs: list[Any]) -> int:
        """One object through Ray, of any of the kinds. Monotonic ns as above."""
        data = ray.get(refs[0])
        if isinstance(data, dict):
            for name in TOUCHED:
                float(data[name][0])
        else:
            sample = data[0]
            float(sample.tokens[0] + sample.logprobs[0] + sample.loss_mask[0] + sample.response_length + sample.reward)
        return time.monotonic_ns()


class Handover:
    """One engine actor and one trainer actor that are contestants of each other in turns. Ray must be initialised."""

    def __init__(self) -> None:
        self._run = outrider.start(
            "bench-handover",
            source=outrider.table([{"question": i} for i in range(64)]),
            group_size=GROUP_SIZE,
            batch_groups=1,
        )
        self._engine = Engine.remote(self._run)
        self._trainer = Trainer.remote(self._run)

    def outrider(self, megabytes: float, times: int, samples: int | None = None) -> tuple[list[float], list[float]]:
        """Milliseconds: columns in the engine to first values of a committed batch in the trainer; sealed to first values."""
        ray.get(self._engine.prepare.remote("outrider", megabytes, samples))
        whole, sealed = [], []
        for _ in range(times):
            reading = self._trainer.next.remote()
            start, seal = ray.get(self._engine.complete.remote())
            first = ray.get(reading)
            whole.append((first - start) / 1e6)
            sealed.append((first - seal) / 1e6)
        return whole, sealed

    def steps(self, megabytes: float, times: int) -> list[dict[str, float]]:
        """Milliseconds of each part, by the single calls that `Trainer.next` is made of."""
        ray.get(self._engine.prepare.remote("outrider", megabytes))
        out = []
        for _ in range(times):
            reading = self._trainer.steps.remote()
            start, seal = ray.get(self._engine.complete.remote())
            marks = {"start": start, "sealed": seal, **ray.get(reading)}
            names = list(marks)
            parts = {after: (marks[after] - marks[before]) / 1e6 for before, after in pairwise(names)}
            out.append({**parts, "admit to first": (marks["first"] - marks["published"]) / 1e6})
        return out

    def ray(self, kind: str, megabytes: float, times: int) -> list[float]:
        """Milliseconds: data in the engine to first values in the trainer."""
        ray.get(self._engine.prepare.remote(kind, megabytes))
        spans = [ray.get(self._engine.put.remote(self._trainer)) for _ in range(times)]
        return [(first - start) / 1e6 for start, first in spans]

    def close(self) -> None:
        """Ends run and actors."""
        self._run.close(force=True)
        ray.kill(self._engine)
        ray.kill(self._trainer)

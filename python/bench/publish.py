"""Numpy columns into a sealed segment, beside the machine's own copy of the same bytes into memory that is warm already."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from bench.handover import samples_of
from bench.rows import PROMPT, RESPONSE, columns, record_batch
from outrider._memory import write_checked, write_stream


@dataclass
class Speed:
    """Of one turn.

    Attributes:
        publish: GB/s from columns to a sealed segment.
        checked: The same with `Policy.checksums`, the engine's part of it.
        copy: GB/s of a bare copy.
        faults: Page faults of the publishing process for each MB of columns.
    """

    publish: float
    checked: float
    copy: float
    faults: float


class Publisher:
    """A process of its own, because the way of writing is chosen once a process, by the kernel's setting at that time."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()

    def measure(self, megabytes: float, times: int) -> Speed:
        """Medians of that many turns, the two contestants one after the other."""
        self._pipe.send((megabytes, times))
        speed: Speed = self._pipe.recv()
        return speed

    def close(self) -> None:
        """Ends the process."""
        self._pipe.send(None)
        self._process.join()


def _serve(pipe: Connection) -> None:
    while (asked := pipe.recv()) is not None:
        pipe.send(_measure(*asked))


def _measure(megabytes: float, times: int) -> Speed:
    cols = columns(samples_of(megabytes), PROMPT, RESPONSE)
    size = sum(column.nbytes for column in cols.values())
    warm = {name: column.copy() for name, column in cols.items()}
    publish, checked, copy, faults = [], [], [], []
    for _ in range(times):
        before, start = _faults(), time.perf_counter()
        batch = record_batch(cols)
        fd = write_stream(batch.schema, [batch], "segment")
        publish.append(size / (time.perf_counter() - start) / 1e9)
        faults.append((_faults() - before) / (size / 1e6))
        os.close(fd)
        start = time.perf_counter()
        fd, _ = write_checked(batch.schema, [batch], "segment")
        checked.append(size / (time.perf_counter() - start) / 1e9)
        os.close(fd)
        start = time.perf_counter()
        for name, column in cols.items():
            np.copyto(warm[name], column)
        copy.append(size / (time.perf_counter() - start) / 1e9)
    return Speed(*(float(np.median(values)) for values in (publish, checked, copy, faults)))


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

"""The core alone, in Go, beside the same life in plain Python."""

from __future__ import annotations

import re
import subprocess
import time
import tracemalloc
from pathlib import Path

from bench.ledger import Ledger, Receipt

TRANSITIONS = 6
"""Of one life: reserved, executing, terminal, completed, leased, acknowledged."""
BATCH = 64


SLOTS = tuple(range(8))


def _fill(ledger: Ledger) -> list[Receipt]:
    receipts = []
    while (group := ledger.reserve()) is not None:
        receipts.append(ledger.dispatch(group))
    return receipts


def python_transitions(groups: int) -> float:
    """Transitions a second of the plain ledger, in batches of 64 with 1,000 groups completed, as the Go benchmark does."""
    ledger = Ledger(1000 + BATCH, 1000, len(SLOTS))
    data = object()
    start = time.perf_counter()
    for rollout in range(groups // BATCH):
        for receipt in _fill(ledger):
            ledger.complete(receipt, SLOTS, 100, data)
        taken = ledger.take(rollout, BATCH)
        assert taken is not None
        ledger.admit(taken[0], ledger.publish(taken[0]))
        ledger.commit(taken[0])
    return ledger.acknowledged * TRANSITIONS / (time.perf_counter() - start)


def python_bytes(groups: int) -> float:
    """Bytes that the plain ledger keeps for each of that many completed groups."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        ledger = Ledger(groups, groups, len(SLOTS))
        data = object()
        while (group := ledger.reserve()) is not None:
            ledger.complete(ledger.dispatch(group), SLOTS, 100, data)
        after, _ = tracemalloc.get_traced_memory()
        return (after - before) / groups
    finally:
        tracemalloc.stop()


def go_metrics(root: Path, which: str, times: str) -> dict[str, float]:
    """Runs some of the core's Go benchmarks once.

    Args:
        root: Of the repository.
        which: A pattern of benchmark names.
        times: How long or how often each runs, as `go test -benchtime` takes it.

    Returns:
        What they report, by benchmark and unit: "Transitions/retained=1000 transitions/s", "RetainedBytes B/group", "State ns/op".
    """
    command = ["go", "test", "-run", "^$", "-bench", which, "-benchtime", times, "./scheduler"]
    out = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    metrics: dict[str, float] = {}
    for line in out.splitlines():
        if match := re.match(r"Benchmark(\S+?)(-\d+)?\s", line):
            for value, unit in re.findall(r"([\d.e+]+) (\S+)", line):
                metrics[f"{match[1]} {unit}"] = float(value)
    return metrics

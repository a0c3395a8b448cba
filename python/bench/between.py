"""Segments from one host to another: two network namespaces joined by a bridge, Ray on either. Needs root and iproute2."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import Section, Series, ratio

KINDS = {
    "outrider": "Outrider: admit what another host holds",
    "tcp": "a bare TCP copy into new shared memory",
    "flight": "stock pyarrow Flight, read into memory",
    "ray": "ray.get of packed numpy columns of another node",
}
PYTHON = Path(__file__).parents[1]


def between(megabytes: float, rounds: int) -> list[Section]:
    """All contestants in turns; nothing, and a word why, where there can be no hosts."""
    sys.path.append(str(PYTHON / "tests" / "ray"))
    from hosts import Hosts, denied  # what the tests of several hosts stand on

    if (why := denied()) is not None:
        return [Section(f"between two hosts: not measured: {why}", [Series("nothing", "", [0])])]
    inherited = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp", ignore_cleanup_errors=True) as short:
        environment = {**inherited, "TMPDIR": short, "RAY_AUTH_MODE": "disabled"}
        with Hosts(2, short, environment) as hosts:
            hosts.start_ray(1)
            hosts.start_ray(2)
            job = hosts.run(
                1, sys.executable, "-m", "bench.between_job", hosts.address(1), hosts.address(2), megabytes, rounds
            )
            out, _ = job.communicate()
    if job.returncode:
        raise RuntimeError(f"the job between hosts failed:\n{out}")
    return sections(megabytes, json.loads(out.splitlines()[-1]))


def sections(megabytes: float, turns: dict[str, list[dict[str, float]]]) -> list[Section]:
    """The rows, of what the job says of each turn."""
    speed, processor = {}, {}
    for kind, name in KINDS.items():
        seen = turns[kind]
        speed[kind] = Series(name, "MB/s", [turn["MB/s"] for turn in seen])
        processor[kind] = Series(name, "s/GB", [turn["sender"] + turn["receiver"] for turn in seen], "less")
        processor[kind].note = ", ".join(
            f"{end} {Series('', '', [turn[end] for turn in seen]).median:.2f}" for end in ("sender", "receiver")
        )
    share: Any = ratio(speed["outrider"], speed["tcp"])
    return [
        Section(
            f"{megabytes:g} MB between two network namespaces",
            list(speed.values()),
            [("at least 60 % of the bare TCP copy", share >= 0.6)],
        ),
        Section("… processor seconds of both hosts, everything that runs there", list(processor.values())),
    ]

"""`python -m bench`: measures, prints one table, writes it where `--out` says."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import ray

from bench import between, life_grpc, life_ray, machine
from bench import core as core_part
from bench import handover as handover_part
from bench import life as life_part
from bench import plane as plane_part
from bench.measure import Section, Series, ratio, rounds, table

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build" / "bench"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    batches: int
    core_groups: int
    core_seconds: str
    megabytes: tuple[float, ...]
    settings: tuple[str, ...]
    large: float
    """Megabytes where one size is enough."""
    arrivals: tuple[float, ...]

    @staticmethod
    def of(quick: bool) -> Size:
        """Seconds, or a few minutes."""
        if quick:
            return Size(1, 20, 20_000, "0.2s", (0.1, 1.0), ("never",), 10.0, (0.1, 10.0))
        sizes, settings = (0.1, 1.0, 10.0, 100.0), ("never", "within_size")
        return Size(5, 150, 200_000, "1s", sizes, settings, 100.0, (*sizes, 400.0))


class Contestant(Protocol):
    """Lives groups when it is its turn."""

    def measure(self, batches: int) -> float:
        """Groups a second."""

    def close(self) -> None:
        """Ends its processes."""


def main() -> None:
    """Parses, builds, measures, prints."""
    parser = argparse.ArgumentParser(prog="bench", description="Costs of Outrider, each beside its rivals, in one run.")
    parser.add_argument(
        "--quick", action="store_true", help="seconds instead of minutes: shows that everything runs, not how fast"
    )
    parser.add_argument(
        "--only",
        choices=("core", "life", "handover", "plane", "between"),
        action="append",
        help="these parts (may be repeated)",
    )
    parser.add_argument("--rounds", type=int, help="rounds of each part")
    parser.add_argument("--out", type=Path, help="write the table there as well")
    options = parser.parse_args()
    size = Size.of(options.quick)
    count = options.rounds or size.rounds

    build()

    head = f"outrider: benchmarks, {count} rounds, median ± MAD; the ratio says how many times better the first row of a block is\n{machine.describe()}"
    parts: dict[str, Callable[[Size, int], list[Section]]] = {
        "core": core,
        "life": life,
        "handover": handover,
        "plane": plane,
        "between": lambda size, count: between.between(max(size.arrivals), count),
    }
    sections = [
        section
        for name, part in parts.items()
        if not options.only or name in options.only
        for section in part(size, count)
    ]
    text = head + "\n" + table(sections) + "\n"
    sys.stdout.write(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)


def build() -> None:
    """Builds the sidecar and the gRPC rival of this tree; children of every kind find this package."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for package, name in (("./cmd/outrider", "outrider"), ("./python/bench/rival", "rival")):
        subprocess.run(
            ["go", "build", "-trimpath", "-o", str(BUILD / name), package],
            cwd=ROOT,
            check=True,
            env={**os.environ, "CGO_ENABLED": "0"},
        )
    os.environ.setdefault("OUTRIDER_BINARY", str(BUILD / "outrider"))
    # Checking every invariant after every event is for tests.
    os.environ.pop("OUTRIDER_VERIFY", None)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))


def start_ray() -> None:
    """A Ray of this run's own, also where another one is running."""
    if not ray.is_initialized():
        inherited = {name: os.environ[name] for name in ("PYTHONPATH", "OUTRIDER_BINARY")}
        ray.init(
            address="local",
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"env_vars": inherited},
        )


def core(size: Size, count: int) -> list[Section]:
    """Transitions and memory of the core alone."""
    seen: list[dict[str, float]] = []

    def go_transitions() -> float:
        seen.append(core_part.go_metrics(ROOT, "Transitions|RetainedBytes", size.core_seconds))
        return seen[-1]["Transitions/retained=1000 transitions/s"]

    go, plain = (
        Series("the core, in Go, 1,000 groups retained", "transitions/s"),
        Series("plain Python ledger, 1,000 groups retained", "transitions/s"),
    )
    rounds(count, [(go, go_transitions), (plain, lambda: core_part.python_transitions(size.core_groups))], "core")
    million = Series(
        "the core, in Go, 1,000,000 groups retained",
        "transitions/s",
        [metrics["Transitions/retained=1000000 transitions/s"] for metrics in seen],
    )
    small = Series("the core, in Go", "B/group", [metrics["RetainedBytes B/group"] for metrics in seen], "less")
    large = Series(
        "plain Python ledger",
        "B/group",
        [core_part.python_bytes(size.core_groups) for _ in seen],
        "less",
        "no sessions, timelines, staleness",
    )
    return [
        Section(
            "core: transitions of a group's life, one process",
            [go, million, plain],
            [("at least 1,000,000 transitions/s", go.median >= 1e6)],
        ),
        Section("core: memory of a retained group", [small, large], [("at most 300 B", small.median <= 300)]),
        *core_seldom(count),
    ]


def core_seldom(count: int) -> list[Section]:
    """What a save, a rewind and a restarted owner cost; nothing else does the same, so these rows have no rival."""
    seen = [core_part.go_metrics(ROOT, "^Benchmark(State|Rewind|Recovery)$", "5x") for _ in range(count)]

    def series(name: str, benchmark: str, note: str = "") -> Series:
        return Series(name, "ms", [metrics[f"{benchmark} ns/op"] / 1e6 for metrics in seen], "less", note)

    size = f"{seen[0]['State B/state'] / 1000:.1f} kB, settled out of order by 10,000"
    heard = f"{seen[0]['Recovery groups']:,.0f} live groups, {seen[0]['Recovery messages']:.0f} messages"
    return [
        Section("core: state bytes of 1,000,000 settled groups", [series("run.state(R)", "State", size)]),
        Section("core: going back", [series("a rewind over 10,000 settled groups, 10,000 executing", "Rewind")]),
        Section("core: a restarted owner", [series("recovery from 64 workers' inventories", "Recovery", heard)]),
    ]


def life(size: Size, count: int) -> list[Section]:
    """The whole life through the shim."""
    start_ray()
    rival = str(BUILD / "rival")
    contestants: dict[str, Contestant] = {
        "Outrider, batches of 64, one segment a batch": life_part.Life(life_part.together),
        "Outrider, batches of 64, one segment a group": life_part.Life(life_part.alone),
        "grpcio, batches of 64, 4 unary calls a batch": life_grpc.GrpcLife(rival, life_grpc.batched),
        "grpcio, not batched, 64 unary calls outstanding": life_grpc.GrpcLife(rival, life_grpc.outstanding),
        "plain Ray actor calls, batches of 64": life_ray.RayLife(),
    }
    series = {name: Series(name, "groups/s") for name in contestants}
    try:
        for contestant in contestants.values():
            contestant.measure(1)  # Everybody has started.
        rounds(count, [(series[name], partial(c.measure, size.batches)) for name, c in contestants.items()], "life")
    finally:
        for contestant in contestants.values():
            contestant.close()
    for name, contestant in contestants.items():
        if isinstance(contestant, (life_part.Life, life_grpc.GrpcLife)):
            series[
                name
            ].note = f"{statistics.median(contestant.processor[1:]):.0f} µs of processor a group, all processes"
    rows = list(series.values())
    aims = [
        ("at least 20,000 groups/s batched", rows[0].median >= 20_000),
        ("at least 3x grpcio unary calls, not batched", ratio(rows[0], rows[3]) >= 3),
        ("at least 3x grpcio batched as Outrider is", ratio(rows[0], rows[2]) >= 3),
        ("at least 3,000 groups/s with a segment each", rows[1].median >= 3_000),
    ]
    return [Section("life of 1 KB groups of 8: reserve, complete, take, admit, commit; three processes", rows, aims)]


def handover(size: Size, count: int) -> list[Section]:
    """Rollouts from engine to trainer."""
    return under_settings(size, lambda setting: handover_with(setting, size, count))


def under_settings(size: Size, part: Callable[[str], list[Section]]) -> list[Section]:
    """A part under each of the kernel's settings that can be had; the one that was found comes back."""
    sections: list[Section] = []
    for setting in size.settings:
        with machine.huge_pages_set(setting) as inforce:
            if inforce:
                sections += part(setting)
    return sections or part(f"as found: {machine.huge_pages()}")


def plane(size: Size, count: int) -> list[Section]:
    """The data plane of one host."""
    start_ray()
    return [
        *under_settings(
            size,
            lambda setting: [
                plane_part.arrival(size.arrivals, setting, count),
                *plane_part.publishing(size.megabytes, setting, count),
            ],
        ),
        plane_part.reading(size.large, count),
    ]


def handover_with(setting: str, size: Size, count: int) -> list[Section]:
    """The same under one setting of the kernel."""
    start_ray()
    actors = handover_part.Handover()
    try:
        return [handover_of(actors, megabytes, setting, count) for megabytes in size.megabytes]
    finally:
        actors.close()


def handover_of(actors: handover_part.Handover, megabytes: float, setting: str, count: int) -> Section:
    """The same at one size."""
    times = 9 if megabytes <= 1 else 3
    samples = handover_part.samples_of(megabytes)
    section = Section(
        f"handover of {megabytes:g} MB ({samples:,} samples) between two Ray actors, huge pages {setting}"
    )
    whole = Series("Outrider, columns to first values of a committed batch", "ms", better="less")
    sealed = Series("… of which sealed to first values", "ms sealed", better="less")
    admitted = Series("… by single calls: admit to first values", "ms admit", better="less")
    rivals = {
        "packed": Series("ray.put/get of a dict of packed numpy columns", "ms", better="less"),
        "arrays": Series("ray.put/get of objects of numpy arrays", "ms", better="less"),
        "lists": Series("ray.put/get of objects of lists", "ms", better="less"),
    }

    def ours() -> float:
        spans, since_seal = actors.outrider(megabytes, times)
        sealed.values.append(statistics.median(since_seal))
        return statistics.median(spans)

    def theirs(kind: str) -> float:
        return statistics.median(actors.ray(kind, megabytes, 1 if kind == "lists" else times))

    actors.outrider(megabytes, 2)
    turns: list[tuple[Series, Callable[[], float]]] = [
        (whole, ours),
        *((series, partial(theirs, kind)) for kind, series in rivals.items()),
    ]
    rounds(count, turns, f"handover {megabytes:g} MB, huge pages {setting}")
    steps = actors.steps(megabytes, times * count)
    middle = {name: statistics.median(step[name] for step in steps) for name in steps[0]}
    admitted.values.append(middle["admit to first"])
    parts = ("sealed", "taken", "published", "admitted", "first", "committed")
    admitted.note = "medians of " + ", ".join(f"{name} +{middle[name]:.2f}" for name in parts)
    section.rows = [whole, sealed, admitted, *rivals.values()]
    section.aims.append(("sealed to first values below 1 ms", sealed.median < 1))
    if megabytes <= 1:
        section.aims.append(("at least 1.5x Ray's packed numpy", ratio(whole, rivals["packed"]) >= 1.5))
    section.aims.append(("at least 25x Ray's lists of samples", ratio(whole, rivals["lists"]) >= 25))
    return section


if __name__ == "__main__":
    main()

"""The data plane's part of the table: how fast rows are written, arrive, cross, and what memory they take."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench import readers
from bench.handover import Handover, samples_of
from bench.measure import Section, Series, ratio, rounds
from bench.publish import Publisher

SAMPLES = 16
"""Of the group whose size in bytes alone varies: what is looked at on the way are rows, not bytes."""


def arrival(sizes: Sequence[float], setting: str, count: int) -> Section:
    """Sealed in the engine to the first value of every column in the trainer, at any size. Ray must be initialised."""
    actors = Handover()
    rows = {size: Series(f"{size:g} MB, {SAMPLES} samples", "ms", better="less") for size in sizes}
    last = max(sizes)
    many = Series(f"{last:g} MB, {samples_of(last):,} samples", "ms", better="less")
    turns = [(row, partial(_sealed, actors, size, SAMPLES)) for size, row in rows.items()]
    try:
        rounds(count, [*turns, (many, partial(_sealed, actors, last, None))], f"arrival, {setting}")
    finally:
        actors.close()
    return Section(
        f"sealed in the engine to first values of a committed batch in the trainer, huge pages {setting}",
        [*rows.values(), many],
        [
            ("the largest takes at most twice the time of the smallest", ratio(rows[last], rows[min(sizes)]) >= 0.5),
            ("below 1 ms", all(row.median < 1 for row in rows.values())),
        ],
    )


def _sealed(actors: Handover, megabytes: float, samples: int | None) -> float:
    _, since = actors.outrider(megabytes, 5, samples)
    return Series("", "", since).median


def publishing(sizes: Sequence[float], setting: str, count: int) -> list[Section]:
    """Numpy columns into a sealed segment, beside a copy into warm memory."""
    publisher = Publisher()
    try:
        return [_publishing(publisher, size, setting, count) for size in sizes]
    finally:
        publisher.close()


def _publishing(publisher: Publisher, megabytes: float, setting: str, count: int) -> Section:
    speeds = [publisher.measure(megabytes, 5) for _ in range(count)]
    ours = Series("numpy columns into a sealed segment", "GB/s", [speed.publish for speed in speeds])
    checked = Series("… with Policy.checksums, the engine's part", "GB/s", [speed.checked for speed in speeds])
    copy = Series("numpy.copyto of the same into warm memory", "GB/s", [speed.copy for speed in speeds])
    faults = Series("", "", [speed.faults for speed in speeds]).median
    ours.note = f"{faults:.1f} page faults a MB"
    aims = [("no page fault for each page of 4 KB", faults < 25)]
    if setting not in ("never", "deny") and megabytes >= 10:  # below there is no room for huge pages
        aims.append(("at least half of the copy", ratio(ours, copy) >= 0.5))
    return Section(f"publishing {megabytes:g} MB, huge pages {setting}", [ours, checked, copy], aims)


def reading(megabytes: float, count: int) -> Section:
    """Eight readers of one batch on one host. Ray must be initialised."""
    actors = readers.Readers()
    ours = Series("Outrider", "x the columns", better="less")
    store = Series("Ray's object store, packed numpy columns", "x the columns", better="less")
    try:
        turns = [(ours, partial(actors.outrider, megabytes)), (store, partial(actors.ray, megabytes))]
        rounds(count, turns, "readers")
    finally:
        actors.close()
    return Section(
        f"{readers.RANKS} processes read one batch of {megabytes:g} MB: peak memory of all parties, what is shared once",
        [ours, store],
        [("at most 1.1", ours.median <= 1.1)],
    )

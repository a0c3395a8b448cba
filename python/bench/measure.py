"""Rounds, medians, spreads, ratios, and the table that shows them."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Series:
    """What one contestant did, a value a round.

    Attributes:
        name: As the table shows it.
        unit: Of the values.
        values: By round.
        better: "more" or "less" is better.
        note: Shown behind the numbers.
    """

    name: str
    unit: str
    values: list[float] = field(default_factory=list)
    better: str = "more"
    note: str = ""

    @property
    def median(self) -> float:
        """Of the rounds."""
        return statistics.median(self.values)

    @property
    def mad(self) -> float:
        """Median absolute deviation from the median: the spread that one disturbed round does not move."""
        middle = self.median
        return statistics.median(abs(value - middle) for value in self.values)


@dataclass
class Section:
    """Rows that are compared with each other.

    Attributes:
        title: What was measured.
        rows: The first is Outrider; ratios say how many times better it is than each other row.
        aims: (text, kept) of what was aimed at.
    """

    title: str
    rows: list[Series] = field(default_factory=list)
    aims: list[tuple[str, bool]] = field(default_factory=list)


def ratio(ours: Series, rival: Series) -> float:
    """How many times better ours is: the median over rounds of the ratio within a round, so that drift between rounds cancels."""
    pairs = list(zip(ours.values, rival.values, strict=False))
    if len(ours.values) != len(rival.values):
        pairs = [(ours.median, rival.median)]
    return statistics.median(a / b if ours.better == "more" else b / a for a, b in pairs)


def rounds(count: int, contestants: Sequence[tuple[Series, Callable[[], float]]], label: str) -> None:
    """Lets all contestants run in turns, `count` times; the order turns round from one round to the next."""
    for number in range(count):
        order = list(contestants) if number % 2 == 0 else list(reversed(contestants))
        for series, run in order:
            say(f"{label}: round {number + 1} of {count}: {series.name}")
            series.values.append(run())
    say("")


def say(line: str) -> None:
    """One live line on a terminal; nothing into a file."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def number(value: float) -> str:
    """Three significant digits, thousands set apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(sections: Sequence[Section]) -> str:
    """All sections as aligned text."""
    lines = []
    for section in sections:
        if not section.rows:
            continue
        lines += ["", section.title]
        ours = section.rows[0]
        for row in section.rows:
            spread = f"± {number(row.mad)}" if len(row.values) > 1 else ""
            comparable = row is not ours and row.unit == ours.unit
            times = f"{number(ratio(ours, row))}x" if comparable else ""
            lines.append(
                f"  {row.name:<58} {number(row.median):>12} {spread:<12} {row.unit:<16} {times:>8}  {row.note}".rstrip()
            )
        lines += [f"  {'kept  ' if kept else 'MISSED'} {text}" for text, kept in section.aims]
    return "\n".join(lines)

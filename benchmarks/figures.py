"""Figures with their spread, from slices that take turns: never one run after the other."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")
# Below this many values the tenth and the ninetieth percentile say no more than the ends.
ENOUGH_FOR_PERCENTILES = 10


@dataclass(frozen=True)
class Figure:
    """A median, the values that most slices lie between (p10 to p90; with fewer than ten: all), and of how many."""

    median: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        if self.n == 1:
            return text_of(self.median)
        return f"{text_of(self.median)} ({text_of(self.low)} to {text_of(self.high)})"


def figure(values: Iterable[float]) -> Figure | None:
    """Sum values up; None of none, since a missing figure is not 0."""
    ordered = sorted(values)
    if not ordered:
        return None
    edge = 0.1 if len(ordered) >= ENOUGH_FOR_PERCENTILES else 0.0
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in (edge, 1 - edge))
    return Figure(statistics.median(ordered), low, high, len(ordered))


def median_of(values: Iterable[float]) -> Figure | None:
    """Sum values up by their median and where it may well be (95 %, by order alone), for: has it changed?

    The spread of slices does not shrink with their number; this does.
    """
    ordered = sorted(values)
    if not ordered:
        return None
    n = len(ordered)
    outside = max(0, math.floor((n - 1.96 * math.sqrt(n)) / 2))
    return Figure(statistics.median(ordered), ordered[outside], ordered[n - 1 - outside], n)


def text_of(value: float) -> str:
    """Write a number with three digits that count."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Divide slice by slice: what slowed a round slowed both halves of it."""
    return [a / b for a, b in zip(above, below, strict=True) if b]


def differences(whole: Sequence[float], part: Sequence[float]) -> list[float]:
    """Subtract slice by slice."""
    return [a - b for a, b in zip(whole, part, strict=True)]


def interleaved(
    slices: Mapping[str, Callable[[], T]], rounds: int, *, until: float = float("inf")
) -> dict[str, list[T]]:
    """Take the slices in turns, A B C and then C B A: what drifts over the minutes meets all of them alike.

    Ends after the round in which `until` (of `time.monotonic`) passes, so that every slice has as many values.
    """
    taken: dict[str, list[T]] = {name: [] for name in slices}
    for number in range(rounds):
        for name in list(slices) if number % 2 == 0 else reversed(slices):
            taken[name].append(slices[name]())
        if time.monotonic() > until:
            break
    return taken


@dataclass(frozen=True)
class Goal:
    """What a figure shall be: at most, or at least, this."""

    value: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.value:g}"

    def shortfall(self, value: float) -> float:
        """Return by what share of the goal a value misses it, 0 when it does not; of 1 where the goal is none."""
        missing = self.value - value if self.at_least else value - self.value
        return max(0.0, missing / (self.value or 1.0))


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, what it shall be, and what it is now and was in the parent."""

    name: str
    unit: str
    now: Figure | None
    goal: Goal | None = None
    parent: Figure | None = None
    # Now divided by the parent, round by round; `median_of` it, and only where both ran in turns.
    change: Figure | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Say whether the median meets the goal."""
        if self.now is None:
            return "not measured"
        if self.goal is None:
            return ""
        short = self.goal.shortfall(self.now.median)
        return f"short by {short:.0%}" if short else "ok"

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        found = asdict(self) | {"verdict": self.verdict}
        for name in ("now", "parent", "change"):
            if found[name]:
                found[name] = {key: float(f"{value:.5g}") for key, value in found[name].items()} | {
                    "n": found[name]["n"]
                }
        return found

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Row:
        """Read what `as_json` wrote."""
        figures = {name: Figure(**found[name]) if found.get(name) else None for name in ("now", "parent", "change")}
        goal = Goal(**found["goal"]) if found.get("goal") else None
        return cls(found["name"], found["unit"], goal=goal, note=found.get("note", ""), **figures)


HEADER = ("what", "unit", "goal", "now", "parent", "now ÷ parent", "")


def table(rows: Sequence[Row]) -> str:
    """Write the rows for people, in columns."""
    cells = [HEADER, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    notes = [f"{row.name}: {row.note}" for row in rows if row.note]
    return "\n".join([*lines, *notes])


def _cells(row: Row) -> tuple[str, ...]:
    figures = ["-" if one is None else str(one) for one in (row.now, row.parent, row.change)]
    return (row.name, row.unit, "-" if row.goal is None else str(row.goal), *figures, row.verdict)

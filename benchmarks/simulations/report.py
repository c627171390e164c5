"""Figures of a simulation, and the tables they are printed in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """How often something happened, and what was promised about it.

    Attributes
    ----------
    hits, repeats : int
        So often, of so many.
    least, most : float or None
        The promise, where there is one; a share on its wrong side by less than two standard errors keeps it.
    together : int
        How many of the repeats are looks at one run, and say little more than one does.
    """

    hits: int
    repeats: int
    least: float | None = None
    most: float | None = None
    together: int = 1

    @property
    def value(self) -> float:
        return self.hits / self.repeats

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}% ± {100 * self.error:.1f}"

    @property
    def error(self) -> float:
        """One standard error of the simulation; one hit and one miss are added, so that none is not certain."""
        found = (self.hits + self.together) / (self.repeats + 2 * self.together)
        return self._error(found)

    def is_kept(self) -> bool:
        """Say whether the promise holds, as far as so many repeats can tell."""
        least = self.least is None or self.value >= self.least - 2.0 * self._error(self.least)
        return least and (self.most is None or self.value <= self.most + 2.0 * self._error(self.most))

    def _error(self, share: float) -> float:
        return math.sqrt(max(share * (1.0 - share), 1e-4) * self.together / self.repeats)

    def agrees(self, printed: str) -> bool:
        """Say whether fewer repeats may have given this, where the documentation prints that."""
        shown = float(printed.split("%")[0]) / 100.0
        # Four standard errors of these repeats, one count for shares near 0 and 1, and the last digit printed.
        return abs(self.value - shown) <= 4.0 * self._error(shown) + self.together / self.repeats + 0.001


@dataclass(frozen=True, slots=True)
class Exact:
    """A probability that was summed up, not simulated."""

    value: float
    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        return f"{100 * self.value:.1f}%"

    def is_kept(self) -> bool:
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    def agrees(self, printed: str) -> bool:
        # Equal as far as it is printed, whatever the last bit of another machine.
        return abs(100.0 * self.value - float(printed.rstrip("%"))) <= 0.051


@dataclass(frozen=True, slots=True)
class Ratio:
    """A mean of ratios, such as widths over other widths."""

    value: float
    tolerance: float = 0.25

    def __str__(self) -> str:
        return f"{self.value:.2f}"

    def is_kept(self) -> bool:
        return math.isfinite(self.value)

    def agrees(self, printed: str) -> bool:
        return abs(self.value / float(printed) - 1.0) <= self.tolerance


@dataclass(frozen=True, slots=True)
class Missing:
    """What does not apply."""

    def __str__(self) -> str:
        return "-"

    def is_kept(self) -> bool:
        return True

    def agrees(self, printed: str) -> bool:
        return printed == "-"


Figure = Share | Exact | Ratio | Missing


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the documentation: `promise` says in words what the rows must keep."""

    title: str
    promise: str
    head: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Figure, ...]], ...]

    def markdown(self) -> str:
        labels = len(self.rows[0][0])
        rule = [*("---" for _ in range(labels)), *("---:" for _ in self.head[labels:])]
        lines = [self.head, rule, *((*names, *map(str, figures)) for names, figures in self.rows)]
        body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return "\n".join([f"**{self.title}** {self.promise}\n\n{body}\n", *self._verdict()])

    def _verdict(self) -> list[str]:
        """Return a line with each promised column: what is nominal, and what was measured where it is nearest to it."""
        found = [line for column in range(len(self.rows[0][1])) for line in self._nearest(column)]
        return [f"Nominal and, at worst, measured: {'; '.join(found)}.\n"] if found else []

    def _nearest(self, column: int) -> list[str]:
        """Name the figure of a column that is nearest to breaking its promise, for each promise made there."""
        nearest: dict[str, tuple[float, str]] = {}
        for names, figures in self.rows:
            figure = figures[column]
            if not isinstance(figure, Share | Exact):
                continue
            for sign, nominal, words in ((1.0, figure.least, "at least"), (-1.0, figure.most, "at most")):
                if nominal is not None:
                    promise = f"{words} {100 * nominal:g} %"
                    found = sign * (figure.value - nominal), f"{promise}, {figure} ({', '.join(names)})"
                    nearest[promise] = min(nearest.get(promise, found), found)
        return [f"{self.head[len(self.rows[0][0]) + column]} {text}" for _, text in nearest.values()]

    def broken(self) -> list[str]:
        """Name every figure that breaks its promise."""
        return [
            f"{self.title} {' '.join(names)}: {figure}"
            for names, figures in self.rows
            for figure in figures
            if not figure.is_kept()
        ]


def share(found: Iterable[bool], *, least: float | None = None, most: float | None = None, together: int = 1) -> Share:
    """Count what is true."""
    row = [bool(one) for one in found]
    return Share(sum(row), len(row), least, most, together)


def repeats(full: int, scale: float) -> int:
    """Return how often to repeat: at least twenty times, so that a figure means something."""
    return max(20, round(full * scale))

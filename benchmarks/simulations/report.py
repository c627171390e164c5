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
        return f"{100 * self.value:.1f}%"

    def is_kept(self) -> bool:
        """Say whether the promise holds, as far as so many repeats can tell."""
        least = self.least is None or self.value >= self.least - 2.0 * self._error(self.least)
        return least and (self.most is None or self.value <= self.most + 2.0 * self._error(self.most))

    def _error(self, share: float) -> float:
        return math.sqrt(max(share * (1.0 - share), 1e-4) * self.together / self.repeats)

    def agrees(self, printed: str) -> bool:
        """Say whether fewer repeats may have given this, where the documentation prints that."""
        shown = float(printed.rstrip("%")) / 100.0
        # Four standard errors of these repeats, one count for shares near 0 and 1, and the last digit printed.
        return abs(self.value - shown) <= 4.0 * self._error(shown) + self.together / self.repeats + 0.001


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


Figure = Share | Ratio | Missing


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
        return f"**{self.title}** {self.promise}\n\n{body}\n"

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

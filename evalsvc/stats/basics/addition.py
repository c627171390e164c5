"""Sums of parts: they add up to those of the whole, as the database adds them to what it has."""

from __future__ import annotations

from collections.abc import Sequence

from evalsvc.stats.basics.sums import Sums


def add_sums(parts: Sequence[Sums]) -> Sums:
    """Return the sums of several parts together.

    Examples
    --------
    >>> from evalsvc.stats.basics.sums import compute_sums
    >>> add_sums([compute_sums([1, 0]), compute_sums([]), compute_sums([1])]) == compute_sums([1, 0, 1])
    True
    """
    lows = [part.lowest for part in parts if part.lowest is not None]
    highs = [part.highest for part in parts if part.highest is not None]
    return Sums(
        sum(part.n for part in parts),
        sum(part.total for part in parts),
        sum(part.squares for part in parts),
        min(lows, default=None),
        max(highs, default=None),
        sum(part.den_total for part in parts),
        sum(part.den_squares for part in parts),
        sum(part.cross for part in parts),
    )


def add_repeated(sums: Sums, value: float, n: int) -> Sums:
    """Return sums with n more scores that all have this value; not for a ratio, whose scores have denominators.

    Examples
    --------
    >>> from evalsvc.stats.basics.sums import compute_sums
    >>> add_repeated(compute_sums([1, 1]), 0.0, 2) == compute_sums([1, 1, 0, 0])
    True
    """
    return add_sums([sums, Sums(n, n * value, n * value * value, value, value)]) if n else sums

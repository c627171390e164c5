"""How many labels more would settle what an interval leaves open, if the estimate stays where it is."""

from __future__ import annotations

from collections.abc import Callable

from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.intervals import wilson

HALF_WIDTH = 0.05
MOST_MORE = 1_000_000


def labels_to_decide(
    share: Proportion, n_rows: int, is_decided: Callable[[float, float], bool], level: float
) -> int | None:
    """Return the fewest further labels with which the interval is expected to be conclusive; None above a million.

    The interval is assumed to shrink as Wilson's does, from its current width.

    Parameters
    ----------
    share : Proportion
        The figure in question, with its interval.
    n_rows : int
        Number of rows labelled so far.
    is_decided : callable
        Takes the bounds of an interval; returns whether they are conclusive.
    level : float
        The interval's confidence level.
    """
    if share.value is None or share.lower is None or share.upper is None or share.n == 0:
        return None
    if is_decided(share.lower, share.upper):
        return 0
    value, n, width = share.value, share.n, share.upper - share.lower
    now = wilson(value * n, n, level)
    wider = max(1.0, width / (now[1] - now[0]))

    def decides(more: int) -> bool:
        n_scaled = n * (n_rows + more) / n_rows
        lower, upper = wilson(value * n_scaled, n_scaled, level)
        return is_decided(max(0.0, value - wider * (value - lower)), min(1.0, value + wider * (upper - value)))

    if not decides(MOST_MORE):
        return None
    low, high = 0, MOST_MORE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def is_narrow(lower: float, upper: float) -> bool:
    """Return whether an interval reaches at most five points to either side."""
    return upper - lower <= 2.0 * HALF_WIDTH

"""Intervals for a share that may be watched: they all hold at once, over every example, whenever one stops.

A prior is spread evenly over all shares, and a share leaves the interval once the data have made it so much less likely
than it was. The ratio of prior to posterior is a martingale under the true share, so it ever exceeds 1/alpha with
probability at most alpha (Ville).

References
----------
Waudby-Smith & Ramdas (2020), Confidence sequences for sampling without replacement, NeurIPS 33; Howard, Ramdas,
McAuliffe & Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of Statistics 49.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Ends = tuple[float, float]


def anytime_share(successes: int, n: int, population: int | None, level: float) -> Ends:
    """Return the shares that have not been ruled out, by counts alone: the order does not matter.

    Parameters
    ----------
    successes, n : int
        How many ones, of how many seen.
    population : int or None
        Size of the set; None for new data.
    level : float
        Probability that all intervals, one after each example, hold the true share.

    Returns
    -------
    tuple of float
        Shares. Of zero width where a single count of ones is left.

    Examples
    --------
    >>> low, high = anytime_share(45, 50, 400, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.725, 0.98)
    """
    if population is None:
        return _new_data(successes, n, level)
    ends = _counts_kept(successes, n, population, level)
    return ends[0] / population, ends[1] / population


def _counts_kept(successes: int, n: int, population: int, level: float) -> tuple[int, int]:
    unseen = population - n
    log_prior = -math.log(population + 1.0)
    limit = log_prior + math.log1p(-level)
    constant = _log_beta_binomial_constant(unseen, 1 + successes, 1 + n - successes)

    def is_kept(more: int) -> bool:
        return constant + _log_beta_binomial(more, unseen, 1 + successes, 1 + n - successes) > limit

    # The posterior has one peak, and the peak is always kept.
    peak = min(unseen, (unseen + 1) * successes // n)
    return successes + _last(is_kept, peak, 0), successes + _last(is_kept, peak, unseen)


def _last(is_kept: Callable[[int], bool], start: int, end: int) -> int:
    """Return the last kept number on the way from start, which is kept, to end."""
    if is_kept(end):
        return end
    while abs(end - start) > 1:
        middle = (start + end) // 2
        start, end = (middle, end) if is_kept(middle) else (start, middle)
    return start


def _log_beta_binomial(k: int, n: int, a: int, b: int) -> float:
    return math.lgamma(k + a) + math.lgamma(n - k + b) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_beta_binomial_constant(n: int, a: int, b: int) -> float:
    return math.lgamma(n + 1) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.lgamma(n + a + b)


def _new_data(successes: int, n: int, level: float) -> Ends:
    """Do the same with a density: the limit of a set without end."""
    failures = n - successes
    constant = math.lgamma(n + 2) - math.lgamma(successes + 1) - math.lgamma(failures + 1)
    limit = math.log1p(-level)

    def is_kept(share: float) -> bool:
        if not 0.0 < share < 1.0:
            return (successes if share <= 0.0 else failures) == 0
        return constant + successes * math.log(share) + failures * math.log1p(-share) > limit

    peak = successes / n
    return _edge(is_kept, peak, 0.0), _edge(is_kept, peak, 1.0)


def _edge(is_kept: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return where the kept shares end, rounded outwards."""
    if is_kept(outside):
        return outside
    for _ in range(50):
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if is_kept(middle) else (inside, middle)
    return outside

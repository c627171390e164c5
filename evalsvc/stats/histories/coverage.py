"""How often an interval for a proportion covers it, at one look or at several: summed exactly, not simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.finite import log_factorials
from evalsvc.stats.formulas.intervals import clopper_pearson, wilson
from evalsvc.stats.histories.percentile import history_interval

Ends = tuple[float, float]


def percentile_bootstrap(successes: int, n: int, level: float = 0.95) -> Ends:
    """Return the ends of `history_interval` for so many ones of n.

    Examples
    --------
    >>> percentile_bootstrap(0, 30)
    (0.0, 0.0)
    """
    row = np.zeros(n)
    row[:successes] = 1.0
    interval = history_interval(row, level)
    if interval.lower is None or interval.upper is None:
        raise ValueError(f"`n` must be at least 2, not {n}.")
    return interval.lower, interval.upper


def coverage(
    interval: Callable[[int, int, float], Ends], n: int, shares: Sequence[float], level: float = 0.95
) -> FloatArray:
    r"""Return the probability that the interval contains p, for each p.

    .. math:: \sum_{k=0}^{n} \binom{n}{k} p^k (1-p)^{n-k}\,[\,lower(k) \le p \le upper(k)\,]

    Parameters
    ----------
    interval : callable
        Takes successes, n and level, and returns the two bounds.
    n : int
        Number of independent zeros and ones.
    shares : sequence of float
        True proportions p, strictly between 0 and 1.
    level : float
        Passed on to the interval.

    Returns
    -------
    ndarray
        One probability per proportion.

    References
    ----------
    Brown, Cai & DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16.

    Examples
    --------
    >>> coverage(clopper_pearson, 30, [0.05]).round(3)
    array([0.984])
    """
    ends = np.array([interval(k, n, level) for k in range(n + 1)])
    p = np.asarray(shares, dtype=np.float64)[:, None]
    # The margin: an end rounded to 1e-9 that equals p on paper must count.
    inside = (ends[:, 0] <= p + 1e-9) & (p <= ends[:, 1] + 1e-9)
    probabilities: FloatArray = (_binomial_pmf(n, p) * inside).sum(axis=1)
    return probabilities


def _binomial_pmf(n: int, p: FloatArray) -> FloatArray:
    k = np.arange(n + 1)
    logs = np.array([math.lgamma(i + 1.0) for i in range(n + 1)])
    pmf: FloatArray = np.exp(logs[n] - logs - logs[::-1] + k * np.log(p) + (n - k) * np.log1p(-p))
    return pmf


INTERVALS: dict[str, Callable[[int, int, float], Ends]] = {
    "full-history": percentile_bootstrap,
    "wilson": wilson,
    "clopper-pearson": clopper_pearson,
}


def hypergeometric_pmf(population: int, ones: int, n: int) -> FloatArray:
    """Return the probability of each number of ones among n drawn from a finite set, from 0 to n.

    Examples
    --------
    >>> hypergeometric_pmf(4, 2, 2).round(3)
    array([0.167, 0.667, 0.167])
    """
    logs = log_factorials(population)
    ones_seen = np.arange(n + 1)
    missing = n - ones_seen
    possible = (ones_seen <= ones) & (missing <= population - ones)
    ones_seen, missing = ones_seen[possible], missing[possible]
    log_ones = logs[ones] - logs[ones_seen] - logs[ones - ones_seen]
    others = logs[population - ones] - logs[missing] - logs[population - ones - missing]
    pmf = np.zeros(n + 1)
    pmf[possible] = np.exp(log_ones + others - (logs[population] - logs[n] - logs[population - n]))
    return pmf


def miss_rate(interval: Callable[[int, int], Ends], population: int, ones: int, looks: Sequence[int]) -> float:
    """Return the probability that an interval for a finite set misses its share at one look or more.

    Parameters
    ----------
    interval : callable
        Takes the ones seen and how many have been seen, and returns the two ends.
    population, ones : int
        Size of the set, and how many of it are ones; the order is random.
    looks : sequence of int
        After how many examples one looks, ascending.

    Returns
    -------
    float
        Summed over all orders, exactly; with one look it is one minus the coverage.

    Examples
    --------
    >>> round(miss_rate(lambda ones, n: wilson(ones, n), 40, 20, [10]), 3)
    0.008
    >>> round(miss_rate(lambda ones, n: wilson(ones, n), 40, 20, [10, 20, 30]), 3)
    0.012
    """
    share = ones / population
    # Probability of each number of ones seen, among the orders that no look has missed.
    alive = np.ones(1)
    for before, n in zip((0, *looks), looks, strict=False):
        alive = _advance_draws(alive, population, ones, before, n)
        for n_seen in np.flatnonzero(alive > 1e-15):
            lower, upper = interval(int(n_seen), n)
            if not lower - 1e-9 <= share <= upper + 1e-9:
                alive[n_seen] = 0.0
    return max(0.0, 1.0 - float(alive.sum()))


def _advance_draws(alive: FloatArray, population: int, ones: int, before: int, n: int) -> FloatArray:
    """Return the probabilities after drawing on from `before` examples to `n`."""
    probabilities = np.zeros(n + 1)
    for n_seen in np.flatnonzero(alive):
        increments = hypergeometric_pmf(population - before, ones - int(n_seen), n - before)
        probabilities[n_seen : n_seen + increments.size] += alive[n_seen] * increments
    return probabilities

"""How often an interval for a proportion covers it: summed exactly, not simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from evalsvc.stats.checks import FloatArray
from evalsvc.stats.history import history_interval
from evalsvc.stats.intervals import clopper_pearson, wilson

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
    r"""Return the probability that the interval holds p, for each p.

    .. math:: \sum_{k=0}^{n} \binom{n}{k} p^k (1-p)^{n-k}\,[\,lower(k) \le p \le upper(k)\,]

    Parameters
    ----------
    interval : callable
        Takes successes, n and level, and returns the two ends.
    n : int
        Number of independent zeros and ones.
    shares : sequence of float
        True shares p, strictly between 0 and 1.
    level : float
        Passed on to the interval.

    Returns
    -------
    ndarray
        One probability per share.

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
    found: FloatArray = (_binomial_pmf(n, p) * inside).sum(axis=1)
    return found


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

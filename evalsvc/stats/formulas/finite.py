"""Intervals for the mean of a finite set, from a random part of it drawn without replacement.

`n` of `population` scores have been drawn. With ``population=None`` the same functions cover the mean of new data,
without a finite-population correction.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.intervals import clopper_pearson, wilson, z_quantile

Ends = tuple[float, float]


def squared_correction(n: int, population: int | None) -> float:
    """Return the squared finite population correction (N-n)/(N-1): 1 for new data, 0 once everything has been seen.

    Examples
    --------
    >>> round(squared_correction(100, 400), 4)
    0.7519
    """
    if population is None:
        return 1.0
    return max(0.0, (population - n) / (population - 1)) if population > 1 else 0.0


def feasible(total: float, n: int, population: int | None, value_range: Ends) -> Ends:
    """Return the certain bounds: all unseen scores are the lowest, or all are the highest.

    Examples
    --------
    >>> feasible(40, 50, 400, (0, 1))
    (0.1, 0.975)
    """
    low, high = value_range
    if population is None:
        return low, high
    unseen = max(0, population - n)
    return (total + unseen * low) / population, (total + unseen * high) / population


def normal_margin(variance: float, n: int, population: int | None, level: float) -> float:
    r"""Return the half width of the seed's normal interval, :math:`z\sqrt{v/n}\,\sqrt{(N-n)/(N-1)}`."""
    return z_quantile(level) * math.sqrt(variance / n * squared_correction(n, population))


def hoeffding_margin(width: float, n: int, population: int | None, level: float) -> float:
    r"""Return the seed's half width :math:`(b-a)\sqrt{\ln(2/(1-level))/2n}\,\sqrt{(N-n)/(N-1)}`.

    With a finite population this is narrower than any proven bound; `serfling_margin` is the valid bound.
    """
    return width * math.sqrt(math.log(2.0 / (1.0 - level)) / (2.0 * n) * squared_correction(n, population))


def serfling_margin(width: float, n: int, population: int | None, level: float) -> float:
    r"""Return a half width that is valid for any scores in a range of this width, drawn without replacement.

    .. math:: (b-a)\sqrt{\rho\,\ln(2/(1-level)) / 2n}

    with :math:`\rho = 1-(n-1)/N` up to half of the set and :math:`(1-n/N)(1+1/n)` beyond; 1 for new data.

    References
    ----------
    Serfling (1974), Probability inequalities for the sum in sampling without replacement, Annals of Statistics 2;
    Bardenet & Maillard (2015), Concentration inequalities for sampling without replacement, Bernoulli 21.

    Examples
    --------
    >>> round(serfling_margin(1.0, 100, 400, 0.95), 4)
    0.1178
    """
    rho = 1.0
    if population is not None:
        rho = 1.0 - (n - 1) / population if 2 * n <= population else (1.0 - n / population) * (1.0 + 1.0 / n)
    return width * math.sqrt(max(0.0, rho) * math.log(2.0 / (1.0 - level)) / (2.0 * n))


def t_margin(variance: float, n: int, population: int | None, level: float) -> float:
    r"""Return the half width :math:`t_{n-1}\sqrt{s^2/n}\,\sqrt{1-n/N}`, for n of at least 2.

    Examples
    --------
    >>> round(t_margin(0.25, 25, None, 0.95), 4)
    0.2064
    """
    fraction_seen = 0.0 if population is None else min(1.0, n / population)
    return t_quantile(n - 1, level) * math.sqrt(variance / n * (1.0 - fraction_seen))


@lru_cache(maxsize=4096)
def t_quantile(degrees: int, level: float) -> float:
    """Return the half width, in standard errors, of a two-sided Student interval.

    Examples
    --------
    >>> round(t_quantile(9, 0.95), 4)
    2.2622
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    # The lower tail is used for its precision at levels close to 1.
    return -float(stdtrit(degrees, (1.0 - level) / 2.0))


def wilson_finite(successes: int, n: int, population: int | None, level: float) -> Ends:
    """Return the seed's Wilson interval: the effective sample size is n over the squared correction.

    Examples
    --------
    >>> low, high = wilson_finite(90, 100, 400, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.8373, 0.9403)
    """
    effective = n / squared_correction(n, population)
    return wilson(successes / n * effective if successes < n else effective, effective, level)


def exact_interval(successes: int, n: int, population: int | None, level: float) -> Ends:
    """Invert the hypergeometric tests of a share: coverage is at least the level for every set of this size.

    For new data this is Clopper-Pearson.

    Parameters
    ----------
    successes, n : int
        How many ones, of how many seen.
    population : int or None
        Size of the set; None for new data.
    level : float
        Guaranteed coverage.

    Returns
    -------
    tuple of float
        Both ends are shares of the set. Of zero width where a single count of ones is left.

    References
    ----------
    Buonaccorsi (1987), A note on confidence intervals for proportions in finite populations, The American Statistician
    41.

    Examples
    --------
    >>> low, high = exact_interval(45, 50, 400, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.79, 0.9625)
    """
    if population is None:
        return clopper_pearson(successes, n, level)
    tail = (1.0 - level) / 2.0
    lowest = fewest_ones(successes, n, population, tail)
    highest = population - fewest_ones(n - successes, n, population, tail)
    return lowest / population, highest / population


@lru_cache(maxsize=8192)
def fewest_ones(successes: int, n: int, population: int, tail: float) -> int:
    r"""Return the smallest K for which so many successes or more are not rarer than the tail.

    As K grows by one, :math:`P(X \ge s \mid K)` grows by :math:`\binom{K-1}{s-1}\binom{N-K}{n-s}/\binom{N}{n}`: all
    tails are one running sum.
    """
    if successes == 0:
        return 0
    logs = log_factorials(population)
    ones = np.arange(successes, population - n + successes + 1)
    steps = logs[ones - 1] - logs[ones - successes] + logs[population - ones]
    steps -= logs[population - ones - n + successes]
    constant = logs[successes - 1] + logs[n - successes] + logs[population] - logs[n] - logs[population - n]
    tails = np.cumsum(np.exp(steps - constant))
    # The tolerance accepts a count whose tail equals the limit exactly, on every machine.
    return int(ones[np.searchsorted(tails, tail * (1.0 - 1e-9), side="right")])


_LOGS: list[FloatArray] = [np.zeros(1)]


def log_factorials(largest: int) -> FloatArray:
    """Return ln 0!, ln 1!, ... up to at least the largest; the table is cached and grows by doubling."""
    table = _LOGS[0]
    if table.size <= largest:
        table = np.array([math.lgamma(i + 1.0) for i in range(max(1024, 2 * largest))])
        _LOGS[0] = table
    return table

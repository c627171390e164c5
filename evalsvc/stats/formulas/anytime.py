"""Anytime-valid intervals for a proportion: simultaneously valid after every example, under any stopping rule.

The prior is uniform over all proportions; a proportion leaves the interval once its posterior is small enough compared
with its prior. The ratio of prior to posterior is a martingale under the true proportion, so it ever exceeds 1/alpha
with
probability at most alpha (Ville).

References
----------
Waudby-Smith & Ramdas (2020), Confidence sequences for sampling without replacement, NeurIPS 33; Howard, Ramdas,
McAuliffe & Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of Statistics 49.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import Scores, as_row
from evalsvc.stats.formulas.finite import log_factorials

Ends = tuple[float, float]
IntArray: TypeAlias = NDArray[np.int64]


def anytime_share(successes: int, n: int, population: int | None, level: float) -> Ends:
    """Return the interval of proportions that are not ruled out, from counts alone: the order does not matter.

    Parameters
    ----------
    successes, n : int
        Number of ones, and number of scores.
    population : int or None
        Size of the set; None for new data.
    level : float
        Probability that all intervals, one after each example, contain the true proportion.

    Returns
    -------
    tuple of float
        Lower and upper proportion. Of zero width where a single count of ones remains.

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

    # The posterior is unimodal, and its peak is always inside the interval.
    peak = min(unseen, (unseen + 1) * successes // n)
    return successes + _last(is_kept, peak, 0), successes + _last(is_kept, peak, unseen)


def _last(is_kept: Callable[[int], bool], start: int, end: int) -> int:
    """Return the last accepted number on the way from start, which is accepted, to end."""
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

    log, log1p = math.log, math.log1p

    def edge(outside: float) -> float:
        """Return the bound of the accepted proportions, rounded outwards."""
        inside = successes / n
        # A board draws dozens of these each second: no call but the logarithms is made in the loop.
        for _ in range(50):
            middle = (inside + outside) / 2.0
            if constant + successes * log(middle) + failures * log1p(-middle) > limit:
                inside = middle
            else:
                outside = middle
        return outside

    return edge(0.0) if successes else 0.0, edge(1.0) if failures else 1.0


def _edge(is_kept: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the bound of the accepted proportions, rounded outwards."""
    if is_kept(outside):
        return outside
    for _ in range(50):
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if is_kept(middle) else (inside, middle)
    return outside


def running_share(scores: Scores, population: int | None, level: float) -> Ends:
    """Return the intersection of the intervals after each of these scores:

    a proportion once ruled out stays ruled out.

    The guarantee is that of `anytime_share` (Ville), and the interval is narrower by an eighth where the proportion is
    one
    half. It depends on the order of the scores.

    Parameters
    ----------
    scores : sequence of float
        Zeros and ones in the order of the permutation. NaN is a failed example: it counts as zero for the
        lower bound and as one for the upper bound.
    population : int or None
        Size of the set as planned, failures included; None for new data.
    level : float
        Probability that all intervals contain the true proportion.

    Examples
    --------
    >>> low, high = running_share([1, 1, 0, 1, 1, 1, 1, 1, 1, 1] * 5, 400, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.725, 0.975)
    """
    row = as_row(scores)
    failed = np.isnan(row)
    valid_scores = row[~failed]
    if not bool(np.all((valid_scores == 0.0) | (valid_scores == 1.0))):
        raise ValueError("`scores` must be 0 or 1.")
    if not row.size:
        return 0.0, 1.0
    lowest = np.cumsum(np.where(failed, 0.0, row)).astype(np.int64)
    # The upper end is the lower end of the zeros.
    highest = np.cumsum(np.where(failed, 0.0, 1.0 - row)).astype(np.int64)
    if population is None:
        return _lower_new_data(lowest, level), 1.0 - _lower_new_data(highest, level)
    fewest, fewest_zeros = _lower_count(lowest, population, level), _lower_count(highest, population, level)
    return fewest / population, (population - fewest_zeros) / population


def _lower_count(ones: IntArray, population: int, level: float) -> int:
    """Return the smallest count of ones that has been less likely than its limit at no time, from below."""
    logs = log_factorials(population + 1)
    n = np.arange(1, ones.size + 1)
    unseen = population - n
    constant = logs[unseen] + logs[n + 1] - logs[ones] - logs[n - ones] - logs[population + 1]
    limit = -math.log(population + 1.0) + math.log1p(-level)
    peaks = ones + np.minimum(unseen, (unseen + 1) * ones // n)

    def is_kept(count: int, since: int) -> bool:
        unseen_ones = np.minimum(count - ones[since:], unseen[since:])
        posterior = (
            constant[since:]
            + logs[count]
            + logs[population - count]
            - logs[unseen_ones]
            - logs[unseen[since:] - unseen_ones]
        )
        return not bool(np.any((posterior <= limit) & (count < peaks[since:])))

    last, peak = ones.size - 1, int(peaks[-1])
    # Where the present peak has been ruled out before, which is rare, only the present interval has an end below it.
    since = 0 if is_kept(peak, 0) else last
    return _last(lambda count: is_kept(count, since), peak, int(ones[-1]))


def _lower_new_data(ones: IntArray, level: float) -> float:
    n = np.arange(1, ones.size + 1)
    logs = log_factorials(ones.size + 1)
    constant = logs[n + 1] - logs[ones] - logs[n - ones]
    limit = math.log1p(-level)

    def is_kept(share: float, since: int) -> bool:
        if share <= 0.0:
            return int(ones[-1]) == 0
        below = share < ones[since:] / n[since:]
        logarithms = ones[since:] * math.log(share) + (n - ones)[since:] * math.log1p(-min(share, 1.0 - 1e-16))
        return not bool(np.any((constant[since:] + logarithms <= limit) & below))

    last, peak = ones.size - 1, float(ones[-1] / n[-1])
    since = 0 if is_kept(peak, 0) else last
    return _edge(lambda share: is_kept(share, since), peak, 0.0)

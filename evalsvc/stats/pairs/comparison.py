"""Intervals of comparisons: the difference between two configs on new data, at one look.

Where few pairs differ, an interval from a standard error can exclude zero although an exact sign test does not
reject. The interval is therefore extended to zero in that case: 1, 2 or 5 differing answers are inconclusive.

References
----------
McNemar (1947), Note on the sampling error of the difference between correlated proportions, Psychometrika 12.
"""

from __future__ import annotations

import math
from dataclasses import replace

from evalsvc.stats.formulas.intervals import z_quantile
from evalsvc.stats.pairs.paired import Differences, PairedInterval, pair_interval

MOST_TIMES, STEP = 1000.0, 1.08


def new_data_difference(pairs: Differences, *, level: float, binary: bool, reach: float | None) -> PairedInterval:
    """Return the interval for the mean difference on new data; it includes zero unless the sign test rejects it.

    Parameters
    ----------
    pairs : Differences
        Of all examples scored for both configs.
    level : float
        Confidence level of this one comparison; with several, that of `simultaneous.simultaneous_level`.
    binary : bool
        Whether both scores are declared to be 0 or 1.
    reach : float or None
        Largest possible difference, as in `paired.pair_interval`.

    Examples
    --------
    >>> found = new_data_difference(Differences(100, 8.0, 14.0, 11, 3), level=0.95, binary=True, reach=1.0)
    >>> found.lower, found.value, round(found.upper, 3)
    (0.0, 0.08, 0.155)
    """
    interval = pair_interval(pairs, population=None, level=level, use_fpc=False, binary=binary, reach=reach)
    if interval.lower is None or interval.upper is None or sign_test(pairs, binary=binary) <= 1.0 - level:
        return interval
    return replace(interval, lower=min(interval.lower, 0.0), upper=max(interval.upper, 0.0))


def sign_test(pairs: Differences, *, binary: bool) -> float:
    """Return the two-sided p-value of "neither is better" from the pairs that differ; McNemar's exact test.

    For scores that are not 0 or 1 the smallest p-value that any signs could give: a few differing pairs prove nothing,
    however large the differences are.

    Examples
    --------
    >>> sign_test(Differences(400, 5.0, 5.0, 5, 0), binary=True)
    0.0625
    """
    n = pairs.n_plus + pairs.n_minus
    if not n:
        return 1.0
    if not binary:
        return min(1.0, 2.0 * 0.5**n)
    from scipy.special import bdtr  # type: ignore[import-untyped, unused-ignore]

    return min(1.0, 2.0 * float(bdtr(min(pairs.n_plus, pairs.n_minus), n, 0.5)))


def more_pairs_for_verdict(pairs: Differences, *, level: float, binary: bool, reach: float | None) -> int | None:
    """Return about how many more pairs like these take the interval off zero.

    None if their mean is zero, and beyond a thousand times as many.

    Examples
    --------
    >>> more_pairs_for_verdict(Differences(100, 8.0, 14.0, 11, 3), level=0.95, binary=True, reach=1.0)
    8
    """
    if pairs.n < 2 or pairs.total == 0.0 or pairs.variance == 0.0:
        return None
    # The normal approximation is a start from below; the interval and its sign test take a little more.
    times = max(1.0, (z_quantile(level) / pairs.mean) ** 2 * pairs.variance / pairs.n)
    while times <= MOST_TIMES:
        more = Differences(
            math.ceil(pairs.n * times),
            pairs.total * times,
            pairs.squares * times,
            round(pairs.n_plus * times),
            round(pairs.n_minus * times),
        )
        found = new_data_difference(more, level=level, binary=binary, reach=reach)
        if found.lower is not None and found.upper is not None and (found.lower > 0.0 or found.upper < 0.0):
            return max(1, more.n - pairs.n)
        times *= STEP
    return None

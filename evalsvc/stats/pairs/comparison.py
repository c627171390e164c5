r"""Intervals of comparisons: the difference between two configs on new data, at one look.

Where few pairs differ, an interval from a standard error can exclude zero although an exact sign test does not
reject. The interval is therefore extended to zero in that case: 1, 2 or 5 differing answers are inconclusive. At the
level for many comparisons it is the other way round for scores of 0 and 1: the pairs added for an interval that covers
outweigh those that differ. Where McNemar's exact test rejects zero, the end next to it is then the product of two exact
bounds, of the share of pairs that differ and of those among them that favour one side.

Other scores can differ rarely and far: one cost in a hundred that is a hundred times as high. The quantile t of the end
on the side of the rarer sign is corrected for a skewness :math:`\gamma` of the mean, to :math:`t+\gamma(2t^2+1)/6`.
With k pairs of the rarer sign, K of the other, and the largest possible difference r,

.. math:: \gamma = \frac{K-k}{K+k}\,\min\Big(1, \frac{kr^2}{\sum d^2}\Big)^{3/2}\Big/\sqrt k

as if the rarer pairs carried all the variance they can.

References
----------
McNemar (1947), Note on the sampling error of the difference between correlated proportions, Psychometrika 12;
Johnson (1978), Modified t tests and confidence intervals for asymmetrical populations, JASA 73.
"""

from __future__ import annotations

import math
from dataclasses import replace

from evalsvc.stats.formulas.finite import Ends, t_quantile
from evalsvc.stats.formulas.intervals import clopper_pearson, z_quantile
from evalsvc.stats.pairs.paired import Differences, PairedInterval, pair_interval

EXACT = "mcnemar"
MOST_TIMES, STEP = 1000.0, 1.08


def new_data_difference(pairs: Differences, *, level: float, binary: bool, reach: float | None) -> PairedInterval:
    """Return the interval for the mean difference on new data; it includes zero unless the sign test rejects it.

    For scores of 0 and 1 it excludes zero wherever McNemar's exact test does.

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
    >>> found = new_data_difference(Differences(100, 16.0, 18.0, 17, 1), level=0.9995, binary=True, reach=1.0)
    >>> round(found.lower, 3), found.value, round(found.upper, 3), found.method
    (0.006, 0.16, 0.31, 'mcnemar')
    """
    interval = pair_interval(pairs, population=None, level=level, use_fpc=False, binary=binary, reach=reach)
    if interval.lower is None or interval.upper is None:
        return interval
    ends = interval.lower, interval.upper
    if not binary and reach is not None:
        ends = _correct_skewness(ends, pairs, reach, level)
    if sign_test(pairs, binary=binary) > 1.0 - level:
        ends = min(ends[0], 0.0), max(ends[1], 0.0)
    elif binary and ends[0] <= 0.0 <= ends[1]:
        return _exclude_zero(interval, pairs)
    return replace(interval, lower=ends[0], upper=ends[1])


def _correct_skewness(ends: Ends, pairs: Differences, reach: float, level: float) -> Ends:
    """Return the ends of an interval, the one on the side of the rarer sign farther out."""
    n_rare, n_apart = min(pairs.n_plus, pairs.n_minus), pairs.n_plus + pairs.n_minus
    if not n_rare or not pairs.squares:
        return ends
    carried = min(1.0, n_rare * reach * reach / pairs.squares)
    skewness = (1.0 - 2.0 * n_rare / n_apart) * carried**1.5 / math.sqrt(n_rare)
    quantile = t_quantile(max(1, pairs.n - 1), level)
    more = skewness * (2.0 * quantile + 1.0 / quantile) / 6.0 * (ends[1] - ends[0]) / 2.0
    if pairs.n_minus == n_rare:
        return max(-reach, ends[0] - more), ends[1]
    return ends[0], min(reach, ends[1] + more)


def _exclude_zero(interval: PairedInterval, pairs: Differences) -> PairedInterval:
    """Return the interval with an exact end next to zero, of pairs whose signs refuse it."""
    n_apart = pairs.n_plus + pairs.n_minus
    favourable, _ = clopper_pearson(max(pairs.n_plus, pairs.n_minus), n_apart, interval.level)
    apart, _ = clopper_pearson(n_apart, pairs.n, interval.level)
    bound = min(max(0.0, 2.0 * favourable - 1.0) * apart, abs(pairs.mean))
    if pairs.total > 0.0:
        return replace(interval, lower=bound, method=EXACT)
    return replace(interval, upper=-bound, method=EXACT)


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

"""Intervals of comparisons: the difference between two configs on new data, at one look.

Where few pairs differ, an interval from a standard error can exclude zero although an exact sign test does not
reject. The interval is therefore extended to zero in that case: 1, 2 or 5 differing answers are inconclusive.

References
----------
McNemar (1947), Note on the sampling error of the difference between correlated proportions, Psychometrika 12.
"""

from __future__ import annotations

from dataclasses import replace

from evalsvc.stats.pairs.paired import Differences, PairedInterval, pair_interval


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

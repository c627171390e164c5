"""Histories that come in batches, and from several sources: what is independent, and whether it can be one history."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from evalsvc.stats.basics.checks import (
    FloatArray,
    Scores,
    ValueRange,
    check_declared,
    validate_level,
    validate_range,
    validate_scores,
)
from evalsvc.stats.basics.results import FEW_SCORES, HistoryInterval
from evalsvc.stats.formulas.clusters import (
    IntArray,
    cluster_mean_interval,
    cluster_method,
    number_clusters,
    sum_clusters,
)
from evalsvc.stats.histories.percentile import interval_with_warnings, no_interval

# A source of fewer scores has too uncertain a rate.
FEWEST = 10
MIXED = 0.01
FEW_BATCHES = "batches<30"


def batched_interval(
    scores: Scores,
    batches: Sequence[Hashable] | IntArray,
    level: float = 0.95,
    *,
    value_range: ValueRange | None = None,
) -> HistoryInterval:
    """Return the interval for the mean of a history of batches of scores, such as nightly runs.

    Batches, not scores, are independent: the standard error is that of their sums, and both ends are guarded where a
    range is declared (`formulas.clusters`). Repeated scores of one question are such a batch as well.

    Parameters
    ----------
    scores : sequence of float
        In any order.
    batches : sequence of hashable, or ndarray of int
        The batch of each score: the value of a tag, or the id of an example.
    level, value_range
        As in `history_interval`.

    Returns
    -------
    HistoryInterval
        Method ``guarded-cr1`` with a range; a single batch then has the range. Without a range ``cr1``, and no numbers
        for fewer than two batches or for batches of equal totals. Fewer than 30 batches warn ``batches<30``.

    References
    ----------
    Liang & Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73; Cameron, Gelbach &
    Miller (2008), Bootstrap-based improvements for inference with clustered errors, Review of Economics and Statistics.

    Examples
    --------
    >>> found = batched_interval([1, 1, 0, 0, 1, 0] * 5, ["a", "a", "b", "b", "c", "c"] * 5, value_range=(0, 1))
    >>> found.lower, found.median, found.upper, found.method
    (0.0, 0.5, 1.0, 'guarded-cr1')
    """
    row, limits = validate_scores(scores), validate_range(value_range)
    check_declared(row, limits, None)
    if row.size != len(batches):
        raise ValueError(f"`batches` must be as many as the scores, {row.size}, not {len(batches)}.")
    sums = sum_clusters(row, number_clusters(batches))
    ends, _ = cluster_mean_interval(sums, level=validate_level(level), value_range=limits)
    if ends is None:
        return no_interval(int(row.size))
    method = cluster_method(ends, limits)
    answer = interval_with_warnings(row, (ends[0], float(row.mean()), ends[1]), method)
    # What neighbours have in common is in the batches already.
    few = (FEW_SCORES,) if row.size < 30 else ()
    few_batches = (FEW_BATCHES,) if sums.groups < 30 else ()
    return HistoryInterval(answer.lower, answer.median, answer.upper, answer.n, method, warnings=(*few, *few_batches))


def homogeneity_p_value(scores: Scores, sources: Sequence[Hashable] | IntArray) -> float | None:
    r"""Return the p-value of the hypothesis that all sources have one mean: below .01 they should not be one history.

    .. math:: \sum_g n_g(\bar x_g - \bar x)^2 / s^2

    has, over all permutations of the scores, approximately a chi-square distribution with one degree of freedom less
    than there are sources; for scores of 0 and 1 it is Pearson's statistic. Nothing is assumed of the scores'
    distribution.

    Parameters
    ----------
    scores : sequence of float
        The scores of all sources.
    sources : sequence of hashable, or ndarray of int
        The source of each score. An array of numbers is grouped without creating Python objects.

    Returns
    -------
    float or None
        A p-value; None with fewer than two sources of at least ten scores, or equal scores.

    Examples
    --------
    >>> homogeneity_p_value([1, 1, 1, 0] * 50 + [1, 0, 0, 0] * 10, ["evaluation"] * 200 + ["experiment"] * 40) < 0.01
    True
    """
    row = validate_scores(scores)
    if row.size != len(sources):
        raise ValueError(f"`sources` must be as many as the scores, {row.size}, not {len(sources)}.")
    groups = _groups(row, sources)
    if len(groups) < 2:
        return None
    pooled = np.concatenate(groups)
    variance = float(pooled.var(ddof=1))
    if variance <= 1e-24 * max(1.0, float(np.abs(pooled).max())) ** 2:
        return None
    between = math.fsum(group.size * (float(group.mean()) - float(pooled.mean())) ** 2 for group in groups)
    return _chi_square_tail(between / variance, len(groups) - 1)


def _groups(row: FloatArray, sources: Sequence[Hashable] | IntArray) -> list[FloatArray]:
    """Return the scores of each source that has enough of them."""
    which = number_clusters(sources)
    numbers = np.flatnonzero(np.bincount(which) >= FEWEST)
    return [row[which == number] for number in numbers]


def _chi_square_tail(value: float, degrees: int) -> float:
    from scipy.special import chdtrc  # type: ignore[import-untyped, unused-ignore]

    return float(chdtrc(degrees, value))

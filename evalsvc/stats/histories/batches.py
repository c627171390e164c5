"""Histories that come in batches, and from several sources: what is independent, and whether it can be one history."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeAlias

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
from evalsvc.stats.histories.percentile import interval_with_warnings, no_interval
from evalsvc.stats.pairs.paired import cluster_interval

IntArray: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

# A source of fewer scores has too uncertain a rate.
FEWEST = 10
MIXED = 0.01
FEW_BATCHES = "batches<30"


def batched_interval(
    scores: Scores, batches: Sequence[Hashable], level: float = 0.95, *, value_range: ValueRange | None = None
) -> HistoryInterval:
    """Return the interval for the mean of a history of batches of scores, such as nightly runs.

    Batches, not scores, are independent: the standard error is that of their sums (CR1), the quantile Student's
    with one degree of freedom less than the batches. Repeated scores of one question are such a batch as well.

    Parameters
    ----------
    scores : sequence of float
        In any order.
    batches : sequence of hashable
        The batch of each score: the value of a tag, or the id of an example.
    level, value_range
        As in `history_interval`.

    Returns
    -------
    HistoryInterval
        Method ``cr1``. Without numbers for fewer than two batches, or for batches of equal means. Fewer than 30 batches
        warn ``batches<30``.

    References
    ----------
    Liang & Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73; Cameron, Gelbach &
    Miller (2008), Bootstrap-based improvements for inference with clustered errors, Review of Economics and Statistics.

    Examples
    --------
    >>> found = batched_interval([1, 1, 0, 0, 1, 0] * 5, ["a", "a", "b", "b", "c", "c"] * 5, value_range=(0, 1))
    >>> found.lower, found.median, found.upper, found.method
    (0.0, 0.5, 1.0, 'cr1')
    """
    row, limits = validate_scores(scores), validate_range(value_range)
    check_declared(row, limits, None)
    interval = cluster_interval(row, batches, validate_level(level))
    if interval.value is None or interval.lower is None or interval.upper is None:
        return no_interval(int(row.size))
    low, high = limits or (-math.inf, math.inf)
    ends = (max(low, interval.lower), interval.value, min(high, interval.upper))
    answer = interval_with_warnings(row, ends, "cr1")
    # What neighbours have in common is in the batches already.
    few = (FEW_SCORES,) if row.size < 30 else ()
    few_batches = (FEW_BATCHES,) if len(set(batches)) < 30 else ()
    return HistoryInterval(answer.lower, answer.median, answer.upper, answer.n, "cr1", warnings=(*few, *few_batches))


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
    which = _number_sources(sources)
    numbers = np.flatnonzero(np.bincount(which) >= FEWEST)
    return [row[which == number] for number in numbers]


def _number_sources(sources: Sequence[Hashable] | IntArray) -> IntArray:
    """Number the sources from 0."""
    if isinstance(sources, np.ndarray):
        return np.unique(sources, return_inverse=True)[1]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(source, len(numbers)) for source in sources], dtype=np.int64)


def _chi_square_tail(value: float, degrees: int) -> float:
    from scipy.special import chdtrc  # type: ignore[import-untyped, unused-ignore]

    return float(chdtrc(degrees, value))

r"""Shares over the turns of conversations: three numbers that differ, each with the conversation as the cluster.

With T turns of which X pass, or whose scores add up to X,

.. math:: \frac{\sum_i X_i}{\sum_i T_i}, \qquad \frac1n \sum_i \frac{X_i}{T_i}, \qquad
          \frac1n \sum_i [\text{all turns of } i \text{ pass}]

are the share of turns, the mean share of a conversation, and the share of conversations without a failed turn. They
differ wherever long conversations fail more, or less, than short ones. Turns of one conversation are alike, so an
interval over turns as if they were independent is far too narrow; the first number has the guarded interval of
`clusters`, the others have one number of each conversation.

Of conversations that fail more the longer they are, those that were not seen may weigh more than those that were: the
end of the range that guards the first number is farther from the mean by :math:`\sqrt{\max T / \bar T}`. Without that,
coverage falls to 91 % at 50 conversations where failures are rare and five times as long. Of equal lengths it is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray, ValueRange
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.bounds import BOUNDED, is_notable, is_only_bounded, widen_for_missing
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.formulas.clusters import (
    GUARDED,
    LEAST_CLUSTERS,
    ClusterSums,
    Moments,
    cluster_mean_interval,
    cluster_method,
    sum_clusters,
)
from evalsvc.stats.kinds import ALGEBRAIC

UNIT: ValueRange = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """The judged turns of each conversation.

    Attributes
    ----------
    turns : ndarray of int
        How many there are that count: 1 or more, but 0 where all are undecided.
    totals, squares : ndarray of float
        The sum of their scores, and of the squares of these.
    values : ndarray of float
        The score of the conversation, the mean of its turns; NaN where it is undecided.
    passed : ndarray of bool or float, or None
        1 where all of them pass, 0 where one fails, NaN where that is undecided; None for scores without a verdict.
    clusters : ndarray of int or None
        What the conversations are clustered by, a number from 0 on; None where each is a cluster.
    n_undecided : int
        Further turns, which the evaluator has not decided.
    """

    turns: NDArray[np.int_]
    totals: FloatArray
    squares: FloatArray
    values: FloatArray
    passed: NDArray[np.bool_] | FloatArray | None = None
    clusters: NDArray[np.int_] | None = None
    n_undecided: int = 0


@dataclass(frozen=True, slots=True)
class TurnEstimate:
    """One of the three numbers, with its interval for new conversations.

    What is undecided widens the interval as missing scores do; from a tenth on there is no value.
    """

    value: float | None
    lower: float | None
    upper: float | None
    method: str


def estimate_per_turn(found: TurnTotals, *, level: float, value_range: ValueRange = UNIT) -> TurnEstimate:
    """Estimate the share of turns over one conversation or more.

    Examples
    --------
    >>> turns, passed = np.full(6, 4), np.array([4.0, 3.0, 4.0, 0.0, 4.0, 2.0])
    >>> share = estimate_per_turn(TurnTotals(turns, passed, passed, passed / turns), level=0.95)
    >>> round(share.value, 3), round(share.lower, 3), round(share.upper, 3), share.method
    (0.708, 0.164, 1.0, 'guarded-cr1')
    """
    sizes, totals = _add_up(found)
    if not sizes.size:
        return _know_nothing(value_range)
    sums = ClusterSums(
        groups=int(sizes.size),
        n=int(sizes.sum()),
        total=math.fsum(totals),
        squares=float(totals @ totals),
        cross=float(totals @ sizes),
        sizes=float(sizes @ sizes),
        score_squares=math.fsum(found.squares),
    )
    value, (low, high) = sums.total / sums.n, value_range
    if sums.groups < LEAST_CLUSTERS:
        return _widen(TurnEstimate(value, low, high, GUARDED), sums.n, found.n_undecided, value_range)
    moments, reach = Moments.from_sums(sums), math.sqrt(sizes.max() / sizes.mean())
    lower, upper = (moments.end(value + reach * (end - value), (1.0 - level) / 2.0) for end in value_range)
    estimate = TurnEstimate(value, max(low, min(lower, value)), min(high, max(upper, value)), GUARDED)
    return _widen(estimate, sums.n, found.n_undecided, value_range)


def _add_up(found: TurnTotals) -> tuple[FloatArray, FloatArray]:
    """Return the turns of each cluster that has any, and the sum of their scores."""
    turns: FloatArray = found.turns.astype(np.float64)
    totals = found.totals
    if found.clusters is not None:
        turns = np.bincount(found.clusters, weights=turns).astype(np.float64)
        totals = np.bincount(found.clusters, weights=totals).astype(np.float64)
    return turns[turns > 0.0], totals[turns > 0.0]


def estimate_per_conversation(found: TurnTotals, *, level: float, value_range: ValueRange = UNIT) -> TurnEstimate:
    """Estimate the mean score of a conversation."""
    return _estimate_mean(found.values, found, level, value_range, is_binary=False)


def estimate_all_turns(found: TurnTotals, *, level: float) -> TurnEstimate | None:
    """Estimate the share of conversations all of whose turns pass; None for scores without a verdict."""
    if found.passed is None:
        return None
    return _estimate_mean(found.passed.astype(np.float64), found, level, UNIT, is_binary=True)


def _estimate_mean(
    row: FloatArray, found: TurnTotals, level: float, value_range: ValueRange, *, is_binary: bool
) -> TurnEstimate:
    is_known = ~np.isnan(row)
    known = row[is_known]
    if not known.size:
        return _know_nothing(value_range)
    value = math.fsum(known) / known.size
    if found.clusters is not None:
        sums = sum_clusters(known, found.clusters[is_known])
        ends, _ = cluster_mean_interval(sums, level=level, value_range=value_range)
        lower, upper = ends if ends is not None else (None, None)
        estimate = TurnEstimate(value, lower, upper, cluster_method(ends, value_range))
    else:
        interval = new_data_interval(
            ALGEBRAIC, compute_sums(known), level=level, value_range=value_range, binary=is_binary
        )
        estimate = TurnEstimate(value, interval.lower, interval.upper, interval.method)
    return _widen(estimate, known.size, row.size - known.size, value_range)


def _know_nothing(value_range: ValueRange) -> TurnEstimate:
    low, high = value_range
    return TurnEstimate(None, low, high, f"bounds, {BOUNDED}")


def _widen(estimate: TurnEstimate, n: int, n_undecided: int, value_range: ValueRange) -> TurnEstimate:
    """Return an estimate of n rows with those that are undecided as the worst and as the best."""
    if estimate.lower is None or estimate.upper is None or not is_notable(n, n_undecided):
        return estimate
    low, high = value_range
    lower, upper = widen_for_missing((estimate.lower, estimate.upper), n, n_undecided, (low, high))
    is_bounded = is_only_bounded(n, n_undecided)
    method = f"{'bounds' if is_bounded else estimate.method}, {BOUNDED}"
    return TurnEstimate(None if is_bounded else estimate.value, lower, upper, method)

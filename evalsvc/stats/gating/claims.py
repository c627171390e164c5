"""Claims of gate rules: a mean of new scores is above a limit. Each kind of rule is translated to such a claim.

Scores are oriented so that higher favours the candidate. A claim contains missing scores twice: with their worst
possible value, which decides whether the rule passes, and with their best, which decides whether it fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray, Scores, as_row
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.gating.pairs import PairedRows

UNIT: Ends = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class GateClaim:
    """The claim that the mean is above the limit, or with `may_equal` (thresholds) at or above it.

    Attributes
    ----------
    worst, best : ndarray
        In stored order; equal except for missing scores. Infinite where a missing score is unbounded.
    limit : float
        In the unit of these numbers.
    reach : pair of float or None
        Lowest and highest possible number; None if unknown.
    is_share : bool
        Whether each number is 0 or 1.
    n_missing : int
        Number of missing scores.
    population : int or None
        Size of the set that the claim is about, scored or not; None for new data.
    clusters : ndarray of int or None
        The cluster of each number, if clusters are the independent units, for new data at one look.
    pairs : PairedRows or None
        The scores of both, of a claim about the difference of two configs.
    """

    worst: FloatArray
    best: FloatArray
    limit: float
    reach: Ends | None
    is_share: bool
    may_equal: bool
    n_missing: int
    population: int | None = None
    clusters: NDArray[np.int_] | None = None
    pairs: PairedRows | None = None

    @property
    def n_independent(self) -> int:
        """How many clusters there are; without clusters, how many examples."""
        return self.n if self.clusters is None else int(np.unique(self.clusters).size)

    @property
    def n(self) -> int:
        """How many examples are counted, those with a missing score included."""
        return int(self.worst.size)

    @property
    def asks_for_verdict(self) -> bool:
        """Whether it asks if one config is better than another, which has one answer on every surface."""
        return self.pairs is not None and self.reach is not None and self.limit == 0.0

    @property
    def is_whole(self) -> bool:
        """Whether all of the set has been seen, so that nothing about it is left to chance."""
        return self.population is not None and self.n >= self.population

    @property
    def is_bounded_by_missing(self) -> bool:
        """Whether what is missing could have been anything, so that it leaves no bound at all."""
        return not bool(np.isfinite(self.worst).all())

    def is_met(self, mean: float) -> bool:
        """Return whether a mean is on the right side of the limit."""
        return mean >= self.limit if self.may_equal else mean > self.limit


def pair_claim(
    candidate: Scores,
    baseline: Scores,
    *,
    limit: float,
    value_range: Ends | None,
    binary: bool = False,
    is_one_run: bool = False,
    population: int | None = None,
) -> GateClaim:
    """Return the claim that the candidate is better than the baseline by more than the limit; not worse, if negative.

    Parameters
    ----------
    candidate, baseline : sequence of float
        Pairs in stored order, higher is better; NaN where a score is missing.
    limit : float
        In the unit of the scores.
    value_range : pair of float or None
        Of the scores, turned round where lower scores are better.
    binary : bool
        Whether the scores are declared to be 0 or 1.
    is_one_run : bool
        Whether both ran in one experiment.
    population : int or None
        How many pairs there are in the set that is spoken of; None for new data.

    Examples
    --------
    >>> claim = pair_claim([1.0, float("nan")], [1.0, 0.5], limit=-0.1, value_range=(0.0, 1.0))
    >>> claim.worst.tolist(), claim.best.tolist(), claim.reach
    ([0.0, -0.5], [0.0, 0.5], (-1.0, 1.0))
    """
    first, second = as_row(candidate), as_row(baseline)
    low, high = value_range if value_range is not None else (-math.inf, math.inf)
    width = high - low
    is_missing = np.isnan(first) | np.isnan(second)
    worst = np.where(np.isnan(first), low, first) - np.where(np.isnan(second), high, second)
    best = np.where(np.isnan(first), high, first) - np.where(np.isnan(second), low, second)
    reach = None if value_range is None else (-width, width)
    unit = (low, width) if value_range is not None else (0.0, 1.0)
    pairs = PairedRows(
        (first - unit[0]) / unit[1], (second - unit[0]) / unit[1], unit[1], reach is not None, binary, is_one_run
    )
    return GateClaim(worst, best, limit, reach, False, False, int(is_missing.sum()), population, pairs=pairs)


def threshold_claim(
    scores: Scores,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    value_range: Ends | None,
    binary: bool = False,
    population: int | None = None,
) -> GateClaim:
    """Return the claim that the mean of these scores is at least one number, or at most one.

    Examples
    --------
    >>> threshold_claim([3.0, 5.0], at_most=4.5, value_range=None).worst.tolist()
    [-3.0, -5.0]
    """
    row, sign, limit = _orient(scores, at_least, at_most)
    reach = UNIT if binary and value_range is None else value_range
    if reach is not None and sign < 0.0:
        reach = (-reach[1], -reach[0])
    low, high = reach if reach is not None else (-math.inf, math.inf)
    is_missing = np.isnan(row)
    is_share = binary and sign > 0.0
    if binary and sign < 0.0:
        # A share at most so large is one of zeros at least so large.
        row, low, high, limit, reach, is_share = 1.0 + row, 0.0, 1.0, 1.0 + limit, UNIT, True
    worst, best = np.where(is_missing, low, row), np.where(is_missing, high, row)
    return GateClaim(worst, best, limit, reach, is_share, True, int(is_missing.sum()), population)


def quantile_claim(
    scores: Scores,
    q: float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    population: int | None = None,
) -> GateClaim:
    r"""Return the claim that a quantile is at most, or at least, one number: a claim about a proportion.

    .. math:: \xi_q \le t \iff P(X \le t) \ge q, \qquad \xi_q \ge t \iff P(X \ge t) \ge 1-q

    A missing score counts as beyond the number in the worst case, and as within it in the best.

    Examples
    --------
    >>> claim = quantile_claim([100.0, 900.0, float("nan")], 0.95, at_most=500.0)
    >>> claim.worst.tolist(), claim.best.tolist(), claim.limit
    ([1.0, 0.0, 0.0], [1.0, 0.0, 1.0], 0.95)
    """
    row = as_row(scores)
    is_missing = np.isnan(row)
    if at_most is not None:
        within, limit = row <= at_most, q
    else:
        # What 1 - q leaves of a decimal fraction must not put the limit above it.
        within, limit = row >= _require_bound(at_least), round(1.0 - q, 12)
    worst, best = np.where(is_missing, 0.0, within), np.where(is_missing, 1.0, within)
    return GateClaim(worst, best, limit, UNIT, True, True, int(is_missing.sum()), population)


def _orient(scores: Scores, at_least: float | None, at_most: float | None) -> tuple[FloatArray, float, float]:
    """Return the scores so that more speaks for the candidate, whether they were turned, and the limit."""
    row = as_row(scores)
    return (row, 1.0, _require_bound(at_least)) if at_most is None else (-row, -1.0, -at_most)


def _require_bound(bound: float | None) -> float:
    if bound is None:
        raise ValueError("Give `at_least` or `at_most`.")
    return bound

"""Selection of the threshold for an aim. A row passes if its score is at least the threshold.

Candidates lie halfway between neighbouring scores, so that none depends on one row's last digit; the lowest candidate
is the lowest score, which every row passes. Many weightings of the same rows are searched at once: resamples and folds
are weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.calibration.figures import FIGURES, BoolArray, Counts, Decisions, compute_rates
from evalsvc.stats.formulas.intervals import z_quantile

IntArray: TypeAlias = NDArray[np.int64]
BOUNDED = ("precision", "recall", "false_positive_rate")
EQUAL = 1e-12
# A threshold selected on these rows is less certain than their Wilson interval suggests, by about this factor.
DISTANCE = 1.4


@dataclass(frozen=True, slots=True)
class Aim:
    """The aim of a threshold: to maximize a figure, or to satisfy a bound on one.

    With a bound, the threshold is the cheapest that satisfies it: for precision or the false positive rate the lowest
    such
    threshold, for recall the highest. The bound must be satisfied at the worse end of an interval of confidence
    `level`: a
    threshold that meets the bound exactly would miss it half of the time.
    """

    figure: str = "balanced_accuracy"
    bound: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.figure not in FIGURES:
            raise ValueError(f"`figure` must be one of {', '.join(FIGURES)}.")
        if (self.bound is None) is (self.figure in BOUNDED):
            raise ValueError(f"{self.figure} {'needs a' if self.bound is None else 'takes no'} bound.")

    def is_met(self, lower: float, upper: float) -> bool | None:
        """Return whether an interval lies within the bound; None where it lies on both sides, and without a bound."""
        if self.bound is None:
            return None
        if self.figure == "false_positive_rate":
            return True if upper <= self.bound else False if lower > self.bound else None
        return True if lower >= self.bound else False if upper < self.bound else None


class LabelledScores:
    """Rows in ascending order of their scores, with the candidates that lie between them."""

    def __init__(self, scores: FloatArray, is_good: BoolArray) -> None:
        order = np.argsort(scores, kind="stable")
        self.scores, self.is_good = scores[order], is_good[order]
        values, self.starts, self.candidate = np.unique(self.scores, return_index=True, return_inverse=True)
        self.gaps = np.diff(values, prepend=values[0])
        self.thresholds = values - self.gaps / 2.0

    def passing(self, weights: FloatArray) -> Decisions:
        """Return what passes each candidate, for rows of these weights (weightings, rows)."""
        good, bad = (self._sum_from_each(weights * rows) for rows in (self.is_good, ~self.is_good))
        return Decisions(good, good[:, :1], bad, bad[:, :1])

    def _sum_from_each(self, weights: FloatArray) -> FloatArray:
        at_each = np.add.reduceat(weights, self.starts, axis=1)
        return at_each[:, ::-1].cumsum(axis=1)[:, ::-1]

    def best(self, weights: FloatArray, aim: Aim) -> IntArray:
        """Return the index of the best candidate for each weighting (weightings, rows).

        Of equally good ones it is the one in the widest gap. Where none is within the bound, the nearest one is taken.
        """
        passing = self.passing(weights)
        if aim.bound is not None:
            return _choose_within_bound(passing, aim.figure, aim.bound, DISTANCE * z_quantile(aim.level))
        figure = np.nan_to_num(compute_rates(passing)[aim.figure], nan=0.0)
        best = figure >= figure.max(axis=1, keepdims=True) - EQUAL
        return np.where(best, self.gaps, -1.0).argmax(axis=1)

    def passed(self, weights: FloatArray, chosen: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return how many good and bad rows of each weighting pass the candidate that was chosen for it."""
        passing_weights = weights * (self.candidate >= chosen[:, None])
        return passing_weights @ self.is_good.astype(np.float64), passing_weights @ (~self.is_good).astype(np.float64)


def _choose_within_bound(passing: Decisions, figure: str, bound: float, z: float) -> IntArray:
    """Return the cheapest candidate for which the worse end of the proportion's interval satisfies the bound."""
    if figure == "recall":
        end = _lower_end(passing.good_passed, passing.n_good, z)
        return end.shape[1] - 1 - _reaches(end, bound)[:, ::-1].argmax(axis=1)
    if figure == "precision":
        return _reaches(_lower_end(passing.good_passed, passing.good_passed + passing.bad_passed, z), bound).argmax(
            axis=1
        )
    kept_out = _lower_end(passing.n_bad - passing.bad_passed, passing.n_bad, z)
    return _reaches(kept_out, 1.0 - bound).argmax(axis=1)


def _reaches(end: FloatArray, bound: float) -> BoolArray:
    """Return which candidates reach the bound; where none does, which come nearest."""
    is_reached: BoolArray = end >= np.minimum(bound, end.max(axis=1, keepdims=True)) - EQUAL
    return is_reached


def _lower_end(successes: Counts, of: Counts, z: float) -> FloatArray:
    """Wilson's lower end (see `formulas.intervals`), of arrays; 0 of nothing."""
    n = np.maximum(of, EQUAL)
    share, squared = successes / n, z * z
    root = z * np.sqrt(share * (1.0 - share) / n + squared / (4.0 * n * n))
    end: FloatArray = (share + squared / (2.0 * n) - root) / (1.0 + squared / n)
    return end

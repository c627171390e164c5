"""Estimates from a Poisson draw with unequal probabilities: for the frame that was sampled, and for new items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_ANSWERS = 20
"""Below it no interval holds its level: weights are few and uneven, and the variance is estimated from them."""


@dataclass(frozen=True, slots=True)
class WeightedMean:
    """A mean of weighted answers.

    Attributes
    ----------
    estimate : float or None
        Hájek's ratio Σ(y/π) / Σ(1/π).
    this_set, new_data : pair of float or None
        Intervals for the mean of the frame, and for the mean of the population that the frame is a sample of.
    n : int
        Number of answers.
    n_eff : float
        (Σ1/π)² / Σ(1/π)²: the effective number of answers of equal weight.
    reason : str or None
        Why the interval is missing.
    """

    estimate: float | None
    this_set: tuple[float, float] | None
    new_data: tuple[float, float] | None
    n: int
    n_eff: float
    reason: str | None = None


def weighted_mean(
    values: Sequence[float],
    probabilities: Sequence[float],
    *,
    level: float,
    limits: tuple[float, float] | None = None,
) -> WeightedMean:
    """Estimate a mean from a Poisson draw.

    Hájek's estimator with its linearised variance for Poisson sampling, V = Σ (1-π)(y-ŷ)²/π² / N̂² (Särndal, Swensson &
    Wretman 1992, "Model Assisted Survey Sampling", 5.7); without the factor 1-π for new data, as the frame is a sample
    itself. Student's t with n_eff-1 degrees of freedom. `limits` cut the ends.

    Examples
    --------
    >>> found = weighted_mean([1, 0] * 15, [0.5, 0.25] * 15, level=0.95)
    >>> round(found.estimate, 3), found.n, round(found.n_eff, 1)
    (0.333, 30, 27.0)
    """
    from scipy import stats as scipy_stats

    y, pi = np.asarray(values, dtype=float), np.asarray(probabilities, dtype=float)
    if not y.size:
        return WeightedMean(None, None, None, 0, 0.0, "no_answers")
    if (pi <= 0).any() or (pi > 1).any():
        raise ValueError("Probabilities lie above 0 and at most at 1.")
    weights = 1 / pi
    total = float(weights.sum())
    mean = float((weights * y).sum() / total)
    n_eff = float(total**2 / (weights**2).sum())
    if y.size < LEAST_ANSWERS:
        return WeightedMean(mean, None, None, y.size, n_eff, "too_few_answers")
    if float(np.ptp(y)) == 0.0:
        return WeightedMean(mean, None, None, y.size, n_eff, "all_answers_equal")
    squares = (weights * (y - mean)) ** 2
    t = float(scipy_stats.t.ppf((1 + level) / 2, max(1.0, n_eff - 1)))
    correction = y.size / (y.size - 1)

    def ends(variance: float) -> tuple[float, float]:
        half = t * float(np.sqrt(variance * correction)) / total
        low, high = mean - half, mean + half
        return (low, high) if limits is None else (max(limits[0], low), min(limits[1], high))

    this_set = ends(float(((1 - pi) * squares).sum()))
    return WeightedMean(mean, this_set, ends(float(squares.sum())), y.size, n_eff)

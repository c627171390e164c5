r"""Gaffke's bound for a mean: the scores and one at the end of the range, in random proportions.

The bound at an error of :math:`\alpha` is the :math:`\alpha`-quantile of :math:`\sum_i D_i x_i`, with one score at the
lowest end of the range added to those seen, and :math:`D` from the flat Dirichlet distribution: the Bayesian bootstrap
of a sample that reckons with a score not seen yet. For scores of 0 and 1 it is exactly Clopper and Pearson's. With
independent exponential :math:`E_i`,

.. math:: P\Big(\sum_i D_i x_i \le y\Big) = P\Big(\sum_i E_i (x_i - y) \le 0\Big)

whose cumulants are known, so that a saddlepoint gives the tail to about three digits, however far out. Far out the
bound is narrower than that of `extremes.guarded_t`, which knows the scores by their sums and reckons with the most
skewed ones that have these.

References
----------
Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable,
Mathematical Methods of Statistics 14; Learned-Miller & Thomas (2019), A new confidence interval for the mean of a
bounded random variable; Barndorff-Nielsen (1986), Inference on full or partial parameters based on the standardized
signed log likelihood ratio, Biometrika 73.
"""

from __future__ import annotations

import math

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, as_row
from evalsvc.stats.formulas.intervals import normal_quantile

STEPS, PRECISE = 60, 1e-10
# Nearer to the middle than this the ratio of two small numbers has no digits left.
MIDDLE = 1e-5


def dirichlet_bound(scores: Scores, extreme: float, error: float) -> float:
    """Return a one-sided confidence bound for the mean of new data, between `extreme` and the mean of the scores.

    Parameters
    ----------
    scores : sequence of float
        At least one, all on the same side of `extreme`.
    extreme : float
        The lowest possible score for a lower bound, the highest for an upper one.
    error : float
        Of this one bound, below one half.

    Examples
    --------
    >>> round(dirichlet_bound([1.0] * 97 + [0.0] * 3, 0.0, 0.025), 4), round(dirichlet_bound([1.0] * 20, 0.0, 0.025), 4)
    (0.9148, 0.8316)
    """
    if not 0.0 < error < 0.5:
        raise ValueError(f"`error` must be between 0 and 0.5, not {error}.")
    row = as_row(scores) - extreme
    distances, counts = np.unique(np.abs(row), return_counts=True)
    if np.any(row > 0.0) and np.any(row < 0.0):
        raise ValueError("`scores` must all be on one side of `extreme`.")
    if distances[-1] == 0.0:
        return extreme
    if distances.size == 1:
        bound = float(distances[0]) * error ** (1.0 / row.size)
    else:
        # The added score is at distance 0.
        values, weights = np.append(distances, 0.0), np.append(counts, 1.0).astype(np.float64)
        bound = _find_quantile(values, weights, normal_quantile(error))
    return extreme + math.copysign(bound, float(row.sum()))


def _find_quantile(values: FloatArray, weights: FloatArray, z: float) -> float:
    """Return where the normal deviate of the weighted mean is z: secant steps within a bracket that they narrow."""
    low, high = 0.0, float(values @ weights / weights.sum())
    below, above, at = -math.inf, 0.0, high / 2.0
    for _ in range(STEPS):
        deviate = _compute_deviate(values - at, weights)
        if deviate < z:
            low, below = at, deviate
        else:
            high, above = at, deviate
        if high - low <= PRECISE * high:
            break
        at = low + (high - low) * (z - below) / (above - below) if math.isfinite(below) else (low + high) / 2.0
        # Steps that stay next to one end would never narrow the bracket.
        at = min(max(at, low + 0.01 * (high - low)), high - 0.01 * (high - low))
    return low


def _compute_deviate(differences: FloatArray, weights: FloatArray) -> float:
    """Return the normal deviate of the probability that the weighted sum of exponentials is at most 0."""
    tilt = _find_saddlepoint(differences, weights)
    scaled = differences / (1.0 - tilt * differences)
    signed = math.copysign(math.sqrt(max(0.0, 2.0 * float(weights @ np.log1p(-tilt * differences)))), tilt)
    if abs(signed) < MIDDLE:
        return 0.0
    return signed + math.log(tilt * math.sqrt(float(weights @ scaled**2)) / signed) / signed


def _find_saddlepoint(differences: FloatArray, weights: FloatArray) -> float:
    """Return the root of the first cumulant's derivative, by Newton's steps within the range where it exists."""
    low, high, tilt = 1.0 / float(differences.min()), 1.0 / float(differences.max()), 0.0
    for _ in range(STEPS):
        scaled = differences / (1.0 - tilt * differences)
        slope = float(weights @ scaled)
        low, high = (low, tilt) if slope > 0.0 else (tilt, high)
        following = tilt - slope / float(weights @ scaled**2)
        if not low < following < high:
            following = (low + high) / 2.0
        if abs(following - tilt) <= PRECISE * abs(following):
            return following
        tilt = following
    return tilt

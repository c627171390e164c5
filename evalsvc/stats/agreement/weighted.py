r"""Estimates from a Poisson draw with unequal probabilities: for the frame that was sampled, and for new items.

The mean is Hájek's ratio :math:`\hat y=\sum(y/\pi)/\sum(1/\pi)` with its linearised variance for Poisson sampling,

.. math:: V = \frac{n}{n-1}\sum(1-\pi)(y-\hat y)^2/\pi^2 \Big/ \Big(\sum 1/\pi\Big)^2

and without the factor :math:`1-\pi` for new data, as the frame is a sample itself. The interval is Student's with
:math:`n_{eff}-1` degrees of freedom, :math:`n_{eff}=(\sum 1/\pi)^2/\sum 1/\pi^2`.

Shares have the interval of Korn & Graubard, since Student's covers 69 to 94 % where 2 to 10 % of the items are bad:
that of Clopper & Pearson for

.. math:: n^* = \frac{\hat y(1-\hat y)}{V}\Big(\frac{t_{n-1}}{t_d}\Big)^2

answers with :math:`n^*\hat y` ones, at most as many as there are. :math:`\hat y(1-\hat y)/V` is at most what it is
where the answers have nothing to do with the weights, :math:`n_{eff}` for new data: if the few answers with large
weights happen to be equal, V comes from the others and is far too small. Without that limit 76 to 93 % are covered
where an evaluator has two scores, and the draw prefers one of them without need. The degrees of freedom d are those of
V (Satterthwaite 1946): :math:`(\sum z^2)^2/\sum z^4 - 1` for the terms :math:`z^2` that V adds up, at least 8, and n-1
for equal weights. The :math:`n_{eff}-1` of all weights are too many where a few large ones hold most of V: with them,
shares from 300 answers are covered in 90 to 94 %. Equal answers show no variance, and count as :math:`n_{eff}`.

References
----------
Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, 5.7; Korn & Graubard (1998), Confidence intervals
for proportions with small expected number of positive counts estimated from survey data, Survey Methodology 24;
Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.formulas.intervals import clopper_pearson

LEAST_ANSWERS = 20
"""Below it no interval holds its level: weights are few and uneven, and the variance is estimated from them."""
# Below it the degrees of freedom cannot be told from the few answers that they are estimated from.
LEAST_DEGREES = 8.0
HAJEK, KORN_GRAUBARD = "hajek", "korn-graubard"


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
    method : str
        ``korn-graubard`` for a share, ``hajek`` for another mean.
    """

    estimate: float | None
    this_set: Ends | None
    new_data: Ends | None
    n: int
    n_eff: float
    reason: str | None = None
    method: str = HAJEK


def weighted_mean(
    values: Sequence[float],
    probabilities: Sequence[float],
    *,
    level: float,
    limits: Ends | None = None,
) -> WeightedMean:
    """Estimate a mean from a Poisson draw.

    Parameters
    ----------
    values : sequence of float
        One answer per drawn item. Zeros and ones with the limits 0 and 1 are a share.
    probabilities : sequence of float
        With which probability each item was drawn.
    level : float
        Confidence level.
    limits : pair of float, optional
        Lowest and highest possible answer; the ends of the interval lie within them.

    Examples
    --------
    >>> found = weighted_mean([1, 0] * 15, [0.5, 0.25] * 15, level=0.95)
    >>> round(found.estimate, 3), found.n, round(found.n_eff, 1)
    (0.333, 30, 27.0)
    >>> found = weighted_mean([0] * 30, [0.5, 0.25] * 15, level=0.95, limits=(0, 1))
    >>> round(found.new_data[1], 3), found.method
    (0.129, 'korn-graubard')
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    y, pi = np.asarray(values, dtype=float), np.asarray(probabilities, dtype=float)
    is_share = limits == (0.0, 1.0) and bool(np.isin(y, (0.0, 1.0)).all())
    method = KORN_GRAUBARD if is_share else HAJEK
    n = int(y.size)
    if not n:
        return WeightedMean(None, None, None, 0, 0.0, "no_answers", method)
    if (pi <= 0).any() or (pi > 1).any():
        raise ValueError("Probabilities lie above 0 and at most at 1.")
    weights = 1 / pi
    total = float(weights.sum())
    mean = float((weights * y).sum() / total)
    n_eff = float(total**2 / (weights**2).sum())
    if n < LEAST_ANSWERS:
        return WeightedMean(mean, None, None, n, n_eff, "too_few_answers", method)
    if not is_share and float(np.ptp(y)) == 0.0:
        return WeightedMean(mean, None, None, n, n_eff, "all_answers_equal", method)

    def quantile(degrees: float) -> float:
        return -float(stdtrit(degrees, (1 - level) / 2))

    def ends(factors: float | FloatArray, n_most: float) -> Ends:
        # Of equal answers the weights alone say how many they are worth.
        is_equal = is_share and not 0 < mean < 1
        terms = factors * weights**2 * (1.0 if is_equal else (y - mean) ** 2 * n / (n - 1)) / total**2
        variance = float(terms.sum())
        degrees = max(1.0, n_eff - 1)
        if is_share:
            if not is_equal and variance > 0 and float(np.ptp(weights)) > 0.0:
                degrees = min(n - 1, max(LEAST_DEGREES, variance**2 / float(terms @ terms) - 1))
            unit = variance / (1.0 if is_equal else mean * (1 - mean))
            unit = max(unit, float((factors * weights**2).sum()) / total**2)
            n_star = n_most if unit == 0 else min(n_most, (quantile(n - 1) / quantile(degrees)) ** 2 / unit)
            return (mean, mean) if math.isinf(n_star) else clopper_pearson(n_star * mean, n_star, level)
        half = quantile(degrees) * math.sqrt(variance)
        low, high = mean - half, mean + half
        return (low, high) if limits is None else (max(limits[0], low), min(limits[1], high))

    # Of a frame that is drawn whole nothing is uncertain.
    n_of_set = n / (1 - n / total) if n < total else math.inf
    return WeightedMean(mean, ends(1 - pi, n_of_set), ends(1.0, n), n, n_eff, None, method)

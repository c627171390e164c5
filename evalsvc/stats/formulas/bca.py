"""Bias-corrected and accelerated bootstrap quantiles (Efron 1987), for statistics of few distinct values as well.

The bias correction is the normal quantile of the share of resamples below the estimate. Of graded scores many resamples
equal it. Ties count half, so that mirrored scores give mirrored quantiles; counted on one side, as libraries do that
expect continuous data, they shift both ends towards that side.

References
----------
Efron (1987), Better bootstrap confidence intervals, JASA 82; Efron & Tibshirani (1993), An Introduction to the
Bootstrap, section 14.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.intervals import normal_quantile

# Resampled means that differ by less from the estimate are equal to it but for rounding.
SAME = 1e-12


def bca_quantiles(
    resamples: FloatArray, estimate: float, acceleration: float, probabilities: Sequence[float]
) -> list[float]:
    """Return the corrected quantiles of resampled statistics.

    Parameters
    ----------
    resamples : ndarray
        Finite values of the statistic.
    estimate : float
        Its value on the data.
    acceleration : float
        A sixth of the skewness of the observations' influence.
    probabilities : sequence of float
        The probabilities of the quantiles, between 0 and 1.

    Examples
    --------
    >>> row = np.repeat([0.4, 0.5, 0.6], [25, 50, 25])
    >>> bca_quantiles(row, 0.5, 0.0, [0.1, 0.5, 0.9])
    [0.4, 0.5, 0.6]
    """
    scale = max(1.0, abs(estimate))
    is_equal = np.abs(resamples - estimate) <= SAME * scale
    below = float(((resamples < estimate) & ~is_equal).mean() + is_equal.mean() / 2.0)
    # Clipping the share prevents an infinite normal quantile.
    bias = normal_quantile(min(max(below, 1.0 / resamples.size), 1.0 - 1.0 / resamples.size))
    corrected = [_correct_probability(probability, bias, acceleration) for probability in probabilities]
    quantiles: list[float] = np.quantile(resamples, corrected).tolist()
    return quantiles


def _correct_probability(probability: float, bias: float, acceleration: float) -> float:
    z_score = bias + normal_quantile(probability)
    return NormalDist().cdf(bias + z_score / (1.0 - acceleration * z_score))

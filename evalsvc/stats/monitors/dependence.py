r"""How much consecutive values resemble each other: the design effect of a series.

The variance of the mean of n values is their variance over n, times

.. math:: 1 + 2\sum_{k \ge 1} \rho_k

Two estimates are made: Bartlett's weighted sum over a few lags, which sees any pattern, and
:math:`(1+\rho_1)/(1-\rho_1)`, that of a series that remembers the value before, which is less noisy.

References
----------
Newey & West (1987), A simple, positive semi-definite, heteroskedasticity and autocorrelation consistent covariance
matrix, Econometrica 55; Kish (1965), Survey Sampling (design effect).
"""

from __future__ import annotations

import math

import numpy as np

from evalsvc.stats.basics.checks import FloatArray

# Up to this design effect values count as independent.
INDEPENDENT = 1.1
# One independent series in twenty exceeds an estimate by so many standard errors.
QUANTILE = 1.645


def serial_design_effect(values: FloatArray) -> float:
    """Return the design effect of a series, in its order: the larger estimate; 1 for equal values and fewer than three.

    Examples
    --------
    >>> serial_design_effect(np.array([1.0, 1.0, 0.0, 0.0] * 50)) < 1.1
    True
    >>> round(serial_design_effect(np.array([1.0] * 10 + [0.0] * 10)), 1)
    12.3
    """
    return max(_estimates(values))


def is_independent(values: FloatArray) -> bool:
    """Return whether the design effect is at most 1.1, as far as so few values can tell.

    Of short independent series many have estimates above 1.1: there each estimate may be 1.645 standard errors above 1.

    Examples
    --------
    >>> is_independent(np.array([1.0, 1.0, 0.0, 1.0] * 50)), is_independent(np.array([1.0] * 10 + [0.0] * 10))
    (True, False)
    """
    by_lags, by_first = _estimates(values)
    n = max(values.size, 1)
    errors = math.sqrt(4.0 * _lags(n) / (3.0 * n)), 2.0 / math.sqrt(n)
    limits = (max(INDEPENDENT, 1.0 + QUANTILE * error) for error in errors)
    return all(estimate <= limit for estimate, limit in zip((by_lags, by_first), limits, strict=True))


def _lags(n: int) -> int:
    return max(1, math.floor(4.0 * (n / 100.0) ** (2.0 / 9.0)))


def _estimates(values: FloatArray) -> tuple[float, float]:
    if values.size < 3 or values.min() == values.max():
        return 1.0, 1.0
    centred = values - values.mean()
    n_lags = min(_lags(values.size), values.size - 1)
    squares = float(centred @ centred)
    rho = np.array([float(centred[lag:] @ centred[:-lag]) for lag in range(1, n_lags + 1)]) / squares
    weights = 1.0 - np.arange(1, n_lags + 1) / (n_lags + 1.0)
    first = min(float(rho[0]), 0.99)
    return 1.0 + 2.0 * float(weights @ rho), (1.0 + first) / (1.0 - first)


def block_means(values: FloatArray, block: int) -> FloatArray:
    """Return the means of consecutive blocks; an incomplete one at the end is left out.

    Examples
    --------
    >>> block_means(np.array([1.0, 0.0, 1.0, 1.0, 0.5]), 2).tolist()
    [0.5, 1.0]
    """
    n = values.size // block
    means: FloatArray = values[: n * block].reshape(n, block).mean(axis=1)
    return means

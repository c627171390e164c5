"""The ends of a quantile as scores: the scores at which a claim about the quantile begins to be shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.gating.claims import GateClaim, quantile_claim
from evalsvc.stats.gating.ends import is_shown


def compute_quantile(row: FloatArray, q: float) -> float:
    """Return the smallest score that at least a share q of the scores does not exceed; for at least one score.

    Examples
    --------
    >>> compute_quantile(np.arange(1.0, 201.0), 0.95)
    190.0
    """
    return float(np.sort(row)[max(1, math.ceil(q * row.size - 1e-9)) - 1])


def quantile_ends(
    scores: FloatArray,
    q: float,
    alpha: float,
    *,
    watched: bool,
    population: int | None = None,
    clusters: NDArray[np.int_] | None = None,
) -> tuple[float | None, float | None]:
    """Return the largest score that the quantile is shown to reach, and the smallest that it is shown not to exceed.

    None where no score is. At one look these are order statistics.

    Examples
    --------
    >>> quantile_ends(np.arange(1.0, 201.0), 0.95, 0.05, watched=False)
    (185.0, 196.0)
    """
    values = np.unique(scores[~np.isnan(scores)])

    def least(at: float) -> GateClaim:
        return replace(quantile_claim(scores, q, at_least=at, population=population), clusters=clusters)

    def most(at: float) -> GateClaim:
        return replace(quantile_claim(scores, q, at_most=at, population=population), clusters=clusters)

    lower = _farthest(values, lambda at: is_shown(least(at), alpha, watched=watched))
    upper = _farthest(values[::-1], lambda at: is_shown(most(at), alpha, watched=watched))
    return lower, upper


def _farthest(values: FloatArray, shown: Callable[[float], bool]) -> float | None:
    """Return the last of the values for which something is shown, where it is shown for all before it."""
    low, high = -1, int(values.size)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if shown(float(values[middle])) else (low, middle)
    return float(values[low]) if low >= 0 else None

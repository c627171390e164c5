r"""Means of examples that come in clusters, such as the questions about one document: clusters are what is independent.

.. math:: \bar x \pm t_{G-1}\sqrt{\frac{G}{G-1}\sum_g (S_g - n_g\bar x)^2}\,/\,n

with n_g scores that add up to S_g in each of G clusters (CR1). It is read off sums over clusters, so the database can
count them; `pairs.paired.clustered_interval` is the same of single scores.

References
----------
Liang & Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73; Miller (2024), Adding
error bars to evals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evalsvc.stats.basics.checks import ValueRange, checked_level, checked_range
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.formulas.finite import Ends, t_quantile

CLUSTERED = "cr1"


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Sums over clusters: how many, their scores n_g and totals S_g, and the sums of S², S·n and n²."""

    groups: int
    n: int
    total: float
    squares: float
    cross: float
    sizes: float


def clustered_mean(
    sums: ClusterSums, *, level: float, value_range: ValueRange | None = None
) -> tuple[Ends | None, tuple[str, ...]]:
    """Return the interval for the mean of new clusters, and warnings; None for fewer than two, and without variance.

    Examples
    --------
    >>> sums = ClusterSums(groups=3, n=6, total=3.0, squares=5.0, cross=6.0, sizes=12.0)
    >>> (low, high), warnings = clustered_mean(sums, level=0.95)
    >>> round(low, 3), round(high, 3), warnings
    (-0.742, 1.742, ('n<30',))
    """
    level, limits = checked_level(level), checked_range(value_range)
    few = (FEW_SCORES,) if sums.groups < 30 else ()
    if sums.groups < 2 or not sums.n:
        return None, few
    mean = sums.total / sums.n
    residual = sums.squares - 2.0 * mean * sums.cross + mean * mean * sums.sizes
    # What rounding leaves of equal clusters is no variance.
    if residual <= 1e-12 * max(sums.squares, mean * mean * sums.sizes):
        return None, (*few, DEGENERATE)
    margin = t_quantile(sums.groups - 1, level) * math.sqrt(sums.groups / (sums.groups - 1) * residual) / sums.n
    low, high = limits if limits is not None else (-math.inf, math.inf)
    return (max(low, mean - margin), min(high, mean + margin)), few

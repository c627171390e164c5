r"""Means of examples that come in clusters, such as the questions about one document: clusters are what is independent.

.. math:: \bar x \pm t_{G^*-1}\sqrt{\frac{G}{G-1}\sum_g (S_g - n_g\bar x)^2}\,/\,n, \qquad
          G^* = \frac{n^2}{\sum_g n_g^2}

with n_g scores that add up to S_g in each of G clusters (CR1). :math:`G^*` is G where all are of one size; where a few
hold most of the scores, these few decide, and G-1 degrees of freedom would be too sure. It is read off sums over
clusters, so the database can count them; `pairs.paired.clustered_interval` is the same of single scores.

References
----------
Liang & Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73; Carter, Schnepel &
Steigerwald (2017), Asymptotic behavior of a t test robust to cluster heterogeneity, Review of Economics and Statistics
99; Miller (2024), Adding error bars to evals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evalsvc.stats.basics.checks import ValueRange, checked_level, checked_range
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.formulas.finite import Ends, t_quantile

CLUSTERED = "cr1"
LEAST_CLUSTERS = 2
# One cluster among others holds nearly all: wide, and finite.
LEAST_DEGREES = 0.5
ONE_CLUSTER = "one_cluster"


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Sums over clusters: how many, their scores n_g and totals S_g, and the sums of S², S·n and n²."""

    groups: int
    n: int
    total: float
    squares: float
    cross: float
    sizes: float


def degrees_of_freedom(n: float, sizes: float) -> float:
    """Return one less than the effective number of clusters, of n scores whose clusters' squared sizes add up so.

    Examples
    --------
    >>> degrees_of_freedom(100, 10 * 10**2), round(degrees_of_freedom(100, 50**2 + 10 * 5**2), 2)
    (9.0, 2.64)
    """
    return max(LEAST_DEGREES, n * n / sizes - 1.0)


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
    if sums.groups < LEAST_CLUSTERS or not sums.n:
        return None, (*few, ONE_CLUSTER) if sums.n else few
    mean = sums.total / sums.n
    residual = sums.squares - 2.0 * mean * sums.cross + mean * mean * sums.sizes
    # What rounding leaves of equal clusters is no variance.
    if residual <= 1e-12 * max(sums.squares, mean * mean * sums.sizes):
        return None, (*few, DEGENERATE)
    degrees = degrees_of_freedom(sums.n, sums.sizes)
    margin = t_quantile(degrees, level) * math.sqrt(sums.groups / (sums.groups - 1) * residual) / sums.n
    low, high = limits if limits is not None else (-math.inf, math.inf)
    return (max(low, mean - margin), min(high, mean + margin)), few

r"""Means of clustered examples, such as the questions about one document: clusters, not examples, are independent.

.. math:: \bar x \pm t_{G^*-1}\sqrt{\frac{G}{G-1}\sum_g (S_g - n_g\bar x)^2}\,/\,n, \qquad
          G^* = \frac{n^2}{\sum_g n_g^2}

with n_g scores that add up to S_g in each of G clusters (CR1). :math:`G^*` is G where all are of one size; where a few
contain most of the scores, G-1 degrees of freedom would be too many. It is computed from sums over
clusters, so the database can provide them; `pairs.paired.cluster_interval` is the same for single scores, with G-1.

References
----------
Liang & Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73; Carter, Schnepel &
Steigerwald (2017), Asymptotic behavior of a t test robust to cluster heterogeneity, Review of Economics and Statistics
99; Miller (2024), Adding error bars to evals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evalsvc.stats.basics.checks import ValueRange, validate_level, validate_range
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.formulas.finite import Ends

CLUSTERED = "cr1"
LEAST_CLUSTERS = 2
# One dominant cluster gives a wide but finite interval.
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


def effective_clusters(n: float, sizes: float) -> float:
    """Return the effective number of equal clusters of n scores; `sizes` is the sum of the squared cluster sizes.

    Examples
    --------
    >>> effective_clusters(100, 10 * 10**2), round(effective_clusters(100, 50**2 + 10 * 5**2), 2)
    (10.0, 3.64)
    """
    return n * n / sizes


def cluster_quantile(effective: float, level: float) -> float:
    """Return the half width, in standard errors, of a two-sided Student interval over so many effective clusters.

    Examples
    --------
    >>> round(cluster_quantile(10.0, 0.95), 4), round(cluster_quantile(3.64, 0.95), 4)
    (2.2622, 3.4426)
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    return -float(stdtrit(max(LEAST_DEGREES, effective - 1.0), (1.0 - level) / 2.0))


def cluster_mean_interval(
    sums: ClusterSums, *, level: float, value_range: ValueRange | None = None
) -> tuple[Ends | None, tuple[str, ...]]:
    """Return the interval for the mean of new clusters, and warnings; None for fewer than two, and without variance.

    Examples
    --------
    >>> sums = ClusterSums(groups=3, n=6, total=3.0, squares=5.0, cross=6.0, sizes=12.0)
    >>> (low, high), warnings = cluster_mean_interval(sums, level=0.95)
    >>> round(low, 3), round(high, 3), warnings
    (-0.742, 1.742, ('n<30',))
    """
    level, limits = validate_level(level), validate_range(value_range)
    few = (FEW_SCORES,) if sums.groups < 30 else ()
    if sums.groups < LEAST_CLUSTERS or not sums.n:
        return None, (*few, ONE_CLUSTER) if sums.n else few
    mean = sums.total / sums.n
    residual = sums.squares - 2.0 * mean * sums.cross + mean * mean * sums.sizes
    # The rounding residue of equal clusters is not variance.
    if residual <= 1e-12 * max(sums.squares, mean * mean * sums.sizes):
        return None, (*few, DEGENERATE)
    quantile = cluster_quantile(effective_clusters(sums.n, sums.sizes), level)
    margin = quantile * math.sqrt(sums.groups / (sums.groups - 1) * residual) / sums.n
    low, high = limits if limits is not None else (-math.inf, math.inf)
    return (max(low, mean - margin), min(high, mean + margin)), few

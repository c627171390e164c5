r"""Means of clustered examples, such as the questions about one document: clusters, not examples, are independent.

With n_g scores that add up to S_g in each of G clusters, and the sum D_g of their deviations from the mean,

.. math:: G^* = \frac{n^2}{\sum_g n_g^2}, \qquad v = G^*\,\frac{G}{G-1}\sum_g D_g^2/n^2

:math:`G^*` is the effective number of clusters: G where all are of one size, and less where a few contain most of the
scores. Without a range the interval is :math:`\bar x \pm t_{G^*-1}\sqrt{v/G^*}` (CR1).

CR1 covers 77 to 94 % where failures are rare, because clusters without one show no variance. Where the scores have a
range, each end is therefore guarded as in `extremes.guarded_t`: m clusters e at the far end of the range are added to
the :math:`G^*`,

.. math:: c \mp t_{G^*-1}\sqrt{\frac{q-c^2}{G^*+m}}, \qquad c = \frac{G^*\bar x + me}{G^*+m}, \quad
          q = \frac{G^*(v + \bar x^2) + me^2}{G^*+m}

A cluster of several scores is seldom as extreme as one score, so e is nearer to the mean than the end of the range r by
the factor :math:`\sqrt{(G^*v+a)/(G^*s^2+a)}`, with the variance :math:`s^2` of the scores and
:math:`a=(r-\bar x)^2/4`: a quarter of a cluster at the end of the range, since a few failures spread over the clusters
do not show that no cluster fails as a whole. All of it is computed from sums over clusters, so the database can provide
them.

References
----------
Liang & Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73; Carter, Schnepel &
Steigerwald (2017), Asymptotic behavior of a t test robust to cluster heterogeneity, Review of Economics and Statistics
99; Bonett & Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions based on paired
data, Journal of Educational and Behavioral Statistics 37; Miller (2024), Adding error bars to evals.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray, ValueRange, validate_level, validate_range
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.formulas.extremes import added_scores
from evalsvc.stats.formulas.finite import Ends, t_quantile

IntArray: TypeAlias = "NDArray[np.int_]"

# With a range, and without one.
GUARDED, CLUSTERED = "guarded-cr1", "cr1"
LEAST_CLUSTERS = 2
# One dominant cluster gives a wide but finite interval.
LEAST_DEGREES = 0.5
ONE_CLUSTER = "one_cluster"
# What is smaller, relative to the sums it is computed from, is their rounding.
ROUNDING = 1e-12
# Clusters at the end of the range in the estimate of how far a cluster can lie from the mean. Coverage of repeated
# questions falls to 64 % with none; with more, independent scores get wider intervals for nothing.
EXTREME_CLUSTERS = 0.25


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Sums over clusters: how many, their scores n_g and totals S_g, and the sums of S², S·n, n² and squared scores."""

    groups: int
    n: int
    total: float
    squares: float
    cross: float
    sizes: float
    score_squares: float


NO_CLUSTERS = ClusterSums(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Moments:
    """Number, mean and variance (with n) of scores; or the same for the effective number of clusters.

    Of clusters also the variance of the scores, and the least standard deviation of a cluster mean relative to that of
    a score: an unseen observation is a cluster, not a score.
    """

    n: float
    mean: float
    variance: float
    score_variance: float = 0.0
    least_spread: float = 1.0
    is_of_clusters: bool = False

    @classmethod
    def from_row(cls, row: FloatArray, clusters: IntArray | None = None) -> Moments:
        """Compute the moments of a row, or of its clusters, each of which is a number from 0 on."""
        mean = float(row.mean())
        if clusters is None:
            return cls(float(row.size), mean, float(row.var()))
        # Sums of deviations lose no digits where the scores are large.
        moments = cls.from_sums(sum_clusters(row - mean, clusters))
        return replace(moments, mean=mean)

    @classmethod
    def from_sums(cls, sums: ClusterSums) -> Moments:
        """Compute the moments of one cluster or more."""
        n, mean = sums.n, sums.total / sums.n
        effective = effective_clusters(n, sums.sizes)
        of_clusters = effective * sums.groups / max(1, sums.groups - 1) * cluster_residual(sums) / n**2
        variance = max(0.0, sums.score_squares / n - mean * mean)
        # The spread is at least that of independent scores: few clusters may look more alike by chance.
        return cls(effective, mean, of_clusters, variance, min(1.0, math.sqrt(effective / n)), True)

    def end(self, extreme: float, alpha: float) -> float:
        """Return the end on the side of the extreme, which errs with probability alpha."""
        # As many as a two-sided interval with alpha on both sides adds: with fewer, exact sums exceed small alphas.
        added = added_scores(1.0 - alpha)
        size = self.n + added
        far = (extreme - self.mean) * self._compute_spread(extreme - self.mean)
        centre = added * far / size
        variance = max(0.0, (self.n * self.variance + added * far * far) / size - centre * centre)
        if self.is_of_clusters:
            quantile = cluster_quantile(self.n, 1.0 - 2.0 * alpha)
        else:
            quantile = t_quantile(max(1, round(self.n) - 1), 1.0 - 2.0 * alpha)
        return self.mean + centre + math.copysign(quantile * math.sqrt(variance / size), far)

    def _compute_spread(self, far: float) -> float:
        """Return the spread of a cluster mean relative to a score, of which rare scores tell little."""
        if not self.is_of_clusters:
            return 1.0
        prior = EXTREME_CLUSTERS * far * far
        scores = self.n * self.score_variance + prior
        if not scores:
            return 1.0
        return min(1.0, max(self.least_spread, math.sqrt((self.n * self.variance + prior) / scores)))


def number_clusters(clusters: Sequence[Hashable] | IntArray) -> IntArray:
    """Number the clusters from 0; an array of numbers is grouped without creating Python objects.

    Examples
    --------
    >>> number_clusters(["b", "a", "b"]).tolist(), number_clusters(np.array([70, 7, 70])).tolist()
    ([0, 1, 0], [1, 0, 1])
    """
    if isinstance(clusters, np.ndarray):
        return np.unique(clusters, return_inverse=True)[1]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.int_)


def total_clusters(row: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the size and the total of each cluster that is not empty; each is a number from 0 on."""
    sizes = np.bincount(clusters).astype(np.float64)
    totals = np.bincount(clusters, weights=row).astype(np.float64)
    return sizes[sizes > 0.0], totals[sizes > 0.0]


def sum_clusters(row: FloatArray, clusters: IntArray) -> ClusterSums:
    """Return the sums over the clusters of these scores; each cluster is a number from 0 on.

    Examples
    --------
    >>> sum_clusters(np.array([1.0, 0.0, -1.0]), np.array([0, 0, 4]))
    ClusterSums(groups=2, n=3, total=0.0, squares=2.0, cross=1.0, sizes=5.0, score_squares=2.0)
    """
    if not row.size:
        return NO_CLUSTERS
    sizes, totals = total_clusters(row, clusters)
    squares, cross, square_sizes = float(totals @ totals), float(totals @ sizes), float(sizes @ sizes)
    return ClusterSums(sizes.size, row.size, float(row.sum()), squares, cross, square_sizes, float(row @ row))


def cluster_residual(sums: ClusterSums) -> float:
    """Return the sum of the squared deviations of the clusters' totals, 0 for what rounding leaves of equal clusters.

    Examples
    --------
    >>> cluster_residual(ClusterSums(2, 2, 1.0, 1.0, 1.0, 2.0, 1.0))
    0.5
    """
    mean = sums.total / sums.n
    residual = sums.squares - 2.0 * mean * sums.cross + mean * mean * sums.sizes
    return residual if residual > ROUNDING * max(sums.squares, mean * mean * sums.sizes) else 0.0


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
    """Return the interval for the mean of new clusters, and warnings.

    With a range there always is one, guarded at both ends: for a single cluster the range. Without a range it is None
    for fewer than two clusters, and for clusters without variance. `cluster_method` names the formula.

    Examples
    --------
    >>> sums = ClusterSums(groups=3, n=6, total=3.0, squares=5.0, cross=6.0, sizes=12.0, score_squares=3.0)
    >>> (low, high), warnings = cluster_mean_interval(sums, level=0.95)
    >>> round(low, 3), round(high, 3), warnings
    (-0.742, 1.742, ('n<30',))
    >>> cluster_mean_interval(sums, level=0.95, value_range=(0, 1))
    ((0.0, 1.0), ('n<30',))
    """
    level, limits = validate_level(level), validate_range(value_range)
    few = (FEW_SCORES,) if sums.groups < 30 else ()
    if not sums.n:
        return None, few
    if sums.groups < LEAST_CLUSTERS:
        return limits, (*few, ONE_CLUSTER)
    moments = Moments.from_sums(sums)
    if limits is not None:
        low, high = limits
        lower, upper = (moments.end(extreme, (1.0 - level) / 2.0) for extreme in limits)
        return (max(low, min(lower, moments.mean)), min(high, max(upper, moments.mean))), few
    if not moments.variance:
        return None, (*few, DEGENERATE)
    margin = cluster_quantile(moments.n, level) * math.sqrt(moments.variance / moments.n)
    return (moments.mean - margin, moments.mean + margin), few


def cluster_method(ends: Ends | None, value_range: ValueRange | None) -> str:
    """Return the name of the formula that gave such ends: ``guarded-cr1`` with a range, ``cr1`` without, or ``none``.

    Examples
    --------
    >>> cluster_method((0.1, 0.4), (0, 1)), cluster_method((0.1, 0.4), None), cluster_method(None, None)
    ('guarded-cr1', 'cr1', 'none')
    """
    if ends is None:
        return "none"
    return CLUSTERED if value_range is None else GUARDED

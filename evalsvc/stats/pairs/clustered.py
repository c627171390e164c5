"""Differences between two configs on clustered examples: clusters, not examples, are independent.

As in `comparison`, a few differing clusters are inconclusive: the interval includes zero unless a sign test over the
clusters' sums rejects it, so that fewer than six differing clusters never exclude zero at the level 0.95.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray, validate_level
from evalsvc.stats.formulas.clusters import (
    NO_CLUSTERS,
    ClusterSums,
    cluster_mean_interval,
    cluster_method,
    sum_clusters,
    total_clusters,
)
from evalsvc.stats.pairs.paired import NEW_DATA, PairedInterval

# The rounding residue of differences that cancel out in a cluster has a meaningless sign.
NO_SIGN = 1e-12


@dataclass(frozen=True, slots=True)
class ClusteredPairs:
    """Sums of paired differences over clusters, and in how many clusters the first scored more in all, and less."""

    sums: ClusterSums
    n_up: int
    n_down: int


NO_PAIRS = ClusteredPairs(NO_CLUSTERS, 0, 0)


def sum_by_cluster(differences: FloatArray, clusters: NDArray[np.int_]) -> ClusteredPairs:
    """Return the sums over clusters of these differences; each cluster is a number from 0 on.

    Examples
    --------
    >>> pairs = sum_by_cluster(np.array([1.0, 0.0, -1.0]), np.array([0, 0, 4]))
    >>> pairs.sums.groups, pairs.n_up, pairs.n_down
    (2, 1, 1)
    """
    if not differences.size:
        return NO_PAIRS
    _, totals = total_clusters(differences, clusters)
    n_up, n_down = int((totals > NO_SIGN).sum()), int((totals < -NO_SIGN).sum())
    return ClusteredPairs(sum_clusters(differences, clusters), n_up, n_down)


def cluster_difference_interval(pairs: ClusteredPairs, *, level: float, reach: float | None) -> PairedInterval:
    """Return the interval for the mean difference on new clusters, at one look.

    With `reach` there always is one; without, none for fewer than two clusters or equal ones.

    Parameters
    ----------
    pairs : ClusteredPairs
        Of all examples that both configs have scored.
    level : float
        Confidence level of this one comparison.
    reach : float or None
        Largest difference that there can be, as in `paired.paired_interval`.

    Examples
    --------
    >>> pairs = sum_by_cluster(np.array([1.0, 1, 0, 0, 1, 0]), np.array([0, 0, 1, 1, 2, 2]))
    >>> found = cluster_difference_interval(pairs, level=0.95, reach=None)
    >>> found.method, found.value, round(found.lower, 3), round(found.upper, 3)
    ('cr1', 0.5, -0.742, 1.742)
    """
    level, sums = validate_level(level), pairs.sums
    limits = None if reach is None else (-reach, reach)
    ends, warnings = cluster_mean_interval(sums, level=level, value_range=limits)
    lower, upper = ends if ends is not None else (None, None)
    if lower is not None and upper is not None and _may_be_chance(pairs, level):
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    value = sums.total / sums.n if sums.n else None
    method = cluster_method(ends, limits)
    return PairedInterval(value, lower, upper, sums.n, None, method, level, NEW_DATA, warnings)


def _may_be_chance(pairs: ClusteredPairs, level: float) -> bool:
    """Return whether even if all clusters that differ had one sign, that would be no surprise."""
    return 2.0 * 0.5 ** (pairs.n_up + pairs.n_down) > 1.0 - level

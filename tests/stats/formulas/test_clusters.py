"""Clusters: the same numbers as from single scores, and a coverage that naive intervals do not have."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.parts import SlicePart, joint_estimates
from evalsvc.stats.formulas.clusters import ClusterSums, cluster_mean_interval, sum_clusters
from evalsvc.stats.kinds import ALGEBRAIC
from tests.stats.reference import Row, over_clusters


def sums_over(scores: Row, clusters: Row) -> ClusterSums:
    n = np.bincount(clusters.astype(int)).astype(float)
    totals = np.bincount(clusters.astype(int), weights=scores)
    n, totals = n[n > 0], totals[n > 0]
    return ClusterSums(
        len(n),
        len(scores),
        scores.sum(),
        (totals**2).sum(),
        float((totals * n).sum()),
        float((n**2).sum()),
        float((scores**2).sum()),
    )


def test_it_is_the_interval_of_the_single_scores() -> None:
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 12, 80).astype(float)
    scores = rng.random(80)
    ends, warnings = cluster_mean_interval(sums_over(scores, clusters), level=0.9)

    assert ends == pytest.approx(over_clusters(scores, clusters.tolist(), 0.9))
    assert warnings == ("n<30",)


def test_one_cluster_and_equal_clusters_have_no_interval_without_a_range() -> None:
    one, equal = np.zeros(5), np.arange(6.0) // 2
    assert cluster_mean_interval(sums_over(np.arange(5.0), one), level=0.95) == (None, ("n<30", "one_cluster"))
    assert cluster_mean_interval(sums_over(np.full(6, 0.3), equal), level=0.95) == (None, ("n<30", "degenerate"))


def test_with_a_range_there_is_always_an_interval() -> None:
    one, equal = np.zeros(5), np.arange(300.0) // 10
    found = cluster_mean_interval(sums_over(np.full(5, 1.0), one), level=0.95, value_range=(0, 1))
    assert found == ((0.0, 1.0), ("n<30", "one_cluster"))
    # Neither thirty clusters without a failure, nor thirty that are alike to the digit, show that all clusters are.
    for scores, width in ((np.ones(300), 0.1), (np.tile([0.0, 1.0], 150), 0.04)):
        ends, warnings = cluster_mean_interval(sums_over(scores, equal), level=0.95, value_range=(0, 1))
        assert ends is not None
        assert ends[0] <= scores.mean() <= ends[1]
        assert ends[1] - ends[0] > width
        assert warnings == ()


@pytest.mark.parametrize("correlation", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_clusters", [10, 30])
def test_it_covers_rare_failures(n_clusters: int, correlation: float) -> None:
    rng, share, hits = np.random.default_rng(11), 0.05, {"guarded": 0, "plain": 0}
    clusters = np.repeat(np.arange(n_clusters), rng.integers(1, 20, n_clusters))
    for _ in range(400):
        by_cluster = rng.random(n_clusters)[clusters] < share
        row = np.where(rng.random(clusters.size) < correlation, by_cluster, rng.random(clusters.size) < share)
        sums = sum_clusters(row.astype(float), clusters)
        guarded, _ = cluster_mean_interval(sums, level=0.95, value_range=(0, 1))
        plain, _ = cluster_mean_interval(sums, level=0.95)
        assert guarded is not None
        hits["guarded"] += guarded[0] <= share <= guarded[1]
        hits["plain"] += plain is not None and plain[0] <= share <= plain[1]

    assert hits["guarded"] / 400 >= 0.95
    assert hits["plain"] / 400 < 0.95


def test_the_sums_are_those_of_the_scores() -> None:
    rng = np.random.default_rng(2)
    clusters, scores = rng.integers(0, 12, 80), rng.random(80)

    assert asdict(sum_clusters(scores, clusters)) == pytest.approx(asdict(sums_over(scores, clusters.astype(float))))


def test_it_covers_what_a_naive_interval_misses() -> None:
    rng = np.random.default_rng(3)
    held, repeats, groups, size = {"naive": 0, "clustered": 0}, 500, 30, 10
    clusters = np.repeat(np.arange(groups), size).astype(float)
    for _ in range(repeats):
        shares = rng.beta(1, 1, groups)
        scores = (rng.random((groups, size)) < shares[:, None]).astype(float).ravel()
        ends, _ = cluster_mean_interval(sums_over(scores, clusters), level=0.95, value_range=(0, 1))
        ((naive,), _) = joint_estimates(
            ALGEBRAIC, [SlicePart(compute_sums(scores), True)], level=0.95, value_range=(0, 1)
        )
        assert ends is not None
        assert naive.lower is not None
        assert naive.upper is not None
        held["clustered"] += ends[0] <= 0.5 <= ends[1]
        held["naive"] += naive.lower <= 0.5 <= naive.upper

    assert held["clustered"] / repeats >= 0.93
    assert held["naive"] / repeats < 0.75

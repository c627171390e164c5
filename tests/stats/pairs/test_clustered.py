"""Paired differences over clusters: the same numbers as from single scores, zero included where it is inconclusive."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.pairs.clustered import NO_PAIRS, cluster_difference_interval, sum_by_cluster
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.paired import compute_differences
from tests.stats.reference import Row, over_clusters


def together(rng: np.random.Generator, groups: int, size: int, icc: float) -> Row:
    """Differences whose mean is 0 and whose correlation within a cluster is `icc`."""
    shared = rng.normal(size=(groups, 1)) * np.sqrt(icc)
    row: Row = (shared + rng.normal(size=(groups, size)) * np.sqrt(1.0 - icc)).ravel()
    return row


def test_it_is_the_interval_of_the_single_differences() -> None:
    rng = np.random.default_rng(5)
    clusters, row = rng.integers(0, 40, 200), rng.normal(size=200)
    found = cluster_difference_interval(sum_by_cluster(row, clusters), level=0.9, reach=None)

    assert (found.lower, found.upper) == pytest.approx(over_clusters(row, clusters.tolist(), 0.9))
    assert (found.method, found.n, found.warnings) == ("cr1", 200, ())


def test_it_covers_where_the_plain_interval_does_not() -> None:
    rng, clusters = np.random.default_rng(7), np.repeat(np.arange(30), 10)
    held = {"clustered": 0, "plain": 0}
    for _ in range(500):
        row = together(rng, 30, 10, 0.3)
        plain = new_data_difference(compute_differences(row, row * 0.0), level=0.95, binary=False, reach=None)
        over = cluster_difference_interval(sum_by_cluster(row, clusters), level=0.95, reach=None)
        for name, one in (("plain", plain), ("clustered", over)):
            assert one.lower is not None
            assert one.upper is not None
            held[name] += one.lower <= 0.0 <= one.upper

    assert held["clustered"] / 500 == pytest.approx(0.95, abs=0.025)
    assert held["plain"] / 500 < 0.75


def test_one_cluster_that_holds_most_is_not_many() -> None:
    rng, held, sizes = np.random.default_rng(9), 0, np.r_[np.full(7, 5), 50]
    clusters = np.repeat(np.arange(8), sizes)
    for _ in range(300):
        row = rng.normal(size=8)[clusters] * np.sqrt(0.3) + rng.normal(size=clusters.size) * np.sqrt(0.7)
        found = cluster_difference_interval(sum_by_cluster(row, clusters), level=0.95, reach=None)
        assert found.lower is not None
        assert found.upper is not None
        held += found.lower <= 0.0 <= found.upper

    # With seven degrees of freedom it would be 78 %.
    assert held / 300 >= 0.94


def test_few_clusters_that_differ_are_inconclusive() -> None:
    clusters, row = np.repeat(np.arange(40), 5), np.zeros(200)
    row[:25] = 1.0
    five = cluster_difference_interval(sum_by_cluster(row, clusters), level=0.95, reach=1.0)
    row[:40] = 1.0
    eight = cluster_difference_interval(sum_by_cluster(row, clusters), level=0.95, reach=1.0)

    assert five.lower is not None
    assert five.lower <= 0.0
    assert eight.lower is not None
    assert eight.lower > 0.0


@pytest.mark.parametrize(
    ("row", "clusters", "warnings"),
    [
        ([1.0, 0.0, 1.0], [0, 0, 0], ("n<30", "one_cluster")),
        ([1.0, 1.0, 1.0], [0, 1, 2], ("n<30", "degenerate")),
    ],
)
def test_one_cluster_and_equal_clusters_have_no_interval_without_a_reach(
    row: list[float], clusters: list[int], warnings: tuple[str, ...]
) -> None:
    found = cluster_difference_interval(sum_by_cluster(np.array(row), np.array(clusters)), level=0.95, reach=None)

    assert (found.lower, found.upper, found.method, found.warnings) == (None, None, "none", warnings)
    assert cluster_difference_interval(NO_PAIRS, level=0.95, reach=None).value is None


@pytest.mark.parametrize("clusters", [[0, 0, 0], [0, 1, 2]])
def test_with_a_reach_there_is_always_an_interval(clusters: list[int]) -> None:
    found = cluster_difference_interval(sum_by_cluster(np.ones(3), np.array(clusters)), level=0.95, reach=1.0)

    assert found.method == "guarded-cr1"
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower < 0.0 < found.upper == 1.0

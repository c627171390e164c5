"""Rankings over clusters: they cover what they should where examples of a cluster are alike, and know a few are few."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalsvc.stats.ranking.clusters import (
    overall_rates_over_clusters,
    share_over_clusters,
    weight_by_cluster,
    win_rates_over_clusters,
)
from evalsvc.stats.ranking.matches import Matches
from evalsvc.stats.ranking.ranks import rank

SPREAD, MIDDLE, CLUSTERS, RUNS = 1.5, 0.5, 30, 100


def win_share() -> float:
    """How often the first wins on new clusters: the logistic function over a normal distribution."""
    places, weights = np.polynomial.hermite_e.hermegauss(60)
    return float((weights / (1 + np.exp(-(MIDDLE + SPREAD * places)))).sum() / weights.sum())


def one_by_one(seed: int) -> tuple[Matches, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.geometric(0.1, size=CLUSTERS)
    clusters = np.repeat(np.arange(CLUSTERS), sizes)
    shares = 1 / (1 + np.exp(-(MIDDLE + SPREAD * rng.normal(size=CLUSTERS))))
    outcomes = np.where(rng.random(len(clusters)) < shares[clusters], 0, 2)
    return Matches.from_rows(2, [(i, 0, 1, int(one)) for i, one in enumerate(outcomes)]), clusters


def test_over_clusters_they_cover_and_over_examples_they_do_not() -> None:
    share = win_share()
    truth, hits = math.log(share / (1 - share)), np.zeros(3)
    for seed in range(RUNS):
        matches, clusters = one_by_one(seed)
        for i, one in enumerate((weight_by_cluster(matches, clusters), matches)):
            found = rank(one, draws=300, seed=seed)
            hits[i] += found.lower[0, 1] <= truth <= found.upper[0, 1]
        rate = win_rates_over_clusters(matches, clusters, level=0.95, seed=seed)[0, 1]
        hits[2] += rate.lower <= share <= rate.upper
    # Of 100 runs at 0.95, 89 or fewer would be seen once in fifty times.
    assert hits[0] >= 0.9 * RUNS and hits[2] >= 0.9 * RUNS
    assert hits[1] <= 0.75 * RUNS


def test_clusters_of_one_example_are_examples() -> None:
    matches, clusters = one_by_one(3)
    alone = np.arange(len(clusters)) * 7

    found, apart = rank(weight_by_cluster(matches, alone)), rank(matches)

    assert found.placed == apart.placed


@pytest.mark.parametrize(("worths", "lower", "upper"), [([1.0] * 8, 0.0, 1.0), ([0.0, 1.0] * 4, 0.0, 1.0)])
def test_one_cluster_bounds_nothing(worths: list[float], lower: float, upper: float) -> None:
    found = share_over_clusters(np.array(worths), np.zeros(8, dtype=np.int64), n=8, level=0.95, seed=0)

    assert (found.lower, found.upper, found.n) == (lower, upper, 8)


def test_one_large_cluster_decides_and_so_many_small_ones_are_few() -> None:
    clusters = np.concatenate((np.zeros(200), np.arange(1, 41))).astype(np.int64)
    worths = (np.arange(240) % 2).astype(float)
    even = np.arange(240) % 41

    uneven, apart = (share_over_clusters(worths, of, n=240, level=0.95, seed=1) for of in (clusters, even))

    assert uneven.upper - uneven.lower > 4 * (apart.upper - apart.lower)


def test_against_all_others_examples_are_what_is_averaged() -> None:
    """On the first example it beats two, on the second it loses to one: a half, and not two thirds."""
    matches = Matches.from_rows(3, [(0, 0, 1, 0), (0, 0, 2, 0), (1, 0, 1, 2)])

    found = overall_rates_over_clusters(matches, np.array([0, 0, 1]), level=0.95, seed=0)

    assert found[0] is not None and (found[0].value, found[0].n) == (0.5, 2)
    assert [rate.n for rate in found[1:] if rate is not None] == [2, 1]

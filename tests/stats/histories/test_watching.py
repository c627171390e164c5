"""How often running intervals are right, at one look and at many: summed exactly for a set of 400."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import hypergeom

from benchmarks.coverage import EVERY_EXAMPLE, SHARD_LOOKS, SPLIT, by, ones_of, width_ratio
from evalsvc.stats.histories.coverage import hypergeometric_pmf, miss_rate

SHARES = (0.5, 0.9, 0.99)


def miss(interval: Callable[[int, int], tuple[float, float]], share: float, looks: tuple[int, ...]) -> float:
    return miss_rate(interval, 400, ones_of(share), looks)


def test_the_ones_seen_are_hypergeometric() -> None:
    for population, ones, n in ((40, 7, 12), (400, 396, 50), (10, 0, 3), (10, 10, 3)):
        expected = hypergeom.pmf(np.arange(n + 1), population, ones, n)

        assert hypergeometric_pmf(population, ones, n) == pytest.approx(expected, abs=1e-12)


def test_a_miss_at_several_looks_agrees_with_a_simulation() -> None:
    rng = np.random.default_rng(1)
    scores, missed = np.repeat([1.0, 0.0], [360, 40]), 0
    for _ in range(2000):
        seen = np.cumsum(rng.permutation(scores))
        ends = [by("wilson")(int(seen[n - 1]), n) for n in SHARD_LOOKS]
        missed += not all(lower <= 0.9 <= upper for lower, upper in ends)

    # Three standard errors of two thousand draws.
    assert missed / 2000 == pytest.approx(miss(by("wilson"), 0.9, SHARD_LOOKS), abs=0.03)


@pytest.mark.parametrize("share", SHARES)
def test_exact_covers_at_each_look(share: float) -> None:
    for n in SHARD_LOOKS:
        assert miss(by("exact"), share, (n,)) <= 0.05


@pytest.mark.parametrize("share", SHARES)
def test_exact_at_a_share_of_the_error_may_decide_at_shard_ends(share: float) -> None:
    assert miss(by("exact", SPLIT), share, SHARD_LOOKS) <= 0.05


@pytest.mark.parametrize("share", SHARES)
def test_anytime_may_be_watched_after_every_example(share: float) -> None:
    assert miss(by("anytime"), share, EVERY_EXAMPLE) <= 0.05


def test_one_look_intervals_may_not_be_watched() -> None:
    assert miss(by("wilson"), 0.5, SHARD_LOOKS) > 0.2
    assert miss(by("normal"), 0.99, SHARD_LOOKS) > 0.6
    assert miss(by("exact"), 0.5, EVERY_EXAMPLE) > 0.4


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_what_may_be_watched_costs_no_more_width_than_promised(share: float) -> None:
    assert width_ratio("exact", SPLIT, share) <= 1.5
    assert width_ratio("anytime", 0.95, share) <= 2.0

"""Intervals for a paired difference: by hand, against scipy, and by how often they are right."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multinomial, t, ttest_1samp

from evalsvc.stats.pairs.paired import (
    Differences,
    PairedInterval,
    cluster_interval,
    compute_differences,
    pair_interval,
)


def ask(pairs: Differences, **changes: object) -> PairedInterval:
    arguments = {"population": 400, "level": 0.95, "use_fpc": False, "binary": False} | changes
    return pair_interval(pairs, **arguments)  # type: ignore[arg-type]


def ends(found: PairedInterval) -> tuple[float, float]:
    assert found.lower is not None
    assert found.upper is not None
    return found.lower, found.upper


def test_it_is_the_paired_t_interval_of_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(60), rng.random(60)
    expected = ttest_1samp(first - second, 0.0).confidence_interval(0.9)

    found = ask(compute_differences(first, second), level=0.9)

    assert found.method == "t"
    assert ends(found) == pytest.approx((expected.low, expected.high))


def test_for_this_set_it_narrows_by_the_fraction_seen() -> None:
    rng = np.random.default_rng(2)
    pairs = compute_differences(rng.random(300), rng.random(300))

    wide, narrow = ask(pairs), ask(pairs, use_fpc=True)

    assert (wide.covers, narrow.covers) == ("new data", "this set")
    assert np.diff(ends(narrow)) == pytest.approx(np.diff(ends(wide)) * 0.5)


def test_binary_pairs_take_the_adjusted_interval() -> None:
    # 12 for, 2 against, of 50, and a pair and a quarter each way: shares 13.25/52.5 and 3.25/52.5.
    plus, minus = 13.25 / 52.5, 3.25 / 52.5
    margin = t.ppf(0.975, 49) * math.sqrt((plus + minus - (plus - minus) ** 2) / 52.5)

    found = ask(Differences(50, 10.0, 14.0, 12, 2), binary=True)

    assert found.method == "bonett-price"
    assert found.value == 0.2
    assert ends(found) == pytest.approx((10 / 52.5 - margin, 10 / 52.5 + margin))


def test_scores_in_a_range_take_it_in_their_own_unit() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.random(60), rng.random(60)

    unit = ask(compute_differences(first, second), reach=1.0)
    grades = ask(compute_differences(1 + 4 * first, 1 + 4 * second), reach=4.0)

    assert unit.method == grades.method == "adjusted-wald"
    assert ends(grades) == pytest.approx([4 * end for end in ends(unit)])
    assert np.diff(ends(unit)) == pytest.approx(np.diff(ends(ask(compute_differences(first, second)))), rel=0.1)


def test_pairs_that_differ_by_more_than_they_can_are_refused() -> None:
    with pytest.raises(ValueError, match="reach"):
        ask(Differences(50, 10.0, 60.0, 12, 2), reach=1.0)


def test_binary_pairs_that_all_agree_still_have_a_width() -> None:
    lower, upper = ends(ask(Differences(40, 0.0, 0.0, 0, 0), binary=True, use_fpc=True))

    assert lower < -0.05
    assert upper > 0.05


@pytest.mark.parametrize("n", [99, 100, 101, 5000])
def test_pairs_that_all_agree_have_a_width_however_many_there_are(n: int) -> None:
    lower, upper = ends(ask(Differences(n, 0.0, 0.0, 0, 0), population=None, binary=True))

    assert -3.7 / n < lower < 0.0 < upper < 3.7 / n


@pytest.mark.parametrize(("level", "least"), [(0.95, 0.944), (0.99, 0.985), (0.9996, 0.9992)])
@pytest.mark.parametrize("n", [30, 50, 100, 200, 400])
def test_it_covers_rare_differences_of_binary_scores(n: int, level: float, least: float) -> None:
    """Sum over all counts of pairs for and against, exactly."""
    most = min(n, 110)
    plus, minus = (
        row[row_ok]
        for row_ok in [np.add.outer(np.arange(most + 1), np.arange(most + 1)) <= n]
        for row in np.meshgrid(np.arange(most + 1), np.arange(most + 1), indexing="ij")
    )
    found = np.array(
        [
            ends(ask(Differences(n, float(p - m), float(p + m), p, m), population=None, binary=True, level=level))
            for p, m in zip(plus.tolist(), minus.tolist(), strict=True)
        ]
    )
    for p, m in itertools.product((0.003, 0.01, 0.03, 0.05, 0.07, 0.09, 0.12), (0.0, 0.002, 0.01)):
        weights = multinomial.pmf(np.stack([plus, minus, n - plus - minus], axis=1), n, [p, m, 1.0 - p - m])
        inside = (found[:, 0] <= p - m + 1e-12) & (p - m <= found[:, 1] + 1e-12)
        assert weights @ inside >= least


def test_one_pair_says_next_to_nothing() -> None:
    assert ends(ask(Differences(1, 1.0, 1.0, 1, 0), population=None, binary=True)) == (-1.0, 1.0)


@pytest.mark.parametrize("binary", [True, False])
def test_nothing_is_left_open_about_a_set_seen_in_full(binary: bool) -> None:
    found = ask(Differences(50, 10.0, 14.0, 12, 2), population=50, use_fpc=True, binary=binary)

    assert (found.value, *ends(found), found.method) == (0.2, 0.2, 0.2, "census")


def test_without_variance_or_pairs_there_is_no_interval() -> None:
    assert ask(Differences(0, 0.0, 0.0, 0, 0)).value is None
    assert ask(Differences(1, 0.5, 0.25, 1, 0)).lower is None
    equal = ask(compute_differences([0.3] * 40, [0.1] * 40))
    assert (equal.lower, equal.warnings) == (None, ("degenerate",))


def test_more_pairs_than_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="population"):
        ask(Differences(50, 10.0, 14.0, 12, 2), population=49, use_fpc=True)


def test_it_covers_the_difference_on_a_finite_set() -> None:
    rng = np.random.default_rng(3)
    first, second = (rng.random(200) < 0.7).astype(float), (rng.random(200) < 0.6).astype(float)
    truth = first.mean() - second.mean()
    hits = 0
    for _ in range(1000):
        seen = rng.permutation(200)[:60]
        lower, upper = ends(
            ask(compute_differences(first[seen], second[seen]), population=200, use_fpc=True, binary=True)
        )
        hits += lower <= truth <= upper

    assert hits / 1000 == pytest.approx(0.95, abs=0.021)


def test_clusters_of_one_are_no_clusters() -> None:
    row = np.random.default_rng(4).random(30) - 0.5
    expected = ttest_1samp(row, 0.0).confidence_interval(0.95)

    assert ends(cluster_interval(row, list(range(30)), 0.95)) == pytest.approx((expected.low, expected.high))


def test_whole_clusters_that_agree_count_once() -> None:
    means = np.random.default_rng(5).random(20) - 0.5
    repeated, names = np.repeat(means, 5), np.repeat(np.arange(20), 5).tolist()

    assert ends(cluster_interval(repeated, names, 0.95)) == pytest.approx(
        ends(cluster_interval(means, list(range(20)), 0.95))
    )


def test_clustered_covers_where_the_plain_interval_does_not() -> None:
    rng = np.random.default_rng(6)
    names = np.repeat(np.arange(25), 8)
    clustered = plain = 0
    for _ in range(500):
        row = rng.normal(size=25)[names] + rng.normal(size=200)
        low, high = ends(cluster_interval(row, names.tolist(), 0.95))
        clustered += low <= 0.0 <= high
        low, high = ends(ask(compute_differences(row, np.zeros(200))))
        plain += low <= 0.0 <= high

    assert clustered / 500 == pytest.approx(0.95, abs=0.03)
    assert plain / 500 < 0.75


def test_one_cluster_has_no_interval_without_a_reach() -> None:
    assert cluster_interval([0.1, 0.2], ["a", "a"], 0.95).lower is None
    assert ends(cluster_interval([0.1, 0.2], ["a", "a"], 0.95, reach=1.0)) == (-1.0, 1.0)
    assert cluster_interval([], [], 0.95).value is None
    with pytest.raises(ValueError, match="clusters"):
        cluster_interval([0.1, 0.2], ["a"], 0.95)

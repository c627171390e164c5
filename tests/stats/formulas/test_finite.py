"""Formulas for a finite set: against scipy, against numbers found by hand, and by listing every set there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom, norm

from evalsvc.stats import clopper_pearson
from evalsvc.stats.formulas.anytime import anytime_share
from evalsvc.stats.formulas.finite import (
    exact_interval,
    feasible,
    fewest_ones,
    hoeffding_margin,
    log_factorials,
    normal_margin,
    serfling_margin,
    squared_correction,
    t_margin,
    wilson_finite,
)


def test_the_correction_is_one_for_new_data_and_nothing_for_all() -> None:
    assert squared_correction(50, None) == 1.0
    assert squared_correction(400, 400) == 0.0
    assert squared_correction(1, 1) == 0.0
    assert squared_correction(50, 400) == pytest.approx(350 / 399)


def test_the_correction_is_the_true_variance_of_a_mean_without_replacement() -> None:
    values = np.array([0.0, 0.3, 0.9, 1.0, 0.4])
    means = [values[[i, j]].mean() for i in range(5) for j in range(5) if i != j]

    assert np.var(means) == pytest.approx(values.var() / 2 * squared_correction(2, 5))


def test_the_normal_margin_is_that_of_the_seed() -> None:
    # 45 of 50, of 400: sqrt(.9 * .1 / 50) = .0424264, sqrt(350 / 399) = .9365858.
    assert normal_margin(0.09, 50, 400, 0.95) == pytest.approx(1.959963985 * 0.0424264 * 0.9365858, rel=1e-6)


def test_the_hoeffding_margin_is_that_of_the_seed() -> None:
    # sqrt(ln 40 / 100) = .1920645 on a range of 4, of new data and of 400.
    assert hoeffding_margin(4.0, 50, None, 0.95) == pytest.approx(0.7682582, rel=1e-6)
    assert hoeffding_margin(4.0, 50, 400, 0.95) == pytest.approx(0.7682582 * 0.9365858, rel=1e-6)


def test_the_wilson_interval_is_that_of_the_seed() -> None:
    effective, p, z = 50 / (350 / 399), 0.9, norm.ppf(0.975)
    centre = (p + z * z / (2 * effective)) / (1 + z * z / effective)
    margin = z * math.sqrt(p * (1 - p) / effective + z * z / (4 * effective**2)) / (1 + z * z / effective)

    assert wilson_finite(45, 50, 400, 0.95) == pytest.approx((centre - margin, centre + margin), rel=1e-12)


@pytest.mark.parametrize("successes", [0, 50])
def test_wilson_has_a_width_when_all_scores_agree(successes: int) -> None:
    lower, upper = wilson_finite(successes, 50, 400, 0.95)

    assert (lower == 0.0) != (upper == 1.0)
    assert upper - lower > 0.05


def test_serfling_narrows_as_the_set_runs_out() -> None:
    assert serfling_margin(1.0, 100, None, 0.95) == pytest.approx(math.sqrt(math.log(40) / 200))
    assert serfling_margin(1.0, 100, 400, 0.95) == pytest.approx(math.sqrt((1 - 99 / 400) * math.log(40) / 200))
    assert serfling_margin(1.0, 300, 400, 0.95) == pytest.approx(
        math.sqrt((1 - 300 / 400) * (1 + 1 / 300) * math.log(40) / 600)
    )
    assert serfling_margin(1.0, 400, 400, 0.95) == 0.0


def test_the_t_margin_uses_the_fraction_seen() -> None:
    assert t_margin(0.25, 25, None, 0.95) == pytest.approx(2.063899 * 0.1, rel=1e-6)
    assert t_margin(0.25, 25, 100, 0.95) == pytest.approx(2.063899 * 0.1 * math.sqrt(0.75), rel=1e-6)


def test_the_certain_bounds_assume_the_worst_and_the_best() -> None:
    assert feasible(12.0, 4, 10, (1.0, 5.0)) == pytest.approx((1.8, 4.2))
    assert feasible(12.0, 4, None, (1.0, 5.0)) == (1.0, 5.0)


@pytest.mark.parametrize(("n", "population"), [(1, 9), (7, 20), (50, 400), (390, 400)])
def test_the_fewest_ones_are_those_of_scipy(n: int, population: int) -> None:
    counts = np.arange(population + 1)
    for successes in range(0, n + 1, max(1, n // 13)):
        tails = hypergeom.sf(successes - 1, population, counts, n)
        expected = int(counts[tails > 0.025 * (1 - 1e-9)][0])

        assert fewest_ones(successes, n, population, 0.025) == expected


def all_ends(interval: Callable[..., Any], n: int, population: int, level: float) -> np.ndarray:
    return np.array([interval(k, n, population, level) for k in range(n + 1)])


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("population", [2, 7, 19, 40])
def test_exact_covers_every_set_after_every_number_of_examples(population: int, level: float) -> None:
    ones = np.arange(population + 1)
    for n in range(1, population):
        ends = all_ends(exact_interval, n, population, level)
        weights = hypergeom.pmf(np.arange(n + 1)[None, :], population, ones[:, None], n)
        share = ones[:, None] / population
        holds = (ends[:, 0] <= share + 1e-12) & (share <= ends[:, 1] + 1e-12)

        assert (weights * holds).sum(axis=1).min() >= level - 1e-9, n


def test_exact_is_clopper_pearson_for_new_data() -> None:
    assert exact_interval(45, 50, None, 0.9) == clopper_pearson(45, 50, 0.9)


def test_exact_approaches_clopper_pearson_for_a_large_set() -> None:
    assert exact_interval(45, 50, 200_000, 0.95) == pytest.approx(clopper_pearson(45, 50, 0.95), abs=1e-3)


def test_the_table_of_logarithms_grows() -> None:
    assert log_factorials(5000)[5000] == pytest.approx(math.lgamma(5001))
    assert log_factorials(3)[3] == pytest.approx(math.log(6))


def misses(population: int, ones: int, level: float) -> float:
    """Return the probability that the interval misses after any example, over all orders of the set."""
    share = ones / population
    # Probability of each number of ones seen, among orders that have not missed yet.
    alive = {0: 1.0}
    for n in range(population):
        following: dict[int, float] = {}
        for seen, weight in alive.items():
            left = population - n
            for score, chance in ((1, (ones - seen) / left), (0, (left - ones + seen) / left)):
                if chance > 0.0:
                    following[seen + score] = following.get(seen + score, 0.0) + weight * chance
        alive = {
            seen: weight
            for seen, weight in following.items()
            if anytime_share(seen, n + 1, population, level)[0] <= share + 1e-12
            and share <= anytime_share(seen, n + 1, population, level)[1] + 1e-12
        }
    return 1.0 - sum(alive.values())


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("population", [5, 16, 40])
def test_anytime_misses_no_set_more_often_than_it_says_over_all_looks(population: int, level: float) -> None:
    assert max(misses(population, ones, level) for ones in range(population + 1)) <= 1.0 - level + 1e-9


def test_anytime_goes_over_to_its_limit_for_a_large_set() -> None:
    assert anytime_share(45, 50, 1_000_000, 0.95) == pytest.approx(anytime_share(45, 50, None, 0.95), abs=1e-4)
    assert anytime_share(50, 50, None, 0.95)[1] == 1.0
    assert anytime_share(0, 50, None, 0.95)[0] == 0.0


@settings(derandomize=True)
@given(st.data())
def test_intervals_of_a_share_widen_with_the_level(data: st.DataObject) -> None:
    population = data.draw(st.integers(2, 300) | st.none())
    n = data.draw(st.integers(1, (population or 200) - 1))
    successes = data.draw(st.integers(0, n))
    for interval in (exact_interval, anytime_share, wilson_finite):
        inner, outer = (interval(successes, n, population, level) for level in (0.9, 0.99))

        assert outer[0] <= inner[0] + 1e-12
        assert inner[1] <= outer[1] + 1e-12

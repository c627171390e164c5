"""The exact quantiles, against the same thing done the long way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from evalsvc.stats.histories.bootstrap import (
    binomial_quantiles,
    count_lattice_cells,
    enumeration_quantiles,
    grid_quantiles,
    is_clumped,
    lattice_quantiles,
)
from tests.stats.reference import TAILS, Row, brute_force, direct_convolution, fine_grid, standard_error

PROBABILITIES = np.array(TAILS)


def on_unit(scores: Row) -> Row:
    ordered = np.sort(scores)
    return (ordered - ordered[0]) / (ordered[-1] - ordered[0])


def quantile_of_sum(pmf: Row, n: int, probability: float) -> float:
    cdf = np.cumsum(direct_convolution(pmf, n))
    return float(np.argmax(cdf >= probability - 1e-12)) / (n * (pmf.size - 1))


# Two values


@pytest.mark.parametrize("probability", [1e-15, 1e-9, 1e-4, 0.025, 0.3, 0.5, 0.7, 0.975, 0.9999, 1 - 1e-9])
def test_binomial_quantiles_reach_far_into_the_tails(probability: float) -> None:
    for n, k in ((2, 1), (30, 29), (100, 3), (1000, 1), (1000, 500), (1000, 999), (5000, 40)):
        ours = binomial_quantiles(n, k, np.array([probability]))[0]

        assert ours == binom.ppf(probability, n, k / n) / n, (n, k)


def test_binomial_quantiles_do_not_let_a_rounding_error_decide_a_tie() -> None:
    # Half of the distribution lies at or below (n - 1)/2 when n is odd and p one half, exactly.
    for n in (4, 16, 100):
        exact_half = binomial_quantiles(n, n // 2, np.array([0.5]))[0]

        assert exact_half == 0.5
    assert binomial_quantiles(2, 1, np.array([0.25, 0.75])).tolist() == [0.0, 0.5]


# Up to seven scores


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_enumeration_equals_all_resamples(n: int) -> None:
    for scores in (np.random.default_rng(n).random(n), np.array([0.0, 0.2, 0.2, 1.0, 0.5, 0.2][:n])):
        if n > 2 or scores[0] != scores[1]:
            unit = on_unit(scores)

            ours = enumeration_quantiles(unit, np.array([0.01, 0.025, 0.3, 0.5, 0.9, 0.975]))

            assert ours == pytest.approx(brute_force(unit, (0.01, 0.025, 0.3, 0.5, 0.9, 0.975)), abs=1e-12)


def test_enumeration_of_seven_agrees_with_the_grid() -> None:
    unit = on_unit(np.random.default_rng(1).random(7))

    expected = fine_grid(unit, 2**15 + 1)

    assert enumeration_quantiles(unit, PROBABILITIES) == pytest.approx(expected, abs=0.005 * standard_error(unit))


def test_enumeration_counts_ties_as_often_as_they_are_drawn() -> None:
    unit = np.array([0.0, 0.0, 0.0, 1.0])

    expected = binom.ppf(TAILS, 4, 0.25) / 4

    assert enumeration_quantiles(unit, PROBABILITIES).tolist() == expected.tolist()


# Lattices


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([0, 1], 1),
        ([1, 2, 3, 4, 5], 4),
        ([1, 3, 5], 2),
        ([0, 2, 5], 5),
        ([0.1, 0.2, 0.3, 0.7], 6),
        ([0.0, 0.01, 0.55, 1.0], 100),
        ([-2.5, 0.0, 7.5], 4),
        ([0, 6, 10, 15], 15),
        ([0, 1, 512], 512),
        ([1e6, 1e6 + 1, 1e6 + 3], 3),
    ],
)
def test_it_finds_the_coarsest_lattice(values: list[float], cells: int) -> None:
    assert count_lattice_cells(on_unit(np.array(values, dtype=float))) == cells


@pytest.mark.parametrize(
    "values", [[0, 1, 513], [0, 1 / math.pi, 1], [0, 0.333333, 1], [0, math.sqrt(0.5), 0.9, 1], [0, 1e-8, 1]]
)
def test_it_sees_where_there_is_no_lattice(values: list[float]) -> None:
    assert count_lattice_cells(on_unit(np.array(values, dtype=float))) is None


@pytest.mark.parametrize("n", [2, 8, 19, 50, 200])
@pytest.mark.parametrize("cells", [2, 4, 10, 100])
def test_a_lattice_equals_the_direct_convolution(n: int, cells: int) -> None:
    rng = np.random.default_rng([n, cells])
    positions = np.sort(np.concatenate(([0, cells], rng.integers(0, cells + 1, n - 2))))
    pmf = np.bincount(positions, minlength=cells + 1) / n

    ours = lattice_quantiles(positions / cells, cells, PROBABILITIES)

    assert ours is not None
    assert ours.tolist() == [quantile_of_sum(pmf, n, p) for p in TAILS]


def test_a_lattice_of_two_values_is_the_binomial() -> None:
    unit = np.repeat([0.0, 1.0], [150, 50])

    ours = lattice_quantiles(unit, 1, PROBABILITIES)

    assert ours is not None
    assert ours.tolist() == binomial_quantiles(200, 50, PROBABILITIES).tolist()


def test_a_lattice_with_few_high_scores_has_its_long_tail() -> None:
    # The sum is nearly Poisson: a window of some standard deviations of a normal would cut it off.
    positions = np.concatenate((np.zeros(297, dtype=int), [1, 50, 50]))
    pmf = np.bincount(positions, minlength=51) / 300
    probabilities = np.array([1e-6, 1 - 1e-6])

    ours = lattice_quantiles(positions / 50, 50, probabilities)

    assert ours is not None
    assert ours.tolist() == [quantile_of_sum(pmf, 300, p) for p in probabilities]


def test_a_lattice_that_would_take_long_is_declined() -> None:
    unit = np.tile([0.0, 1 / 512, 1.0, 1.0], 250)

    assert lattice_quantiles(np.sort(unit), 512, PROBABILITIES) is None


# The grid


@pytest.mark.parametrize(("n", "k"), [(100, 2), (300, 5), (1000, 1), (1000, 3), (1000, 11)])
def test_the_grid_follows_sparse_scores(n: int, k: int) -> None:
    rng = np.random.default_rng([n, k])
    unit = on_unit(np.concatenate((np.zeros(n - k), rng.random(k) + 0.2)))

    error = np.abs(grid_quantiles(unit, PROBABILITIES) - fine_grid(unit, 2**13 + 1)).max()

    assert error <= 0.005 * standard_error(unit)


def test_the_grid_keeps_the_atom_at_the_lowest_score() -> None:
    # With three scores of a thousand above zero, one resample in twenty holds none of them.
    unit = on_unit(np.concatenate((np.zeros(997), [0.31, 0.62, 0.777])))

    assert grid_quantiles(unit, PROBABILITIES)[0] == 0.0


def test_the_grid_gets_coarser_rather_than_slower() -> None:
    rng = np.random.default_rng(9)
    unit = on_unit(np.concatenate((rng.beta(500, 1, 500), rng.beta(1, 500, 500))))

    error = np.abs(grid_quantiles(unit, PROBABILITIES) - fine_grid(unit, 2**12 + 1)).max()

    assert error <= 0.005 * standard_error(unit)


def test_beyond_what_a_transform_resolves_the_whole_range_is_the_answer() -> None:
    unit = on_unit(np.random.default_rng(2).random(15))

    assert grid_quantiles(unit, np.array([1e-12, 1 - 1e-12])).tolist() == [0.0, 1.0]


# The gate


@pytest.mark.parametrize("n", [20, 50, 200, 1000])
def test_clumps_are_seen_and_smooth_scores_are_not(n: int) -> None:
    rng = np.random.default_rng(n)
    two_clumps = rng.integers(0, 2, n) + rng.normal(0.0, 0.001, n)
    clumps_of_a_rare_kind = (rng.random(n) < 0.15) + rng.normal(0.0, 0.001, n)

    assert is_clumped(on_unit(two_clumps))
    assert is_clumped(on_unit(clumps_of_a_rare_kind))
    for smooth in (rng.random(n), rng.normal(size=n), rng.beta(8, 2, n)):
        assert not is_clumped(on_unit(smooth))

"""The approximation: how near it comes, and where it must not be used."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats import history_interval
from evalsvc.stats.formulas.intervals import z_quantile
from evalsvc.stats.histories.saddlepoint import CENTRAL, effective_size, saddlepoint_quantiles
from tests.stats.reference import Row, fine_grid, standard_error


def on_unit(scores: Row) -> Row:
    ordered = np.sort(scores)
    return (ordered - ordered[0]) / (ordered[-1] - ordered[0])


def error_in_standard_errors(unit: Row, level: float = 0.95, levels: int = 2**14 + 1) -> float:
    tail = (1.0 - level) / 2.0
    found = saddlepoint_quantiles(unit, z_quantile(level))
    assert found is not None
    truth = fine_grid(unit, levels, (tail, 0.5, 1.0 - tail))
    return float(np.abs(np.subtract(found, truth)).max()) / standard_error(unit)


@pytest.mark.parametrize("n", [40, 100, 400])
@pytest.mark.parametrize("shape", ["uniform", "beta", "exponential", "normal"])
def test_it_is_accurate_for_smooth_scores(n: int, shape: str) -> None:
    rng = np.random.default_rng([n, len(shape)])
    draw = {
        "uniform": rng.random(n),
        "beta": rng.beta(8, 2, n),
        "exponential": rng.exponential(size=n),
        "normal": rng.normal(size=n),
    }[shape]

    assert error_in_standard_errors(on_unit(draw)) <= 0.003


@pytest.mark.parametrize("level", [0.2, 0.6, 0.99, 0.9999])
def test_it_is_accurate_at_other_levels(level: float) -> None:
    unit = on_unit(np.random.default_rng(3).exponential(size=150))

    assert error_in_standard_errors(unit, level) <= 0.005


def test_its_two_formulas_meet() -> None:
    unit = on_unit(np.random.default_rng(4).exponential(size=60))

    inside, outside = saddlepoint_quantiles(unit, CENTRAL - 1e-9), saddlepoint_quantiles(unit, CENTRAL)

    assert inside is not None
    assert outside is not None
    assert np.abs(np.subtract(inside, outside)).max() <= 0.002 * standard_error(unit)


def test_it_mirrors() -> None:
    unit = on_unit(np.random.default_rng(5).beta(6, 2, 80))

    there, back = saddlepoint_quantiles(unit, 2.0), saddlepoint_quantiles(1.0 - unit, 2.0)

    assert there is not None
    assert back is not None
    assert [1.0 - end for end in reversed(back)] == pytest.approx(there, abs=1e-9)


def test_it_says_so_where_there_is_no_solution() -> None:
    # No resample of five scores lies eight standard errors from the mean.
    assert saddlepoint_quantiles(np.array([0.0, 0.2, 0.5, 0.7, 1.0]), 8.0) is None


def test_an_interval_that_has_no_saddlepoint_comes_from_the_grid() -> None:
    scores = np.cos(np.pi * (np.arange(20) + 0.5) / 20) * np.linspace(0.9, 1.0, 20)

    extreme = history_interval(scores, 1.0 - 1e-15)

    assert extreme.method in ("fft", "saddlepoint")
    assert extreme.lower is not None
    assert extreme.upper is not None
    assert scores.min() - 1e-9 <= extreme.lower < extreme.upper <= scores.max() + 1e-9


def test_ungated_it_would_err_on_sparse_scores() -> None:
    rng = np.random.default_rng(6)
    unit = on_unit(np.concatenate((np.zeros(995), rng.random(5))))

    assert effective_size(unit) < 12.0
    assert error_in_standard_errors(unit, levels=2**12 + 1) > 0.05
    assert history_interval(unit).method == "fft"


def test_ungated_it_would_err_on_clumped_scores() -> None:
    rng = np.random.default_rng(7)
    unit = on_unit(rng.integers(0, 2, 40) + rng.normal(0.0, 0.001, 40))

    assert effective_size(unit) > 12.0
    assert error_in_standard_errors(unit) > 0.03
    assert history_interval(unit).method == "fft"


@pytest.mark.parametrize("k", [1, 5, 11, 30])
def test_the_effective_size_of_sparse_scores_is_about_their_number(k: int) -> None:
    unit = np.repeat([0.0, 1.0], [1000 - k, k])

    assert effective_size(unit) == pytest.approx(k, rel=0.12)


def test_the_effective_size_ignores_unit_and_origin() -> None:
    scores = np.random.default_rng(8).random(50)

    assert effective_size(scores * 7.0 - 3.0) == pytest.approx(effective_size(scores))

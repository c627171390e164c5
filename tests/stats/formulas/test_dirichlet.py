"""Gaffke's bound: Clopper and Pearson's for zeros and ones, random proportions for others, and how narrow it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.formulas.dirichlet import dirichlet_bound
from evalsvc.stats.formulas.extremes import guarded_t

ERRORS = (0.025, 0.05 / 32, 1e-5)


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("error", ERRORS)
def test_for_zeros_and_ones_it_is_the_exact_bound(n: int, error: float) -> None:
    for n_right in (1, n // 2, n - 1, n):
        scores = [1.0] * n_right + [0.0] * (n - n_right)
        exact = beta.ppf(error, n_right, n - n_right + 1)
        assert dirichlet_bound(scores, 0.0, error) == pytest.approx(exact, abs=1e-3)
        assert dirichlet_bound(scores, 0.0, error) <= exact + 1e-9


@pytest.mark.parametrize("n", [5, 30, 100])
def test_it_is_a_quantile_of_the_scores_in_random_proportions(n: int) -> None:
    rng = np.random.default_rng(n)
    scores = rng.beta(3.0, 0.8, n)
    proportions = rng.dirichlet(np.ones(n + 1), 200_000)
    for error in (0.025, 0.05 / 32):
        lower, upper = (
            np.quantile(proportions @ np.append(scores, end), at) for end, at in ((0.0, error), (1.0, 1 - error))
        )
        assert dirichlet_bound(scores, 0.0, error) == pytest.approx(lower, abs=0.004)
        assert dirichlet_bound(scores, 1.0, error) == pytest.approx(upper, abs=0.004)


def test_it_moves_with_the_range_and_mirrors() -> None:
    scores = np.random.default_rng(1).random(50)
    lower = dirichlet_bound(scores, 0.0, 0.001)

    assert dirichlet_bound(1.0 + 4.0 * scores, 1.0, 0.001) == pytest.approx(1.0 + 4.0 * lower)
    assert dirichlet_bound(-scores, 0.0, 0.001) == pytest.approx(-lower)


@pytest.mark.parametrize(
    ("scores", "extreme", "bound"), [([0.0] * 9, 0.0, 0.0), ([0.5] * 9, 0.0, 0.5 * 0.01 ** (1 / 9)), ([1.0], 0.0, 0.01)]
)
def test_equal_scores_have_the_bound_of_what_was_not_seen(scores: list[float], extreme: float, bound: float) -> None:
    assert dirichlet_bound(scores, extreme, 0.01) == pytest.approx(bound)


def test_far_out_it_is_narrower_than_the_bound_of_sums() -> None:
    scores = np.random.default_rng(3).beta(3.2, 0.8, 100)
    lower = dirichlet_bound(scores, 0.0, 0.05 / 32)

    assert guarded_t(compute_sums(scores), (0.0, 1.0), 1 - 0.05 / 16)[0] + 0.01 < lower < scores.mean() - 0.04


@pytest.mark.parametrize(("scores", "error"), [([0.5, -0.5], 0.01), ([0.5], 0.5), ([0.5], 0.0)])
def test_scores_on_both_sides_and_other_errors_are_refused(scores: list[float], error: float) -> None:
    with pytest.raises(ValueError, match=r"`scores`|`error`"):
        dirichlet_bound(scores, 0.0, error)

"""Which of several evaluators agrees best: figures by hand, and how often equal ones are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.agreement.kappa import kappa_of_counts
from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.paired import Differences
from evalsvc.stats.truth.evaluators import compare_evaluators

LABELS = [True] * 60 + [False] * 40


def test_figures_by_hand() -> None:
    """The second passes 50 of the 60 that people pass, and 10 of the 40 that they fail."""
    verdicts = [True] * 50 + [False] * 10 + [True] * 10 + [False] * 30
    best, found = compare_evaluators(LABELS, [LABELS, verdicts])

    assert (best.difference, best.is_worse, best.kappa) == (None, False, kappa_of_counts(60, 0, 0, 40))
    assert (found.agreement.value, found.agreement.lower, found.agreement.upper) == (0.8, *clopper_pearson(80, 100))
    assert (found.sensitivity.value, found.sensitivity.n) == (50 / 60, 60)
    assert (found.specificity.value, found.specificity.n) == (30 / 40, 40)
    assert found.kappa == kappa_of_counts(50, 10, 10, 30)
    # Of two evaluators there is one pair, so that its level is the one asked for.
    expected = new_data_difference(Differences(100, -20.0, 20.0, 0, 20), level=0.95, binary=True, reach=1.0)
    assert found.difference == expected and found.is_worse


def test_levels_hold_together() -> None:
    found = compare_evaluators(LABELS, [LABELS] * 5, level=0.9)
    levels = [one.difference.level for one in found if one.difference is not None]
    assert levels == pytest.approx([1 - 0.1 / 10] * 4)
    assert [one.difference is None for one in found] == [True, False, False, False, False]


def test_without_either_answer_a_figure_is_missing() -> None:
    (found,) = compare_evaluators([True] * 30, [[True] * 30])
    assert (found.agreement.value, found.sensitivity.n) == (1.0, 30)
    assert (found.specificity.value, found.specificity.n, found.kappa.value) == (None, 0, None)


@pytest.mark.parametrize("n", [30, 200])
def test_equal_evaluators_are_rarely_told_apart(n: int) -> None:
    """The best of six equal ones is chosen by the labels; in at most 5 % of samples another is said to be worse."""
    rng, n_wrong, n_samples = np.random.default_rng(7), 0, 400
    for _ in range(n_samples):
        labels = rng.random(n) < 0.7
        verdicts = labels ^ (rng.random((6, n)) < 0.2)
        n_wrong += any(one.is_worse for one in compare_evaluators(labels.tolist(), verdicts.tolist()))
    assert n_wrong <= 0.05 * n_samples


def test_a_worse_one_is_found() -> None:
    rng = np.random.default_rng(8)
    labels = rng.random(200) < 0.7
    verdicts = labels ^ (rng.random((4, 200)) < np.array([0.05, 0.06, 0.05, 0.3])[:, None])
    found = compare_evaluators(labels.tolist(), verdicts.tolist())
    assert [one.is_worse for one in found] == [False, False, False, True]

"""Precision, recall, F1 and their mean: against the definitions, against exact intervals, and by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from evalsvc.stats.formulas.confusion import classification_metrics, macro_f1

TABLE = np.array([[30, 3, 2], [4, 25, 3], [1, 2, 30]])


def labels_of(table: Any) -> tuple[list[int], list[int]]:
    actual, said = [], []
    for (i, j), n in np.ndenumerate(table):
        actual += [i] * int(n)
        said += [j] * int(n)
    return actual, said


def test_values_are_those_of_the_definitions() -> None:
    actual, said = labels_of(TABLE)
    told = classification_metrics(TABLE, level=0.95, seed=0)
    pairs = list(zip(actual, said, strict=True))
    f1s = []
    for c, shares in enumerate(told.classes):
        hits = sum(a == s == c for a, s in pairs)
        n_said, n_actual = said.count(c), actual.count(c)
        assert (shares.precision.value, shares.precision.n) == (hits / n_said, n_said)
        assert (shares.recall.value, shares.recall.n) == (hits / n_actual, n_actual)
        f1s.append(2 * hits / (n_said + n_actual))
        assert shares.f1.value == pytest.approx(f1s[-1])
    assert told.macro_f1.value == pytest.approx(sum(f1s) / 3)
    assert told.accuracy.value == pytest.approx(sum(a == s for a, s in pairs) / len(pairs))


def test_shares_have_exact_intervals() -> None:
    told = classification_metrics(TABLE, level=0.9, seed=0)
    recall = stats.binomtest(30, 35).proportion_ci(0.9, "exact")
    theta = stats.binomtest(30, 40).proportion_ci(0.9, "exact")
    f1 = told.classes[0].f1

    assert (told.classes[0].recall.lower, told.classes[0].recall.upper) == pytest.approx((recall.low, recall.high))
    assert (f1.lower, f1.upper) == pytest.approx(tuple(2 * end / (1 + end) for end in (theta.low, theta.high)))


def test_a_seed_gives_the_same_interval_again() -> None:
    first, again, other = (classification_metrics(TABLE, level=0.95, seed=seed).macro_f1 for seed in (1, 1, 2))

    assert first == again
    assert first.lower != other.lower
    assert first.method == "bootstrap-bca"


@pytest.mark.parametrize("table", [[[20, 0], [0, 20]], [[0, 20], [20, 0]], [[40, 0], [0, 0]]])
def test_where_no_resample_differs_the_interval_has_a_width_all_the_same(table: Any) -> None:
    macro = classification_metrics(np.array(table), level=0.95, seed=0).macro_f1

    assert macro.lower is not None and macro.upper is not None and macro.value is not None
    assert macro.lower < macro.upper
    assert macro.lower <= macro.value <= macro.upper
    assert "degenerate" in macro.warnings


def test_a_class_that_never_occurs_or_is_never_said_has_no_share() -> None:
    told = classification_metrics(np.array([[3, 1], [0, 0]]), level=0.95, seed=0)

    assert (told.classes[1].recall.value, told.classes[1].recall.lower, told.classes[1].recall.n) == (None, None, 0)
    assert told.classes[1].precision.value == 0.0
    # The mean is over classes that occur.
    assert told.macro_f1.value == pytest.approx(2 * 3 / 7)


def test_nothing_at_all_has_no_values() -> None:
    told = classification_metrics(np.zeros((2, 2), dtype=int), level=0.95, seed=0)

    assert (told.accuracy.value, told.macro_f1.value, told.macro_f1.method) == (None, None, "none")


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.zeros((0, 0)), np.array([[1, -1], [0, 1]])])
def test_what_is_no_matrix_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="`matrix` must"):
        classification_metrics(wrong, level=0.95, seed=0)


@pytest.mark.parametrize("truth", [
    [[45, 5], [4, 46]],
    [[30, 3, 2], [4, 25, 3], [1, 2, 30]],
    [[80, 5], [3, 12]],
    [[49, 1], [1, 49]],
])  # fmt: skip
def test_intervals_hold_as_often_as_they_say(truth: Any) -> None:
    shares = np.array(truth, dtype=float)
    shares /= shares.sum()
    rng, n_held, n_f1 = np.random.default_rng(3), 0, 0
    true_macro = float(macro_f1(shares * 1e9))
    true_f1 = 2 * shares[0, 0] / (shares[0].sum() + shares[:, 0].sum())
    for i in range(300):
        told = classification_metrics(rng.multinomial(100, shares.ravel()).reshape(shares.shape), level=0.95, seed=i)
        macro, f1 = told.macro_f1, told.classes[0].f1
        n_held += (macro.lower or 0) <= true_macro <= (macro.upper or 0)
        n_f1 += (f1.lower or 0) <= true_f1 <= (f1.upper or 0)

    # Three standard errors of 300 draws below 95 %.
    assert n_held >= 274
    assert n_f1 >= 274

"""Which strategy fits which metric, what is refused, and the sums and bounds beside an estimate."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from evalsvc.stats.estimates.estimator import (
    Sums,
    bounds_under_failures,
    check_strategy,
    compute_sums,
)
from evalsvc.stats.kinds import ALGEBRAIC, DISTRIBUTIVE, RATIO, UNTYPED, kind_named
from evalsvc.stats.strategies.registry import SET_STRATEGIES
from tests.stats.questions import PASSES, ask

# What fits


@pytest.mark.parametrize(
    ("strategy", "kind", "binary", "value_range", "word"),
    [
        ("bayes", "algebraic", True, (0, 1), "must be one of"),
        ("t", "untyped", False, None, "without a type"),
        ("exact", "ratio", True, (0, 1), "ratio"),
        ("anytime", "ratio", True, (0, 1), "ratio"),
        ("exact", "algebraic", False, (0, 1), "binary"),
        ("exact", "distributive", False, (0, 1), "binary"),
        ("wilson", "algebraic", False, (0, 1), "binary"),
        ("hoeffding", "algebraic", False, None, "value_range"),
        ("hoeffding-serfling", "distributive", False, None, "value_range"),
        ("anytime", "algebraic", False, None, "value_range"),
    ],
)
def test_it_says_in_a_sentence_why_a_strategy_does_not_fit(
    strategy: str, kind: str, binary: bool, value_range: tuple[float, float] | None, word: str
) -> None:
    sentence = check_strategy(strategy, kind_named(kind), binary, value_range)

    assert sentence is not None
    assert word in sentence
    assert sentence.endswith(".")


def test_what_fits_passes() -> None:
    for strategy in SET_STRATEGIES:
        assert check_strategy(strategy, ALGEBRAIC, True, None) is None
    assert check_strategy("wilson", DISTRIBUTIVE, False, None) is None
    assert check_strategy("normal", RATIO, False, None) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"strategy": "exact", "binary": False}, "binary"),
        ({"strategy": "t", "level": 95}, "level"),
        ({"strategy": "t", "population": 49}, "population"),
        ({"strategy": "t", "value_range": (0, 0.5), "binary": False}, "value_range"),
        ({"strategy": "t", "kind": "modal"}, "kind"),
        ({"strategy": "anytime", "binary": False, "known": None}, "scores"),
        ({"strategy": "anytime", "binary": False, "known": [1.0]}, "scores"),
    ],
)
def test_it_refuses_in_words_that_name_the_parameter(changes: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        ask(PASSES, **changes)  # type: ignore[arg-type]


def test_a_list_and_a_tuple_are_the_same_range() -> None:
    as_list, as_tuple = (ask(PASSES, "t", value_range=r, binary=False) for r in ([0, 1], (0, 1)))

    assert as_list == as_tuple


def test_an_untyped_metric_claims_nothing() -> None:
    found = ask(PASSES, "none", kind="untyped")

    assert (found.value, found.lower, found.upper, found.strategy) == (0.9, None, None, "none")


def test_few_scores_are_warned_of_where_a_bell_curve_is_trusted() -> None:
    for strategy in SET_STRATEGIES:
        assert ("n<30" in ask([1.0, 0.0] * 10, strategy).warnings) == (strategy in ("normal", "wilson", "t"))


def test_its_answer_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ask(PASSES, "t").lower = 0.0


# Failures


def test_failures_are_bounded_by_the_worst_and_the_best() -> None:
    sums = compute_sums([1.0, 1.0, 0.0])

    assert bounds_under_failures(ALGEBRAIC, sums, 1, value_range=[0, 1], population=400) == (0.5, 0.75)
    assert bounds_under_failures(DISTRIBUTIVE, sums, 1, value_range=(0, 1), population=400) == (200.0, 300.0)
    assert bounds_under_failures(ALGEBRAIC, compute_sums([]), 2, value_range=(1, 5), population=400) == (1.0, 5.0)


def test_failures_are_not_bounded_where_nothing_bounds_a_score() -> None:
    sums = compute_sums([1.0, 1.0, 0.0])

    assert bounds_under_failures(ALGEBRAIC, sums, 1, value_range=None, population=400) is None
    assert bounds_under_failures(RATIO, sums, 1, value_range=(0, 1), population=400) is None
    assert bounds_under_failures(UNTYPED, sums, 1, value_range=(0, 1), population=400) is None
    assert bounds_under_failures(DISTRIBUTIVE, sums, 1, value_range=(0, 1), population=None) is None
    assert bounds_under_failures(ALGEBRAIC, compute_sums([]), 0, value_range=(0, 1), population=400) is None


# Sums


def test_the_sums_are_those_of_the_scores() -> None:
    row = np.random.default_rng(3).random(50)

    sums = compute_sums(row)

    assert sums.mean == pytest.approx(row.mean())
    assert sums.variance == pytest.approx(row.var(ddof=1))
    assert (sums.lowest, sums.highest) == (row.min(), row.max())


def test_equal_scores_have_no_variance_whatever_rounding_says() -> None:
    assert compute_sums([0.1] * 1000).variance == 0.0
    assert Sums(1000, 100.0, 10.000001, 0.1, 0.1).variance == 0.0


def test_it_refuses_denominators_of_another_number() -> None:
    with pytest.raises(ValueError, match="denominators"):
        compute_sums([1.0], [1.0, 2.0])

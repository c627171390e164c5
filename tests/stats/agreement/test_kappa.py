"""Kappa of two raters with two answers."""

from __future__ import annotations

import pytest

from evalsvc.stats.agreement.figures import cohen_kappa
from evalsvc.stats.agreement.kappa import kappa_of_counts


def test_the_value_by_hand() -> None:
    """Observed .7, by chance .5 · .6 + .5 · .4."""
    assert kappa_of_counts(20, 5, 10, 15).value == pytest.approx(0.4)


def test_both_raters_may_be_exchanged() -> None:
    one, other = kappa_of_counts(20, 5, 10, 15), kappa_of_counts(20, 10, 5, 15)
    assert one.value == other.value
    assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=0.02)


def test_perfect_agreement_is_not_certain() -> None:
    found = kappa_of_counts(3, 0, 0, 97)
    assert found.value == found.upper == 1.0
    assert found.lower is not None and 0.3 < found.lower < 0.9


def test_one_answer_only_has_no_kappa() -> None:
    assert (kappa_of_counts(0, 0, 0, 40).value, kappa_of_counts(0, 0, 0, 40).reason) == (None, "all_answers_equal")
    assert kappa_of_counts(0, 0, 0, 0).reason == "no_item_answered_twice"


def test_two_people_get_the_same_interval() -> None:
    pairs = [("y", "y")] * 3 + [("y", "n")] * 2 + [("n", "n")] * 45
    found = cohen_kappa([{"a": a, "b": b} for a, b in pairs])
    assert (found.value, found.lower, found.upper) == (
        kappa_of_counts(3, 2, 0, 45).value, kappa_of_counts(3, 2, 0, 45).lower, kappa_of_counts(3, 2, 0, 45).upper,
    )  # fmt: skip

"""Kinds of metric: what each makes of the same sums, and that one list has them all."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.kinds import ALGEBRAIC, DISTRIBUTIVE, KINDS, RATIO, UNTYPED, kind_named

SCORES = np.array([1.0, 4.0, 4.0])


def test_the_names_are_the_ones_on_the_wire() -> None:
    assert list(KINDS) == ["algebraic", "distributive", "ratio", "untyped"]
    assert [str(kind) for kind in KINDS.values()] == list(KINDS)
    with pytest.raises(ValueError, match="`kind` must be one of algebraic"):
        kind_named("modal")


def test_the_defaults() -> None:
    assert ALGEBRAIC.default_strategy(binary=True) == DISTRIBUTIVE.default_strategy(binary=True) == "exact"
    assert ALGEBRAIC.default_strategy(binary=False) == RATIO.default_strategy(binary=True) == "t"
    assert UNTYPED.default_strategy(binary=True) is None


def test_a_total_is_so_many_means() -> None:
    sums = compute_sums(SCORES)

    assert ALGEBRAIC.value(sums) == DISTRIBUTIVE.value(sums) == UNTYPED.value(sums) == 3.0
    assert (ALGEBRAIC.scale(400), DISTRIBUTIVE.scale(400), RATIO.scale(400)) == (1, 400, 1)
    assert (ALGEBRAIC.from_scores(SCORES), DISTRIBUTIVE.from_scores(SCORES), RATIO.from_scores(SCORES)) == (
        3.0,
        9.0,
        None,
    )
    assert (DISTRIBUTIVE.covers, DISTRIBUTIVE.of_one_score) == ("this set", ALGEBRAIC)


def test_a_ratio_is_of_its_sums() -> None:
    sums = compute_sums(SCORES, [2.0, 4.0, 12.0])

    assert RATIO.value(sums) == 0.5
    assert RATIO.value(compute_sums([2.0, 2.0], [1.0, 3.0])) == 1.0
    assert RATIO.quotient(compute_sums([1.0], [0.0])) is None
    assert RATIO.variance(sums) == sums.residual_variance() != sums.variance


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_without_scores_there_is_no_number(kind: object) -> None:
    assert kind.value(compute_sums([])) is None  # type: ignore[attr-defined]
    assert kind.quotient(compute_sums([])) is None  # type: ignore[attr-defined]


def test_a_mean_of_equal_scores_is_one_of_them() -> None:
    sums = compute_sums([0.1] * 3)

    assert sums.mean != 0.1
    assert ALGEBRAIC.value(sums) == 0.1
    assert ALGEBRAIC.quotient(sums) == sums.mean


def test_scores_outside_the_range_are_refused_but_for_numerators() -> None:
    for kind in (ALGEBRAIC, DISTRIBUTIVE, UNTYPED):
        with pytest.raises(ValueError, match="value_range"):
            kind.check(compute_sums(SCORES), (0.0, 1.0))
    RATIO.check(compute_sums(SCORES, SCORES), (0.0, 1.0))


def test_what_no_score_to_come_can_change() -> None:
    sums = compute_sums([1.0, 1.0], [1.0, 2.0])

    assert ALGEBRAIC.certain(sums, 4, (0.0, 1.0)) == (0.5, 1.0)
    assert RATIO.certain(sums, 4, (0.0, 1.0)) == (0.0, 1.0)


def test_a_sentence_says_why_configs_are_not_compared() -> None:
    assert [kind.name for kind in KINDS.values() if kind.why_not_pairable] == ["ratio", "untyped"]
    assert [kind.name for kind in KINDS.values() if kind.is_of_single_scores] == ["algebraic", "distributive"]

"""From claims to decisions, and about how many examples more would settle them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalsvc.stats.gating.claims import GateClaim, pair_claim, quantile_claim, threshold_claim
from evalsvc.stats.gating.decisions import alpha_of_attempt, combine_outcomes, judge_all
from evalsvc.stats.gating.ends import compute_bounds
from evalsvc.stats.gating.power import examples_needed, smallest_effect

NAN = math.nan


def differing(n: int, n_for: int, n_against: int, limit: float, *, population: int | None = None) -> GateClaim:
    """A claim about n pairs, in a seeded order."""
    first, second = np.zeros(n), np.zeros(n)
    first[:n_for], second[n_for : n_for + n_against] = 1.0, 1.0
    order = np.random.default_rng(4).permutation(n)
    return pair_claim(first[order], second[order], limit=limit, value_range=(0.0, 1.0), population=population)


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize(
    ("n_for", "n_against", "outcome"), [(60, 60, "pass"), (20, 150, "fail"), (50, 108, "undecided")]
)
def test_a_gate_passes_fails_or_cannot_tell(watched: bool, n_for: int, n_against: int, outcome: str) -> None:
    (found,) = judge_all([differing(1300, n_for, n_against, -0.05)], 0.05, watched=watched)

    assert found.outcome == outcome
    assert (found.about_n_more == 0) is (outcome != "undecided")
    assert found.reason == (None if outcome != "undecided" else "limit_inside")


def test_all_rules_must_pass_and_one_that_is_refuted_fails_the_gate() -> None:
    good, open_, bad = differing(1300, 60, 60, -0.05), differing(1300, 50, 108, -0.05), differing(1300, 20, 150, -0.05)

    def outcome(*claims: GateClaim) -> str:
        return combine_outcomes(judge_all(claims, 0.05, watched=False))

    assert outcome(good) == outcome(good, good) == "pass"
    assert outcome(good, open_) == "undecided"
    assert outcome(good, open_, bad) == "fail"


def test_the_more_rules_the_surer_a_failure_must_be() -> None:
    near = differing(400, 10, 46, -0.05)
    (alone,) = judge_all([near], 0.05, watched=False)
    among = judge_all([near, *(differing(400, 30, 30, -0.05) for _ in range(9))], 0.05, watched=False)

    assert (alone.outcome, alone.alpha_to_fail) == ("fail", 0.05)
    assert (among[0].outcome, among[0].alpha_to_fail) == ("undecided", 0.005)


def test_holm_goes_on_with_those_that_are_left() -> None:
    found = judge_all([differing(400, 10, 90, -0.05), differing(400, 10, 46, -0.05)], 0.05, watched=False)

    assert [(one.outcome, one.alpha_to_fail) for one in found] == [("fail", 0.025), ("fail", 0.05)]


def test_failures_can_neither_pass_nor_fail_a_candidate_by_themselves() -> None:
    gone = pair_claim([NAN] * 200, [1.0] * 200, limit=-0.05, value_range=(0.0, 1.0))
    (found,) = judge_all([gone], 0.05, watched=False)

    assert found.outcome == "undecided"
    assert found.about_n_more is None


def test_three_rows_are_undecided() -> None:
    for watched in (False, True):
        for claim in (
            pair_claim([1.0] * 3, [1.0] * 3, limit=-0.1, value_range=(0.0, 1.0)),
            pair_claim([1.0] * 3, [0.0] * 3, limit=0.0, value_range=(0.0, 1.0)),
            quantile_claim([1.0, 2.0, 3.0], 0.95, at_most=10.0),
            threshold_claim([1.0, 2.0, 3.0], at_most=10.0, value_range=None),
        ):
            assert combine_outcomes(judge_all([claim], 0.05, watched=watched)) == "undecided"


def test_this_set_is_settled_by_what_is_left_of_it() -> None:
    part, whole = differing(300, 20, 24, -0.02, population=400), differing(400, 20, 28, -0.02, population=400)
    (open_,) = judge_all([part], 0.05, watched=True)
    (equal,) = judge_all([whole], 0.05, watched=True)

    assert open_.outcome == "undecided"
    assert open_.about_n_more is not None
    assert open_.about_n_more <= 100
    # Worse by just the margin, for certain.
    assert equal.outcome == "fail"


def test_a_gate_without_rules_or_examples_is_undecided() -> None:
    (found,) = judge_all([threshold_claim([], at_least=0.5, value_range=(0.0, 1.0))], 0.05, watched=False)

    assert (found.outcome, found.reason, found.about_n_more) == ("undecided", "no_examples", None)
    assert combine_outcomes([]) == "undecided"


def test_attempts_spend_no_more_than_alpha_together() -> None:
    assert sum(alpha_of_attempt(0.05, j) for j in range(1, 10_000)) == pytest.approx(0.05, rel=1e-3)
    with pytest.raises(ValueError, match="attempt"):
        alpha_of_attempt(0.05, 0)


@pytest.mark.parametrize("watched", [False, True])
def test_what_is_said_to_settle_it_does_so_four_times_in_five(watched: bool) -> None:
    found = examples_needed(differing(1000, 100, 100, -0.08), 0.05, watched=watched)
    assert found is not None
    rng = np.random.default_rng(6)

    def is_shown() -> bool:
        first, second = rng.choice([[1, 0], [0, 1], [0, 0]], size=found, p=[0.1, 0.1, 0.8]).T.astype(float)
        claim = pair_claim(first, second, limit=-0.08, value_range=(0.0, 1.0))
        lower = compute_bounds(claim, 0.05, watched=watched).lower
        return lower is not None and lower > -0.08

    assert sum(is_shown() for _ in range(150)) / 150 == pytest.approx(0.8, abs=0.12)


def test_more_examples_could_have_shown_less() -> None:
    for watched in (False, True):
        effects = [smallest_effect(differing(n, n // 10, n // 10, -0.05), 0.05, watched=watched) for n in (100, 400)]

        assert effects[0] is not None
        assert effects[1] is not None
        assert 1.6 < effects[0] / effects[1] < 2.6
    assert smallest_effect(differing(5, 1, 1, 0.9), 0.05, watched=False) is None


def test_a_share_needs_what_its_exact_test_needs() -> None:
    perfect = threshold_claim([1.0] * 20, at_least=0.95, value_range=None, binary=True)

    # The fewest of which none may fail: .95 ** 59 is below .05.
    assert examples_needed(perfect, 0.05, watched=False) == 59
    assert examples_needed(threshold_claim([0.0] * 20, at_least=0.95, value_range=None, binary=True), 0.05,
                           watched=False) is None  # fmt: skip

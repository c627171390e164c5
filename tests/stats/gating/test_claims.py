"""What a rule becomes: scores turned so that more is better, and what is missing as the worst and as the best."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalsvc.stats.gating.claims import pair_claim, quantile_claim, threshold_claim
from evalsvc.stats.gating.power import mirrored

NAN = math.nan


def test_a_missing_half_counts_against_the_candidate_to_pass_and_for_it_to_fail() -> None:
    claim = pair_claim([NAN, 1.0, NAN], [1.0, NAN, NAN], limit=0.0, value_range=(0.0, 1.0))

    assert claim.worst.tolist() == [-1.0, 0.0, -1.0]
    assert claim.best.tolist() == [0.0, 1.0, 1.0]
    assert claim.n_missing == 3


def test_without_a_range_what_is_missing_leaves_no_bound() -> None:
    assert pair_claim([NAN, 1.0], [1.0, 1.0], limit=0.0, value_range=None).is_bounded_by_missing
    assert not pair_claim([2.0, 1.0], [1.0, 1.0], limit=0.0, value_range=None).is_bounded_by_missing


def test_at_most_is_at_least_turned() -> None:
    claim = threshold_claim([2.0, NAN], at_most=3.0, value_range=(1.0, 5.0))

    assert (claim.worst.tolist(), claim.best.tolist()) == ([-2.0, -5.0], [-2.0, -1.0])
    assert (claim.limit, claim.reach) == (-3.0, (-5.0, -1.0))


def test_a_share_at_most_is_one_of_zeros_at_least() -> None:
    claim = threshold_claim([1.0, 0.0, NAN], at_most=0.2, value_range=(0.0, 1.0), binary=True)

    assert (claim.worst.tolist(), claim.best.tolist()) == ([0.0, 1.0, 0.0], [0.0, 1.0, 1.0])
    assert (claim.limit, claim.is_share) == (0.8, True)


def test_a_quantile_is_a_claim_about_a_share() -> None:
    scores = [100.0, 500.0, 900.0, NAN]

    most = quantile_claim(scores, 0.95, at_most=500.0)
    least = quantile_claim(scores, 0.05, at_least=500.0)

    assert (most.worst.tolist(), most.best.tolist(), most.limit) == ([1, 1, 0, 0], [1, 1, 0, 1], 0.95)
    assert (least.worst.tolist(), least.best.tolist(), least.limit) == ([0, 1, 1, 0], [0, 1, 1, 1], 0.95)


def test_a_bound_must_be_given() -> None:
    with pytest.raises(ValueError, match="at_least"):
        threshold_claim([1.0], value_range=None)


def test_the_mirror_of_a_mirror_is_the_claim() -> None:
    for claim in (
        pair_claim([1.0, NAN], [0.5, 0.5], limit=-0.1, value_range=(0.0, 1.0)),
        quantile_claim([1.0, 2.0, NAN], 0.9, at_most=1.0),
    ):
        twice = mirrored(mirrored(claim))

        assert np.array_equal(twice.worst, claim.worst)
        assert np.array_equal(twice.best, claim.best)
        assert twice.limit == pytest.approx(claim.limit)
        assert (twice.reach, twice.may_equal) == (claim.reach, claim.may_equal)

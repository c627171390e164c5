"""Ends that err with alpha each: against exact sums, against scipy, and where there is nothing to go by."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]
from scipy.special import gammaln, xlogy  # type: ignore[import-untyped, unused-ignore]

from evalsvc.stats.formulas.clusters import Moments
from evalsvc.stats.formulas.quantiles import compute_quantiles
from evalsvc.stats.gating.claims import pair_claim, quantile_claim, threshold_claim
from evalsvc.stats.gating.decisions import judge_all
from evalsvc.stats.gating.ends import NOTHING, compute_bounds
from evalsvc.stats.gating.fortunes import GAMBLERS, anytime_bound, growth, is_ruled_out

NAN = math.nan


@pytest.mark.parametrize("alpha", [0.05, 0.025, 0.0125])
@pytest.mark.parametrize("n", [3, 10, 30, 100])
@pytest.mark.parametrize("margin", [0.0, 0.02, 0.05, 0.2])
def test_not_worse_is_wrongly_shown_at_most_as_often_as_promised_summed_exactly(
    n: int, margin: float, alpha: float
) -> None:
    """Over all counts of pairs for and against, for candidates that are worse by just the margin."""
    counts = np.array([(p, m, n - p - m) for p in range(n + 1) for m in range(n + 1 - p)], dtype=np.float64)
    mean = (counts[:, 0] - counts[:, 1]) / n
    variance = (counts[:, 0] + counts[:, 1]) / n - mean**2
    lower = [Moments(n, m, v).end(-1.0, alpha) for m, v in zip(mean.tolist(), variance.tolist(), strict=True)]
    shown = counts[np.array(lower) > -margin]
    orders = gammaln(n + 1) - gammaln(shown + 1).sum(axis=1)

    for against in np.linspace(margin, (1.0 + margin) / 2.0, 40).tolist():
        shares = np.array([against - margin, against, max(0.0, 1.0 - 2.0 * against + margin)])
        assert np.exp(orders + xlogy(shown, shares).sum(axis=1)).sum() <= alpha * 1.03


def test_a_share_has_the_ends_of_the_binomial_tests() -> None:
    row = [1.0] * 45 + [0.0] * 5

    found = compute_bounds(threshold_claim(row, at_least=0.8, value_range=None, binary=True), 0.05, watched=False)

    exact = stats.binomtest(45, 50).proportion_ci(0.9, "exact")
    assert (found.lower, found.upper) == pytest.approx((exact.low, exact.high))


def test_a_quantile_is_shown_where_its_order_statistic_is_below_the_limit() -> None:
    row = np.random.default_rng(3).lognormal(6.0, 0.8, 300)
    (found,) = compute_quantiles(row, 0.9, at=[0.9])
    assert found.upper is not None

    at = compute_bounds(quantile_claim(row, 0.9, at_most=found.upper), 0.05, watched=False)
    below = compute_bounds(quantile_claim(row, 0.9, at_most=found.upper - 1e-6), 0.05, watched=False)

    assert at.lower is not None
    assert below.lower is not None
    assert at.lower >= 0.9 > below.lower


def test_equal_candidates_have_a_width_and_three_rows_show_nothing() -> None:
    for n, least, most in ((3, -1.0, -0.9), (60, -0.06, -0.05), (200, -0.02, -0.01)):
        found = compute_bounds(
            pair_claim([1.0] * n, [1.0] * n, limit=-0.05, value_range=(0.0, 1.0)), 0.05, watched=False
        )

        assert found.lower is not None
        assert least < found.lower < most
        assert found.upper == pytest.approx(-found.lower)


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("n", [1, 50, 5000])
def test_without_a_range_a_mean_has_no_bounds_until_the_whole_set_is_seen(n: int, watched: bool) -> None:
    row = np.random.default_rng(1).exponential(1.0, n)

    assert compute_bounds(threshold_claim(row, at_most=2.0, value_range=None), 0.05, watched=watched) == NOTHING
    assert compute_bounds(pair_claim(row, row + 9.0, limit=0.0, value_range=None), 0.05, watched=watched) == NOTHING
    (judged,) = judge_all([threshold_claim(row, at_most=2.0, value_range=None)], 0.05, watched=watched)
    assert (judged.outcome, judged.reason, judged.smallest_effect) == ("undecided", "no_range", None)
    whole = compute_bounds(threshold_claim(row, at_most=2.0, value_range=None, population=n), 0.05, watched=watched)
    assert whole.method == "census"


def test_this_set_is_known_when_all_of_it_has_been_seen() -> None:
    row, value_range = [1.0, 0.0, 1.0, NAN], (0.0, 1.0)

    whole = compute_bounds(
        threshold_claim(row, at_least=0.5, value_range=value_range, population=4), 0.05, watched=True
    )
    part = compute_bounds(
        threshold_claim(row, at_least=0.5, value_range=value_range, population=8), 0.05, watched=False
    )
    watched = compute_bounds(
        threshold_claim(row, at_least=0.5, value_range=value_range, population=8), 0.05, watched=True
    )

    assert (whole.lower, whole.upper, whole.method) == (0.5, 0.75, "census")
    assert (part.lower, part.upper, part.method) == (0.25, 0.875, "feasible")
    assert watched.method == "betting"


def test_fortunes_gain_nothing_where_the_mean_is_true() -> None:
    for share in (0.02, 0.475, 0.95):
        steps = np.exp(growth(np.array([0.0, 1.0]), share))

        assert steps @ np.array([1.0 - share, share]) == pytest.approx(np.ones(GAMBLERS.size))


def test_a_watched_bound_never_takes_back_what_it_has_shown() -> None:
    row = (np.random.default_rng(2).random(600) < 0.9).astype(float)
    bounds = [anytime_bound(row[:n], (0.0, 1.0), 0.05) for n in range(20, 600, 20)]

    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(bounds))
    assert bounds[-1] < 0.9
    assert is_ruled_out(row, bounds[-1] - 1e-6, 0.05)
    assert not is_ruled_out(row, bounds[-1] + 1e-6, 0.05)


def test_many_scores_are_taken_a_part_at_a_time() -> None:
    row = np.tile([1.0, 1.0, 0.0, 1.0], 5000)

    assert is_ruled_out(row, 0.7, 0.05)
    assert not is_ruled_out(row, 0.7501, 0.05)
    assert not is_ruled_out(row[:0], 0.5, 0.05)

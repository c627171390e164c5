"""Histories of scores that were drawn with unequal probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, t

from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.histories.batches import batched_interval
from evalsvc.stats.histories.weighted import hajek_mean, korn_graubard, weigh_scores, weighted_interval
from tests.stats.reference import Row

RUNS = 600
LIMITS = (0.0, 1.0)


def draw(seed: int, n: int = 60) -> tuple[Row, Row, Any]:
    """Scores, probabilities and clusters."""
    rng = np.random.default_rng(seed)
    return rng.beta(2, 1, n), rng.choice([0.05, 0.25, 1.0], n), rng.integers(0, 25, n)


# --- Moments


def test_a_mean_and_its_variance_by_hand() -> None:
    """Weights 1, 1, 2, 2: ŷ = (1 + 2) / 6, and V = 4/3 · (1/4 + 1/4 + 1 + 1) / 36."""
    found = weigh_scores(np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0, 2.0]))

    assert (found.mean, found.variance) == pytest.approx((0.5, 4 / 3 * 2.5 / 36))
    # 6² / (1 + 1 + 4 + 4), and n/(n - 1) · .25 / V = 3.6 as well.
    assert (found.n_kish, found.n_eff) == pytest.approx((3.6, 3.6))


def test_the_variance_of_clusters_by_hand() -> None:
    """Clusters {1, 0} of weight 1 and {0, 1} of weight 2 have the mean 1/2 each; {1, 1} has D = 2 · 2 · (1 - ŷ)."""
    row, weights = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0, 2.0, 2.0, 2.0])
    found = weigh_scores(row, weights, np.array([4, 4, 7, 7, 9, 9]))

    mean = 7 / 10
    deviations = np.array([1 - 2 * mean, 2 - 4 * mean, 4 - 4 * mean])
    assert (found.mean, found.n_groups, found.n_kish) == pytest.approx((mean, 3, 100 / (4 + 16 + 16)))
    assert found.variance == pytest.approx(3 / 2 * float(deviations @ deviations) / 100)


def test_the_variance_is_that_of_the_ratio_linearised_by_the_jackknife() -> None:
    row, probabilities, _ = draw(1, 400)
    weights = 1 / probabilities
    without = [hajek_mean(np.delete(row, i), np.delete(weights, i)) for i in range(400)]

    jackknife = 399 / 400 * float(((np.array(without) - np.mean(without)) ** 2).sum())

    assert weigh_scores(row, weights).variance == pytest.approx(jackknife, rel=0.05)


def test_weights_are_relative() -> None:
    row, probabilities, clusters = draw(2)
    found, scaled = (
        weighted_interval(row, probabilities * factor, value_range=LIMITS, clusters=clusters) for factor in (1.0, 0.5)
    )

    assert scaled[0] == found[0]
    assert scaled[1] == pytest.approx(found[1])


def test_no_more_effective_scores_than_kish_counts() -> None:
    """Scores of small weight have all the variance: it says nothing of those with large weights."""
    row = np.array([1.0] * 50 + [0.0, 1.0] * 475)
    found = weigh_scores(row, np.array([20.0] * 50 + [1.0] * 950))

    assert found.n_eff == pytest.approx(1950**2 / (50 * 400 + 950))
    assert found.n / (found.n - 1) * found.score_variance / found.variance > 2 * found.n_eff


# --- Equal weights


@pytest.mark.parametrize("probability", [0.05, 1.0])
def test_equal_weights_give_the_unweighted_interval_of_a_share(probability: float) -> None:
    row = (draw(3)[0] > 0.4).astype(float)
    found, n_eff = weighted_interval(row, [probability] * row.size, 0.9, value_range=LIMITS, binary=True)

    expected = clopper_pearson(int(row.sum()), row.size, 0.9)
    assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-8)
    assert (found.median, n_eff) == pytest.approx((row.mean(), row.size))


@pytest.mark.parametrize("value_range", [None, LIMITS])
def test_equal_weights_give_the_unweighted_interval_of_clusters(value_range: tuple[float, float] | None) -> None:
    row, _, clusters = draw(4)
    found, _ = weighted_interval(row, [0.25] * row.size, value_range=value_range, clusters=clusters)
    expected = batched_interval(row, clusters, value_range=value_range)

    assert (found.lower, found.median, found.upper) == (expected.lower, expected.median, expected.upper)
    assert (found.method, found.warnings) == ("hajek-cr1", expected.warnings)


def test_a_single_score_is_a_cluster_of_one() -> None:
    row, probabilities, _ = draw(5)
    found, _ = weighted_interval(row, probabilities, value_range=LIMITS)
    clustered, _ = weighted_interval(row, probabilities, value_range=LIMITS, clusters=np.arange(row.size))

    assert (found.lower, found.median, found.upper) == (clustered.lower, clustered.median, clustered.upper)
    assert found.method == "hajek"


# --- Korn and Graubard


def test_korn_graubard_by_their_formula() -> None:
    """With n* = n_eff · (t_{n-1} / t_{n_K-1})² scores, as quantiles of F or of the beta distribution."""
    row, probabilities = np.array([0.0, 0.0, 0.0, 1.0] * 50), np.array([0.05, 1.0, 0.5, 0.25] * 50)
    weights = 1 / probabilities
    mean = float(weights @ row / weights.sum())
    variance = 200 / 199 * float(((weights * (row - mean)) ** 2).sum()) / float(weights.sum()) ** 2
    n_kish = float(weights.sum()) ** 2 / float(weights @ weights)
    n_eff = min(n_kish, 200 * mean * (1 - mean) / 199 / variance)
    n = n_eff * (t.ppf(0.975, 199) / t.ppf(0.975, n_kish - 1)) ** 2
    expected = beta.ppf(0.025, n * mean, n * (1 - mean) + 1), beta.ppf(0.975, n * mean + 1, n * (1 - mean))

    found, n_found = weighted_interval(row, probabilities, value_range=LIMITS, binary=True)

    assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-8)
    assert (found.median, n_found) == pytest.approx((mean, n_eff))
    assert found.method == "korn-graubard"


def test_equal_scores_count_as_kish_says() -> None:
    moments = weigh_scores(np.ones(100), np.array([1.0, 4.0] * 50))
    lower, upper = korn_graubard(moments, 0.95)

    assert (moments.n_eff, upper) == (pytest.approx(250**2 / (50 + 800)), 1.0)
    assert lower < 0.025 ** (1 / moments.n_eff)


# --- Coverage


def rates(n_rare: int, n_all: int, bad_rare: float, bad_all: float) -> tuple[Row, Row, float]:
    """Scores of a rule at .05, then at 1, and how many fail of each: probabilities, pass rates, and the true rate."""
    probabilities = np.array([0.05] * n_rare + [1.0] * n_all)
    passes = 1 - np.array([bad_rare] * n_rare + [bad_all] * n_all)
    return probabilities, passes, hajek_mean(passes, 1 / probabilities)


def coverage(probabilities: Row, make: Callable[[np.random.Generator], Row], truth: float, **options: Any) -> float:
    """Return the share of 95 % intervals that cover."""
    rng, hits = np.random.default_rng(11), 0
    for _ in range(RUNS):
        found, _ = weighted_interval(make(rng), probabilities, value_range=LIMITS, **options)
        assert found.lower is not None and found.upper is not None
        hits += found.lower <= truth <= found.upper
    return hits / RUNS


@pytest.mark.parametrize("bad", [0.02, 0.05, 0.1, 0.5])
@pytest.mark.parametrize(("n_rare", "n_all"), [(50, 950), (500, 500), (20, 200), (950, 50)])
def test_shares_are_covered_at_every_base_rate(n_rare: int, n_all: int, bad: float) -> None:
    probabilities, passes, truth = rates(n_rare, n_all, bad, bad)

    def make(rng: np.random.Generator) -> Row:
        return (rng.random(passes.size) < passes).astype(float)

    assert coverage(probabilities, make, truth, binary=True) >= 0.94


@pytest.mark.parametrize(("bad_rare", "bad_all"), [(0.02, 0.2), (0.2, 0.02), (0.02, 0.5), (0.5, 0.05)])
@pytest.mark.parametrize(("n_rare", "n_all"), [(50, 950), (500, 500)])
def test_shares_are_covered_where_rates_differ(n_rare: int, n_all: int, bad_rare: float, bad_all: float) -> None:
    """What is drawn with the probability 1 fails more or less often: unweighted intervals are of another number."""
    probabilities, passes, truth = rates(n_rare, n_all, bad_rare, bad_all)

    def make(rng: np.random.Generator) -> Row:
        return (rng.random(passes.size) < passes).astype(float)

    assert coverage(probabilities, make, truth, binary=True) >= 0.94
    assert coverage(np.ones(passes.size), make, truth, binary=True) < 0.05


@pytest.mark.parametrize(("a", "b"), [(2, 2), (0.1, 0.02), (5, 0.2)])
@pytest.mark.parametrize(("n_rare", "n_all"), [(20, 200), (50, 950), (500, 500)])
def test_means_are_covered(n_rare: int, n_all: int, a: float, b: float) -> None:
    probabilities, _, _ = rates(n_rare, n_all, 0.0, 0.0)

    assert coverage(probabilities, lambda rng: rng.beta(a, b, probabilities.size), a / (a + b)) >= 0.94


@pytest.mark.parametrize("correlation", [0.1, 0.5])
@pytest.mark.parametrize("bad", [0.02, 0.1, 0.5])
def test_shares_of_sessions_are_covered(bad: float, correlation: float) -> None:
    """100 sessions of five scores at .05 and 100 at 1, with a rate of their own each."""
    sessions = np.repeat(np.arange(200), 5)
    probabilities = np.where(sessions < 100, 0.05, 1.0)
    size = (1 - correlation) / correlation

    def make(rng: np.random.Generator) -> Row:
        return (rng.random(1000) < rng.beta((1 - bad) * size, bad * size, 200)[sessions]).astype(float)

    assert coverage(probabilities, make, 1 - bad, clusters=sessions) >= 0.94


# --- Ends and errors


def test_few_effective_scores_are_warned_of() -> None:
    few, n_eff = weighted_interval([1.0, 0.0] * 50, [0.01, *([1.0] * 99)], value_range=LIMITS, binary=True)

    assert n_eff < 30
    assert "n<30" in few.warnings


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ([1.0], {"value_range": LIMITS}),
        ([1.0, 1.0], {}),
        ([1.0, 0.0], {"clusters": [1, 1]}),
    ],
)
def test_no_numbers_where_nothing_shows_the_variance(row: list[float], options: dict[str, Any]) -> None:
    found, _ = weighted_interval(row, [0.5] * len(row), **options)

    assert (found.lower, found.median, found.upper, found.method) == (None, None, None, None)


def test_one_cluster_has_the_range() -> None:
    found, _ = weighted_interval([1.0, 0.0], [0.5, 1.0], value_range=LIMITS, clusters=[1, 1])

    assert (found.lower, found.upper, found.warnings) == (0.0, 1.0, ("n<30", "batches<30"))


@pytest.mark.parametrize(
    ("probabilities", "options", "message"),
    [
        ([0.5, 0.0], {}, "above 0"),
        ([0.5, 1.5], {}, "at most at 1"),
        ([0.5], {}, "as many as the scores, 2, not 1"),
        ([0.5, 0.5], {"clusters": [1]}, "as many as the scores, 2, not 1"),
        ([0.5, float("nan")], {}, "finite"),
    ],
)
def test_wrong_input_is_refused(probabilities: list[float], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        weighted_interval([1.0, 0.0], probabilities, value_range=LIMITS, **options)

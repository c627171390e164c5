"""Who leads and what is said about it: pure numbers, against brute force and over many drawn runs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.client import Metrics, Standing
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.pairs.versus import ComparisonQuestion, comparison_out
from evalsvc.experiments.reporting.words import format_comparison, number
from evalsvc.stats.pairs.common import Common, advanced, between
from evalsvc.stats.pairs.comparison import sign_test
from evalsvc.stats.pairs.leader import select_leader
from evalsvc.stats.pairs.paired import Differences
from evalsvc.stats.pairs.simultaneous import n_comparisons

BINARY = Metric("right", "pass", value_range=(0.0, 1.0), binary=True)
GRADED = Metric("grade", "score", value_range=(1.0, 5.0))
NOTHING = (0.0,) * 8


def common_of(first: Any, second: Any, *, fresh_from: int = 0, parts: int = 1) -> Common:
    """Count two rows of compared scores, in so many steps."""
    common = Common(1, 2, log_better=NOTHING, log_worse=NOTHING)
    for one, other in zip(np.array_split(first, parts), np.array_split(second, parts), strict=True):
        (common,) = advanced([common], [(one, other)], [fresh_from])
    return common


def commons_of(scores: Any, watermarks: Any) -> dict[tuple[int, int], Common]:
    found = {}
    for i, k in itertools.combinations(range(len(scores)), 2):
        end = min(watermarks[i], watermarks[k])
        found[i, k] = common_of(scores[i][:end], scores[k][:end])
    return found


def leader_among(commons: dict[tuple[int, int], Common], n: int) -> int:
    def differences(one: int, other: int) -> Differences | None:
        common = between(commons, one, other)
        return common.differences if common is not None and common.n else None

    return select_leader(range(n), differences)


def question(metric: Metric = BINARY, n: int = 400, k: int = 2) -> ComparisonQuestion:
    return ComparisonQuestion(metric, n, 0.95, n_comparisons(k))


runs = st.integers(2, 6).flatmap(
    lambda k: st.tuples(
        st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, float("nan")]), min_size=12, max_size=12),
            min_size=k,
            max_size=k,
        ),
        st.lists(st.integers(0, 12), min_size=k, max_size=k),
    )
)


@given(runs)
def test_leader_and_sign_of_the_difference_never_disagree(run: Any) -> None:
    scores, watermarks = np.array(run[0]), run[1]
    commons, k = commons_of(scores, watermarks), len(run[0])
    leader = leader_among(commons, k)
    deltas = {
        (i, j): comparison_out(question(n=12, k=k), common, fresh_from=0)["delta"] or 0.0
        for i in range(k)
        for j in range(k)
        if i != j and (common := between(commons, i, j)) is not None
    }
    loses_none = [i for i in range(k) if all(deltas.get((i, j), 0.0) >= 0.0 for j in range(k) if j != i)]
    if loses_none:
        assert all(deltas.get((j, leader), 0.0) <= 0.0 for j in range(k) if j != leader)
    assert all(deltas[i, j] == -deltas[j, i] for i, j in deltas)


@given(st.lists(st.lists(st.integers(0, 3), min_size=20, max_size=20), min_size=2, max_size=6))
def test_when_all_have_seen_all_the_leader_has_the_best_mean(rows: Any) -> None:
    scores = np.array(rows, dtype=float) / 3
    leader = leader_among(commons_of(scores, [20] * len(scores)), len(scores))
    assert sum(rows[leader]) == max(sum(row) for row in rows)


def test_on_a_cycle_the_largest_smallest_margin_leads_then_arrival() -> None:
    beats = {(0, 1): 3.0, (1, 2): 2.0, (2, 0): 9.0}

    def differences(one: int, other: int) -> Differences:
        total = beats.get((one, other), -beats.get((other, one), 0.0))
        return Differences(20, total, 20.0, 12, 8)

    assert select_leader([0, 1, 2], differences) == 2  # it loses to 1 by two only
    equal = lambda one, other: Differences(20, 0.0, 4.0, 2, 2)  # noqa: E731
    assert select_leader([5, 3, 4], equal) == 5
    assert select_leader([7], equal) == 7


@pytest.mark.parametrize("parts", [1, 7])
@pytest.mark.parametrize("fresh_from", [0, 25])
def test_comparisons_equal_a_brute_force_count(parts: int, fresh_from: int) -> None:
    rng = np.random.default_rng(3)
    first, second = rng.choice([0.0, 0.5, 1.0, np.nan, np.inf], size=(2, 60), p=[0.3, 0.2, 0.3, 0.1, 0.1])
    second[np.isinf(first)] = np.inf
    first[np.isinf(second)] = np.inf
    found = common_of(first, second, fresh_from=fresh_from, parts=parts)
    rows = [(a, b) for a, b in zip(first, second, strict=True) if not np.isinf(a)]
    scored = [a - b for a, b in rows if not np.isnan(a - b)]
    missing = [(a, b) for a, b in rows if np.isnan(a - b)]
    assert (found.upto, found.n, found.n_missing) == (60, len(scored), len(missing))
    assert found.total == pytest.approx(sum(scored))
    assert found.squares == pytest.approx(sum(d * d for d in scored))
    assert (found.n_plus, found.n_minus) == (sum(d > 0 for d in scored), sum(d < 0 for d in scored))
    low = [(0 if np.isnan(a) else a) - (1 if np.isnan(b) else b) for a, b in missing]
    high = [(1 if np.isnan(a) else a) - (0 if np.isnan(b) else b) for a, b in missing]
    assert (found.missing_low, found.missing_high) == (pytest.approx(sum(low)), pytest.approx(sum(high)))
    # Nothing is bet on an example of which a score is missing.
    bets = [
        a - b
        for pos, (a, b) in enumerate(zip(first, second, strict=True))
        if pos >= fresh_from and np.isfinite(a) and np.isfinite(b)
    ]
    assert found.log_better[4] == pytest.approx(sum(np.log1p(0.25 * d) for d in bets))
    assert found.swap().swap() == found


@pytest.mark.parametrize("n", [60, 100, 200, 400])
@pytest.mark.parametrize("apart", [1, 2, 5])
@pytest.mark.parametrize("order", ["first", "last", "spread"])
def test_a_few_examples_apart_may_be_chance_at_every_watermark(n: int, apart: int, order: str) -> None:
    places = {"first": range(apart), "last": range(n - apart, n), "spread": range(n // apart - 1, n, n // apart)}
    rng = np.random.default_rng(n + apart)
    both = rng.integers(0, 2, n).astype(float)
    first, second = both.copy(), both.copy()
    first[list(places[order])], second[list(places[order])] = 1.0, 0.0
    common = Common(1, 2, log_better=NOTHING, log_worse=NOTHING)
    for end in range(1, n + 1):
        (common,) = advanced([common], [(first[end - 1 : end], second[end - 1 : end])], [0])
        found = comparison_out(question(n=n), common, fresh_from=0)
        assert found["word"] == "may be chance"
        assert found["lower"] <= 0.0 <= found["upper"], end
        assert found["lower_alone"] <= 0.0 <= found["upper_alone"]
        assert found["covers"] == "new data"
        on_page, asides = format_comparison({"config_id": "2", **found}, {"2": "other"})
        in_client = Standing("1", "a", "running", None, 0, end, end, 0, 0.0, Metrics(), found).versus
        assert on_page.startswith("may be chance: ")
        assert in_client.startswith("may be chance (")
        assert "new data" in on_page
        assert "new data" in in_client
    # The second line has the exact difference on this set.
    assert asides[0] == f"on this set: {number(apart / n, signed=True)} exactly"
    assert in_client.endswith(f", {apart / n:+.3g} exactly on this set)")
    assert found["this_set"] == {"lower": apart / n, "upper": apart / n, "method": "census", "exact": True}
    assert found["delta"] == pytest.approx(apart / n)


def test_a_clear_difference_is_said() -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.random(200) < 0.9).astype(float), (rng.random(200) < 0.5).astype(float)
    common = common_of(first, second)
    found = comparison_out(question(n=200, k=16), common, fresh_from=0)
    assert (found["word"], found["n_comparisons"], found["label"]) == ("better", 120, "one look")
    assert found["lower"] > 0.0
    assert found["lower"] < found["lower_alone"] < found["upper_alone"] < found["upper"]
    assert comparison_out(question(n=200, k=16), common.swap(), fresh_from=0)["word"] == "worse"
    late = common_of(first, second, fresh_from=200)
    assert comparison_out(question(n=200), late, fresh_from=200)["word"] == "may be chance"
    assert comparison_out(question(n=200), late, fresh_from=200)["label"] == "after the fact: one look"


@pytest.mark.parametrize("n", [30, 60, 100, 400])
@pytest.mark.parametrize("metric", [BINARY, GRADED], ids=["binary", "graded"])
def test_the_interval_for_new_data_covers_the_true_difference(n: int, metric: Metric) -> None:
    """At least .94; a small part of what `make simulate` runs, so two standard errors below that are allowed."""
    rng, n_runs, hits = np.random.default_rng(n), 600, 0
    truth = 0.8 - (0.8 * 0.8 + 0.2 * 0.4) if metric is BINARY else _graded_truth()
    for _ in range(n_runs):
        base = rng.random(n)
        first: np.ndarray
        second: np.ndarray
        if metric is BINARY:
            first, second = base < 0.8, np.where(rng.random(n) < 0.2, rng.random(n) < 0.4, base < 0.8)
        else:
            first, second = np.round(4 * base) / 4, np.round(4 * np.clip(base + rng.choice([-0.25, 0, 0], n), 0, 1)) / 4
        d = np.asarray(first, float) - np.asarray(second, float)
        common = Common(1, 2, n, n, float(d.sum()), float((d * d).sum()), int((d > 0).sum()), int((d < 0).sum()))
        found = comparison_out(question(metric, n), common, fresh_from=0)
        hits += found["lower"] <= truth * metric.unit(1) <= found["upper"]
    assert hits / n_runs >= 0.94 - 2 * (0.06 * 0.94 / n_runs) ** 0.5


def _graded_truth() -> float:
    base = (np.arange(400_000) + 0.5) / 400_000
    lowered = np.round(4 * np.clip(base - 0.25, 0, 1)) / 4
    return float((np.round(4 * base) / 4 - lowered).mean() / 3)


def test_the_sign_test_is_mcnemars() -> None:
    from scipy.stats import binomtest

    for plus, minus in [(5, 0), (3, 9), (7, 7), (20, 5), (0, 0)]:
        expected = binomtest(plus, plus + minus).pvalue if plus + minus else 1.0
        assert sign_test(Differences(50, 0.0, 0.0, plus, minus), binary=True) == pytest.approx(expected)
    assert sign_test(Differences(50, 0.0, 0.0, 3, 2), binary=False) == pytest.approx(2 / 2**5)


def test_missing_halves_widen_what_is_known_of_this_set() -> None:
    first, second = np.array([1.0] * 10), np.array([1.0] * 7 + [0.0] * 2 + [np.nan])
    found = comparison_out(question(n=10), common_of(first, second), fresh_from=0)
    assert (found["n"], found["n_missing"]) == (9, 1)
    assert found["delta"] == pytest.approx(2 / 9)
    assert (found["this_set"]["lower"], found["this_set"]["upper"]) == (pytest.approx(0.2), pytest.approx(0.3))
    assert found["this_set"]["exact"] is False


def test_in_runs_with_a_clone_the_leader_at_the_end_is_the_winner_of_the_census() -> None:
    from benchmarks.clones import census_leads

    assert census_leads(50) == 50

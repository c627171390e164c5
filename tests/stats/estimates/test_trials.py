"""pass^k and pass@k of tests with several trials: recorded values, what theory says, and what may not matter."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.stats.estimates.flakiness import ANYTIME, PLANNED, count_in_a_row, judge_test
from evalsvc.stats.estimates.splits import SampleSums, split_variance
from evalsvc.stats.estimates.trials import (
    TrialCounts,
    bound_tests,
    compute_hidden_flakiness,
    estimate_tests,
    score_test,
    split_trials,
    trace_curve,
)
from evalsvc.stats.formulas.clusters import cluster_mean_interval, sum_clusters

CASES = json.loads((Path(__file__).parent / "trials.json").read_text(encoding="utf-8"))
CLOSE = 1e-9


def counted(passed: list[int], trials: int | list[int], planned: int | None = None) -> TrialCounts:
    ran = np.full(len(passed), trials) if isinstance(trials, int) else np.array(trials)
    return TrialCounts(np.array(passed), ran, planned or int(ran.max()))


@pytest.mark.parametrize("case", CASES["trials"])
def test_the_recorded_tests(case: dict[str, Any]) -> None:
    for of, expected in (("pass^k", case["pass_hat_k"]), ("pass@k", case["pass_at_k"])):
        value = score_test(of, case["passed"], case["trials"], case["k"])
        assert value == (None if expected is None else pytest.approx(expected, rel=0.0, abs=CLOSE))


@pytest.mark.parametrize("case", CASES["sets"])
def test_the_recorded_sets(case: dict[str, Any]) -> None:
    counts = counted(case["passed"], case["trials"])
    found = estimate_tests(counts, case["metric"], case["k"], level=0.95)
    assert (found.value, found.lower, found.upper) == pytest.approx(
        (case["value"], case["lower"], case["upper"]), rel=0.0, abs=CLOSE
    )
    assert (found.method, found.n) == (case["method"], len(case["passed"]))
    assert trace_curve(counts, case["metric"], level=0.95)[case["k"] - 1] == found


@pytest.mark.parametrize("case", CASES["missing"])
def test_the_recorded_lost_trials(case: dict[str, Any]) -> None:
    counts = counted(case["passed"], case["ran"], case["planned"])
    assert bound_tests(counts, "pass^k", case["k"]) == pytest.approx((case["worst"], case["best"]), rel=0.0, abs=CLOSE)
    found = estimate_tests(counts, "pass^k", case["k"], level=0.95)
    assert found.value == pytest.approx(case["if_lost_at_random"], rel=0.0, abs=CLOSE)


@pytest.mark.parametrize("case", CASES["verdicts"])
def test_the_recorded_verdicts(case: dict[str, Any]) -> None:
    limits = {name: case[name] for name in ("level", "fine_at", "broken_at")}
    found = judge_test(case["passed"], case["trials"], **limits)
    assert (found.seen, found.verdict) == (case["seen"], case["verdict"])
    assert (found.at_least, found.at_most) == pytest.approx((case["at_least"], case["at_most"]), rel=0.0, abs=CLOSE)


@pytest.mark.parametrize(("k", "m"), [(1, 4), (2, 4), (3, 5), (3, 3)])
@pytest.mark.parametrize("chance", [0.3, 0.8])
def test_the_numbers_are_unbiased(k: int, m: int, chance: float) -> None:
    weights = [math.comb(m, c) * chance**c * (1 - chance) ** (m - c) for c in range(m + 1)]

    def expect(of: str) -> float:
        return sum(weight * (score_test(of, c, m, k) or 0.0) for c, weight in enumerate(weights))

    assert expect("pass^k") == pytest.approx(chance**k, rel=1e-12)
    assert expect("pass@k") == pytest.approx(1 - (1 - chance) ** k, rel=1e-12)
    assert expect("mean") == pytest.approx(chance, rel=1e-12)


def every_outcome(chances: tuple[float, ...], m: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the counts that tests with these chances can have, with how probable they are."""
    found = []
    for counts in itertools.product(range(m + 1), repeat=len(chances)):
        pairs = zip(chances, counts, strict=True)
        found.append((counts, math.prod(math.comb(m, c) * p**c * (1 - p) ** (m - c) for p, c in pairs)))
    return found


@pytest.mark.parametrize(("of", "k", "m"), [("pass^k", 1, 3), ("pass^k", 2, 4), ("pass@k", 2, 4), ("pass^k", 2, 5)])
def test_the_split_is_unbiased(of: str, k: int, m: int) -> None:
    chances = (0.2, 0.7, 0.95)
    outcomes = every_outcome(chances, m)
    powers = [p**k if of == "pass^k" else 1 - (1 - p) ** k for p in chances]

    def spread(p: float) -> float:
        scores = [score_test(of, c, m, k) or 0.0 for c in range(m + 1)]
        weights = [math.comb(m, c) * p**c * (1 - p) ** (m - c) for c in range(m + 1)]
        mean = sum(weight * score for weight, score in zip(weights, scores, strict=True))
        return sum(weight * (score - mean) ** 2 for weight, score in zip(weights, scores, strict=True))

    splits = [(split_trials(counted(list(counts), m), of, k), weight) for counts, weight in outcomes]
    within = sum(split.within * weight for split, weight in splits if split)
    between = sum(split.between * weight for split, weight in splits if split)
    assert within == pytest.approx(sum(map(spread, chances)) / 3, rel=1e-9)
    assert between == pytest.approx(float(np.var(powers, ddof=1)), rel=1e-9)


def test_the_split_of_one_trial_is_that_of_samples() -> None:
    passed, m = [4, 4, 0, 2, 4, 1, 3, 2], 4
    scores = np.array(passed) / m
    spreads = [c * (m - c) / (m * (m - 1)) for c in passed]
    sums = SampleSums(len(passed), float(scores.var(ddof=1)), len(passed), sum(spreads), sum(spreads) / m)
    expected, found = split_variance(sums, n_samples=m), split_trials(counted(passed, m), "pass^k", 1)
    assert expected is not None and found is not None
    assert (found.between, found.standard_error) == pytest.approx((expected.between, expected.standard_error))
    assert found.within == pytest.approx(expected.within / m)
    for row, other in zip(found.expected, expected.expected, strict=True):
        assert (row.n, row.n_samples) == (other.n, other.n_samples)
        assert row.standard_error == pytest.approx(other.standard_error)


@pytest.mark.parametrize("of", ["pass^k", "pass@k"])
def test_twice_the_tests_halve_the_variance(of: str) -> None:
    found = split_trials(counted([6, 6, 5, 3, 0, 6, 4, 6], 6), of, 3)
    assert found is not None
    row = next(row for row in found.expected if row.n == 16)
    assert row.standard_error == pytest.approx(found.standard_error / math.sqrt(2))


def test_a_split_takes_twice_k_trials() -> None:
    assert split_trials(counted([5, 4, 3], 5), "pass^k", 3) is None
    assert split_trials(counted([6, 4, 3], 6), "pass^k", 3) is not None


def test_clusters_take_the_guarded_form() -> None:
    passed = [5, 5, 4, 0, 5, 3, 5, 5, 1, 5]
    clusters = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    counts = TrialCounts(np.array(passed), np.full(10, 5), 5, clusters)
    scores = np.array([score_test("pass^k", c, 5, 3) for c in passed], dtype=float)
    ends, _ = cluster_mean_interval(sum_clusters(scores, clusters), level=0.95, value_range=(0.0, 1.0))
    found = estimate_tests(counts, "pass^k", 3, level=0.95)
    assert ends == (found.lower, found.upper) and found.method == "guarded-cr1"


def test_a_test_with_too_few_trials_is_left_out_and_bounded() -> None:
    counts = counted([3, 2, 0], [3, 2, 0], 3)
    found = estimate_tests(counts, "pass^k", 3, level=0.95)
    assert (found.n, found.value) == (1, 1.0)
    assert bound_tests(counts, "pass^k", 3) == pytest.approx((1 / 3, 1.0))
    assert bound_tests(counted([2], [2], 3), "pass@k", 2) == (1.0, 1.0)
    assert judge_test(0, 0).verdict == "undecided"


@pytest.mark.parametrize(("chance", "row"), [(0.5, 5), (0.8, 14), (0.9, 29), (0.95, 59)])
def test_how_many_passes_in_a_row_show_a_chance(chance: float, row: int) -> None:
    assert count_in_a_row(chance) == row
    assert judge_test(row, row, fine_at=chance).verdict == "fine"
    below = judge_test(row - 1, row - 1, fine_at=chance)
    assert (below.verdict, below.n_more) == ("undecided", 1)
    assert judge_test(0, row, broken_at=1.0 - chance).verdict == "broken"


def test_hidden_flakiness_is_of_the_tests_that_pass_all_but_one() -> None:
    # Of 4 tests that pass 4 of 5 trials (one in a fifth of the choices of four), all but one fail the fifth.
    assert compute_hidden_flakiness(counted([5, 4, 0], 5)) == pytest.approx((1.2 - 1.0) / 1.2)
    assert compute_hidden_flakiness(counted([5, 5], 5)) == 0.0
    assert compute_hidden_flakiness(counted([0, 0], 5)) is None
    assert compute_hidden_flakiness(counted([1, 0], 1)) is None


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=2, max_size=12), st.randoms())
def test_the_order_of_trials_and_tests_changes_nothing(tests: list[list[bool]], random: Any) -> None:
    before = counted([sum(trials) for trials in tests], 5)
    shuffled = [random.sample(trials, 5) for trials in random.sample(tests, len(tests))]
    after = counted([sum(trials) for trials in shuffled], 5)
    for of, k in (("pass^k", 3), ("pass@k", 2), ("mean", 1)):
        assert estimate_tests(before, of, k, level=0.95) == estimate_tests(after, of, k, level=0.95)
    assert trace_curve(before, "pass^k", level=0.95) == trace_curve(after, "pass^k", level=0.95)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_more_trials_to_pass_are_harder_and_more_tries_easier(passed: list[int]) -> None:
    counts = counted(passed, 6)
    falling = [row.value for row in trace_curve(counts, "pass^k", level=0.95)]
    rising = [row.value for row in trace_curve(counts, "pass@k", level=0.95)]
    assert all(
        after is not None and before is not None and after <= before for before, after in itertools.pairwise(falling)
    )
    assert all(
        after is not None and before is not None and after >= before for before, after in itertools.pairwise(rising)
    )


def test_counts_that_no_test_has_are_refused() -> None:
    for counts in ((3, 2, 1), (-1, 2, 1), (1, 2, 0)):
        with pytest.raises(ValueError, match="n_passed"):
            score_test("pass^k", *counts)


def chance_of_wrong(chance: float, method: str, n_most: int = 60) -> tuple[float, float]:
    """The exact probability that a test is ever fine, and ever broken, where trials are added until it is either."""
    going_on, ends = {0: 1.0}, {"fine": 0.0, "broken": 0.0}
    for n_trials in range(1, n_most + 1):
        counts: dict[int, float] = {}
        for passed, weight in going_on.items():
            counts[passed + 1] = counts.get(passed + 1, 0.0) + weight * chance
            counts[passed] = counts.get(passed, 0.0) + weight * (1.0 - chance)
        going_on = {}
        for passed, weight in counts.items():
            verdict = judge_test(passed, n_trials, method=method).verdict
            if verdict in ends:
                ends[verdict] += weight
            else:
                going_on[passed] = weight
    return ends["fine"], ends["broken"]


@pytest.mark.parametrize("n_most", [60, 150])
def test_verdicts_hold_where_trials_are_added_until_there_is_one(n_most: int) -> None:
    for method, is_valid in ((PLANNED, False), (ANYTIME, True)):
        fine, _ = chance_of_wrong(0.9, method, n_most)
        _, broken = chance_of_wrong(0.1, method, n_most)
        assert (fine <= 0.05, broken <= 0.05) == (is_valid, is_valid)
        assert fine == pytest.approx(broken)


def test_how_many_more_passes_decide_under_adaptive_trials() -> None:
    found = judge_test(10, 10, method=ANYTIME)
    assert (found.verdict, found.n_more) == ("undecided", 59)
    assert judge_test(68, 68, method=ANYTIME).verdict == "undecided"
    assert judge_test(69, 69, method=ANYTIME).verdict == "fine"
    assert judge_test(0, 69, method=ANYTIME).verdict == "broken"


def test_all_trials_are_biased_where_their_number_depends_on_them_and_the_first_k_are_not() -> None:
    """Tried until the first failure, twice at least and five times at most, with p = 0.5: summed over all outcomes."""
    expected = {"all": 0.0, "first": 0.0}
    for outcome in itertools.product((0, 1), repeat=5):
        n_trials = next((i for i in range(2, 6) if 0 in outcome[:i]), 5)
        expected["all"] += (score_test("pass^k", sum(outcome[:n_trials]), n_trials, 2) or 0.0) / 32
        expected["first"] += (score_test("pass^k", sum(outcome[:2]), 2, 2) or 0.0) / 32
    assert expected["first"] == 0.25
    assert expected["all"] < 0.2

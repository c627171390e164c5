"""Histories in batches and from several sources."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ttest_1samp

from evalsvc.stats import history_interval
from evalsvc.stats.histories.batches import batched_interval, homogeneity_p_value
from tests.stats.reference import Row


def in_batches(n_batches: int, spread: float, seed: int, size: int = 40) -> tuple[Row, list[int]]:
    rng = np.random.default_rng(seed)
    rates = np.clip(rng.normal(0.7, spread, n_batches), 0, 1)
    names = np.repeat(np.arange(n_batches), size)
    return (rng.random(names.size) < rates[names]).astype(float), names.tolist()


def test_equal_batches_are_students_interval_of_their_means() -> None:
    row, names = in_batches(6, 0.1, 1)
    expected = ttest_1samp(row.reshape(6, 40).mean(axis=1), 0.0).confidence_interval(0.9)

    found = batched_interval(row, names, 0.9)

    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-8)
    assert (found.method, found.n, found.warnings) == ("cr1", 240, ("batches<30",))


@pytest.mark.parametrize("n_batches", [5, 12])
def test_it_covers_where_single_scores_do_not(n_batches: int) -> None:
    hits = {"batches": 0, "scores": 0}
    for seed in range(400):
        row, names = in_batches(n_batches, 0.1, seed, size=200)
        batched, plain = batched_interval(row, names, value_range=(0, 1)), history_interval(row)
        assert batched.lower is not None
        assert batched.upper is not None
        assert plain.lower is not None
        assert plain.upper is not None
        hits["batches"] += batched.lower <= 0.7 <= batched.upper
        hits["scores"] += plain.lower <= 0.7 <= plain.upper

    assert hits["batches"] / 400 >= 0.92
    assert hits["scores"] / 400 < 0.65


def test_several_answers_to_one_question_are_a_batch() -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        rates = rng.beta(1, 1, 60)
        names = np.repeat(np.arange(60), 5)
        found = batched_interval((rng.random(300) < rates[names]).astype(float), names.tolist(), value_range=(0, 1))
        assert found.lower is not None
        assert found.upper is not None
        hits += found.lower <= 0.5 <= found.upper

    assert hits / 300 >= 0.92


def test_it_stays_within_the_range_and_needs_two_batches_without_one() -> None:
    found = batched_interval([1.0, 1.0, 0.0, 0.0], ["a", "a", "b", "b"], value_range=(0, 1))

    assert (found.lower, found.upper) == (0.0, 1.0)
    assert batched_interval([0.2, 0.4], ["a", "a"]).lower is None
    assert batched_interval([0.5] * 40, list(range(40))).lower is None
    one = batched_interval([0.2, 0.4], ["a", "a"], value_range=(0, 1))
    assert (one.lower, one.median, one.upper, one.method) == (0.0, 0.3, 1.0, "guarded-cr1")
    with pytest.raises(ValueError, match="`batches`"):
        batched_interval([0.2, 0.4], ["a"])


def test_batches_may_be_an_array_of_numbers() -> None:
    row, names = in_batches(6, 0.1, 1)
    hashes = np.array(names) * 7919 + 2**40

    assert batched_interval(row, hashes, value_range=(0, 1)) == batched_interval(row, names, value_range=(0, 1))


@pytest.mark.parametrize(
    ("n_questions", "repeats", "share"), [(50, 20, 0.85), (20, 50, 0.95), (200, 5, 0.98), (50, 20, 0.98)]
)
def test_repeats_of_golden_questions_are_covered(n_questions: int, repeats: int, share: float) -> None:
    rng, hits = np.random.default_rng(12), 0
    questions = np.tile(np.arange(n_questions), repeats)
    for _ in range(300):
        # Nine answers of ten to a question are the same on every night.
        is_right = rng.random(n_questions) < share
        row = np.where(rng.random(questions.size) < 0.9, is_right[questions], rng.random(questions.size) < share)
        found = batched_interval(row.astype(float), questions, value_range=(0, 1))
        assert found.lower is not None
        assert found.upper is not None
        hits += found.lower <= share <= found.upper

    assert hits / 300 >= 0.94


def test_sources_of_shares_are_compared_as_pearson_does() -> None:
    row = np.repeat([1.0, 0.0, 1.0, 0.0], [80, 20, 30, 20])
    names = ["evaluation"] * 100 + ["experiment"] * 50
    expected = chi2_contingency([[80, 20], [30, 20]], correction=False)
    n = row.size

    found = homogeneity_p_value(row, names)

    # Over all ways to share the scores out the variance has n-1, with Pearson n.
    assert found is not None
    assert found == pytest.approx(expected.pvalue, rel=0.05)
    assert n == 150


@pytest.mark.parametrize("shape", ["shares", "rare", "skewed"])
def test_sources_of_one_mean_are_seldom_called_mixed(shape: str) -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(1500):
        draw = {
            "shares": rng.random(300) < 0.8,
            "rare": rng.random(300) < 0.98,
            "skewed": rng.beta(0.3, 3, 300),
        }[shape]
        found = homogeneity_p_value(np.asarray(draw, dtype=float), ["a"] * 200 + ["b"] * 70 + ["c"] * 30)
        alarms += found is not None and found < 0.01

    assert alarms / 1500 <= 0.025


def test_sources_that_differ_are_found() -> None:
    rng = np.random.default_rng(4)
    row = np.concatenate([rng.random(500) < 0.856, rng.random(300) < 0.45]).astype(float)

    found = homogeneity_p_value(row, ["evaluation"] * 500 + ["experiment"] * 300)

    assert found is not None
    assert found < 1e-6


def test_small_or_single_sources_say_nothing() -> None:
    assert homogeneity_p_value([0.1, 0.9] * 10, ["a"] * 20) is None
    assert homogeneity_p_value([1.0] * 20 + [0.0] * 9, ["a"] * 20 + ["b"] * 9) is None
    assert homogeneity_p_value([1.0] * 40, ["a", "b"] * 20) is None
    with pytest.raises(ValueError, match="`sources`"):
        homogeneity_p_value([1.0], [])

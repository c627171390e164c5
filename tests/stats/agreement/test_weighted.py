"""Draws with unequal probabilities, and the means that they lead to."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.agreement.draws import FLOOR, draw_at_random, draw_poisson, inclusion_probabilities
from evalsvc.stats.agreement.weighted import LEAST_ANSWERS, weighted_mean
from evalsvc.stats.formulas.intervals import clopper_pearson

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n", [1, 10, 50, 199, 200, 300])
@pytest.mark.parametrize("weights", [RNG.random(200), np.ones(200), np.zeros(200), RNG.random(200) > 0.9])
def test_probabilities_add_up_to_what_was_asked_for(
    weights: np.ndarray[tuple[int], np.dtype[np.float64]], n: int
) -> None:
    found, _ = inclusion_probabilities([float(one) for one in weights], n)

    assert found.sum() == pytest.approx(min(n, 200))
    assert found.min() > 0 and found.max() <= 1


def test_no_probability_is_below_the_floor() -> None:
    found, c = inclusion_probabilities([0.0] * 900 + [1.0] * 100, 60)

    assert found.min() == FLOOR
    assert found.max() == pytest.approx(c) == pytest.approx(0.42)


def test_the_floor_never_draws_more_than_half() -> None:
    found, _ = inclusion_probabilities([0.0] * 9990 + [1.0] * 10, 20)

    assert found.min() * 10_000 == pytest.approx(10, abs=0.1)


def test_draws_can_be_repeated() -> None:
    assert draw_at_random(50, 10, seed=1) == draw_at_random(50, 10, seed=1) != draw_at_random(50, 10, seed=2)
    assert draw_poisson([0.5] * 50, seed=1) == draw_poisson([0.5] * 50, seed=1)


def test_each_is_drawn_as_often_as_its_probability_says() -> None:
    probabilities = np.array([0.05, 0.3, 0.9, 1.0])
    n = np.zeros(4)
    for seed in range(4000):
        n[draw_poisson(probabilities, seed=seed)] += 1

    assert n / 4000 == pytest.approx(probabilities, abs=0.03)


def test_hajek_by_hand() -> None:
    """Two draws with π ½ and ¼: (1·2 + 0·4) / (2 + 4)."""
    assert weighted_mean([1, 0], [0.5, 0.25], level=0.95).estimate == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("values", "reason"),
    [([], "no_answers"), ([1.0, 0.0], "too_few_answers"), ([1.0] * LEAST_ANSWERS, "all_answers_equal")],
)
def test_there_is_not_always_an_interval(values: list[float], reason: str) -> None:
    found = weighted_mean(values, [0.5] * len(values), level=0.95)

    assert (found.this_set, found.new_data, found.reason) == (None, None, reason)


def test_equal_weights_are_clopper_pearson() -> None:
    found = weighted_mean([1.0] * 4 + [0.0] * 56, [0.001] * 60, level=0.95, limits=(0, 1))

    assert found.method == "korn-graubard"
    # The variance is that of single answers, with n-1.
    assert found.new_data == pytest.approx(clopper_pearson(4 * 59 / 60, 59))
    assert found.this_set == pytest.approx(found.new_data, abs=1e-3)


def test_equal_answers_to_a_question_of_two_answers_have_a_width() -> None:
    found = weighted_mean([0.0] * 30, [0.5, 0.25] * 15, level=0.95, limits=(0, 1))
    whole = weighted_mean([0.0] * 30, [1.0] * 30, level=0.95, limits=(0, 1))

    assert found.reason is None
    assert found.new_data is not None and found.this_set is not None
    assert found.new_data[0] == 0.0
    # As of twenty-seven answers, and fewer for Student's quantile of as many.
    assert found.new_data[1] == pytest.approx(clopper_pearson(0, 27)[1], abs=0.002)
    assert found.this_set[1] < found.new_data[1]
    assert whole.this_set == (0.0, 0.0)
    assert whole.new_data == pytest.approx(clopper_pearson(0, 30))


def test_grades_have_students_interval() -> None:
    assert weighted_mean([0.0, 0.5] * 20, [0.5] * 40, level=0.95, limits=(0, 1)).method == "hajek"
    assert weighted_mean([0.0, 1.0] * 20, [0.5] * 40, level=0.95).method == "hajek"


@pytest.mark.parametrize("bad", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("is_related", [True, False])
def test_shares_of_rare_answers_are_covered(bad: float, is_related: bool) -> None:
    rng, n_frame = np.random.default_rng(10), 2000
    covered = {"this_set": 0, "new_data": 0}
    for seed in range(200):
        uncertain = rng.random(n_frame)
        fails = (rng.random(n_frame) < (2 * uncertain if is_related else 1) * bad).astype(float)
        probabilities, _ = inclusion_probabilities([float(one) for one in uncertain], 100)
        drawn = draw_poisson(probabilities, seed=seed)
        found = weighted_mean(fails[drawn].tolist(), probabilities[drawn].tolist(), level=0.95, limits=(0, 1))
        assert found.this_set is not None and found.new_data is not None
        covered["this_set"] += found.this_set[0] <= fails.mean() <= found.this_set[1]
        covered["new_data"] += found.new_data[0] <= bad <= found.new_data[1]

    assert min(covered.values()) >= 188, covered


def test_shares_are_covered_though_few_large_weights_hold_the_variance() -> None:
    """Items that the draw avoids are bad more often; with as many degrees of freedom as all weights have: 92 %."""
    rng, n_frame = np.random.default_rng(12), 2000
    uncertain = rng.random(n_frame)
    probabilities, _ = inclusion_probabilities([float(one) for one in uncertain], 300)
    covered = {"this_set": 0, "new_data": 0}
    for seed in range(1000):
        fails = (rng.random(n_frame) < 2 * (1 - uncertain) * 0.05).astype(float)
        drawn = draw_poisson(probabilities, seed=seed)
        found = weighted_mean(fails[drawn].tolist(), probabilities[drawn].tolist(), level=0.95, limits=(0, 1))
        assert found.this_set is not None and found.new_data is not None
        covered["this_set"] += found.this_set[0] <= fails.mean() <= found.this_set[1]
        covered["new_data"] += found.new_data[0] <= 2 * 0.05 * (1 - uncertain).mean() <= found.new_data[1]

    assert min(covered.values()) >= 935, covered


@pytest.mark.parametrize("bad", [0.02, 0.05])
def test_shares_are_covered_though_the_few_large_weights_may_show_no_failure(bad: float) -> None:
    """An evaluator has two scores, and failures have nothing to do with them: 76 to 85 % by the variance alone."""
    rng, n_frame = np.random.default_rng(13), 2000
    covered = {"this_set": 0, "new_data": 0}
    for seed in range(400):
        uncertain = (rng.random(n_frame) < 0.3).astype(float)
        fails = (rng.random(n_frame) < bad).astype(float)
        probabilities, _ = inclusion_probabilities(uncertain.tolist(), 300)
        drawn = draw_poisson(probabilities, seed=seed)
        found = weighted_mean(fails[drawn].tolist(), probabilities[drawn].tolist(), level=0.95, limits=(0, 1))
        assert found.this_set is not None and found.new_data is not None
        covered["this_set"] += found.this_set[0] <= fails.mean() <= found.this_set[1]
        covered["new_data"] += found.new_data[0] <= bad <= found.new_data[1]

    assert min(covered.values()) >= 376, covered


def test_who_has_drawn_everything_knows_the_set() -> None:
    found = weighted_mean([1.0, 0.0] * 20, [1.0] * 40, level=0.95)

    assert found.this_set == (0.5, 0.5)
    assert found.new_data is not None and found.new_data[0] < 0.5 < found.new_data[1]


def test_intervals_cover_though_the_draw_favours_what_fails() -> None:
    """The frame fails in 30 %, and the draw favours failures: the plain mean of the drawn is wrong each time."""
    rng, n_frame, n = np.random.default_rng(9), 2000, 120
    covered = {"this_set": 0, "new_data": 0, "plain": 0}
    for seed in range(200):
        uncertain = rng.random(n_frame)
        fails = (rng.random(n_frame) < 0.6 * uncertain).astype(float)
        probabilities, _ = inclusion_probabilities([float(one) for one in uncertain], n)
        drawn = draw_poisson(probabilities, seed=seed)
        found = weighted_mean(fails[drawn].tolist(), probabilities[drawn].tolist(), level=0.95, limits=(0, 1))
        assert found.this_set is not None and found.new_data is not None
        covered["this_set"] += found.this_set[0] <= fails.mean() <= found.this_set[1]
        covered["new_data"] += found.new_data[0] <= 0.3 <= found.new_data[1]
        half = 1.96 * float(np.sqrt(fails[drawn].var() / len(drawn)))
        covered["plain"] += abs(fails[drawn].mean() - 0.3) <= half

    # Of 200 at 95 %, 181 or fewer happen once in 200.
    assert min(covered["this_set"], covered["new_data"]) >= 182, covered
    assert covered["plain"] < 160

"""The interval that may be watched for bounded scores: one class that remembers, one function that does not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from evalsvc.stats.formulas.betting import GRID, Betting, _gains, _Past, _stakes, betting_interval


def by_hand(scores: list[float], mean: float, population: int | None, alpha: float) -> tuple[float, float]:
    """Return both log fortunes by a plain loop over the formulas of the module."""
    higher = lower = 0.0
    for i, score in enumerate(scores, start=1):
        past = scores[: i - 1]
        means = [(0.5 + sum(past[: j + 1])) / (j + 2) for j in range(len(past))]
        variance = (0.25 + sum((x - m) ** 2 for x, m in zip(past, means, strict=True))) / i
        expected = mean if population is None else (population * mean - sum(past)) / (population - i + 1)
        stake = math.sqrt(2 * math.log(2 / alpha) / (variance * i * math.log(1 + i)))
        higher += math.log(1 + min(stake, 0.5 / expected) * (score - expected))
        lower += math.log(1 - min(stake, 0.5 / (1 - expected)) * (score - expected))
    return higher, lower


@pytest.mark.parametrize("population", [None, 30])
def test_the_fortunes_are_those_of_a_plain_loop(population: int | None) -> None:
    row = np.random.default_rng(1).random(12)
    stakes, before = _stakes(row, _Past(), 0.05)

    found = _gains(np.array([0.4, 0.6]), row, stakes, before, 0, population).sum(axis=2)

    for i, mean in enumerate((0.4, 0.6)):
        assert (found[0][i], found[1][i]) == pytest.approx(by_hand(row.tolist(), mean, population, 0.05), rel=1e-12)


def test_neither_gambler_gains_on_average_over_all_orders_of_a_set() -> None:
    values = [0.0, 0.2, 0.5, 0.9, 1.0, 0.6]
    truth = np.array([np.mean(values)])
    for n in range(1, 6):
        fortunes = []
        for order in itertools.permutations(values):
            row = np.array(order[:n])
            stakes, before = _stakes(row, _Past(), 0.2)
            fortunes.append([math.exp(log[0]) for log in _gains(truth, row, stakes, before, 0, 6).sum(axis=2)])

        assert np.mean(fortunes, axis=0) == pytest.approx([1.0, 1.0], abs=1e-9)


@pytest.mark.parametrize("population", [None, 400])
def test_updates_in_any_pieces_agree_with_one_pass(population: int | None) -> None:
    row = np.random.default_rng(2).beta(2, 1, 300)
    running = Betting(population, 0.95, [0, 1])
    seen = 0
    for size in (0, 1, 2, 7, 90, 200):
        running.update(row[seen : seen + size])
        seen += size
        if seen:
            whole = betting_interval(row[:seen], population, 0.95, (0.0, 1.0), running=True)

            assert running.n == seen
            assert running.interval() == pytest.approx(whole, abs=1.001 / GRID)
            # Rounded outwards.
            assert running.interval()[0] <= whole[0] + 1e-5
            assert running.interval()[1] >= whole[1] - 1e-5


def test_it_follows_the_unit_of_the_scores() -> None:
    row = np.random.default_rng(3).random(80)

    lower, upper = betting_interval(row, 200, 0.9, (0.0, 1.0))

    assert betting_interval(1 + 4 * row, 200, 0.9, (1.0, 5.0)) == pytest.approx((1 + 4 * lower, 1 + 4 * upper))


def test_it_knows_nothing_before_the_first_score_and_all_after_the_last() -> None:
    row = np.random.default_rng(4).random(50)
    running = Betting(50, 0.95, (0, 2))

    assert running.interval() == (0.0, 2.0)
    running.update(row)
    assert running.interval() == pytest.approx((row.mean(), row.mean()))
    assert betting_interval(row, 50, 0.95, (0.0, 2.0)) == pytest.approx((row.mean(), row.mean()))


def test_equal_scores_leave_a_width() -> None:
    for score in (0.0, 0.5, 1.0):
        lower, upper = betting_interval([score] * 100, 400, 0.95, (0.0, 1.0))

        assert lower <= score <= upper
        assert upper - lower > 0.01


def test_it_misses_at_any_example_no_more_often_than_it_says() -> None:
    rng = np.random.default_rng(5)
    values = rng.beta(1.5, 1.0, 120)
    missed = 0
    for _ in range(300):
        order = rng.permutation(values)
        running = Betting(120, 0.8)
        for start in range(0, 120, 5):
            running.update(order[start : start + 5])
            lower, upper = running.interval()
            if not lower - 1e-9 <= values.mean() <= upper + 1e-9:
                missed += 1
                break

    # Three standard errors above one in five.
    assert missed / 300 <= 0.2 + 3 * math.sqrt(0.16 / 300)


def test_it_refuses_scores_outside_the_range_or_beyond_the_set() -> None:
    with pytest.raises(ValueError, match="value_range"):
        Betting(10, 0.95).update([1.5])
    with pytest.raises(ValueError, match="value_range"):
        Betting(10, 0.95).update([math.nan])
    with pytest.raises(ValueError, match="population"):
        Betting(2, 0.95).update([0.5] * 3)
    with pytest.raises(ValueError, match="value_range"):
        Betting(2, 0.95, None)  # type: ignore[arg-type]

"""Evidence of a pair: a fair game under the hypothesis, checked by playing every order of a small set."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pytest

from evalsvc.stats.pairs import newpairs
from evalsvc.stats.race.evidence import (
    STAKES,
    Pair,
    advance,
    advance_all,
    differences,
    e_value,
    new_pair,
    not_worse_value,
)

NAN = float("nan")


def test_words_and_races_stake_alike() -> None:
    assert STAKES == newpairs.STAKES


def by_hand(row: list[float], size: int, null: float) -> list[float]:
    """Return the eight log fortunes by a plain loop."""
    logs = []
    for stake in STAKES:
        total = log = 0.0
        for i, difference in enumerate(row):
            expected = (size * null - total) / (size - i)
            log += math.log(1 + min(stake, 0.95 / (1 + expected)) * (difference - expected))
            total += difference
        logs.append(log)
    return logs


def grown(
    row: Sequence[float] | np.ndarray, population: int = 400, epsilon: float | None = None, start: int = 0
) -> Pair:
    return advance(new_pair(1, 2, start, epsilon), np.asarray(row, dtype=float), population, epsilon)


def test_the_fortunes_are_those_of_a_plain_loop() -> None:
    row = [1.0, 0.0, -1.0, 0.5, 1.0, 0.25]

    pair = grown(row, 40, 0.1, start=10)

    assert pair.log_wealth == pytest.approx(by_hand(row, 30, 0.0))
    assert pair.log_not_worse == pytest.approx(by_hand(row, 30, -0.1))
    assert (pair.n, pair.total, pair.squares, pair.n_plus, pair.n_minus) == (6, 1.75, 3.3125, 4, 1)


@pytest.mark.parametrize(
    ("values", "null"),
    [
        ([1.0, -1.0, 0.0, 1.0, -1.0, 0.0], 0.0),
        ([1.0, 0.5, -1.0, -0.5, 0.2, -0.2], 0.0),
        ([1.0, 1.0, 1.0, -1.0, -1.0, -1.0], 0.0),
        ([1.0, -1.0, -1.0, 0.0, -1.0, 0.8], -0.2),
    ],
)
def test_nobody_gains_on_average_over_all_orders_of_a_set_at_the_edge_of_the_hypothesis(
    values: list[float], null: float
) -> None:
    assert np.mean(values) == pytest.approx(null)
    epsilon = -null if null else None
    orders = list(itertools.permutations(values))
    for n in range(1, 6):
        found = [grown(order[:n], 6, epsilon) for order in orders]
        average = np.mean([not_worse_value(pair, 6) if null else e_value(pair) for pair in found])

        assert average == pytest.approx(1.0, abs=1e-9)


def test_it_loses_on_average_when_the_winner_is_worse() -> None:
    values = [1.0, -1.0, -1.0, 0.0, -1.0, 0.5]
    orders = list(itertools.permutations(values))
    averages = [np.mean([e_value(grown(order[:n], 6)) for order in orders]) for n in range(1, 6)]

    assert averages == sorted(averages, reverse=True)
    assert averages[0] < 1.0


def test_no_order_of_any_small_set_reaches_a_threshold_more_often_than_it_may() -> None:
    for ones, minus in ((3, 3), (4, 4), (2, 2)):
        values = [1.0] * ones + [-1.0] * minus + [0.0] * (8 - ones - minus)
        orders = set(itertools.permutations(values))
        for threshold in (2.0, 4.0):
            reached = sum(any(e_value(grown(order[:n], 8)) >= threshold for n in range(1, 8)) for order in orders)

            assert reached / len(orders) <= 1 / threshold


def test_any_pieces_give_the_same_as_one() -> None:
    row = np.random.default_rng(1).uniform(-1, 1, 60)
    pair = new_pair(1, 2, 5, 0.02)
    for start, end in ((0, 1), (1, 1), (1, 30), (30, 60)):
        pair = advance(pair, row[start:end], 100, 0.02)

    whole = grown(row, 100, 0.02, start=5)

    assert pair.log_wealth == pytest.approx(whole.log_wealth)
    assert pair.log_not_worse == pytest.approx(whole.log_not_worse)
    assert pair.total == pytest.approx(whole.total)


def test_many_pairs_at_once_are_each_as_alone() -> None:
    rng = np.random.default_rng(2)
    pairs = [grown(rng.uniform(-1, 1, n), 200, 0.05, start) for n, start in ((0, 0), (7, 0), (20, 50))]
    rows = [rng.uniform(-1, 1, n) for n in (12, 3, 0)]

    together = advance_all(pairs, rows, 200, 0.05)

    for pair, row, found in zip(pairs, rows, together, strict=True):
        alone = advance(pair, row, 200, 0.05)
        assert found.log_wealth == pytest.approx(alone.log_wealth)
        assert found.log_not_worse == pytest.approx(alone.log_not_worse)
        assert (found.n, found.n_plus) == (alone.n, alone.n_plus)
    assert advance_all([], [], 200, None) == []


def test_what_cannot_be_made_up_for_any_more_is_certain() -> None:
    lead = grown([1.0] * 7, 10)

    assert e_value(lead) > 1e300
    assert math.isfinite(e_value(lead))
    assert json.loads(json.dumps(asdict(lead)))["n"] == 7


def test_a_large_lead_on_many_examples_stays_a_number() -> None:
    pair = grown(np.ones(20_000), 100_000)

    assert math.isfinite(e_value(pair))
    assert e_value(pair) > 1e300


def test_a_small_lead_shows_in_a_large_set() -> None:
    row = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], 5000, p=[0.13, 0.7, 0.17])

    assert e_value(grown(row, 20_000)) > 20.0


def test_without_an_epsilon_nothing_is_said_about_not_being_worse() -> None:
    assert not_worse_value(grown([1.0, 1.0]), 400) == 0.0


def test_a_missing_half_counts_for_the_one_that_would_be_stopped() -> None:
    assert differences([NAN, 0.75, NAN], [0.25, NAN, NAN]).tolist() == [-0.25, -0.25, -1.0]


def test_scores_must_be_rescaled() -> None:
    with pytest.raises(ValueError, match="rescaled"):
        differences([5.0], [1.0])


def test_it_goes_no_further_than_the_set() -> None:
    with pytest.raises(ValueError, match="population"):
        grown([0.0] * 11, 10)
    with pytest.raises(ValueError, match="population"):
        grown([0.0] * 6, 10, start=5)

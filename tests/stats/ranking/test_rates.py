"""Beside strengths: win rates, flips, Elo by hand, and which pairs come next."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.ranking.elo import elo, elo_in_order
from evalsvc.stats.ranking.matches import FIRST, SECOND, TIE, Matches
from evalsvc.stats.ranking.ranks import rank
from evalsvc.stats.ranking.rates import overall_rates, share_over_examples, win_rates
from evalsvc.stats.ranking.selection import is_close_enough, is_first_settled, next_pairs

SEQUENCE = Matches.from_rows(3, [(0, 0, 1, FIRST), (1, 1, 2, TIE), (2, 0, 2, SECOND), (3, 0, 1, FIRST)])


def elo_by_hand() -> list[float]:
    """The rules of metrics.md, written down match by match."""
    ratings, played = [1500.0, 1500.0, 1500.0], [0, 0, 0]
    for a, b, payoff in ((0, 1, 1.0), (1, 2, 0.5), (0, 2, 0.0), (0, 1, 1.0)):
        expected = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        k_a, k_b = (10 * np.exp(-0.0005 * played[i]) + 10 for i in (a, b))
        ratings[a], ratings[b] = ratings[a] + k_a * (payoff - expected), ratings[b] - k_b * (payoff - expected)
        played[a], played[b] = played[a] + 1, played[b] + 1
    return ratings


def test_elo_of_a_fixed_list_is_the_one_by_hand() -> None:
    assert elo_in_order(SEQUENCE, np.array([[0, 1, 2, 3]]))[0].tolist() == pytest.approx(elo_by_hand(), abs=1e-9)


def test_elo_is_the_mean_over_seeded_orders() -> None:
    means, noise = elo(SEQUENCE, seed=1)

    assert means.tolist() == elo(SEQUENCE, seed=1)[0].tolist()
    assert means.tolist() != elo(SEQUENCE, seed=2)[0].tolist()
    assert (noise > 0).all()


def test_win_rates_count_a_tie_as_half() -> None:
    matches = Matches.from_rows(2, [(e, 0, 1, (FIRST, TIE, SECOND, FIRST)[e % 4]) for e in range(40)])

    rate = win_rates(matches, 0.95)[0, 1]

    assert (rate.value, rate.n) == (0.625, 40)
    assert rate.lower < 0.5 < rate.upper


def test_against_all_others_an_example_counts_once() -> None:
    matches = Matches.from_rows(3, [(e, 0, j, FIRST if e % 2 else SECOND) for e in range(30) for j in (1, 2)])

    rate = overall_rates(matches, 0.95)[0]

    assert rate is not None
    assert (rate.value, rate.n) == (0.5, 30)


def test_no_flip_of_few_is_not_no_flip_ever() -> None:
    found = share_over_examples(np.zeros(20), np.ones(20), level=0.95, seed=0)

    assert found is not None
    assert (found.value, found.lower) == (0.0, pytest.approx(0.0, abs=0.01))
    assert found.upper > 0.1


def test_a_judge_that_always_flips_is_seen() -> None:
    found = share_over_examples(np.full(50, 3.0), np.full(50, 3.0), level=0.95, seed=0)

    assert found is not None
    assert found.value == 1.0
    assert found.lower > 0.9


def test_what_may_be_first_meets_and_what_is_beaten_rests() -> None:
    rng = np.random.default_rng(2)
    rows = [
        (e, i, j, FIRST if rng.random() < (0.5 if (i, j) == (0, 1) else 0.9) else SECOND)
        for e in range(60)
        for i, j in ((0, 1), (0, 2), (1, 2), (2, 3))
    ]
    left = {(i, j): 1000 for i in range(4) for j in range(i + 1, 4)}

    found = next_pairs(rank(Matches.from_rows(4, rows)), left, 100, seed=1)

    assert found[0, 1] > 75
    assert found.total() == 100


def test_a_fifth_goes_to_whoever_was_seen_least() -> None:
    """Being first means being better than every other, those too that lost early."""
    rows = [(e, 0, 1, FIRST if e % 2 else SECOND) for e in range(60)] + [(e, 0, 2, FIRST) for e in range(10)]
    left = {(0, 1): 100, (0, 2): 100, (1, 2): 100}

    found = next_pairs(rank(Matches.from_rows(3, rows)), left, 100, seed=1)

    assert found[0, 2] + found[1, 2] >= 20
    assert found.total() == 100


def test_where_nothing_is_left_of_a_pair_its_configs_meet_others() -> None:
    rows = [(e, i, j, e % 3) for e in range(30) for i, j in ((0, 1), (0, 2), (1, 2))]

    found = next_pairs(rank(Matches.from_rows(3, rows)), {(0, 1): 0, (0, 2): 7, (1, 2): 2}, 50, seed=1)

    assert found == {(0, 2): 7, (1, 2): 2}


def test_settled_is_only_who_beats_all() -> None:
    clear = rank(Matches.from_rows(2, [(e, 0, 1, FIRST if e % 10 else SECOND) for e in range(100)]))
    equal = rank(Matches.from_rows(2, [(e, 0, 1, FIRST if e % 2 else SECOND) for e in range(100)]))

    assert (is_first_settled(clear), is_first_settled(equal)) == (True, False)
    assert (is_close_enough(equal, 2.0), is_close_enough(equal, 0.1)) == (True, False)


def test_nothing_judged_has_no_rates() -> None:
    nothing = Matches.from_rows(2, [])

    assert (win_rates(nothing, 0.95), overall_rates(nothing, 0.95)) == ({}, [None, None])

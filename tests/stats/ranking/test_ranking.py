"""Rankings: against choix, an optimiser of scipy and by hand; and what they say of few, equal and unconnected configs."""

from __future__ import annotations

import itertools
from typing import Any

import choix
import numpy as np
import pytest
from scipy.optimize import minimize

from evalsvc.stats.ranking.davidson import fit
from evalsvc.stats.ranking.matches import FIRST, SECOND, TIE, Matches
from evalsvc.stats.ranking.ranks import rank

WINS = [[0, 3, 3, 6, 4], [1, 0, 6, 5, 6], [3, 2, 0, 3, 3], [2, 1, 3, 0, 1], [0, 2, 2, 4, 0]]


def strengths(matches: Matches, **options: Any) -> list[float]:
    found = fit(matches.n_configs, matches.pairs, matches.counts, with_ties=matches.has_ties, **options)
    return [float(strength) for strength in found.strengths[0]]


def match_list(wins: list[list[int]]) -> Matches:
    rows = [(0, i, j, FIRST) for i, row in enumerate(wins) for j, n in enumerate(row) for _ in range(n)]
    return Matches.from_rows(len(wins), rows)


def played(n: int, outcome: Any, n_configs: int = 2) -> Matches:
    """Every pair on every example; `outcome` tells who wins."""
    pairs = list(itertools.combinations(range(n_configs), 2))
    return Matches.from_rows(n_configs, [(e, i, j, outcome(e, i, j)) for e in range(n) for i, j in pairs])


def by_chance(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return lambda e, i, j: int(rng.integers(3))


@pytest.mark.parametrize("seed", range(6))
def test_without_ties_it_is_choix(seed: int) -> None:
    n_configs = 3 + seed
    wins = WINS if not seed else np.random.default_rng(seed).integers(0, 7, (n_configs, n_configs)).tolist()
    wins = [[0 if i == j else n for j, n in enumerate(row)] for i, row in enumerate(wins)]
    pairs = [(i, j) for i, row in enumerate(wins) for j, n in enumerate(row) for _ in range(n)]

    expected = choix.opt_pairwise(len(wins), pairs, alpha=0.005)

    assert strengths(match_list(wins)) == pytest.approx(expected - expected.mean(), abs=1e-5)


def test_with_ties_it_is_the_optimum_that_scipy_finds() -> None:
    rng = np.random.default_rng(4)
    rows = [(e, *sorted(rng.choice(4, 2, replace=False)), int(rng.integers(3))) for e in range(80)]
    matches = Matches.from_rows(4, [(int(e), int(i), int(j), o) for e, i, j, o in rows])

    def loss(place: np.ndarray[Any, Any]) -> float:
        total = 0.005 * float(place @ place)
        for _, i, j, outcome in rows:
            gap = place[i] - place[j]
            logs = [gap / 2, place[4], -gap / 2]
            total += float(np.logaddexp.reduce(logs)) - logs[outcome]
        return total

    expected = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8}).x

    assert strengths(matches) == pytest.approx(expected[:4], abs=1e-5)


def test_by_hand_two_configs_with_ties() -> None:
    # 6 wins, 2 losses: the odds of decided ones are 3 to 1 whatever the ties, so the gap is ln 3.
    matches = Matches.from_rows(2, [(e, 0, 1, FIRST if e < 6 else SECOND if e < 8 else TIE) for e in range(16)])

    first, second = strengths(matches, penalty=1e-9)

    assert first - second == pytest.approx(np.log(3), abs=1e-6)
    assert first + second == pytest.approx(0, abs=1e-6)


def test_the_order_of_sides_does_not_matter() -> None:
    rows = [(e, 0, 1, FIRST if e % 3 else SECOND) for e in range(30)]
    turned = [(e, 1, 0, SECOND - outcome) for e, _, _, outcome in rows]

    assert strengths(Matches.from_rows(2, rows)) == strengths(Matches.from_rows(2, turned))


def test_one_that_wins_everything_has_an_open_end() -> None:
    found = rank(played(50, lambda e, i, j: FIRST if i == 0 or e % 2 else SECOND, 3))

    top, *others = found.placed
    assert top.upper is None
    assert top.lower is not None
    assert (top.rank_from, top.rank_to) == (1, 1)
    assert [place.lower for place in others] == [None, None]
    assert np.isinf(found.upper[0, 1])
    assert np.isfinite(found.upper[1, 2])


def test_one_that_never_loses_has_an_open_end_too() -> None:
    """Six wins and 34 ties are as likely with a winner that is better by any amount, if ties are as much more likely."""
    found = rank(played(40, lambda e, i, j: FIRST if e < 6 else TIE))

    top, other = found.placed
    assert (top.rank_from, top.upper, other.lower) == (1, None, None)
    assert top.lower is not None and top.lower > 0


@pytest.mark.parametrize("lost", [(0, 1), (1, 2)])
def test_a_loss_tells_what_ties_are_worth(lost: tuple[int, int]) -> None:
    """Of one pair it is enough: the tie parameter is the same for all."""

    def outcome(e: int, i: int, j: int) -> int:
        return SECOND if (e, i, j) == (7, *lost) else FIRST if e < 6 else TIE

    found = rank(played(40, outcome, 3))

    assert np.isfinite(found.upper).all()


def test_nothing_but_ties_says_nothing_of_strengths() -> None:
    found = rank(played(40, lambda e, i, j: TIE))

    assert [(place.lower, place.upper) for place in found.placed] == [(None, None)] * 2
    assert [(place.rank_from, place.rank_to) for place in found.placed] == [(1, 2)] * 2


def test_an_order_that_ties_contradict_is_bounded() -> None:
    """Ties in each pair bind the outer two to as much as the inner ones together, which cannot be."""
    found = rank(played(40, lambda e, i, j: FIRST if e < 6 else TIE, 3))

    assert np.isfinite(found.upper).all()


def test_three_examples_prove_nothing() -> None:
    found = rank(played(3, lambda e, i, j: FIRST))

    assert [(place.rank_from, place.rank_to) for place in found.placed] == [(1, 2), (1, 2)]


def test_ten_wins_of_ten_do() -> None:
    found = rank(played(10, lambda e, i, j: FIRST))

    assert [(place.rank_from, place.rank_to) for place in found.placed] == [(1, 1), (2, 2)]


def test_one_example_says_nothing() -> None:
    found = rank(played(1, lambda e, i, j: FIRST, 3))

    assert {(place.rank_from, place.rank_to) for place in found.placed} == {(1, 3)}


def test_sixteen_equal_configs_have_no_confident_first() -> None:
    found = rank(played(60, by_chance(7), 16))

    assert min(place.rank_to for place in found.placed) > 1
    assert max(place.first_share for place in found.placed) < 0.95


def test_ties_everywhere_are_no_difference_and_no_knowledge() -> None:
    found = rank(played(100, lambda e, i, j: TIE, 3))

    assert [place.strength for place in found.placed] == pytest.approx([0, 0, 0])
    assert {(place.rank_from, place.rank_to) for place in found.placed} == {(1, 3)}


def test_groups_that_never_met_are_not_ranked_against_each_other() -> None:
    rows = [(e, i, j, FIRST if e % 5 else SECOND) for e in range(100) for i, j in ((0, 1), (2, 3))]

    found = rank(Matches.from_rows(5, rows))

    assert found.graph.groups() == [[0, 1], [2, 3], [4]]
    assert [(place.rank_from, place.rank_to) for place in found.placed] == [(1, 4), (2, 5), (1, 4), (2, 5), (1, 5)]
    assert found.placed[4].strength is None
    assert not np.isfinite(found.lower[0, 2])


def test_no_judgement_ranks_nobody() -> None:
    found = rank(Matches.from_rows(3, []))

    assert {(place.strength, place.rank_from, place.rank_to) for place in found.placed} == {(None, 1, 3)}


def test_the_same_seed_draws_the_same() -> None:
    matches = played(20, by_chance(1), 4)

    assert rank(matches, seed=3).placed == rank(matches, seed=3).placed
    assert rank(matches, seed=3).placed != rank(matches, seed=4).placed


def test_judgements_of_one_example_count_together() -> None:
    # The same outcome on each example for ten pairs says as much as one pair does, and not ten times as much.
    together = [(e, i, 5 + i, FIRST if e % 3 else SECOND) for e in range(40) for i in range(5)]
    alone = rank(Matches.from_rows(2, [(e, 0, 1, FIRST if e % 3 else SECOND) for e in range(40)]))

    found = rank(Matches.from_rows(10, together))

    assert found.placed[0].n_examples == alone.placed[0].n_examples == 40
    assert found.placed[0].upper == pytest.approx(alone.placed[0].upper, abs=0.15)


def test_a_config_against_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="two different configs"):
        Matches.from_rows(2, [(0, 1, 1, FIRST)])

"""Who is stopped, by whom, and why: one rule a test, and the errors they promise by simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from evalsvc.stats.race.elimination import (
    POLICIES,
    Contender,
    Elimination,
    Pair,
    Rules,
    advance,
    decide,
    differences,
    e_value,
    new_pair,
    threshold,
    unsupported,
)
from evalsvc.stats.race.evidence import not_worse_value

SHARD_ENDS = tuple(range(50, 401, 50))


def rules(policy: str = "race_default", **changes: object) -> Rules:
    return replace(Rules(policy, 0.95, None, 2, None, 400, SHARD_ENDS), **changes)  # type: ignore[arg-type]


def contender(id: int, watermark: int = 100, **changes: object) -> Contender:
    return replace(Contender(id, id, 0, watermark, True), **changes)  # type: ignore[arg-type]


def pairs_of(
    scores: dict[int, np.ndarray], start: int = 0, epsilon: float | None = None
) -> dict[tuple[int, int], Pair]:
    """Return the evidence of every ordered pair on the scores given."""
    return {
        (a, b): advance(new_pair(a, b, start, epsilon), differences(scores[a], scores[b]), 400, epsilon)
        for a in scores
        for b in scores
        if a != b
    }


def share(ones: int, n: int) -> np.ndarray:
    """Return n scores with so many ones, spread evenly."""
    return np.diff(np.floor(np.arange(n + 1) * ones / n))


GOOD_AND_BAD = {1: share(90, 100), 2: share(30, 100)}


def names(drops: list[Elimination]) -> list[tuple[int, int | None, str]]:
    return [(drop.loser, drop.winner, drop.reason) for drop in drops]


# By evidence


@pytest.mark.parametrize("policy", ["race_safe", "race_default"])
def test_it_stops_a_config_when_the_evidence_reaches_the_threshold(policy: str) -> None:
    drops = decide(rules(policy), [contender(1), contender(2)], pairs_of(GOOD_AND_BAD))

    assert names(drops) == [(2, 1, "evidence")]
    assert drops[0].threshold is not None
    assert drops[0].evidence["e_value"] >= drops[0].threshold
    assert (drops[0].evidence["n"], drops[0].evidence["difference"]) == (100, pytest.approx(0.6))


def test_it_stops_nobody_below_the_threshold() -> None:
    found = pairs_of({1: share(6, 10), 2: share(5, 10)})

    assert e_value(found[1, 2]) < 20.0
    for policy in POLICIES:
        assert decide(rules(policy), [contender(1, 10), contender(2, 10)], found) == []


def test_it_never_stops_anyone_by_itself_under_manual() -> None:
    scores = {1: np.ones(350), 2: np.zeros(350)}

    assert decide(rules("manual"), [contender(1), contender(2)], pairs_of(scores)) == []


def test_it_names_the_rival_with_the_strongest_evidence() -> None:
    scores = {1: share(70, 100), 2: share(20, 100), 3: share(95, 100)}

    drops = decide(rules(n_original=3), [contender(i) for i in (1, 2, 3)], pairs_of(scores))

    assert names(drops) == [(2, 3, "evidence"), (1, 3, "evidence")]


def test_a_config_out_of_the_race_neither_stops_others_nor_is_stopped() -> None:
    gone = contender(1, is_active=False)

    assert decide(rules(), [gone, contender(2), contender(3)], pairs_of(GOOD_AND_BAD)) == []
    assert decide(rules(), [contender(1), contender(2, is_active=False)], pairs_of(GOOD_AND_BAD)) == []
    assert decide(rules(), [], {}) == []


def test_a_completed_config_stops_others_and_is_not_stopped() -> None:
    assert names(decide(rules(), [contender(1, 400), contender(2)], pairs_of(GOOD_AND_BAD))) == [(2, 1, "evidence")]
    assert decide(rules(), [contender(1), contender(2, 400)], pairs_of(GOOD_AND_BAD)) == []


def test_it_never_stops_the_last_config() -> None:
    lead = advance(new_pair(1, 2, 0, None), np.ones(100), 400, None)
    circle = {(1, 2): lead, (2, 3): replace(lead, winner=2, loser=3), (3, 1): replace(lead, winner=3, loser=1)}

    drops = decide(rules(), [contender(i) for i in (1, 2, 3)], circle)

    assert len(drops) == 2


def test_the_order_of_the_pairs_does_not_matter() -> None:
    found = pairs_of({i: share(20 + 20 * i, 100) for i in range(4)})
    contenders = [contender(i) for i in range(4)]
    backwards = dict(reversed(found.items()))

    assert decide(rules(), contenders, found) == decide(rules(), contenders[::-1], backwards)


def test_it_refuses_a_policy_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="policy"):
        decide(rules("luck"), [contender(1)], {})


# Thresholds


def test_the_chances_of_all_rivals_add_up_to_alpha() -> None:
    declared = rules("race_safe", k_max=16)
    left_open = rules("race_safe", n_original=16)

    assert sum(1 / threshold(declared, contender(i)) for i in range(2, 17)) == pytest.approx(0.05)
    total = sum(1 / threshold(left_open, contender(i)) for i in range(1, 100_000))
    assert total == pytest.approx(0.05, abs=1e-6)
    assert total <= 0.05


def test_a_config_beyond_the_number_declared_stops_nobody() -> None:
    assert threshold(rules("race_safe", k_max=2), contender(3)) == math.inf


def test_the_default_threshold_is_twenty_for_each_pair() -> None:
    assert threshold(rules(), contender(40)) == 20.0


# Clones


def test_a_clone_neither_wins_nor_loses_by_what_its_designer_saw() -> None:
    found = pairs_of(GOOD_AND_BAD)
    for clone in (1, 2):
        contenders = [contender(i, fresh_from=80 if i == clone else 0) for i in (1, 2)]
        for policy in POLICIES:
            assert decide(rules(policy), contenders, found) == []


def test_a_clone_is_judged_by_what_came_after() -> None:
    found = pairs_of({1: share(90, 100), 2: share(20, 100)}, start=80)
    contenders = [contender(1, 180), contender(2, 180, fresh_from=80)]

    assert names(decide(rules(), contenders, found)) == [(2, 1, "evidence")]


# Certain, fast, halved


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "manual"])
def test_what_cannot_win_any_more_is_stopped(policy: str) -> None:
    found = pairs_of({1: np.ones(250), 2: np.r_[np.zeros(200), np.ones(50)]})

    drops = decide(rules(policy), [contender(1, 250), contender(2, 250)], found)

    assert names(drops) == [(2, 1, "futility")]
    assert (drops[0].evidence["lead"], drops[0].evidence["remaining"]) == (200.0, 150)


def test_what_could_still_draw_level_is_not_futile() -> None:
    found = pairs_of({1: np.ones(200), 2: np.zeros(200)})

    assert "futility" not in {drop.reason for drop in decide(rules(), [contender(1), contender(2)], found)}


# Not better by what matters


def level_scores() -> dict[int, np.ndarray]:
    return {1: share(210, 300), 2: share(210, 300)}


def noisy_scores(*ones: int) -> dict[int, np.ndarray]:
    """Return 300 scores a config, with so many ones each, in orders of their own."""
    rng = np.random.default_rng(5)
    return {i: rng.permutation(np.repeat([1.0, 0.0], [n, 300 - n])) for i, n in enumerate(ones, 1)}


def test_what_is_shown_not_to_be_better_than_the_leader_by_epsilon_is_stopped() -> None:
    found = pairs_of(level_scores(), epsilon=0.1)

    drops = decide(rules(epsilon=0.1), [contender(1, 300), contender(2, 300)], found)

    assert names(drops) == [(2, 1, "epsilon")]
    assert drops[0].threshold == 20.0 <= drops[0].evidence["e_value"]


def test_one_direction_suffices() -> None:
    found = pairs_of(noisy_scores(212, 205), epsilon=0.05)

    assert max(e_value(pair) for pair in found.values()) < 20.0
    assert not_worse_value(found[2, 1], 400) < 20.0 <= not_worse_value(found[1, 2], 400)
    drops = decide(rules(epsilon=0.05), [contender(i, 300) for i in (1, 2)], found)
    assert names(drops) == [(2, 1, "epsilon")]


def test_only_the_leader_stops_for_epsilon() -> None:
    scores = {1: share(200, 300), 2: share(205, 300), 3: share(210, 300)}

    drops = decide(
        rules(n_original=3, epsilon=0.1), [contender(i, 300) for i in (1, 2, 3)], pairs_of(scores, epsilon=0.1)
    )

    assert {(drop.winner, drop.reason) for drop in drops} == {(3, "epsilon")}
    assert len(drops) == 2


def test_what_may_be_better_by_what_matters_is_not_stopped() -> None:
    few = pairs_of({1: share(7, 10), 2: share(7, 10)}, epsilon=0.1)

    noisy = pairs_of(noisy_scores(210, 210), epsilon=0.01)

    assert decide(rules(epsilon=0.1), [contender(1, 10), contender(2, 10)], few) == []
    assert decide(rules(epsilon=0.01), [contender(1, 300), contender(2, 300)], noisy) == []


UNPROVED = pairs_of(noisy_scores(210, 210), epsilon=0.01)


def stopped(loser: int, winner: int, reason: str = "epsilon") -> Elimination:
    return Elimination(loser, winner, reason, 20.0, {})


def test_a_stop_for_epsilon_rests_on_a_config_in_the_race() -> None:
    assert unsupported({2: stopped(2, 1)}, {1}) == set()
    assert unsupported({2: stopped(2, 1)}, {3}) == {2}
    # Two steps of less than epsilon may lose more than epsilon, a step to a better one loses nothing.
    assert unsupported({2: stopped(2, 1), 1: stopped(1, 3)}, {3}) == {2}
    assert unsupported({2: stopped(2, 1), 1: stopped(1, 3, "evidence")}, {3}) == set()
    assert unsupported({2: stopped(2, 1), 1: stopped(1, 3, "futility"), 3: stopped(3, 4)}, {4}) == {2}
    assert unsupported({2: stopped(2, 1), 1: stopped(1, 2, "evidence")}, {3}) == {2}
    assert unsupported({2: stopped(2, 1, "evidence")}, {3}) == set()
    assert unsupported({2: stopped(2, 1, "equivalence")}, {3}) == {2}


def test_who_waits_stays_out_where_the_new_leader_has_the_evidence_too() -> None:
    found = pairs_of({2: share(210, 300), 3: share(210, 300)}, epsilon=0.1)
    gone = contender(1, 300, is_active=False)
    waiting = contender(2, 300, is_active=False, is_waiting=True)

    assert names(decide(rules(epsilon=0.1), [gone, waiting, contender(3, 300)], found)) == [(2, 3, "epsilon")]
    unproved = {(a + 1, b + 1): replace(pair, winner=a + 1, loser=b + 1) for (a, b), pair in UNPROVED.items()}
    assert decide(rules(epsilon=0.01), [gone, waiting, contender(3, 300)], unproved) == []


def test_who_waits_stops_nobody_and_is_not_the_last_in_the_race() -> None:
    found = pairs_of({1: share(90, 100), 2: share(30, 100)})
    waiting = contender(1, is_active=False, is_waiting=True)

    assert decide(rules(epsilon=0.1), [waiting, contender(2)], found) == []
    waiting = contender(2, is_active=False, is_waiting=True)
    assert names(decide(rules(epsilon=0.1), [contender(1), waiting], found)) == [(2, 1, "evidence")]


def test_who_came_back_has_a_chance_before_it_is_stopped_for_epsilon_again() -> None:
    found = pairs_of(level_scores(), epsilon=0.1)
    back = contender(2, 300, resumed_at=300)

    assert decide(rules(epsilon=0.1), [contender(1, 300), back], found) == []
    assert len(decide(rules(epsilon=0.1), [contender(1, 300), contender(2, 300, resumed_at=290)], found)) == 1


def test_an_epsilon_in_a_small_set_uses_the_largest_stake() -> None:
    pair = advance(new_pair(1, 2, 0, 0.5), np.zeros(3), 4, 0.5)

    assert pair.log_not_worse is not None
    assert not_worse_value(pair, 4) == pytest.approx(math.exp(pair.log_not_worse[-1]))


def test_fast_asks_a_t_test_from_thirty_examples_on() -> None:
    contenders = [contender(1), contender(2)]
    early = pairs_of({1: share(27, 29), 2: share(9, 29)})
    later = pairs_of({1: share(28, 30), 2: share(9, 30)})

    assert decide(rules("race_fast"), contenders, early) == []
    drops = decide(rules("race_fast"), contenders, later)
    assert names(drops) == [(2, 1, "fast")]
    # One-sided at .05 with 29 degrees of freedom.
    assert drops[0].threshold == pytest.approx(1.699127, abs=1e-5)


def test_fast_shares_alpha_among_the_rivals_left() -> None:
    found = pairs_of({1: share(28, 30), 2: share(9, 30)})

    drops = decide(rules("race_fast"), [contender(i) for i in range(1, 12)], found)

    # One-sided at .005.
    assert drops[0].threshold == pytest.approx(2.756386, abs=1e-5)


def halving(shares: list[int], watermark: int, **changes: Contender) -> list[int]:
    scores = {i: share(ones, watermark) for i, ones in enumerate(shares, start=1)}
    contenders = [changes.get(f"c{i}", contender(i, watermark)) for i in scores]
    return sorted(drop.loser for drop in decide(rules("halving"), contenders, pairs_of(scores)))


def test_halving_keeps_the_better_half_at_a_shard_end() -> None:
    assert halving([30, 45, 20, 40], 50) == [1, 3]
    assert halving([30, 45, 20, 40, 35], 50) == [1, 3]


def test_halving_waits_for_the_end_of_the_shard() -> None:
    assert halving([30, 45, 20, 40], 49) == []


def test_halving_looks_once_at_each_shard_end() -> None:
    out = {f"c{i}": contender(i, 50, is_active=False) for i in (1, 3)}

    assert halving([30, 45, 20, 40], 50, **out) == []


def test_halving_leaves_a_clone_until_its_own_first_shard_end() -> None:
    scores = {i: share(ones, 60) for i, ones in ((1, 50), (2, 40), (3, 5))}
    late = [contender(1, 110), contender(2, 110), contender(3, 110, fresh_from=50)]
    found = pairs_of(scores, start=50)

    dropped = {drop.loser for drop in decide(rules("halving"), late, found)}

    # Two halvings leave one half of the originals, one leaves half of the clone: one of three is kept.
    assert dropped == {2, 3}
    waiting = [contender(1, 99), contender(2, 99), contender(3, 99, fresh_from=50)]
    assert {drop.loser for drop in decide(rules("halving"), waiting, found)} == {2}

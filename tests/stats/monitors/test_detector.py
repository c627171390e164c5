"""The detector: fair bets, mean runs, delays, and the same alarm however the values are fed."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from evalsvc.stats.monitors import (
    Baseline,
    Direction,
    MonitorState,
    NotEnough,
    advance,
    limit_baseline,
    locate_change,
    measure_baseline,
    start_monitor,
    start_recovery,
)


def binary(p: float, n: int, seed: int) -> np.ndarray:
    return (np.random.default_rng([seed, n]).random(n) < p).astype(float)


def remember(scores: np.ndarray) -> np.ndarray:
    """Return scores that resemble their neighbours: means of three consecutive ones."""
    return (scores[2:] + scores[1:-1] + scores[:-2]) / 3.0


BASELINE = measure_baseline(binary(0.9, 1000, seed=2))
BLOCKS = measure_baseline(remember(binary(0.9, 4002, seed=2)))


def by_hand(state: MonitorState, values: list[float]) -> list[float]:
    """Return the sum of the wealth after each value, by a plain loop over the formula of the module."""
    sums, wealth = [], list(state.wealth)
    for value in values:
        wealth = [
            (amount + 1 / 24) * (1 + stake * (state.null - value))
            for amount, stake in zip(wealth, state.stakes, strict=True)
        ]
        sums.append(math.fsum(wealth))
    return sums


def test_the_wealth_is_that_of_a_plain_loop() -> None:
    state = start_monitor(BASELINE, direction="drop")
    values = binary(0.9, 40, seed=3)

    after, index = advance(BASELINE, state, values)

    assert index is None
    assert math.fsum(after.wealth) == pytest.approx(by_hand(state, values.tolist())[-1], rel=1e-12)
    assert after.evidence == pytest.approx(math.fsum(after.wealth) / 2100)


@pytest.mark.parametrize("direction", ["drop", "rise"])
def test_no_unchanged_distribution_gains_more_than_one_a_value(direction: Direction) -> None:
    state = start_monitor(BASELINE, direction=direction)
    state, _ = advance(BASELINE, state, binary(0.9, 100, seed=4))
    sign = 1 if direction == "drop" else -1
    limit = state.null if direction == "drop" else 1 - state.null
    rng = np.random.default_rng(5)

    for _ in range(200):
        # Three values with the chances that give them a mean on the good side of the null mean, or on it.
        low, high = sorted(rng.random(2) * [limit, 1 - limit] + [0, limit])
        mean = limit + sign * rng.choice([0.0, 0.1]) * abs((high if sign > 0 else low) - limit)
        chance = (mean - low) / (high - low)
        expected = sum(
            weight * math.fsum(advance(BASELINE, state, [value])[0].wealth)
            for value, weight in ((high, chance), (low, 1 - chance))
        )
        assert expected <= math.fsum(state.wealth) + 1 + 1e-9


def test_payoffs_are_never_negative_and_the_threshold_is_the_mean_run_and_the_head_start() -> None:
    for p, n in ((0.5, 50), (0.9, 1000), (1.0, 50), (1.0, 100_000), (0.0, 1000)):
        baseline = measure_baseline(np.full(n, p) if p in (0, 1) else binary(p, n, seed=6))
        for direction in ("drop", "rise"):
            state = start_monitor(baseline, direction=direction, mean_run=5000)
            assert min(1 - stake * (1 - state.null) for stake in state.stakes) >= 0
            assert state.threshold == pytest.approx(5000 + math.fsum(state.wealth))
            assert sorted(state.stakes) == list(state.stakes)


def test_the_mean_run_at_a_limit_is_at_least_the_promised_one() -> None:
    baseline = limit_baseline(0.9)
    runs = []
    for seed in range(300):
        state, index = advance(baseline, start_monitor(baseline, mean_run=200), binary(0.9, 4000, seed))
        runs.append(state.n if index is None else index + 1)

    assert np.mean(runs) >= 200


def test_a_drop_from_90_to_80_percent_is_found_after_90_values_in_the_middle() -> None:
    delays = []
    for seed in range(100):
        baseline = measure_baseline(binary(0.9, 1000, seed))
        _, index = advance(baseline, start_monitor(baseline, mean_run=2000), binary(0.8, 3000, seed))
        assert index is not None
        delays.append(index + 1)

    assert np.median(delays) <= 90
    assert np.quantile(delays, 0.9) <= 220


@pytest.mark.parametrize("baseline", [BASELINE, BLOCKS], ids=["single values", "blocks"])
def test_pieces_of_any_size_give_the_same_states_bit_by_bit(baseline: Baseline) -> None:
    values = np.concatenate([binary(0.9, 700, seed=7), binary(0.6, 300, seed=8)])
    start = start_monitor(baseline, direction="drop")
    whole, alarm = advance(baseline, start, values)
    assert alarm is not None
    assert whole.alarmed
    assert whole.n == alarm + 1

    for seed in range(12):
        rng = np.random.default_rng(seed)
        state, begun, index = start, 0, None
        while index is None:
            size = int(rng.integers(0, (2, 60, 400)[seed % 3]))
            state, index = advance(baseline, state, values[begun : begun + size])
            if index is None:
                assert state.n == begun + min(size, values.size - begun)
                begun += size
            # As the service keeps it.
            state = MonitorState.from_json(json.loads(json.dumps(state.to_json())))
        assert begun + index == alarm
        assert state == whole


def test_blocks_raise_alarms_at_their_ends() -> None:
    block = BLOCKS.block
    assert block > 1
    state, index = advance(BLOCKS, start_monitor(BLOCKS), [0.0] * 1000)

    assert index is not None
    assert (index + 1) % block == 0
    assert (state.pending, state.n_pending) == (0.0, 0)
    part, _ = advance(BLOCKS, start_monitor(BLOCKS), [1.0] * (block + 1))
    assert (part.n, part.n_pending, part.pending) == (block + 1, 1, 1.0)


def test_a_rise_is_a_drop_in_the_mirror_and_the_range_does_not_matter() -> None:
    scores = binary(0.9, 1000, seed=9)
    values = np.concatenate([binary(0.9, 200, seed=10), binary(0.7, 300, seed=11)])
    _, alarm = advance(BASELINE, start_monitor(BASELINE), values)
    mirrored, graded = measure_baseline(1 - scores), measure_baseline(1 + 4 * scores, value_range=(1, 5))
    plain = measure_baseline(scores)

    _, expected = advance(plain, start_monitor(plain), values)

    assert alarm is not None
    assert expected is not None
    assert advance(mirrored, start_monitor(mirrored, direction="rise"), 1 - values)[1] == expected
    assert advance(graded, start_monitor(graded), 1 + 4 * values)[1] == expected


def test_a_baseline_without_failures() -> None:
    baseline = measure_baseline([1.0] * 1000)
    drop, rise = start_monitor(baseline, direction="drop"), start_monitor(baseline, direction="rise")

    assert advance(baseline, drop, [1.0] * 20_000)[1] is None
    assert advance(baseline, rise, [1.0] * 20_000)[1] is None
    # One failure is no alarm, and five of a hundred are.
    assert advance(baseline, drop, [1.0] * 500 + [0.0] + [1.0] * 500)[1] is None
    assert advance(baseline, drop, ([1.0] * 19 + [0.0]) * 5)[1] is not None


def test_constant_scores_that_fall_raise_an_alarm() -> None:
    baseline = measure_baseline([0.8] * 200)

    assert advance(baseline, start_monitor(baseline), [0.8] * 10_000)[1] is None
    state, index = advance(baseline, start_monitor(baseline), [0.7] * 1000)
    assert index is not None
    assert index < 100
    assert state.evidence >= 1


def test_a_longer_mean_run_and_a_larger_least_shift_take_longer_and_are_quieter() -> None:
    values = binary(0.8, 2000, seed=12)
    _, soon = advance(BASELINE, start_monitor(BASELINE, mean_run=500), values)
    _, late = advance(BASELINE, start_monitor(BASELINE, mean_run=100_000), values)
    assert soon is not None
    assert late is not None
    assert soon < late

    slight = binary(0.87, 20_000, seed=13)
    _, found = advance(BASELINE, start_monitor(BASELINE), slight)
    _, ignored = advance(BASELINE, start_monitor(BASELINE, at_least=0.15), slight)
    assert found is not None
    assert ignored is None or ignored > found


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_value_is_refused_and_nothing_is_taken_in(bad: float) -> None:
    with pytest.raises(ValueError, match="scores"):
        advance(BASELINE, start_monitor(BASELINE), [1.0, bad])


def test_what_cannot_be_started_is_refused() -> None:
    with pytest.raises(ValueError, match="direction"):
        start_monitor(BASELINE, direction="down")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mean_run"):
        start_monitor(BASELINE, mean_run=99)
    for shift in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="at_least"):
            start_monitor(BASELINE, at_least=shift)


def test_an_alarmed_state_takes_no_more_values() -> None:
    state, index = advance(BASELINE, start_monitor(BASELINE), [0.0] * 100)
    assert index is not None

    with pytest.raises(ValueError, match="alarm"):
        advance(BASELINE, state, [1.0])


def test_nothing_to_take_in_changes_nothing() -> None:
    state = start_monitor(BASELINE)

    assert advance(BASELINE, state, []) == (state, None)


def test_the_state_is_small() -> None:
    state, _ = advance(BASELINE, start_monitor(BASELINE), binary(0.92, 10_000, seed=14))

    assert len(json.dumps(state.to_json())) < 2000


def test_recovery_is_reported_after_the_mean_is_back_and_seldom_before() -> None:
    back, false = [], []
    for seed in range(60):
        values = np.concatenate([binary(0.9, 100, seed), binary(0.7, 2000, seed)])
        state, index = advance(BASELINE, start_monitor(BASELINE), values)
        assert index is not None
        recovery = start_recovery(BASELINE, state, locate_change(BASELINE, values, index))
        assert (recovery.direction, recovery.mean_run, recovery.n) == ("rise", 2000, 0)
        _, found = advance(BASELINE, recovery, binary(0.9, 3000, seed + 100))
        back.append(math.inf if found is None else found)
        false.append(advance(BASELINE, recovery, binary(0.7, 1000, seed + 200))[1] is not None)

    assert np.median(back) <= 100
    assert max(back) < 3000
    assert np.mean(false) <= 0.35


def test_a_monitor_on_the_edge_of_its_range_cannot_drop() -> None:
    baseline = measure_baseline([0.0] * 100)

    state, index = advance(baseline, start_monitor(baseline, direction="drop"), [0.0] * 5000)

    assert index is None
    assert replace(state, wealth=()).evidence == 0


def test_a_share_above_the_quantile_of_the_baseline_keeps_the_mean_run() -> None:
    """The 95 % quantile of 300 latencies is as uncertain as a mean of 0 and 1: runs are followed to five times 2000.

    One baseline in 60 looks as if its scores were dependent, and is refused.
    """
    runs = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 300])
        quiet = rng.lognormal(0.0, 0.5, 300)
        above = np.sort(quiet)[284]
        try:
            baseline = measure_baseline((quiet > above).astype(float))
        except NotEnough:
            continue
        state, index = start_monitor(baseline, direction="rise", mean_run=2000), None
        while index is None and state.n < 10_000:
            state, index = advance(baseline, state, (rng.lognormal(0.0, 0.5, 1000) > above).astype(float))
        runs.append(min(state.n, 10_000))

    assert len(runs) >= 55
    assert np.mean(runs) >= 2000
    assert np.mean(np.array(runs) < 200) <= 0.2


@pytest.mark.parametrize("direction", ["drop", "rise"])
def test_a_mean_on_its_limit_keeps_the_mean_run(direction: Direction) -> None:
    limit = 0.9 if direction == "drop" else 0.05
    baseline, runs = limit_baseline(limit), []
    for seed in range(60):
        state, index = start_monitor(baseline, direction=direction, mean_run=500), None
        for piece in range(5):
            if index is None:
                state, index = advance(baseline, state, binary(limit, 1000, 1000 * seed + piece))
        runs.append(state.n)

    assert np.mean(runs) >= 500


def draw(traffic: np.ndarray, seed: int, right: float, wrong: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of a traffic that are drawn with these probabilities, and the probability of each."""
    drawn = np.where(traffic > 0, right, wrong)
    kept = np.random.default_rng([seed, 1]).random(traffic.size) < drawn
    return traffic[kept], drawn[kept]


def test_equal_probabilities_change_nothing() -> None:
    values = binary(0.7, 300, seed=9)
    low = replace(BASELINE, lowest=0.2)

    plain, alarm = advance(BASELINE, start_monitor(BASELINE), values)
    drawn, drawn_alarm = advance(low, start_monitor(low), values, np.full(300, 0.2))

    assert alarm is not None
    assert (drawn_alarm, drawn.wealth, drawn.n) == (alarm, plain.wealth, plain.n)


@pytest.mark.parametrize(("right", "wrong"), [(0.05, 1.0), (1.0, 0.05), (0.2, 0.7), (0.1, 0.1)])
def test_scores_of_unequal_probabilities_gain_one_a_value(right: float, wrong: float) -> None:
    """On average over a traffic with its mean on the null mean, and over what is drawn of it."""
    limit = limit_baseline(0.9)
    state = replace(start_monitor(limit), lowest=(0.05, 1.0))
    chances = np.array([0.9 * right, 0.1 * wrong]) / (0.9 * right + 0.1 * wrong)
    sums = [math.fsum(advance(limit, state, [value], [p])[0].wealth) for value, p in ((1.0, right), (0.0, wrong))]

    assert float(chances @ sums) == pytest.approx(math.fsum(state.wealth) + 1.0)


def test_a_change_of_rates_is_no_alarm_and_hides_no_drop() -> None:
    unchanged, unweighted, found = 0, 0, 0
    for seed in range(40):
        baseline = measure_baseline(binary(0.9, 1000, seed))
        state = start_monitor(baseline)
        quiet = draw(binary(0.9, 2000, seed + 100), seed, right=0.1, wrong=0.5)
        unchanged += advance(baseline, state, *quiet)[1] is not None
        unweighted += advance(baseline, state, quiet[0])[1] is not None
        found += (
            advance(baseline, state, *draw(binary(0.6, 2000, seed + 100), seed, right=0.1, wrong=0.5))[1] is not None
        )

    assert unchanged <= 8
    assert (unweighted, found) == (40, 40)


def test_what_is_known_of_probabilities_is_forgotten_after_two_thousand_values() -> None:
    state = start_monitor(BASELINE)
    state, _ = advance(BASELINE, state, [1.0], [0.1])
    assert state.lowest == (1.0, 0.1)
    state, _ = advance(BASELINE, state, np.ones(999))
    assert state.lowest == (0.1, 1.0)
    whole, _ = advance(BASELINE, state, np.ones(1000), np.full(1000, 0.5))
    assert whole.lowest == (0.5, 1.0)
    piece, _ = advance(BASELINE, state, np.ones(400), np.full(400, 0.5))
    assert advance(BASELINE, piece, np.ones(600), np.full(600, 0.5))[0] == whole


def test_states_and_baselines_of_before_the_probabilities_are_read() -> None:
    state, _ = advance(BASELINE, start_monitor(BASELINE), [1.0, 0.0])
    fields, numbers = state.to_json(), BASELINE.to_json()
    assert (fields.pop("lowest"), numbers.pop("lowest")) == ([1.0, 1.0], 1.0)
    assert (MonitorState.from_json(fields), Baseline.from_json(numbers)) == (state, BASELINE)


def test_a_value_of_a_lower_probability_than_known_raises_no_alarm_alone() -> None:
    """It counts once where it speaks for a change, and can lose all wealth where it speaks against one."""
    state = start_monitor(BASELINE)
    for value in (0.0, 1.0):
        found, index = advance(BASELINE, state, [value], [1e-9])
        assert index is None
        assert min(found.wealth) > -1e-12
        assert math.fsum(found.wealth) <= math.fsum(advance(BASELINE, state, [value])[0].wealth)
    assert advance(BASELINE, state, [1.0], [1e-9])[0].wealth[-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("probabilities", [[0.5], [0.0, 0.5], [0.5, 1.5], [0.5, math.nan]])
def test_what_is_no_probability_is_refused(probabilities: list[float]) -> None:
    with pytest.raises(ValueError):
        advance(BASELINE, start_monitor(BASELINE), [1.0, 0.0], probabilities)
    with pytest.raises(ValueError):
        measure_baseline([1.0, 0.0], probabilities=probabilities)

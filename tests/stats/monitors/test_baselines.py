"""Baselines: what is independent in a quiet period, and how many values are needed."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from evalsvc.stats.monitors import Baseline, NotEnough, limit_baseline, measure_baseline
from evalsvc.stats.monitors.dependence import is_independent, serial_design_effect


def autoregressive(phi: float, n: int, seed: int) -> np.ndarray:
    """Return values in [0, 1] that remember the one before."""
    noise = np.random.default_rng(seed).standard_normal(n) * math.sqrt(1 - phi**2)
    values = np.empty(n)
    last = 0.0
    for i in range(n):
        last = values[i] = phi * last + noise[i]
    return 1 / (1 + np.exp(-values))


def test_independent_scores_are_their_own_units() -> None:
    scores = (np.random.default_rng(1).random(1000) < 0.9).astype(float)

    found = measure_baseline(scores)

    assert (found.n, found.n_units, found.unit, found.block) == (1000, 1000, "score", 1)
    assert found.mean == pytest.approx(scores.mean())
    assert found.variance == pytest.approx(scores.var())


def test_sessions_are_the_units_where_their_scores_resemble_each_other() -> None:
    rng = np.random.default_rng(2)
    sessions = np.arange(2000) // 10
    right = rng.random(200) < 0.9

    found = measure_baseline(right[sessions].astype(float), units=sessions)

    assert (found.unit, found.n, found.n_units, found.block) == ("unit", 2000, 200, 1)
    assert found.design_effect == pytest.approx(10, rel=0.05)
    assert found.mean == pytest.approx(right.mean())


def test_scores_are_the_values_where_sessions_of_independent_scores_are_named() -> None:
    scores = (np.random.default_rng(4).random(4000) < 0.8).astype(float)

    found = measure_baseline(scores, units=[f"session {i // 2}" for i in range(4000)])

    assert found.unit == "score"
    assert found.design_effect <= 1.1


def test_units_are_ordered_by_their_ends_and_weigh_the_same() -> None:
    # Two interleaved sessions a round, of one and of three scores.
    units = np.concatenate([[3 * i, 3 * i + 1, 3 * i, 3 * i] for i in range(60)])
    scores = np.tile([0.0, 1.0, 0.0, 0.0], 60)

    found = measure_baseline(scores, units=units)

    assert (found.unit, found.n_units, found.mean) == ("unit", 120, 0.5)


@pytest.mark.parametrize("phi", [0.3, 0.6])
def test_consecutive_scores_that_resemble_each_other_are_averaged(phi: float) -> None:
    values = autoregressive(phi, 5000, seed=3)

    found = measure_baseline(values)

    assert found.block >= 2
    assert found.n_units == 5000 // found.block >= 50
    assert found.design_effect == pytest.approx((1 + phi) / (1 - phi), rel=0.3)
    assert is_independent(values[: found.n_units * found.block].reshape(-1, found.block).mean(axis=1))


def test_scores_that_never_forget_are_refused_with_what_is_missing() -> None:
    with pytest.raises(NotEnough) as raised:
        measure_baseline(np.repeat([0.0, 1.0], 100))

    assert raised.value.n_units < 50
    assert raised.value.missing > 0


@pytest.mark.parametrize("n", [0, 1, 3, 49])
def test_few_scores_are_refused_with_how_many_are_missing(n: int) -> None:
    with pytest.raises(NotEnough) as raised:
        measure_baseline([1.0] * n)

    assert (raised.value.n_units, raised.value.missing) == (n, 50 - n)
    assert f"{50 - n} more" in str(raised.value)


def test_equal_scores_are_a_baseline() -> None:
    found = measure_baseline([1.0] * 50)

    assert (found.mean, found.variance, found.design_effect) == (1.0, 0.0, 1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_score_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="scores"):
        measure_baseline([1.0] * 60 + [bad])


def test_units_must_be_as_many_as_scores_and_a_range_is_needed() -> None:
    with pytest.raises(ValueError, match="units"):
        measure_baseline([1.0] * 60, units=[1] * 59)
    with pytest.raises(ValueError, match="value_range"):
        measure_baseline([1.0] * 60, value_range=(1.0, 1.0))


def test_a_limit_lies_within_the_range() -> None:
    assert limit_baseline(0.9).n_units == 0
    assert limit_baseline(4.0, value_range=(1.0, 5.0)).variance == 3.0
    for limit in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="limit"):
            limit_baseline(limit)


def test_json_keeps_every_bit() -> None:
    found = measure_baseline(autoregressive(0.6, 3000, seed=9))

    assert Baseline.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_the_design_effect_of_a_series_that_remembers() -> None:
    for phi in (0.0, 0.3, 0.6, 0.9):
        found = serial_design_effect(autoregressive(phi, 50_000, seed=5))
        assert found == pytest.approx((1 + phi) / (1 - phi), rel=0.12), phi
    assert serial_design_effect(np.ones(10)) == serial_design_effect(np.array([0.0, 1.0])) == 1.0


def test_most_short_independent_series_count_as_independent() -> None:
    rng = np.random.default_rng(6)

    found = [is_independent(rng.random(n)) for n in (50, 200, 1000) for _ in range(100)]

    assert np.mean(found) >= 0.88


def test_a_baseline_of_unequal_probabilities_is_that_of_the_traffic() -> None:
    held = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 3])
        traffic = (rng.random(4000) < 0.9).astype(float)
        drawn = np.where(traffic > 0, 0.1, 1.0)
        kept = rng.random(4000) < drawn
        found = measure_baseline(traffic[kept], probabilities=drawn[kept])
        error = (found.variance / found.n_units) ** 0.5
        held += abs(found.mean - 0.9) <= 2.0 * error
        assert (found.n, found.lowest) == (kept.sum(), 0.1)
        assert found.n_units * found.block <= kept.sum()

    assert held >= 182


def test_a_baseline_of_few_large_weights_is_refused_with_what_is_missing() -> None:
    drawn = np.array([1.0] * 190 + [0.01] * 10)
    with pytest.raises(NotEnough) as refused:
        measure_baseline(np.tile([1.0, 0.0], 100), probabilities=drawn)
    assert (refused.value.n_units, refused.value.missing) == (14, 508)


def test_probabilities_are_of_scores_or_of_the_values_of_units() -> None:
    with pytest.raises(ValueError, match="units"):
        measure_baseline([1.0, 0.0], units=[1, 2], probabilities=[1.0, 0.5])


def test_equal_probabilities_are_no_weights() -> None:
    scores = np.tile([1.0, 0.0, 1.0], 100)
    found = measure_baseline(scores, probabilities=np.full(300, 0.25))
    assert found == replace(measure_baseline(scores), lowest=0.25)

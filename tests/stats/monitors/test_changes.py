"""The change point behind an alarm, and how often its interval holds it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from evalsvc.stats.monitors import (
    ChangePoint,
    advance,
    limit_baseline,
    locate_change,
    measure_baseline,
    start_monitor,
)


def binary(p: float, n: int, seed: int) -> np.ndarray:
    return (np.random.default_rng([seed, n]).random(n) < p).astype(float)


def test_an_evident_change_is_located_exactly() -> None:
    baseline = measure_baseline(binary(0.95, 500, seed=1))
    values = [1.0] * 120 + [0.0] * 30

    found = locate_change(baseline, values, 149)

    assert (found.at, found.after, found.n_after) == (120, 0.0, 30)
    assert found.lower >= 115
    assert found.upper <= 123
    assert found.before == baseline.mean


def test_the_interval_holds_the_change() -> None:
    hits, widths = [], []
    for seed in range(120):
        baseline = measure_baseline(binary(0.9, 1000, seed))
        values = np.concatenate([binary(0.9, 300, seed + 1000), binary(0.75, 3000, seed)])
        _, index = advance(baseline, start_monitor(baseline), values)
        if index is None or index < 300:
            continue
        found = locate_change(baseline, values, index)
        assert found.lower <= found.at <= found.upper <= index
        assert found.n_after == index + 1 - found.at
        assert found.after == pytest.approx(values[found.at : index + 1].mean())
        hits.append(found.lower <= 300 <= found.upper)
        widths.append(found.upper - found.lower + 1)

    assert len(hits) > 80
    assert np.mean(hits) >= 0.92
    assert np.median(widths) < 250


def test_later_values_narrow_the_interval() -> None:
    baseline = measure_baseline(binary(0.9, 1000, seed=2))
    values = np.concatenate([binary(0.9, 400, seed=3), binary(0.75, 600, seed=4)])
    _, index = advance(baseline, start_monitor(baseline), values)
    assert index is not None

    at_once, later = locate_change(baseline, values, index), locate_change(baseline, values, 999)

    assert later.upper - later.lower < at_once.upper - at_once.lower
    assert later.lower <= 400 <= later.upper


def test_a_rise_and_other_ranges() -> None:
    scores, values = binary(0.9, 500, seed=5), np.concatenate([binary(0.9, 200, seed=6), binary(0.5, 60, seed=7)])
    plain = locate_change(measure_baseline(scores), values, 259)

    mirrored = locate_change(measure_baseline(1 - scores), 1 - values, 259)
    graded = locate_change(measure_baseline(1 + 4 * scores, value_range=(1, 5)), 1 + 4 * values, 259)

    assert (mirrored.at, mirrored.lower, mirrored.upper) == (plain.at, plain.lower, plain.upper)
    assert (graded.at, graded.lower, graded.upper) == (plain.at, plain.lower, plain.upper)
    assert mirrored.after == pytest.approx(1 - plain.after)
    assert graded.after == pytest.approx(1 + 4 * plain.after)


def test_a_change_in_the_first_value_and_a_single_value() -> None:
    baseline = measure_baseline([1.0] * 100)

    assert locate_change(baseline, [0.0] * 10, 9).at == 0
    assert locate_change(baseline, [0.0], 0) == ChangePoint(0, 0, 0, 1.0, 0.0, 1)


def test_a_limit_needs_no_baseline() -> None:
    found = locate_change(limit_baseline(0.9), [1.0] * 50 + [0.0, 1.0] * 20, 89)

    assert 45 <= found.at <= 52
    assert found.before == 0.9


def test_sessions_are_located_more_narrowly_than_single_scores() -> None:
    rng = np.random.default_rng(8)
    means = rng.binomial(10, 0.9, 500) / 10
    values = np.concatenate([rng.binomial(10, 0.9, 100) / 10, rng.binomial(10, 0.75, 40) / 10])

    found = locate_change(measure_baseline(means), values, 139)

    assert found.lower <= 100 <= found.upper
    assert found.upper - found.lower < 12


def test_what_cannot_be_located_is_refused() -> None:
    baseline = measure_baseline([1.0] * 60)
    for values, index in (([], 0), ([1.0], 1), ([1.0], -1), ([math.nan], 0), ([2.0], 0)):
        with pytest.raises(ValueError, match=r"values|scores"):
            locate_change(baseline, values, index)


def test_json_keeps_every_bit() -> None:
    found = locate_change(limit_baseline(0.9), [1.0] * 7 + [0.1] * 5, 11)

    assert ChangePoint.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_the_mean_after_the_change_is_that_of_the_traffic() -> None:
    """Nine of ten are drawn with .1 and say 1, the others with 1 and say 0: as many 1 as 0 are seen."""
    baseline = measure_baseline(binary(0.99, 1000, seed=1))
    values = np.concatenate([np.ones(50), np.tile([1.0, 0.0], 50)])
    drawn = np.concatenate([np.full(50, 0.1), np.tile([0.1, 1.0], 50)])

    found = locate_change(baseline, values, values.size - 1, drawn)

    assert found.after == pytest.approx(10 / 11, abs=0.02)
    assert found.n_after == values.size - found.at
    equal = locate_change(baseline, values, values.size - 1, np.full(values.size, 0.3))
    assert equal == locate_change(baseline, values, values.size - 1)

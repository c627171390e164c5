"""Shifts in the level of a history: found where there are some, and seldom where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstwobign

from evalsvc.stats.histories.drift import detect_drift, kolmogorov_tail
from tests.stats.reference import Row


def stepped(n: int, before: float, after: float, seed: int, at: float = 0.5) -> Row:
    rng = np.random.default_rng([seed, n])
    return (rng.random(n) < np.where(np.arange(n) < at * n, before, after)).astype(float)


def remembering(n: int, phi: float, seed: int) -> Row:
    noise = np.random.default_rng(seed).normal(size=n)
    for i in range(1, n):
        noise[i] += phi * noise[i - 1]
    return noise


def test_the_tail_is_kolmogorovs() -> None:
    for x in (0.1, 0.3, 0.7, 1.0, 1.5, 2.5):
        assert kolmogorov_tail(x) == pytest.approx(kstwobign.sf(x), abs=1e-9)


def test_a_step_in_the_middle_of_a_thousand_is_found() -> None:
    found = [detect_drift(stepped(1000, 0.9, 0.8, seed)) for seed in range(100)]
    steps = [drift.changed_at for drift in found if drift]

    assert len(steps) >= 88
    assert abs(np.median(steps) - 500) <= 15


def test_the_rate_now_is_that_since_the_step() -> None:
    row = stepped(1000, 0.9, 0.6, 1)
    found = detect_drift(row)

    assert found is not None
    assert found.before == row[: found.changed_at].mean()
    assert found.after == row[found.changed_at :].mean()
    assert found.p_value < 1e-6


@pytest.mark.parametrize("n", [50, 100, 1000])
@pytest.mark.parametrize("shape", ["normal", "shares", "rare", "skewed"])
def test_steady_histories_are_seldom_called_a_drift(n: int, shape: str) -> None:
    rng = np.random.default_rng([2, n])
    draws = {
        "normal": lambda: rng.normal(size=n),
        "shares": lambda: (rng.random(n) < 0.9).astype(float),
        "rare": lambda: (rng.random(n) < 0.98).astype(float),
        "skewed": lambda: rng.beta(0.3, 3, n),
    }
    alarms = sum(detect_drift(draws[shape]()) is not None for _ in range(500))

    # One in a hundred, and three standard errors of five hundred.
    assert alarms / 500 <= 0.01 + 3 * 0.0045 + 0.004


def test_memory_is_no_drift() -> None:
    alarms = sum(detect_drift(remembering(1000, 0.6, seed)) is not None for seed in range(300))

    assert alarms / 300 <= 0.03


def test_backwards_is_the_same_shift() -> None:
    row = stepped(400, 0.9, 0.5, 3)
    forwards, backwards = detect_drift(row), detect_drift(row[::-1])

    assert forwards is not None
    assert backwards is not None
    assert backwards.changed_at == 400 - forwards.changed_at
    assert backwards.p_value == pytest.approx(forwards.p_value)


def test_it_says_nothing_of_short_or_equal_histories() -> None:
    assert detect_drift(stepped(49, 1.0, 0.0, 4)) is None
    assert detect_drift([0.5] * 100) is None
    assert detect_drift([]) is None


def test_a_clean_step_needs_no_variance() -> None:
    found = detect_drift([0.2] * 60 + [0.8] * 60)

    assert found is not None
    assert (found.changed_at, found.p_value) == (60, 0.0)

"""The test whether a config fails at random: its false alarms, and its power with one other config."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.pairs.failures import has_failed_at_random

N, ROUNDS = 400, 400


def draw_alarms(share_failing_if_wrong: float, share_failing_if_right: float, seed: int) -> tuple[float, float]:
    """Return how often there was an alarm, and how many failures there were on average.

    The config is wrong on a fifth of the examples; the other one agrees with it on most of them.
    """
    rng = np.random.default_rng(seed)
    alarms, failures = 0, 0
    for _ in range(ROUNDS):
        difficulty = rng.beta(0.3, 1.2, N)
        is_wrong, other = rng.random(N) < difficulty, (rng.random(N) >= difficulty).astype(float)
        failed = rng.random(N) < np.where(is_wrong, share_failing_if_wrong, share_failing_if_right)
        alarms += not has_failed_at_random(other, failed)
        failures += int(failed.sum())
    return alarms / ROUNDS, failures / ROUNDS


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_failures_at_random_raise_no_alarm(share: float) -> None:
    alarms, _ = draw_alarms(share, share, seed=1)
    assert alarms <= 0.01 + 3 * (0.01 * 0.99 / ROUNDS) ** 0.5


@pytest.mark.parametrize(("share", "n_failed", "power"), [(0.5, 40, 0.9), (0.25, 20, 0.6), (0.1, 8, 0.15)])
def test_failures_on_hard_examples_are_found(share: float, n_failed: int, power: float) -> None:
    alarms, mean = draw_alarms(share, 0.0, seed=2)
    assert abs(mean - n_failed) < 2
    assert alarms >= power


def test_nothing_can_be_found_without_contrast() -> None:
    everything = np.ones(50, dtype=np.bool_)
    assert has_failed_at_random(np.full(50, 1 / 3), np.arange(50) < 10)
    assert has_failed_at_random(np.zeros(50), everything)
    assert has_failed_at_random(np.zeros(50), ~everything)
    assert has_failed_at_random(np.full(50, np.nan), np.arange(50) < 10)

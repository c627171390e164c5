"""Histories to compute intervals of."""

from __future__ import annotations

import numpy as np

from evalsvc.stats import HistoryInterval
from tests.stats.reference import Row


def ends(interval: HistoryInterval) -> list[float]:
    assert interval.lower is not None
    assert interval.median is not None
    assert interval.upper is not None
    return [interval.lower, interval.median, interval.upper]


def continuous(n: int, seed: int = 1) -> Row:
    return np.random.default_rng([seed, n]).random(n)


def sparse(n: int, k: int, seed: int = 1) -> Row:
    rng = np.random.default_rng([seed, n, k])
    scores = np.zeros(n)
    scores[rng.permutation(n)[:k]] = rng.random(k)
    return scores


def two_humps(n: int) -> Row:
    """Scores with a small fourth moment, so that even twenty of them share the variance."""
    return np.cos(np.pi * (np.arange(n) + 0.5) / n) * np.linspace(0.9, 1.0, n)

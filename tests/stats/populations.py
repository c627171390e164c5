"""Populations that intervals find hard, each with its true mean."""

from __future__ import annotations

import numpy as np

from tests.stats.reference import Row

GRADES, WEIGHTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0.05, 0.1, 0.2, 0.35, 0.3])
BOUNDED = ("uniform", "likert", "beta", "zero-inflated", "rare failures", "narrow")


def draw(population: str, repeats: int, n: int, seed: int) -> tuple[Row, float]:
    """Return so many samples of n scores, one per row, and the mean of the population they come from."""
    rng = np.random.default_rng([seed, n])
    size = (repeats, n)
    uniform: Row = rng.random(size)
    if population == "uniform":
        return uniform, 0.5
    if population == "likert":
        return rng.choice(GRADES, size=size, p=WEIGHTS), float(GRADES @ WEIGHTS)
    if population == "beta":
        return rng.beta(0.3, 3.0, size), 0.3 / 3.3
    if population == "zero-inflated":
        return np.where(rng.random(size) < 0.9, 0.0, uniform), 0.05
    if population == "rare failures":
        return np.where(rng.random(size) < 0.02, 0.05 * uniform, 1.0 - 0.05 * uniform), 0.02 * 0.025 + 0.98 * 0.975
    if population == "narrow":
        return 0.4 + 0.2 * uniform, 0.5
    raise ValueError(population)

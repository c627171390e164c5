"""Populations that intervals find hard, with their true means."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Row]
GRADES, WEIGHTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0.05, 0.1, 0.2, 0.35, 0.3])


def _zero_inflated(rng: np.random.Generator, size: tuple[int, ...]) -> Row:
    return np.where(rng.random(size) < 0.9, 0.0, rng.random(size))


def _rare_failures(rng: np.random.Generator, size: tuple[int, ...]) -> Row:
    noise = 0.05 * rng.random(size)
    return np.where(rng.random(size) < 0.02, noise, 1.0 - noise)


# All within [0, 1].
BOUNDED: dict[str, tuple[Draw, float]] = {
    "uniform": (lambda rng, size: rng.random(size), 0.5),
    "Likert": (lambda rng, size: rng.choice(GRADES, size=size, p=WEIGHTS), float(GRADES @ WEIGHTS)),
    "beta(.3, 3)": (lambda rng, size: rng.beta(0.3, 3.0, size), 0.3 / 3.3),
    "90 % zeros": (_zero_inflated, 0.05),
    "2 % failures": (_rare_failures, 0.02 * 0.025 + 0.98 * 0.975),
}
# Without a range; as latencies are.
LOGNORMAL: tuple[Draw, float] = (lambda rng, size: rng.lognormal(0.0, 1.5, size), math.exp(1.125))


def drawn(name: str, repeats: int, n: int, seed: int) -> tuple[Row, float]:
    """Return so many samples, one per row, and the mean they come from."""
    draw, mean = LOGNORMAL if name == "lognormal" else BOUNDED[name]
    key = [seed, n, *name.encode()]
    return draw(np.random.default_rng(key), (repeats, n)), mean

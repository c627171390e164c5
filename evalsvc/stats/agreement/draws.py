"""Draws of items for review: uniformly at random, or with unequal probabilities that are stored for weighting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FLOOR = 0.02
"""No item is drawn with a smaller probability: its weight would be above 50, and the variance with it."""
_SMALLEST = 1e-3
Floats = NDArray[np.float64]


def draw_at_random(n_frame: int, n: int, *, seed: int) -> list[int]:
    """Return `n` of the places 0…n_frame-1, each set of them equally likely, in a random order."""
    rng = np.random.default_rng(seed)
    return [int(place) for place in rng.permutation(n_frame)[: max(0, n)]]


def compute_floor(n_frame: int, n: float) -> float:
    """Return the smallest probability of a draw: FLOOR, or less where floors alone would draw more than half of `n`."""
    return min(FLOOR, n / (2 * n_frame))


def inclusion_probabilities(weights: Sequence[float], n: float) -> tuple[Floats, float]:
    """Return the probabilities of a Poisson draw of `n` items on average, and the factor c.

    π_i = min(1, max(floor, c·w_i)) with c so that Σπ = n; see Zrnic & Candès (2024), "Active statistical inference",
    for why a floor. A weight is relative; one below a thousandth of the largest counts as that, so that c exists.

    Examples
    --------
    >>> found, c = inclusion_probabilities([1, 1, 2, 4], 2)
    >>> [round(float(bound), 3) for bound in found], round(c, 3)
    ([0.25, 0.25, 0.5, 1.0], 0.25)
    """
    w = np.asarray(weights, dtype=float)
    if not w.size:
        return w, 0.0
    if not np.isfinite(w).all() or (w < 0).any():
        raise ValueError("Weights are finite and not negative.")
    if n >= w.size:
        return np.ones(w.size), 1.0
    largest = float(w.max())
    w = np.full(w.size, 1.0) if largest == 0 else np.maximum(w / largest, _SMALLEST)
    floor = compute_floor(w.size, n)
    low, high = 0.0, 1 / float(w.min())
    # The sum grows with c without a jump. A hundred halvings leave nothing of an interval of doubles.
    for _ in range(100):
        c = (low + high) / 2
        if np.clip(c * w, floor, 1).sum() < n:
            low = c
        else:
            high = c
    return np.clip(high * w, floor, 1), high / (largest or 1.0)


def draw_poisson(probabilities: Sequence[float] | Floats, *, seed: int) -> list[int]:
    """Return the drawn places in a random order: each by its own probability, whatever becomes of the others."""
    rng = np.random.default_rng(seed)
    selected = np.flatnonzero(rng.random(len(probabilities)) < np.asarray(probabilities))
    return [int(place) for place in rng.permutation(selected)]

r"""Whether a history moved: a test with power against shifts of its level, and where the shift is.

The largest distance between the running sum and its share of the whole,

.. math:: \max_k |S_k - \tfrac{k}{n} S_n| \,/\, (\hat\sigma\sqrt n),

is that of a Brownian bridge from zero where nothing changes (Kolmogorov's distribution). :math:`\hat\sigma` is taken
from the scores on either side of the best split, and widened where neighbours resemble each other beyond that split, so
that scores which only remember the one before are not called a drift.

References
----------
Page (1954), Continuous inspection schemes, Biometrika 41; Ploberger & Krämer (1992), The CUSUM test with OLS residuals,
Econometrica 60.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, validate_scores

IntArray: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

# With fewer scores the false alarms of histories that remember would be several in a hundred.
LEAST = 50
# One false alarm in a hundred steady histories.
ALARM = 0.01


@dataclass(frozen=True, slots=True)
class Drift:
    """A shift of the level of a history.

    Attributes
    ----------
    changed_at : int
        Index of the first score after the shift, in the order in which the scores were given.
    before, after : float
        Mean of the scores on either side.
    p_value : float
        How often a steady history looks this much like one that moved.
    """

    changed_at: int
    before: float
    after: float
    p_value: float


def detect_drift(scores: Scores, *, alpha: float = ALARM, blocks: IntArray | None = None) -> Drift | None:
    """Detect a shift of a history; None without significant evidence of one.

    Parameters
    ----------
    scores : sequence of float
        In chronological order. In reverse order the same shift is detected; `changed_at` then counts from the newest.
    alpha : float
        False alarm rate for a stationary history.
    blocks : ndarray of int64, shape (n,)
        What each score came with, such as one upload. Neighbours with equal numbers are one block, in which order means
        nothing: only shifts between blocks are detected. The maximum over fewer places is at most the maximum over all,
        so the false alarm rate still holds. By default each score is a block.

    Returns
    -------
    Drift or None
        None below 50 scores, for equal ones, and where only the first or last block differs. The
        interval since the shift is that of ``scores[changed_at:]``: it describes the current level, though a
        start chosen by the data makes it a little too narrow.

    Examples
    --------
    >>> found = detect_drift([1, 1, 1, 1, 1, 1, 1, 1, 1, 0] * 50 + [1, 1, 1, 0, 0] * 100)
    >>> found.changed_at, found.before, found.after
    (499, 0.9018036072144289, 0.5988023952095808)
    >>> detect_drift([1, 1, 1, 1, 0] * 100) is None
    True
    """
    row = validate_scores(scores)
    if row.size < LEAST or row.min() == row.max():
        return None
    unit = (row - row.min()) / (row.max() - row.min())
    sums = np.cumsum(unit - unit.mean())[:-1]
    ends = np.arange(row.size - 1) if blocks is None else np.flatnonzero(np.diff(blocks))
    if ends.size < 3:
        return None
    split = int(ends[np.abs(sums[ends]).argmax()]) + 1
    if split in (ends[0] + 1, ends[-1] + 1):
        # The first failure ever is the newest score when it comes: each would be called a drift.
        return None
    deviation = _long_run_deviation(unit, split)
    p_value = (
        kolmogorov_tail(abs(float(sums[split - 1])) / (deviation * math.sqrt(row.size))) if deviation > 0.0 else 0.0
    )
    if p_value >= alpha:
        return None
    return Drift(split, float(row[:split].mean()), float(row[split:].mean()), p_value)


def _long_run_deviation(unit: FloatArray, split: int) -> float:
    """Return the standard deviation that a running sum sees: beyond the split, with what neighbours have in common."""
    n = unit.size
    residuals = np.concatenate((unit[:split] - unit[:split].mean(), unit[split:] - unit[split:].mean()))
    squares = float(residuals @ residuals)
    if squares <= 1e-12 * n:
        return 0.0
    rho = float(residuals[1:] @ residuals[:-1]) / squares
    factor = (1.0 + rho) / (1.0 - rho) if rho > 1.0 / math.sqrt(n) else 1.0
    return math.sqrt(squares / (n - 2) * factor)


def kolmogorov_tail(x: float) -> float:
    r"""Return the probability that a Brownian bridge ever leaves :math:`\pm x`.

    Examples
    --------
    >>> round(kolmogorov_tail(1.3581), 4), round(kolmogorov_tail(1.6276), 4)
    (0.05, 0.01)
    """
    if x < 0.2:
        return 1.0
    terms = ((-1.0) ** (j - 1) * math.exp(-2.0 * j * j * x * x) for j in range(1, 40))
    return min(1.0, max(0.0, 2.0 * math.fsum(terms)))

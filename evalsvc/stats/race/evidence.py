r"""Which configs to stop while a race runs: pure decisions, used by the service and by the simulations alike.

The evidence that one config (the winner of an ordered pair) is better than another is the fortune of a gambler who bets
that the next example will favour it. If it is not better on the whole set, no way of betting gains on average:

.. math:: W_t = \frac1{8}\sum_\lambda \prod_{i \le t} \left(1 + \min\Big(\lambda, \frac{.95}{1+m_i}\Big)
          (D_i - m_i)\right), \qquad m_i = \frac{N\mu_0 - \sum_{j<i} D_j}{N-i+1}

with :math:`D_i` in [-1, 1] the difference of the rescaled scores on the i-th example, N the number of examples the
pair can have evidence on, and :math:`\mu_0` the largest mean difference of the hypothesis to refute: 0, or -epsilon.
So a fortune of c has probability at most 1/c ever, whenever and for whatever reason the race is looked at or stopped.

References
----------
Waudby-Smith & Ramdas (2020), Confidence sequences for sampling without replacement, NeurIPS 33; (2024), Estimating
means of bounded random variables by betting, JRSS B 86.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, as_row

STAKES = (0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8)
# A fortune that no longer depends on chance: the hypothesis contradicts what has been seen.
CERTAIN = 1e9
# The largest exponent with a finite exponential.
LARGEST = 700.0


@dataclass(frozen=True, slots=True)
class Pair:
    """The evidence so far that `winner` is better than `loser`; the other direction is a pair of its own.

    Attributes
    ----------
    winner, loser : int
        Ids of the two configs.
    start : int
        Position of the first example that counts: nothing before it was hidden from the designer of either.
    n : int
        How many examples count so far, from `start` on, without a gap.
    total, squares : float
        Sum of the differences winner minus loser, and of their squares.
    n_plus, n_minus : int
        On how many examples the winner scored higher, and lower.
    log_wealth : tuple of float
        Log of the fortune of each of the eight gamblers who bet against "the winner is not better".
    log_not_worse : tuple of float or None
        The same against "the winner is worse by epsilon or more"; None when no epsilon was given.
    """

    winner: int
    loser: int
    start: int
    n: int
    total: float
    squares: float
    n_plus: int
    n_minus: int
    log_wealth: tuple[float, ...]
    log_not_worse: tuple[float, ...] | None


def new_pair(winner: int, loser: int, start: int, epsilon: float | None) -> Pair:
    """Return a pair without evidence yet.

    Examples
    --------
    >>> e_value(new_pair(1, 2, 0, None))
    1.0
    """
    nothing = (0.0,) * len(STAKES)
    return Pair(winner, loser, start, 0, 0.0, 0.0, 0, 0, nothing, None if epsilon is None else nothing)


def differences(winner_scores: Scores, loser_scores: Scores) -> FloatArray:
    """Return winner minus loser, with every missing score taken in favour of the loser.

    Parameters
    ----------
    winner_scores, loser_scores : sequence of float
        Rescaled to [0, 1], higher is better; NaN where there is none.

    Returns
    -------
    ndarray
        Within [-1, 1]: a missing winner counts 0, a missing loser 1.

    Examples
    --------
    >>> differences([1.0, float("nan"), 1.0], [0.5, 0.5, float("nan")]).tolist()
    [0.5, -0.5, 0.0]
    """
    winner, loser = as_row(winner_scores), as_row(loser_scores)
    difference: FloatArray = np.where(np.isnan(winner), 0.0, winner) - np.where(np.isnan(loser), 1.0, loser)
    if difference.size and not (difference.min() >= -1.0 and difference.max() <= 1.0):
        raise ValueError("`scores` must be rescaled to lie between 0 and 1.")
    return difference


def advance(pair: Pair, differences: FloatArray, population: int, epsilon: float | None) -> Pair:
    """Return the pair after the examples that follow those it has seen.

    Parameters
    ----------
    pair : Pair
        Up to position ``pair.start + pair.n``.
    differences : ndarray
        Winner minus loser from that position on, without a gap, as `differences` returns them.
    population : int
        Number of examples in the whole set.
    epsilon : float or None
        Smallest difference that matters, on the scale of 0 to 1; as given to `new_pair`.

    Examples
    --------
    >>> ahead = advance(new_pair(1, 2, 0, None), np.ones(10), 400, None)
    >>> ahead.n, ahead.n_plus, round(e_value(ahead), 1)
    (10, 10, 67.4)
    """
    return advance_all([pair], [differences], population, epsilon)[0]


def advance_all(
    pairs: Sequence[Pair], differences: Sequence[FloatArray], population: int, epsilon: float | None
) -> list[Pair]:
    """Do the same for many pairs at once, which costs little more than one."""
    if not pairs:
        return []
    block = _Block.from_pairs(pairs, differences, population)
    wealth = _advance_wealth([pair.log_wealth for pair in pairs], block, 0.0)
    not_worse = None
    if epsilon is not None:
        not_worse = _advance_wealth([pair.log_not_worse or (0.0,) * len(STAKES) for pair in pairs], block, -epsilon)
    squares, plus, minus = (cells.sum(axis=1).tolist() for cells in (block.rows**2, block.rows > 0, block.rows < 0))
    totals = block.rows.sum(axis=1).tolist()
    return [
        replace(
            pair,
            n=pair.n + len(differences[i]),
            total=pair.total + totals[i],
            squares=pair.squares + squares[i],
            n_plus=pair.n_plus + plus[i],
            n_minus=pair.n_minus + minus[i],
            log_wealth=tuple(wealth[i]),
            log_not_worse=None if not_worse is None else tuple(not_worse[i]),
        )
        for i, pair in enumerate(pairs)
    ]


@dataclass(frozen=True, slots=True)
class _Block:
    """The next differences of many pairs: rows padded with zeros to one length."""

    rows: FloatArray
    counts: FloatArray
    before: FloatArray
    remaining: FloatArray
    sizes: FloatArray

    @classmethod
    def from_pairs(cls, pairs: Sequence[Pair], differences: Sequence[FloatArray], population: int) -> _Block:
        lengths = np.array([len(row) for row in differences])
        steps = np.arange(lengths.max())
        rows = np.zeros((len(pairs), steps.size))
        for i, row in enumerate(differences):
            rows[i, : len(row)] = row
        sizes = np.array([population - pair.start for pair in pairs], dtype=np.float64)
        remaining = sizes[:, None] - np.array([pair.n for pair in pairs])[:, None] - steps
        if any(size < pair.n + length for size, pair, length in zip(sizes, pairs, lengths, strict=True)):
            raise ValueError("`differences` must not go beyond the population.")
        totals = np.array([pair.total for pair in pairs])[:, None]
        counts = (steps < lengths[:, None]).astype(np.float64)
        return cls(rows, counts, totals + np.cumsum(rows, axis=1) - rows, np.maximum(remaining, 1.0), sizes)


def _advance_wealth(logs: Sequence[tuple[float, ...]], block: _Block, null: float) -> list[list[float]]:
    """Return the log fortunes after the block, for the hypothesis that the mean difference is `null` or less."""
    expected = (block.sizes[:, None] * null - block.before) / block.remaining
    # Below -1 the hypothesis requires impossible values of the remaining examples: it is refuted with certainty.
    certain = np.any((expected < -1.0 - 1e-9) & (block.counts > 0), axis=1, keepdims=True)
    room = np.maximum(1.0 + expected, 1e-9)[:, :, None]
    stakes = np.minimum(STAKES, 0.95 / room)
    growth = np.log1p(stakes * np.maximum(block.rows - expected, -room[:, :, 0])[:, :, None])
    log_wealth = np.array(logs) + (growth * block.counts[:, :, None]).sum(axis=1)
    rows: list[list[float]] = np.where(certain, CERTAIN, log_wealth).tolist()
    return rows


def e_value(pair: Pair) -> float:
    """Return the fortune of the gamblers together: the evidence that the winner is better."""
    return _mean_wealth(pair.log_wealth)


def not_worse_value(pair: Pair, population: int) -> float:
    r"""Return the evidence that the winner is not worse by epsilon or more; 0 without an epsilon.

    The mean over the gamblers who stake at least :math:`2.5/\sqrt N`. With s the standard deviation of the differences
    and z their mean in standard errors, a stake of :math:`u/\sqrt N` gains about
    :math:`uzs-u^2s^2/2` in the log over the whole set: with 0.5 and 3, a smaller u never reaches a wealth of 20, and
    the
    small stakes that a large set needs would only dilute the others.

    Examples
    --------
    >>> level = advance(new_pair(1, 2, 0, 0.1), np.zeros(300), 400, 0.1)
    >>> not_worse_value(level, 400) > 20.0, e_value(level) > 20.0
    (True, False)
    """
    if pair.log_not_worse is None:
        return 0.0
    least = 2.5 / math.sqrt(population - pair.start)
    n_used = max(1, sum(stake >= least for stake in STAKES))
    return _mean_wealth(pair.log_not_worse[-n_used:])


def _mean_wealth(logs: tuple[float, ...]) -> float:
    # A loop over eight numbers beats an array of them by far, and this runs for every pair at every look.
    return math.fsum(math.exp(min(log, LARGEST)) for log in logs) / len(logs)

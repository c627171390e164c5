r"""Anytime-valid betting interval for the mean of bounded scores.

For each candidate mean m, one gambler bets that the scores are higher and another that they are lower, with stakes
chosen before each score. If m is the true mean neither gains on average, so a fortune of 2/alpha has probability at
most alpha/2 ever (Ville), and the candidates against which neither reached it form the interval.

.. math:: W^{\pm}_t(m) = \prod_{i \le t} \left(1 \pm \lambda_i^{\pm}(x_i - m_i)\right), \qquad
          m_i = \frac{Nm - S_{i-1}}{N-i+1}, \qquad
          \lambda_i = \sqrt{\frac{2\ln(2/\alpha)}{\hat\sigma^2_{i-1}\, i \ln(1+i)}}

with the stake on higher scores capped at :math:`1/2m_i`, on lower scores at :math:`1/2(1-m_i)`. For new data
:math:`m_i = m`. Scores are rescaled to [0, 1].

References
----------
Waudby-Smith & Ramdas (2020), Confidence sequences for sampling without replacement, NeurIPS 33; (2024), Estimating
means of bounded random variables by betting, JRSS B 86.
"""

from __future__ import annotations

import math

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, ValueRange, as_row, validate_level, validate_range

Ends = tuple[float, float]

GRID = 1000
# Steps of bisection: ends to 2^-20 of the range, rounded outwards.
HALVINGS = 20
# Nothing is divided by less.
TINY = 1e-12


class Betting:
    """The interval, updated as scores arrive; the cost of an update depends on its own scores only.

    Candidate means lie on a grid of a thousandth of the range; bounds are rounded outwards to it. A mean once ruled out
    stays ruled out: the intervals after each score are simultaneously valid, and so is their intersection.

    Parameters
    ----------
    population : int or None
        Size of the set; None for new data.
    level : float
        Probability that all intervals, one after each score, contain the mean.
    value_range : pair of float
        Lowest and highest possible score.

    Examples
    --------
    >>> running = Betting(400, 0.95, (0, 1))
    >>> running.update([0.5, 0.75, 1.0, 0.5] * 25)
    >>> low, high = running.interval()
    >>> round(low, 3), round(high, 3)
    (0.631, 0.746)
    """

    def __init__(self, population: int | None, level: float, value_range: ValueRange = (0.0, 1.0)) -> None:
        limits = validate_range(value_range)
        if limits is None:
            raise ValueError("`value_range` must be two numbers: without it there is nothing to bet on.")
        self._low, self._width = limits[0], limits[1] - limits[0]
        self._population = population
        self._alpha = 1.0 - validate_level(level)
        self._past = _Past()
        self._means = np.linspace(0.0, 1.0, GRID + 1)
        # Log fortunes for each candidate, by who bets on higher scores and who on lower: now, and at their best.
        self._now = np.zeros((2, GRID + 1))
        self._best = np.zeros((2, GRID + 1))

    @property
    def n(self) -> int:
        """How many scores have been seen."""
        return self._past.n

    def update(self, scores: Scores) -> None:
        """Take in the next scores, in the order of the permutation; raise ValueError for one outside the range."""
        row = _unit_scores(scores, self._low, self._width)
        if self._population is not None and self._past.n + row.size > self._population:
            raise ValueError(f"`scores` must not be more than the population, {self._population}.")
        for start in range(0, row.size, 64):
            chunk = row[start : start + 64]
            stakes, before = _stakes(chunk, self._past, self._alpha)
            gains = _gains(self._means, chunk, stakes, before, self._past.n, self._population)
            logs = self._now[:, :, None] + np.cumsum(gains, axis=2)
            self._now, self._best = logs[:, :, -1], np.maximum(self._best, logs.max(axis=2))
            self._past = self._past.advance(chunk)

    def interval(self) -> Ends:
        """Return lower and upper end, in the unit of the scores; the whole range before the first score."""
        if not self._past.n:
            return self._low, self._low + self._width
        mean = self._past.total / self._past.n
        lower, upper = self._ends(self._best)
        # Where the mean just seen has been ruled out before, which is rare, only the present interval has an end there.
        now = self._ends(self._now) if not lower <= mean <= upper else (lower, upper)
        lower, upper = lower if lower <= mean else now[0], upper if upper >= mean else now[1]
        lower, upper = _clip_to_reachable(lower, upper, self._past, self._population)
        return self._low + self._width * lower, self._low + self._width * upper

    def _ends(self, logs: FloatArray) -> Ends:
        """Return the last mean that is too low, and the first that is too high."""
        too_low, too_high = (np.flatnonzero(row >= math.log(2.0 / self._alpha)) for row in logs)
        lower = float(self._means[too_low[-1]]) if too_low.size else 0.0
        return lower, float(self._means[too_high[0]]) if too_high.size else 1.0


def betting_interval(
    scores: Scores, population: int | None, level: float, value_range: Ends, *, running: bool = False
) -> Ends:
    """Return the interval after all these scores at once, by bisection instead of a grid.

    Parameters
    ----------
    scores : sequence of float
        In the order of the permutation, within the range. NaN is a failed example: the interval is valid
        for any score of it, since the lower bound uses the lowest score for it and the upper bound the highest.
    population, level, value_range
        As for `Betting`. The population is the planned one, failures included: bets on a set that shrinks as examples
        fail would not be fair.
    running : bool
        True for the intersection of the intervals after each score: a mean once ruled out stays ruled out, with the
        same guarantee (Ville), and the bounds never move outwards (except for a bound beyond the sample mean).

    Returns
    -------
    tuple of float
        Lower and upper bound, in the unit of the scores.

    Examples
    --------
    >>> low, high = betting_interval([0.5, 0.75, 1.0, 0.5] * 25, 400, 0.95, (0, 1))
    >>> round(low, 3), round(high, 3)
    (0.631, 0.745)
    """
    low, width = value_range[0], value_range[1] - value_range[0]
    row = (as_row(scores) - low) / width
    failed = np.isnan(row)
    _check_unit(row[~failed])
    alpha = 1.0 - level
    # The upper end is the lower end of the scores seen in a mirror.
    lower = _lower_end(np.where(failed, 0.0, row), population, alpha, running)
    upper = 1.0 - _lower_end(np.where(failed, 0.0, 1.0 - row), population, alpha, running)
    return low + width * lower, low + width * upper


def _lower_end(row: FloatArray, population: int | None, alpha: float, running: bool) -> float:
    """Return the highest mean that a gambler betting on higher scores has ruled out, rounded downwards."""
    if not row.size:
        return 0.0
    rich = math.log(2.0 / alpha)
    stakes, before = _stakes(row, _Past(), alpha)
    # What a mean makes of the scores to come is linear in it: each step of the bisection costs a few passes.
    slope, offset = _expectation(before, population)

    def is_kept(mean: float, running: bool) -> bool:
        expected = np.minimum(np.maximum(mean * slope - offset, TINY), 1.0 - TINY)
        logs = np.log1p(np.minimum(stakes, 0.5 / expected) * (row - expected))
        return float(np.cumsum(logs).max() if running else logs.sum()) < rich

    sample_mean = float(row.mean())
    # Where the mean just seen has been ruled out before, which is rare, only the present interval has an end below it.
    running = running and is_kept(sample_mean, running)
    outside, inside = 0.0, sample_mean
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if is_kept(middle, running) else (inside, middle)
    return outside if population is None else max(outside, float(row.sum()) / population)


def _expectation(before: FloatArray, population: int | None) -> tuple[FloatArray | float, FloatArray | float]:
    """Return slope and offset of the score expected at each step, as a function of the candidate mean."""
    if population is None:
        return np.ones(before.size), 0.0
    remaining = population - np.arange(before.size)
    return population / remaining, before / remaining


class _Past:
    """What the stakes and candidate means need to know of the scores before."""

    __slots__ = ("deviations", "n", "total")

    def __init__(self, n: int = 0, total: float = 0.0, deviations: float = 0.0) -> None:
        self.n, self.total, self.deviations = n, total, deviations

    def advance(self, row: FloatArray) -> _Past:
        deviations = self.deviations + float(_squared_deviations(row, self).sum())
        return _Past(self.n + row.size, self.total + float(row.sum()), deviations)


def _squared_deviations(row: FloatArray, past: _Past) -> FloatArray:
    """Return the squared distance of each score from the mean so far, itself included, shrunk towards one half."""
    count = past.n + np.arange(1, row.size + 1)
    means = (0.5 + past.total + np.cumsum(row)) / (count + 1.0)
    squared: FloatArray = (row - means) ** 2
    return squared


def _stakes(row: FloatArray, past: _Past, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Return the uncapped stake on each score, from the scores before it, and the sum of those."""
    number = past.n + np.arange(1, row.size + 1)
    squared = _squared_deviations(row, past)
    # The variance of the scores before each one: the running sum without its own term.
    variance = (0.25 + past.deviations + np.cumsum(squared) - squared) / number
    stakes = np.sqrt(2.0 * math.log(2.0 / alpha) / (variance * number * np.log1p(number)))
    return stakes, past.total + np.cumsum(row) - row


def _gains(
    means: FloatArray, row: FloatArray, stakes: FloatArray, before: FloatArray, n: int, population: int | None
) -> FloatArray:
    """Return by how much the log fortune of either gambler grows with each score, for each candidate mean."""
    expected = np.broadcast_to(means[:, None], (means.size, row.size))
    if population is not None:
        expected = (population * expected - before) / (population - n - np.arange(row.size))
    # A mean that cannot be reached any more is settled by `_clip_to_reachable`; here it must only not break the
    # logarithm.
    expected = np.clip(expected, TINY, 1.0 - TINY)
    surprise = row - expected
    higher = np.minimum(stakes, 0.5 / expected) * surprise
    lower = -np.minimum(stakes, 0.5 / (1.0 - expected)) * surprise
    gains: FloatArray = np.log1p(np.stack([higher, lower]))
    return gains


def _clip_to_reachable(lower: float, upper: float, past: _Past, population: int | None) -> Ends:
    # The sample mean itself can be ruled out; an interval that excludes its own estimate would look like an error.
    mean = past.total / past.n
    lower, upper = min(lower, mean), max(upper, mean)
    if population is None:
        return lower, upper
    return max(lower, past.total / population), min(upper, (past.total + population - past.n) / population)


def _unit_scores(scores: Scores, low: float, width: float) -> FloatArray:
    row = (as_row(scores) - low) / width
    _check_unit(row)
    return row


def _check_unit(row: FloatArray) -> None:
    if row.size and not (row.min() >= 0.0 and row.max() <= 1.0):
        raise ValueError("`scores` must lie within `value_range`.")

"""What two configs have in common: sums over the examples that both have finished, brought up a part at a time.

Pure numbers, for the service and for simulations alike. Scores are on the scale on which configs are compared, higher
being better: rescaled to [0, 1] for a metric in a range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.pairs.newpairs import STAKES
from evalsvc.stats.pairs.paired import Differences

NOTHING = (0.0,) * len(STAKES)


@dataclass(frozen=True, slots=True)
class Common:
    """What two configs have in common so far: sums of differences, first minus second, higher is better.

    `n` examples both have scored; of `n_missing` more a score is missing, and the differences there add up to between
    `missing_low` and `missing_high`. `log_better` and `log_worse` are the fortunes of those who bet that the next new
    example favours the first, or the second: empty for a metric without a range. `n_lost` of the n examples have lost
    trials, which could change the total by `lost_low` to `lost_high`; these are never stored.
    """

    first: int
    second: int
    upto: int = 0
    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    n_plus: int = 0
    n_minus: int = 0
    n_missing: int = 0
    missing_low: float = 0.0
    missing_high: float = 0.0
    log_better: tuple[float, ...] = ()
    log_worse: tuple[float, ...] = ()
    n_lost: int = 0
    lost_low: float = 0.0
    lost_high: float = 0.0

    @property
    def differences(self) -> Differences:
        """The sums that paired intervals take."""
        return Differences(self.n, self.total, self.squares, self.n_plus, self.n_minus)

    def swap(self) -> Common:
        """Return the same, second minus first."""
        return Common(
            first=self.second,
            second=self.first,
            upto=self.upto,
            n=self.n,
            total=0.0 - self.total,
            squares=self.squares,
            n_plus=self.n_minus,
            n_minus=self.n_plus,
            n_missing=self.n_missing,
            missing_low=0.0 - self.missing_high,
            missing_high=0.0 - self.missing_low,
            log_better=self.log_worse,
            log_worse=self.log_better,
            n_lost=self.n_lost,
            lost_low=0.0 - self.lost_high,
            lost_high=0.0 - self.lost_low,
        )


@dataclass(frozen=True, slots=True)
class BoundedScores:
    """Scores by example, NaN where one is missing, with the least and the most that each can be: lost trials failed,
    and passed.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def take(self, places: Any) -> BoundedScores:
        """Return those at some places, an index or a slice of arrays."""
        return BoundedScores(self.value[places], self.low[places], self.high[places])


def with_lost_trials(common: Common, first: BoundedScores, second: BoundedScores) -> Common:
    """Return the same with what lost trials could change, from the scores of both on the examples it is of.

    Examples
    --------
    >>> whole, half = np.array([1.0, 1.0]), np.array([0.5, 1.0])
    >>> first, second = BoundedScores(whole, whole, whole), BoundedScores(half, np.array([0.25, 1.0]), whole)
    >>> found = with_lost_trials(Common(1, 2, upto=2, n=2, total=0.5), first, second)
    >>> found.n_lost, found.lost_low, found.lost_high
    (1, -0.5, 0.25)
    """
    difference = first.value - second.value
    is_scored = np.isfinite(difference)
    low = (first.low - second.high - difference)[is_scored]
    high = (first.high - second.low - difference)[is_scored]
    n_lost = int(np.count_nonzero(low < high))
    return replace(common, n_lost=n_lost, lost_low=math.fsum(low), lost_high=math.fsum(high))


def between(found: Mapping[tuple[int, int], Common], first: int, second: int) -> Common | None:
    """Return what two configs have in common, first minus second; None before their first common example."""
    common = found.get((first, second))
    if common is None and (other := found.get((second, first))) is not None:
        common = other.swap()
    return common if common is not None and common.upto else None


def advanced(
    commons: Sequence[Common], scores: Sequence[tuple[FloatArray, FloatArray]], fresh_from: Sequence[int]
) -> list[Common]:
    """Return comparisons after the examples that follow those they have counted.

    Parameters
    ----------
    commons : sequence of Common
        Up to their positions `upto`.
    scores : sequence of pairs of ndarray
        Of the first and of the second config from there on: NaN where one is missing, infinite where the metric does
        not apply to the example.
    fresh_from : sequence of int
        The position from which on the pair's fortunes bet.
    """
    block = _Block.from_commons(commons, scores, fresh_from)
    sums = block.sums()
    better, worse = block.compute_growth()
    return [
        replace(
            common,
            upto=common.upto + len(scores[i][0]),
            **{name: getattr(common, name) + column[i] for name, column in sums.items()},
            log_better=tuple(np.add(common.log_better, better[i]).tolist()) if common.log_better else (),
            log_worse=tuple(np.add(common.log_worse, worse[i]).tolist()) if common.log_worse else (),
        )
        for i, common in enumerate(commons)
    ]


@dataclass(frozen=True, slots=True)
class _Block:
    """The next scores of many pairs, a row for each, padded as if the metric did not apply."""

    difference: FloatArray
    """Zero where a score is missing."""
    low: FloatArray
    """Zero where none is missing; else the least that the difference can be."""
    high: FloatArray
    is_scored: Any
    is_missing: Any
    is_fresh: Any

    @classmethod
    def from_commons(
        cls,
        commons: Sequence[Common],
        scores: Sequence[tuple[FloatArray, FloatArray]],
        fresh_from: Sequence[int],
    ) -> _Block:
        length = max(len(first) for first, _ in scores)
        sides = np.full((2, len(commons), length), np.inf)
        for i, (first, second) in enumerate(scores):
            sides[0, i, : len(first)], sides[1, i, : len(second)] = first, second
        applies = ~np.isinf(sides).any(axis=0)
        is_nan = np.isnan(sides)
        is_scored, is_missing = applies & ~is_nan.any(axis=0), applies & is_nan.any(axis=0)
        first, second = np.where(applies, sides, 0.0)
        places = np.arange(length) + np.array([common.upto for common in commons])[:, None]
        return cls(
            np.where(is_scored, first - second, 0.0),
            np.where(is_missing, np.where(is_nan[0], 0.0, first) - np.where(is_nan[1], 1.0, second), 0.0),
            np.where(is_missing, np.where(is_nan[0], 1.0, first) - np.where(is_nan[1], 0.0, second), 0.0),
            is_scored,
            is_missing,
            places >= np.array(fresh_from)[:, None],
        )

    def sums(self) -> dict[str, list[Any]]:
        """Return what is to be added to each of the sums of the pairs."""
        columns = {
            "n": self.is_scored,
            "total": self.difference,
            "squares": self.difference**2,
            "n_plus": self.difference > 0.0,
            "n_minus": self.difference < 0.0,
            "n_missing": self.is_missing,
            "missing_low": self.low,
            "missing_high": self.high,
        }
        return {name: cells.sum(axis=1).tolist() for name, cells in columns.items()}

    def compute_growth(self) -> tuple[FloatArray, FloatArray]:
        """Return by how much the log fortunes grow; nothing is bet on a pair with a missing score."""
        fresh = np.where(self.is_fresh, self.difference, 0.0)
        return _log_growth(fresh), _log_growth(-fresh)


def _log_growth(differences: FloatArray) -> FloatArray:
    # For a metric without a range the result is not used, and must only not break the logarithm.
    bounded = np.clip(differences, -1.0, 1.0)
    growth: FloatArray = np.log1p(np.array(STAKES) * bounded[:, :, None]).sum(axis=1)
    return growth

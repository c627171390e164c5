"""The quiet period that a monitor compares with: its mean, how uncertain that is, and what is independent in it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from evalsvc.stats.basics.checks import (
    FloatArray,
    Scores,
    ValueRange,
    check_within,
    validate_range,
    validate_scores,
)
from evalsvc.stats.formulas.clusters import IntArray, Moments, number_clusters
from evalsvc.stats.monitors.dependence import INDEPENDENT, block_means, is_independent, serial_design_effect

# With fewer independent units too many baselines are so far from the true mean that an unchanged process raises alarms.
LEAST_UNITS = 50


class NotEnough(ValueError):
    """A quiet period is too short; `missing` units more are needed, as far as the ones so far can tell."""

    def __init__(self, n_units: int, missing: int) -> None:
        super().__init__(f"A baseline needs {missing} more independent units; there are {n_units}.")
        self.n_units, self.missing = n_units, missing


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a frozen quiet period says.

    Attributes
    ----------
    n : int
        Scores.
    n_units : int
        Independent values among them: units, or blocks of `block` consecutive ones; of unequal probabilities Kish's
        effective number. 0 for a fixed limit.
    mean, variance : float
        Of those values, in the unit of the scores (and its square); the variance with n in the denominator. Of unequal
        probabilities Hájek's mean, and the variance of that mean times `n_units`.
    low, high : float
        The declared range of the scores.
    design_effect : float
        Variance of the mean of single scores relative to that of as many independent ones, as measured; 1 for a limit.
    unit : str
        ``score`` where single scores are the values to feed, ``unit`` where the means of units are.
    block : int
        Number of consecutive values that `advance` averages, so that what is left is independent.
    lowest : float
        Lowest probability with which a score was drawn.
    """

    n: int
    n_units: int
    mean: float
    variance: float
    low: float
    high: float
    design_effect: float
    unit: Literal["score", "unit"] = "score"
    block: int = 1
    lowest: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain numbers and texts."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Baseline:
        """Return the baseline that `to_json` described."""
        return cls(**fields)


def measure_baseline(
    scores: Scores,
    *,
    units: Sequence[Hashable] | IntArray | None = None,
    value_range: ValueRange = (0.0, 1.0),
    probabilities: Scores | None = None,
) -> Baseline:
    """Measure a quiet period.

    Parameters
    ----------
    scores : sequence of float, shape (n,)
        In chronological order.
    units : sequence of hashable or ndarray of int, shape (n,), optional
        The unit of each score: the id of its session, or the hash of its content. By default each score is a unit.
        Where the design effect of the units is at most 1.1, single scores are the values all the same.
    value_range : pair of float
        Lowest and highest possible score.
    probabilities : sequence of float, shape (n,), optional
        With which each score was drawn, above 0 and at most 1; not with `units`.

    Returns
    -------
    Baseline
        Where consecutive values resemble each other (a design effect above 1.1), blocks of 2, 4, 8, ... of them are
        averaged until their means do not.

    Raises
    ------
    NotEnough
        With fewer than 50 independent units or blocks.
    ValueError
        For NaN, infinities, scores outside the range, as many units or probabilities as there are not scores, and both.

    Examples
    --------
    >>> found = measure_baseline([1, 1, 1, 0, 1, 1, 0, 1, 1, 1] * 20)
    >>> found.n, found.n_units, found.mean, found.unit, found.block
    (200, 200, 0.8, 'score', 1)
    """
    row, limits = validate_scores(scores), validate_range(value_range)
    if limits is None:
        raise ValueError("`value_range` must be two numbers: a monitor bets on values in a range.")
    if row.size:
        check_within(float(row.min()), float(row.max()), limits)
    values, effect, is_of_units = row, 1.0, False
    if units is not None:
        if len(units) != row.size:
            raise ValueError(f"`units` must be as many as the scores, {row.size}, not {len(units)}.")
        numbers = number_clusters(units)
        effect = cluster_design_effect(row, numbers)
        is_of_units = effect > INDEPENDENT
        values = unit_means(row, numbers) if is_of_units else row
    if probabilities is not None:
        if units is not None:
            raise ValueError("`probabilities` are of scores, or of the values of units: leave out `units`.")
        drawn = validate_probabilities(probabilities, row.size)
        if row.size and drawn.min() < drawn.max():
            return _measure_weighted(row, drawn, limits)
    blocks, block = independent_blocks(values)
    return Baseline(
        n=int(row.size),
        n_units=int(blocks.size),
        mean=float(blocks.mean()),
        variance=float(blocks.var()),
        low=limits[0],
        high=limits[1],
        design_effect=effect if is_of_units else max(effect, serial_design_effect(row)),
        unit="unit" if is_of_units else "score",
        block=block,
        lowest=1.0 if probabilities is None or not row.size else float(drawn[0]),
    )


def _measure_weighted(row: FloatArray, drawn: FloatArray, limits: tuple[float, float]) -> Baseline:
    """Measure scores of unequal probabilities by their linearised values, whose mean and its variance are Hájek's."""
    weights = 1.0 / drawn
    mean = float(weights @ row) / float(weights.sum())
    linear = mean + weights / weights.mean() * (row - mean)
    blocks, block = independent_blocks(linear)
    n_eff = kish_number(drawn)
    if n_eff < LEAST_UNITS * block:
        raise NotEnough(int(n_eff / block), math.ceil((LEAST_UNITS * block / n_eff - 1.0) * row.size))
    n_units = int(n_eff / block)
    return Baseline(
        n=int(row.size),
        n_units=n_units,
        mean=mean,
        variance=float(blocks.var()) / blocks.size * n_units,
        low=limits[0],
        high=limits[1],
        design_effect=serial_design_effect(linear),
        block=block,
        lowest=float(drawn.min()),
    )


def validate_probabilities(probabilities: Scores, n: int) -> FloatArray:
    """Return probabilities of n values as an array; ValueError for those that are not above 0 and at most 1."""
    row = validate_scores(probabilities)
    if row.size != n or (n and (row.min() <= 0.0 or row.max() > 1.0)):
        raise ValueError(f"`probabilities` must be {n} numbers above 0 and at most 1.")
    return row


def kish_number(probabilities: FloatArray) -> float:
    """Return how many scores of equal weight have the weights of these probabilities: Kish's effective number.

    Examples
    --------
    >>> kish_number(np.array([1.0, 1.0, 0.5]))
    2.6666666666666665
    """
    weights = 1.0 / probabilities
    return float(weights.sum() ** 2 / (weights @ weights))


def upper_quantile(values: Scores, level: float, probabilities: Scores | None = None) -> float:
    """Return the smallest value that at most a share of 1 - level of the weights exceeds.

    Examples
    --------
    >>> upper_quantile([3.0, 1.0, 2.0, 4.0], 0.75), upper_quantile([1.0, 2.0], 0.75, [1.0, 0.1])
    (3.0, 2.0)
    """
    row = validate_scores(values)
    weights = 1.0 / (np.ones(row.size) if probabilities is None else validate_probabilities(probabilities, row.size))
    order = np.argsort(row, kind="stable")
    sums = np.cumsum(weights[order])
    # Sums of weights are rounded: a share that is the level counts as it.
    return float(row[order][np.searchsorted(sums, level * sums[-1] * (1.0 - 1e-12))])


def limit_baseline(limit: float, *, value_range: ValueRange = (0.0, 1.0)) -> Baseline:
    """Return a baseline for monitors of a mean below, or above, a fixed limit, which need no quiet period.

    The mean run is that of a process with its mean on the limit, or on its good side. Values must be independent, such
    as means of sessions.

    Examples
    --------
    >>> limit_baseline(0.05).mean
    0.05
    """
    limits = validate_range(value_range)
    if limits is None or not limits[0] < limit < limits[1]:
        raise ValueError(f"`limit` must lie strictly within `value_range`, not {limit!r}.")
    variance = (limit - limits[0]) * (limits[1] - limit)
    return Baseline(0, 0, float(limit), variance, limits[0], limits[1], 1.0)


def cluster_design_effect(row: FloatArray, numbers: IntArray) -> float:
    """Return the variance of the mean of clustered scores relative to independent ones; 1 for equal scores.

    Examples
    --------
    >>> round(cluster_design_effect(np.array([1.0, 1.0, 0.0, 0.0] * 50), np.repeat(np.arange(100), 2)), 2)
    2.02
    """
    if not row.size or row.min() == row.max():
        return 1.0
    moments = Moments.from_row(row, numbers)
    return moments.variance / moments.n * row.size / moments.score_variance


def unit_means(row: FloatArray, numbers: IntArray) -> FloatArray:
    """Return the mean of each unit, in the order of their last scores.

    Examples
    --------
    >>> unit_means(np.array([1.0, 0.0, 1.0, 0.0]), np.array([0, 1, 1, 0])).tolist()
    [0.5, 0.5]
    """
    means = np.bincount(numbers, weights=row) / np.maximum(np.bincount(numbers), 1)
    last = np.zeros(means.size, dtype=np.int64)
    last[numbers] = np.arange(row.size)
    return means[np.argsort(last, kind="stable")]


def independent_blocks(values: FloatArray) -> tuple[FloatArray, int]:
    """Return the means of consecutive blocks that do not resemble their neighbours, and the length of a block.

    Raises
    ------
    NotEnough
        Where fewer than 50 remain.
    """
    block, means = 1, values
    while means.size >= LEAST_UNITS and not is_independent(means):
        block *= 2
        means = block_means(values, block)
    if means.size < LEAST_UNITS:
        raise NotEnough(int(means.size), LEAST_UNITS * block - int(values.size))
    return means, block

r"""The mean that people would give, from labels of a random draw, adjusted by the evaluator's scores of all rows.

With the label y and the score f of n rows, and :math:`\bar f` the mean score of all N,

.. math:: r_i = y_i - \lambda_{k(i)}(f_i - \bar f)

has the mean of y, and less variance where scores follow labels. :math:`\lambda` is the slope of y on f, and that of a
row comes from the other folds (cross-fitting). The interval is `guarded_t` of r, or Student's t where labels have no
range. For new data :math:`(\lambda^2 s_f^2 + 2\lambda s_{rf})/N` is added to the variance, since the N rows are a
sample as well; for the N rows themselves margins shrink by :math:`\sqrt{1-n/N}`.

An interval that may be looked at while labels come in is `betting_interval` of the same r, with a slope for each row
from the labels before it.

References
----------
Angelopoulos, Duchi & Zrnic (2023), PPI++: efficient prediction-powered inference; Zrnic & Candès (2024),
Cross-prediction-powered inference, PNAS 121; Cochran (1977), Sampling Techniques, 7 (regression estimates);
Waudby-Smith & Ramdas (2024), JRSS B 86.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.formulas.intervals import z_quantile
from evalsvc.stats.kinds import ALGEBRAIC

FOLDS = 5
# Before so many labels a slope would be noise.
LEAST_FOR_SLOPE = 10


@dataclass(frozen=True, slots=True)
class AdjustedMean:
    """An estimate with its intervals.

    `core` and `extra` are the squared widths due to the labels and due to the N scores, in the unit of the labels.
    """

    estimate: float
    new_data: Ends | None
    this_set: Ends | None
    method: str
    core: float = 0.0
    extra: float = 0.0


def adjusted_mean(
    labels: FloatArray, scores: FloatArray, all_scores: FloatArray, *, level: float, limits: Ends | None
) -> AdjustedMean:
    """Estimate the mean label of all rows.

    Parameters
    ----------
    labels, scores : array of float, shape (n,)
        Of the labelled rows, in the order of the draw.
    all_scores : array of float, shape (N,)
        The scores of all rows that were drawn from, the labelled ones among them.
    level : float
        Confidence level.
    limits : pair of float or None
        Lowest and highest possible label.

    Examples
    --------
    >>> scores = np.linspace(0, 1, 200)
    >>> found = adjusted_mean(scores[::5] ** 2, scores[::5], scores, level=0.95, limits=(0.0, 1.0))
    >>> round(found.estimate, 3), round(found.new_data[0], 3), round(found.new_data[1], 3)
    (0.335, 0.249, 0.445)
    """
    n, population = labels.size, all_scores.size
    if n == population:
        mean = float(labels.mean())
        adjusted, slopes = labels, np.zeros(1)
    else:
        slopes = _fold_slopes(labels, scores)
        adjusted = labels - slopes[np.arange(n) % FOLDS] * (scores - all_scores.mean())
        mean = float(adjusted.mean())
    limits_adjusted = None if limits is None else _widen(limits, slopes, all_scores)
    interval = new_data_interval(
        ALGEBRAIC, compute_sums(adjusted), level=level, value_range=limits_adjusted, binary=False
    )
    this_set = (mean, mean) if n == population else None
    if interval.lower is None or interval.upper is None:
        return AdjustedMean(_clip(mean, limits), None, this_set, interval.method)
    margins = mean - interval.lower, interval.upper - mean
    extra = z_quantile(level) ** 2 * _score_variance(float(slopes.mean()), adjusted, scores, all_scores)
    new_data = mean - math.hypot(margins[0], math.sqrt(extra)), mean + math.hypot(margins[1], math.sqrt(extra))
    if this_set is None:
        finite = math.sqrt(1.0 - n / population)
        this_set = mean - finite * margins[0], mean + finite * margins[1]
    ends = (_clip(new_data[0], limits), _clip(new_data[1], limits))
    core = (margins[0] + margins[1]) ** 2
    return AdjustedMean(
        _clip(mean, limits),
        ends,
        (_clip(this_set[0], limits), _clip(this_set[1], limits)),
        interval.method,
        core,
        4.0 * extra,
    )


def running_interval(
    labels: FloatArray, scores: FloatArray, all_scores: FloatArray, *, level: float, limits: Ends
) -> Ends:
    """Return an anytime-valid interval for new data: looking after each label does not make it wrong more often.

    Parameters are those of `adjusted_mean`.

    Examples
    --------
    >>> scores = np.tile([1.0, 1.0, 1.0, 0.0], 250)
    >>> low, high = running_interval(scores[:100], scores[:100], scores, level=0.95, limits=(0.0, 1.0))
    >>> round(low, 2), round(high, 2)
    (0.68, 0.83)
    """
    mean_score, spread = float(all_scores.mean()), float(np.ptp(all_scores))
    if not spread:
        return betting_interval(labels, None, level, limits, running=True)
    steepest = (limits[1] - limits[0]) / spread
    slopes = np.clip(_earlier_slopes(labels, scores - mean_score), 0.0, steepest)
    limits_adjusted = _widen(limits, np.array([0.0, steepest]), all_scores)
    adjusted = labels - slopes * (scores - mean_score)
    low, high = betting_interval(adjusted, None, level, limits_adjusted, running=True)
    mean = float(adjusted.mean())
    extra = z_quantile(level) * float(slopes.mean()) * float(all_scores.std()) / math.sqrt(all_scores.size)
    low, high = mean - math.hypot(max(0.0, mean - low), extra), mean + math.hypot(max(0.0, high - mean), extra)
    return _clip(low, limits), _clip(high, limits)


def _fold_slopes(labels: FloatArray, scores: FloatArray) -> FloatArray:
    """Return for each fold the slope of labels on scores in the other folds."""
    folds = np.arange(labels.size) % FOLDS
    return np.array([_slope(labels[folds != fold], scores[folds != fold]) for fold in range(FOLDS)])


def _slope(labels: FloatArray, scores: FloatArray) -> float:
    centred = scores - scores.mean()
    squares = float(centred @ centred)
    return float(centred @ labels) / squares if squares > 1e-12 * max(1.0, float(scores @ scores)) else 0.0


def _earlier_slopes(labels: FloatArray, centred: FloatArray) -> FloatArray:
    """Return for each row the slope from the rows before it; 0 for the first LEAST_FOR_SLOPE."""
    number = np.arange(labels.size)
    n = np.maximum(number, 1)

    def accumulate(row: FloatArray) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(row)[:-1]])

    products = accumulate(centred * labels) - accumulate(centred) * accumulate(labels) / n
    squares = accumulate(centred**2) - accumulate(centred) ** 2 / n
    slopes = products / np.where(squares > 1e-12, squares, np.inf)
    slopes[number < LEAST_FOR_SLOPE] = 0.0
    return slopes


def _widen(limits: Ends, slopes: FloatArray, all_scores: FloatArray) -> Ends:
    """Return the range of adjusted labels."""
    distances = np.array([float(all_scores.min()), float(all_scores.max())]) - float(all_scores.mean())
    shifts = np.outer(slopes, distances)
    return limits[0] - float(shifts.max()), limits[1] - float(shifts.min())


def _score_variance(slope: float, adjusted: FloatArray, scores: FloatArray, all_scores: FloatArray) -> float:
    """Return by how much the mean score of the N rows varies the estimate, for new data."""
    covariance = float(np.cov(adjusted, scores)[0, 1])
    return max(0.0, slope**2 * float(all_scores.var()) + 2.0 * slope * covariance) / all_scores.size


def _clip(value: float, limits: Ends | None) -> float:
    return value if limits is None else min(max(value, limits[0]), limits[1])

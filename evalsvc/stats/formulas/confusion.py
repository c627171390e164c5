r"""Precision, recall and F1 of each class, accuracy, and macro-F1, with intervals, from a confusion matrix.

A class has t hits, p predicted and a actual examples. Its precision is t/p and its recall t/a. Both are shares, with
the interval of Clopper and Pearson. :math:`F_1 = 2t/(p+a)` follows from a share too. Among the m = p + a - t examples
that are predicted or actual, t are both. With :math:`\theta = t/m`

.. math:: F_1 = \frac{2\theta}{1+\theta}

which grows with :math:`\theta`, so that the interval for :math:`\theta` gives one for F1 that is as exact. Macro-F1 is
the mean over classes that occur among the actual labels. Its interval is Efron's BCa bootstrap over examples: plain
percentiles cover less often than they claim where classes are rare.

All intervals cover new data (examples drawn like these), and are valid for one look.

References
----------
Clopper & Pearson (1934), Biometrika 26; Efron (1987), Better bootstrap confidence intervals, JASA 82.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray, validate_level
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.formulas.bca import bca_quantiles
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.formulas.intervals import clopper_pearson

Counts = NDArray[np.int64]
RESAMPLES = 2000
# Cells drawn at once: a limit on the memory that the resamples of a large matrix need.
MOST_CELLS = 4_000_000
FEW_OF_A_CLASS = 10
RARE_CLASS = "rare_class"


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share with its interval. Value and ends are None when there are no examples.

    `n` is the number of examples in the denominator, and `method` names the way to the interval.
    """

    value: float | None
    lower: float | None
    upper: float | None
    n: int
    method: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassShares:
    """Precision, recall and F1 of one class."""

    precision: Proportion
    recall: Proportion
    f1: Proportion


@dataclass(frozen=True, slots=True)
class ClassificationMetrics:
    """The shares of a confusion matrix: of each class, and of all examples."""

    classes: tuple[ClassShares, ...]
    accuracy: Proportion
    macro_f1: Proportion


def classification_metrics(matrix: Counts, *, level: float, seed: int) -> ClassificationMetrics:
    """Compute the metrics of a confusion matrix, with intervals.

    Parameters
    ----------
    matrix : array of int
        Square. Row i, column j is the number of examples of class i that were predicted as class j.
    level : float
        Confidence level of each interval.
    seed : int
        Seed of the bootstrap for macro-F1.

    Returns
    -------
    ClassificationMetrics
        When all resamples would be equal (no mistakes, or only mistakes), the bootstrap has no width. The interval of
        macro-F1 is then the mean of the classes' exact intervals, at a level that is valid for all classes at once. It
        is wide.

    Raises
    ------
    ValueError
        If the matrix is not square, empty, or has counts below 0.

    Examples
    --------
    >>> metrics = classification_metrics(np.array([[8, 2], [1, 9]]), level=0.95, seed=0)
    >>> metrics.classes[0].recall.value, round(metrics.classes[0].recall.lower, 3), metrics.classes[0].recall.method
    (0.8, 0.444, 'clopper-pearson')
    >>> round(metrics.macro_f1.value, 4), metrics.macro_f1.method
    (0.8496, 'bootstrap-bca')
    """
    table, level = _validate_matrix(matrix), validate_level(level)
    hits, actual, predicted = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    classes = tuple(
        ClassShares(_share(t, p, level), _share(t, a, level), _f1(t, p, a, level))
        for t, p, a in zip(hits.tolist(), predicted.tolist(), actual.tolist(), strict=True)
    )
    accuracy = _share(int(hits.sum()), int(table.sum()), level)
    return ClassificationMetrics(classes, accuracy, _macro(table, level, seed))


def macro_f1(matrix: FloatArray | Counts) -> FloatArray:
    """Return the mean F1 over the classes that occur among the actual labels; the last two axes are the matrix.

    NaN for a matrix without examples.

    Examples
    --------
    >>> round(float(macro_f1(np.array([[8, 2], [1, 9]]))), 4)
    0.8496
    """
    hits = np.diagonal(matrix, axis1=-2, axis2=-1).astype(np.float64)
    actual, predicted = matrix.sum(axis=-1), matrix.sum(axis=-2)
    f1 = 2.0 * hits / np.maximum(actual + predicted, 1)
    occurs = actual > 0
    n = occurs.sum(axis=-1)
    mean_f1 = np.where(occurs, f1, 0.0).sum(axis=-1) / np.maximum(n, 1)
    return np.where(n > 0, mean_f1, np.nan)


def _validate_matrix(matrix: Counts) -> Counts:
    table = np.asarray(matrix, dtype=np.int64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
        raise ValueError(f"`matrix` must be square and not empty, not of shape {table.shape}.")
    if int(table.min()) < 0:
        raise ValueError("`matrix` must hold counts, none of them below 0.")
    return table


def _share(hits: int, n: int, level: float) -> Proportion:
    if not n:
        return Proportion(None, None, None, 0, "none")
    lower, upper = clopper_pearson(hits, n, level)
    return Proportion(hits / n, lower, upper, n, "clopper-pearson", (FEW_SCORES,) if n < 30 else ())


def _f1(hits: int, predicted: int, actual: int, level: float) -> Proportion:
    share = _share(hits, predicted + actual - hits, level)
    if share.value is None or share.lower is None or share.upper is None:
        return share
    value, lower, upper = (2.0 * end / (1.0 + end) for end in (share.value, share.lower, share.upper))
    return Proportion(value, lower, upper, share.n, share.method, share.warnings)


def _macro(table: Counts, level: float, seed: int) -> Proportion:
    n = int(table.sum())
    if not n:
        return Proportion(None, None, None, 0, "none")
    value, actual = float(macro_f1(table)), table.sum(axis=1)
    rare = bool(np.any((actual > 0) & (actual < FEW_OF_A_CLASS)))
    warnings = (*((FEW_SCORES,) if n < 30 else ()), *((RARE_CLASS,) if rare else ()))
    ends = _bca(table, value, level, seed)
    if ends is None or ends[0] == ends[1]:
        return Proportion(
            value, *_exact_macro(table, level), n, "clopper-pearson of all classes", (*warnings, DEGENERATE)
        )
    # BCa corrects for bias and can exclude the value itself; an interval must contain it.
    return Proportion(value, min(ends[0], value), max(ends[1], value), n, "bootstrap-bca", warnings)


def _bca(table: Counts, value: float, level: float, seed: int) -> Ends | None:
    """Return the bias-corrected, accelerated percentiles; None where no resample can differ."""
    resamples = _resample(table, int(table.sum()), seed)
    resamples = resamples[np.isfinite(resamples)]
    acceleration = _acceleration(table)
    if acceleration is None:
        return None
    lower, upper = bca_quantiles(resamples, value, acceleration, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return lower, upper


def _acceleration(table: Counts) -> float | None:
    """Return a sixth of the skewness of the examples' influence; None when all have the same influence."""
    influence = _influence(table)
    n = int(table.sum())
    influence = influence - float((table * influence).sum()) / n
    second_moment = float((table * influence**2).sum())
    if second_moment <= 1e-12 * n:
        return None
    return float((table * influence**3).sum()) / (6.0 * second_moment**1.5)


def _influence(table: Counts) -> FloatArray:
    """Return how macro-F1 changes with one more example in each cell, n times its derivative."""
    hits, actual, predicted = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    occurs = actual > 0
    size = np.maximum(actual + predicted, 1).astype(np.float64)
    weight = np.where(occurs, 1.0 / max(1, int(occurs.sum())), 0.0)
    per_label = -weight * 2.0 * hits / size**2
    change: FloatArray = per_label[:, None] + per_label[None, :] + np.diag(weight * 2.0 / size)
    return change * float(table.sum())


def _resample(table: Counts, n: int, seed: int) -> FloatArray:
    """Return macro-F1 of samples of n examples, drawn from these with replacement."""
    rng = np.random.default_rng(seed)
    size = table.shape[0]
    cells = np.flatnonzero(table)
    at_once = max(1, MOST_CELLS // table.size)
    samples = []
    for start in range(0, RESAMPLES, at_once):
        part = min(at_once, RESAMPLES - start)
        draws = np.zeros((part, size * size), dtype=np.int64)
        draws[:, cells] = rng.multinomial(n, table.ravel()[cells] / n, size=part)
        samples.append(macro_f1(draws.reshape(part, size, size)))
    return np.concatenate(samples)


def _exact_macro(table: Counts, level: float) -> Ends:
    """Return the means of the classes' exact ends."""
    hits, actual, predicted = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    occur = np.flatnonzero(actual)
    # Bonferroni: the intervals of all classes are simultaneously valid at the requested level.
    class_level = 1.0 - (1.0 - level) / occur.size
    shares = [_f1(int(hits[i]), int(predicted[i]), int(actual[i]), class_level) for i in occur]
    lower = [share.lower for share in shares if share.lower is not None]
    upper = [share.upper for share in shares if share.upper is not None]
    return sum(lower) / len(lower), sum(upper) / len(upper)

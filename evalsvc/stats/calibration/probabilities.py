r"""Calibration of scores as probabilities of a good row, and a monotone map that calibrates them.

The map is the isotonic regression of the labels: the monotone function of the score that fits them best. Each of its
steps of k good rows among n has the value :math:`(k+\frac12)/(n+1)`, so that no step claims certainty. Its calibration
error is
measured on held-out folds.

The expected calibration error (ECE) is the mean distance between predicted and observed rates, over ten groups of about
equal size. It is never zero for rows that vary, so its value under perfect probabilities is reported as well.

References
----------
Zadrozny & Elkan (2002), KDD; Guo, Pleiss, Sun & Weinberger (2017), ICML; DeLong, DeLong & Clarke-Pearson (1988),
Biometrics 44.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.calibration.figures import BoolArray
from evalsvc.stats.calibration.selection import IntArray, LabelledScores
from evalsvc.stats.calibration.thresholds import FOLDS, folds
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.intervals import clopper_pearson, wilson, z_quantile

GROUPS = 10
SIMULATED = 200
PLACES, SMALLEST = 6, 1e-6


@dataclass(frozen=True, slots=True)
class Step:
    """From this score on, a row is good with this probability."""

    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class ScoreGroup:
    """Rows of neighbouring scores: what was said of them on average, and the share that is good."""

    said: float
    good: Proportion


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well probabilities fit labels; `ece_of_perfect` is the mean ECE that perfect ones would show here."""

    ece: float
    ece_of_perfect: float
    brier: float
    groups: tuple[ScoreGroup, ...]


def probability_map(data: LabelledScores) -> tuple[Step, ...]:
    """Return the isotonic map of labelled scores, one step where the probability changes.

    Examples
    --------
    >>> data = LabelledScores(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True]))
    >>> [(step.score, round(step.probability, 3)) for step in probability_map(data)]
    [(0.1, 0.167), (0.8, 0.833)]
    """
    from scipy.optimize import isotonic_regression

    n = np.bincount(data.candidate).astype(np.float64)
    good = np.bincount(data.candidate, weights=data.is_good)
    fit = isotonic_regression(good / n, weights=n)
    starts = fit.blocks[:-1]
    k, rows = np.add.reduceat(good, starts), np.add.reduceat(n, starts)
    # Half a row of each label may set small steps in the wrong order.
    smooth = isotonic_regression((k + 0.5) / (rows + 1.0), weights=rows).x
    values = data.scores[data.starts][starts]
    changes = np.flatnonzero(np.diff(smooth, prepend=-1.0) > 0)
    return tuple(Step(float(values[i]), float(smooth[i])) for i in changes)


def add_step_at(threshold: float, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with one that starts at the threshold, so that it has a probability which no lower score has.

    Probabilities are rounded to millionths. The step that the threshold divides is raised by one of them from there on;
    where the threshold lies below all steps, lower scores have one less.

    Examples
    --------
    >>> add_step_at(0.5, [Step(0.1, 0.25), Step(0.8, 0.75)])
    (Step(score=0.1, probability=0.25), Step(score=0.5, probability=0.250001), Step(score=0.8, probability=0.75))
    """
    rounded_steps = [Step(step.score, round(step.probability, PLACES)) for step in steps]
    below = [step for step in rounded_steps if step.score < threshold] or [
        Step(0.0, round(rounded_steps[0].probability - SMALLEST, PLACES))
    ]
    starts_there = next((step.probability for step in rounded_steps if step.score == threshold), below[-1].probability)
    probability = max(starts_there, round(below[-1].probability + SMALLEST, PLACES))
    risen = [*(step for step in below if step.score < threshold), Step(threshold, probability)]
    risen += [step for step in rounded_steps if step.score > threshold]
    highest = accumulate((step.probability for step in risen), max, initial=-1.0)
    return tuple(step for step, before in zip(risen, highest, strict=False) if step.probability > before)


def map_scores(steps: tuple[Step, ...], scores: FloatArray) -> FloatArray:
    """Return the probabilities of scores; what lies below the first step has its probability."""
    starts = np.array([step.score for step in steps])
    probabilities: FloatArray = np.array([step.probability for step in steps])
    return probabilities[np.maximum(np.searchsorted(starts, scores, side="right") - 1, 0)]


def map_without_fold(data: LabelledScores, *, seed: int) -> FloatArray:
    """Return each row's probability by a map that was made without its fold, in the order of `data.scores`."""
    numbers = folds(data, np.random.default_rng(seed))
    probabilities = np.empty(data.scores.size)
    for number in range(FOLDS):
        fold = numbers == number
        steps = probability_map(LabelledScores(data.scores[~fold], data.is_good[~fold]))
        probabilities[fold] = map_scores(steps, data.scores[fold])
    return probabilities


def compute_calibration(said: FloatArray, is_good: BoolArray, level: float, *, seed: int) -> Calibration:
    """Return how well probabilities fit labels."""
    order = np.argsort(said, kind="stable")
    said, good = said[order], is_good[order].astype(np.float64)
    parts = [part for part in np.array_split(np.arange(said.size), GROUPS) if part.size]
    starts, sizes = np.array([part[0] for part in parts]), np.array([part.size for part in parts])
    rng = np.random.default_rng(seed)
    perfect = (rng.random((SIMULATED, said.size)) < said).astype(np.float64)
    return Calibration(
        float(_ece(said, good[None, :], starts)[0]),
        float(_ece(said, perfect, starts).mean()),
        float(((said - good) ** 2).mean()),
        tuple(
            _group(float(mean), float(n_good), int(n), level)
            for mean, n_good, n in zip(
                np.add.reduceat(said, starts) / sizes, np.add.reduceat(good, starts), sizes, strict=True
            )
        ),
    )


def _ece(said: FloatArray, good: FloatArray, starts: IntArray) -> FloatArray:
    off: FloatArray = np.add.reduceat(said[None, :] - good, starts, axis=1)
    return np.abs(off).sum(axis=1) / said.size


def _group(said: float, n_good: float, n: int, level: float) -> ScoreGroup:
    lower, upper = wilson(n_good, n, level)
    return ScoreGroup(said, Proportion(n_good / n, lower, upper, n, "wilson"))


def area_under_curve(data: LabelledScores, level: float) -> Proportion:
    """Return the probability that a good row scores higher than a bad one (ties count half), with its interval.

    DeLong's variance, on the scale of log odds, so that the bounds stay within 0 and 1. Where every pair is in order
    (or
    none), that variance is zero, and the interval is the exact one for as many pairs as the rarer label has rows.
    """
    good, bad = data.scores[data.is_good], data.scores[~data.is_good]
    of_good, of_bad = _above(good, bad), 1.0 - _above(bad, good)
    area, n = float(of_good.mean()), min(good.size, bad.size)
    variance = float(of_good.var(ddof=1)) / good.size + float(of_bad.var(ddof=1)) / bad.size
    if not 0.0 < area < 1.0 or variance <= 0.0:
        lower, upper = clopper_pearson(round(area * n), n, level)
        return Proportion(area, min(lower, area), max(upper, area), data.scores.size, "clopper-pearson")
    odds, margin = math.log(area / (1.0 - area)), z_quantile(level) * math.sqrt(variance) / (area * (1.0 - area))
    lower, upper = (1.0 / (1.0 + math.exp(-end)) for end in (odds - margin, odds + margin))
    return Proportion(area, lower, upper, data.scores.size, "delong")


def _above(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each score the share of the others that it is above; an equal one counts half."""
    sorted_others = np.sort(others)
    below = np.searchsorted(sorted_others, scores, side="left") + np.searchsorted(sorted_others, scores, side="right")
    return below / (2.0 * others.size)

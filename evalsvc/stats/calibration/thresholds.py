r"""A threshold chosen from labelled scores, and its cross-validated performance.

The estimate is cross-validated: each row is decided by a threshold that was chosen without its fold, over several
splits. The interval is for the threshold chosen from all rows, on new rows. That threshold is random itself,
and correlated with the estimate: with scores that hardly separate good from bad, Wilson's 95 % interval of the
cross-validated recall covers the true value in fewer than 80 % of cases. The complete procedure is therefore resampled.
In each
resample, drawn within the labels, a threshold is chosen and cross-validated, with copies of a row in one fold; its
error is the estimate minus what the same threshold does on all rows. The interval is the estimate minus the quantiles
of these errors, and never narrower than Wilson's, as few rows without a mistake resample to no mistake.

References
----------
Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36; Efron & Tibshirani (1997),
Improvements on cross-validation: the .632+ bootstrap method, JASA 92; Bates, Hastie & Tibshirani (2024),
Cross-validation: what does it estimate and how well does it do it?, JASA 119.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, as_row, validate_level
from evalsvc.stats.calibration.figures import (
    FIGURES,
    BoolArray,
    Counts,
    Decisions,
    balanced_change,
    build_decisions,
    compute_figures,
    compute_rates,
)
from evalsvc.stats.calibration.selection import Aim, IntArray, LabelledScores
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.finite import Ends

FOLDS = 10
FEWEST, FEWEST_OF_A_LABEL = 30, 10
N_SPLITS, MOST_RESAMPLES, FEWEST_RESAMPLES = 20, 400, 100
# Rows times resamples: a limit on the time that thousands of rows take, and, for those at once, on memory.
MOST_ROWS, MOST_AT_ONCE = 200_000, 200_000


@dataclass(frozen=True, slots=True)
class ChosenThreshold:
    """A threshold and what to expect of it.

    Attributes
    ----------
    threshold : float
        In the unit of the scores: the lowest score that passes.
    figures : mapping of str to Share
        Every one of `FIGURES`, cross-validated.
    change : tuple of float or None
        Where another threshold is in use: the change in balanced accuracy, and the ends of its interval.
    """

    threshold: float
    figures: Mapping[str, Proportion]
    change: tuple[float, float, float] | None = None


def choose_threshold(
    scores: Scores, is_good: BoolArray, *, aim: Aim, in_use: float | None = None, level: float = 0.95, seed: int = 0
) -> ChosenThreshold:
    """Choose the threshold for an aim, and estimate its performance on new rows.

    Parameters
    ----------
    scores : sequence of float
        Higher is better.
    is_good : array of bool
        The label of each row: whether it should pass.
    aim : Aim
        The aim of the threshold.
    in_use : float, optional
        The threshold currently in use, not chosen from these rows.
    level : float
        Confidence level of each interval.
    seed : int
        Seed of splits and resamples.

    Raises
    ------
    ValueError
        With fewer than 30 rows, or fewer than 10 of a label.
    """
    level, row = validate_level(level), as_row(scores)
    if row.size < FEWEST or min(int(is_good.sum()), int((~is_good).sum())) < FEWEST_OF_A_LABEL:
        raise ValueError(f"At least {FEWEST} rows are needed, and {FEWEST_OF_A_LABEL} of each label.")
    data, rng = LabelledScores(row, is_good), np.random.default_rng(seed)
    every = np.ones((1, row.size))
    best = data.best(every, aim)
    decisions = _cross_validated(data, aim, rng)
    errors = _errors(data, aim, in_use, rng)
    figures = {name: _widen(share, errors[name], level) for name, share in compute_figures(decisions, level).items()}
    threshold = float(data.thresholds[best[0]])
    change = (
        None
        if in_use is None
        else _change(data, threshold, in_use, figures["balanced_accuracy"], errors["change"], level)
    )
    return ChosenThreshold(threshold, figures, change)


def folds(data: LabelledScores, rng: np.random.Generator) -> IntArray:
    """Return the number of each row's fold, with each label spread evenly over them."""
    numbers = np.empty(data.is_good.size, dtype=np.int64)
    for rows in (np.flatnonzero(data.is_good), np.flatnonzero(~data.is_good)):
        numbers[rng.permutation(rows)] = np.arange(rows.size) % FOLDS
    return numbers


def _cross_validated(data: LabelledScores, aim: Aim, rng: np.random.Generator) -> Decisions:
    every, n_splits = np.ones((1, data.is_good.size)), N_SPLITS
    passed = [_count_without_fold(data, every, aim, folds(data, rng)) for _ in range(n_splits)]
    good, bad = (sum(part[i][0] for part in passed) / n_splits for i in (0, 1))
    return _build_decisions(data, np.float64(good), np.float64(bad))


def _count_without_fold(
    data: LabelledScores, weights: FloatArray, aim: Aim, numbers: IntArray
) -> tuple[FloatArray, ...]:
    """Return how many good and bad rows pass thresholds that were chosen without their fold, for each weighting."""
    good, bad = np.zeros(len(weights)), np.zeros(len(weights))
    for number in range(FOLDS):
        fold = weights * (numbers == number)
        more_good, more_bad = data.passed(fold, data.best(weights - fold, aim))
        good, bad = good + more_good, bad + more_bad
    return good, bad


def _build_decisions(data: LabelledScores, good: Counts, bad: Counts) -> Decisions:
    n_good = float(data.is_good.sum())
    return Decisions(good, np.float64(n_good), bad, np.float64(data.is_good.size - n_good))


def _errors(data: LabelledScores, aim: Aim, in_use: float | None, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return by how much resamples misjudge what their threshold does on all rows: estimate minus truth."""
    now = data.scores >= (data.thresholds[0] if in_use is None else in_use)
    kept_now = _build_decisions(data, *_passing(data, np.ones((1, data.is_good.size)), now))
    parts: dict[str, list[FloatArray]] = {name: [] for name in (*FIGURES, "change")}
    for weights in _resamples(data, rng):
        estimates = compute_rates(_build_decisions(data, *_count_without_fold(data, weights, aim, folds(data, rng))))
        every = np.ones_like(weights)
        true = compute_rates(_build_decisions(data, *data.passed(every, data.best(weights, aim))))
        for name in FIGURES:
            parts[name].append(estimates[name] - true[name])
        said_now = compute_rates(_build_decisions(data, *_passing(data, weights, now)))["balanced_accuracy"]
        parts["change"].append(
            estimates["balanced_accuracy"]
            - said_now
            - true["balanced_accuracy"]
            + compute_rates(kept_now)["balanced_accuracy"]
        )
    return {name: np.concatenate(errors) for name, errors in parts.items()}


def _passing(data: LabelledScores, weights: FloatArray, passes: BoolArray) -> tuple[FloatArray, FloatArray]:
    return weights @ (data.is_good & passes).astype(np.float64), weights @ (~data.is_good & passes).astype(np.float64)


def _resamples(data: LabelledScores, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield weights of rows, drawn with replacement within each label, as many at once as memory allows."""
    n = data.is_good.size
    n_remaining = max(FEWEST_RESAMPLES, min(MOST_RESAMPLES, MOST_ROWS // n))
    while n_remaining > 0:
        part = min(n_remaining, max(1, MOST_AT_ONCE // n))
        weights = np.zeros((part, n))
        for rows in (np.flatnonzero(data.is_good), np.flatnonzero(~data.is_good)):
            weights[:, rows] = rng.multinomial(rows.size, np.full(rows.size, 1.0 / rows.size), size=part)
        n_remaining -= part
        yield weights


def _widen(share: Proportion, errors: FloatArray, level: float) -> Proportion:
    if share.value is None or share.lower is None or share.upper is None:
        return share
    lower, upper = _ends(share.value, errors, level)
    lower, upper = max(0.0, min(share.lower, lower)), min(1.0, max(share.upper, upper))
    return replace(share, lower=lower, upper=upper, method="cross-validated, resampled")


def _ends(value: float, errors: FloatArray, level: float) -> Ends:
    finite_errors = errors[np.isfinite(errors)]
    if not finite_errors.size:
        return value, value
    above, below = np.quantile(finite_errors, ((1.0 + level) / 2.0, (1.0 - level) / 2.0))
    return value - float(above), value - float(below)


def _change(
    data: LabelledScores,
    threshold: float,
    in_use: float,
    balanced: Proportion,
    errors: FloatArray,
    level: float,
) -> tuple[float, float, float]:
    then, now = data.scores >= threshold, data.scores >= in_use
    value = (balanced.value or 0.0) - float(compute_rates(build_decisions(data.is_good, now))["balanced_accuracy"])
    paired_ends, resampled_ends = balanced_change(data.is_good, now, then, level), _ends(value, errors, level)
    return value, min(value, paired_ends[0], resampled_ends[0]), max(value, paired_ends[1], resampled_ends[1])

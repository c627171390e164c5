"""Figures of verdicts against labels, each with a 95 % bootstrap interval over sources.

A resample draws sources with replacement, and every row of a drawn source with it: rows that share a context stand or
fall together. All figures of a set, and the difference between two evaluators, are of the same resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.formulas.intervals import wilson

RESAMPLES = 1000
BINS = 10
LEVELS = (0.025, 0.975)
AUC, ACCURACY, BALANCED, FPR, FNR, ECE = "auc", "accuracy", "balanced_accuracy", "fpr", "fnr", "ece"
MAJORITY, UNDECIDED = "majority", "undecided"
LEAST_ROWS = 30
"""Below this many rows nothing is said of them."""
NAMES = {
    AUC: "AUC",
    ACCURACY: "pass accuracy",
    MAJORITY: "always the majority",
    UNDECIDED: "undecided",
    BALANCED: "balanced accuracy",
    FPR: "good ones that fail",
    FNR: "bad ones that pass",
    ECE: "ECE",
}
OF_ALL = (AUC, ECE, UNDECIDED)
"""Figures of all rows that have a score; the others are of those that are decided."""
LOWER_IS_BETTER = (FPR, FNR, ECE)
Numbers: TypeAlias = NDArray[np.float64]


class Figure(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


Figures: TypeAlias = Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of each row: its score, or NaN where it has none, and whether it passed or had no verdict."""

    scores: Numbers
    passed: NDArray[np.bool_]
    undecided: NDArray[np.bool_]

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Say of each row whether it has a score."""
        return ~np.isnan(self.scores)

    def only(self, chosen: NDArray[np.bool_]) -> Outcome:
        """Keep these rows."""
        return Outcome(self.scores[chosen], self.passed[chosen], self.undecided[chosen])


@dataclass(frozen=True, slots=True)
class Labels:
    """Of each row, whether it is good and which source it is from."""

    good: NDArray[np.bool_]
    source: NDArray[np.int64]

    @classmethod
    def of(cls, good: Sequence[bool], sources: Sequence[str]) -> Labels:
        """Number the sources."""
        return cls(np.array(good, bool), np.unique(np.array(sources, object).astype(str), return_inverse=True)[1])

    def only(self, chosen: NDArray[np.bool_]) -> Labels:
        """Keep these rows."""
        return Labels(self.good[chosen], np.unique(self.source[chosen], return_inverse=True)[1])


def figures(labels: Labels, outcome: Outcome, *, is_binary: bool) -> Figures:
    """Return the figures over the rows that have a score, each of at least `LEAST_ROWS` rows.

    AUC, ECE and the share of the undecided are of all of them, the others of those that are decided.
    """
    chosen = outcome.is_scored
    if not chosen.any():
        return {}
    kept = labels.only(chosen)
    values = _values(kept, outcome.only(chosen), _weights(kept), is_binary=is_binary)
    decided = labels.only(chosen & ~outcome.undecided)
    return {
        name: _figure(name, each, kept if name in OF_ALL else decided)
        for name, each in values.items()
        if np.isfinite(each[0])
    }


def differences(labels: Labels, before: Outcome, after: Outcome, *, is_binary: bool) -> Figures:
    """Return what the later evaluator has more of each figure, over the rows that both have scored.

    The majority is no figure of an evaluator, and differs only where it decides on other rows.
    """
    chosen = before.is_scored & after.is_scored
    if not chosen.any():
        return {}
    kept = labels.only(chosen)
    weights = _weights(kept)
    old, new = (_values(kept, each.only(chosen), weights, is_binary=is_binary) for each in (before, after))
    is_alike = all(
        bool((getattr(before, name)[chosen] == getattr(after, name)[chosen]).all()) for name in ("passed", "undecided")
    )
    return {
        name: _difference(name, new[name] - old[name], kept, is_alike=is_alike)
        for name in old
        if name in new and name != MAJORITY and np.isfinite(new[name][0] - old[name][0])
    }


def is_worse(name: str, difference: Figure) -> bool:
    """Say whether a difference is for the worse by more than its interval."""
    return difference.low > 0 if name in LOWER_IS_BETTER else difference.high < 0


def _weights(labels: Labels) -> Numbers:
    """Return how often each row stands in each resample; the first one is the set itself."""
    n_sources = int(labels.source.max()) + 1
    counts = np.random.default_rng(0).multinomial(n_sources, np.full(n_sources, 1 / n_sources), RESAMPLES)
    weights: Numbers = np.vstack([np.ones(labels.good.size), counts[:, labels.source]]).astype(np.float64)
    return weights


def _values(labels: Labels, outcome: Outcome, weights: Numbers, *, is_binary: bool) -> dict[str, Numbers]:
    good, passed, decided = labels.good, outcome.passed, ~outcome.undecided
    found: dict[str, Numbers] = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        if good.size >= LEAST_ROWS:
            found |= {UNDECIDED: weights @ outcome.undecided / weights.sum(axis=1)}
        if decided.sum() >= LEAST_ROWS:
            n = weights @ decided
            larger = good if 2 * (good & decided).sum() >= decided.sum() else ~good
            found |= {ACCURACY: weights @ (decided & (good == passed)) / n, MAJORITY: weights @ (decided & larger) / n}
        rates = {FPR: (good & decided, ~passed), FNR: (~good & decided, passed)}
        found |= {
            name: weights @ (rows & wrong) / (weights @ rows)
            for name, (rows, wrong) in rates.items()
            if rows.sum() >= LEAST_ROWS
        }
        if FPR in found and FNR in found:
            found[BALANCED] = 1 - (found[FPR] + found[FNR]) / 2
        if not is_binary and min(good.sum(), (~good).sum()) >= LEAST_ROWS:
            found[AUC] = _auc(good, outcome.scores, weights)
        if not is_binary and good.size >= LEAST_ROWS:
            found[ECE] = _ece(good, outcome.scores, weights)
    return found


def _auc(good: NDArray[np.bool_], scores: Numbers, weights: Numbers) -> Numbers:
    """Return the chance that a good row has the higher score; of equal ones a half."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf))
    of_good = np.add.reduceat((weights * good)[:, order], starts, axis=1)
    of_bad = np.add.reduceat((weights * ~good)[:, order], starts, axis=1)
    below = np.cumsum(of_bad, axis=1) - of_bad / 2
    area: Numbers = (of_good * below).sum(axis=1) / (of_good.sum(axis=1) * of_bad.sum(axis=1))
    return area


def _ece(good: NDArray[np.bool_], scores: Numbers, weights: Numbers) -> Numbers:
    """Return how far scores are from the share that is good, over tenths of the scale, by their rows."""
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    member = (bins[:, None] == np.arange(BINS)).astype(np.float64)
    off: Numbers = np.abs(weights @ (member * (good - scores)[:, None])).sum(axis=1) / weights.sum(axis=1)
    return off


def _figure(name: str, values: Numbers, labels: Labels) -> Figure:
    value = float(values[0])
    low, high = (float(end) for end in np.nanquantile(values[1:], LEVELS))
    if low == high:
        # All resamples agree, which says less than it seems to: the Wilson interval of as many sources.
        low, high = wilson(value * _n_sources(name, labels), _n_sources(name, labels))
    return _rounded(value, min(low, value), max(high, value))


def _difference(name: str, values: Numbers, labels: Labels, *, is_alike: bool) -> Figure:
    value = float(values[0])
    low, high = (float(end) for end in np.nanquantile(values[1:], LEVELS))
    if is_alike and name not in (AUC, ECE):
        # No verdict differs here; how often one would elsewhere is known no better than that.
        high = wilson(0, _n_sources(name, labels))[1]
        low = -high
    return _rounded(value, low, high)


def _n_sources(name: str, labels: Labels) -> int:
    rows = {FPR: labels.good, FNR: ~labels.good}.get(name, np.ones(labels.good.size, bool))
    return max(int(np.unique(labels.source[rows]).size), 1)


def _rounded(*values: float) -> Figure:
    # No more digits than the interval makes sense of; + 0.0 turns -0.0 into 0.
    return Figure(*(round(value, 4) + 0.0 for value in values))

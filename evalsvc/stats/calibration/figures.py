r"""How good a threshold is: shares of labelled rows.

A row is good or bad by its label, and passes or fails by its score. Of g good rows :math:`g_+` pass, and of b bad rows
:math:`b_+`. Recall is :math:`g_+/g`, the false positive rate :math:`b_+/b`, and precision :math:`g_+/(g_+ + b_+)`.
Intervals of shares are Wilson's. Balanced accuracy is the mean of two independent shares, and takes its interval from
theirs by the method of variance estimates recovery (MOVER):

.. math:: \tfrac12(p_1+p_0) \pm \tfrac12\sqrt{(p_1-e_1)^2+(p_0-e_0)^2}

where :math:`e` is the end of each share's interval on that side. These intervals are for a threshold that was not
chosen by the rows themselves.

References
----------
Wilson (1927), JASA 22; Newcombe (1998), Statistics in Medicine 17; Agresti & Min (2005), Statistics in Medicine 24.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.formulas.intervals import wilson, z_quantile

BoolArray: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = FloatArray | np.float64
FIGURES = ("balanced_accuracy", "accuracy", "precision", "recall", "false_positive_rate", "f1")


@dataclass(frozen=True, slots=True)
class Decisions:
    """How many rows of each label pass, of how many. Fractions come from splits that are repeated and averaged.

    All four are numbers, or arrays of one shape.
    """

    good_passed: Counts
    n_good: Counts
    bad_passed: Counts
    n_bad: Counts


def compute_rates(decisions: Decisions) -> Mapping[str, FloatArray]:
    """Return the value of every one of `FIGURES`; NaN where nothing was counted."""
    d = decisions
    good, n_good, bad, n_bad = map(np.asarray, (d.good_passed, d.n_good, d.bad_passed, d.n_bad))
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "balanced_accuracy": (good / n_good + 1.0 - bad / n_bad) / 2.0,
            "accuracy": (good + n_bad - bad) / (n_good + n_bad),
            "precision": good / (good + bad),
            "recall": good / n_good,
            "false_positive_rate": bad / n_bad,
            "f1": 2.0 * good / (good + bad + n_good),
        }


def build_decisions(is_good: BoolArray, passes: BoolArray) -> Decisions:
    """Count the decisions about labelled rows."""
    counts = (is_good & passes, is_good, ~is_good & passes, ~is_good)
    return Decisions(*(np.float64(rows.sum()) for rows in counts))


def compute_figures(decisions: Decisions, level: float) -> Mapping[str, Proportion]:
    """Return every one of `FIGURES` with its interval.

    Examples
    --------
    >>> is_good = np.repeat([True, False], 50)
    >>> found = compute_figures(build_decisions(is_good, np.repeat([True, False, True, False], [45, 5, 10, 40])), 0.95)
    >>> round(found["balanced_accuracy"].value, 3), round(found["balanced_accuracy"].lower, 3)
    (0.85, 0.764)
    """
    d = decisions
    n_passed = d.good_passed + d.bad_passed
    recall, kept_out = _share(d.good_passed, d.n_good, level), _share(d.n_bad - d.bad_passed, d.n_bad, level)
    return {
        "balanced_accuracy": _balanced(recall, kept_out),
        "accuracy": _share(d.good_passed + d.n_bad - d.bad_passed, d.n_good + d.n_bad, level),
        "precision": _share(d.good_passed, n_passed, level),
        "recall": recall,
        "false_positive_rate": _share(d.bad_passed, d.n_bad, level),
        "f1": _f1(_share(d.good_passed, n_passed + d.n_good - d.good_passed, level)),
    }


def balanced_change(is_good: BoolArray, now: BoolArray, then: BoolArray, level: float) -> Ends:
    """Return the interval of the change in balanced accuracy where rows pass as in `then` instead of as in `now`.

    Paired within each label, with Agresti and Min's half row added to each kind of pair: rows that all stay where they
    are do not prove that none would move.
    """
    change, variance = 0.0, 0.0
    shift = then.astype(np.float64) - now
    for gains in (shift[is_good], -shift[~is_good]):
        n = gains.size + 2.0
        mean = float(gains.sum()) / n
        change += mean / 2.0
        variance += ((float((gains**2).sum()) + 1.0) / n - mean**2) / n / 4.0
    margin = z_quantile(level) * math.sqrt(variance)
    return change - margin, change + margin


def _share(successes: Counts, of: Counts, level: float) -> Proportion:
    n = float(of)
    if n <= 0:
        return Proportion(None, None, None, 0, "none")
    lower, upper = wilson(min(float(successes), n), n, level)
    return Proportion(float(successes) / n, lower, upper, round(n), "wilson")


def _f1(share: Proportion) -> Proportion:
    """F1 grows with the share of good rows that pass among those that are good or pass: see `formulas.confusion`."""
    if share.value is None or share.lower is None or share.upper is None:
        return share
    value, lower, upper = (2.0 * end / (1.0 + end) for end in (share.value, share.lower, share.upper))
    return Proportion(value, lower, upper, share.n, share.method)


def _balanced(first: Proportion, second: Proportion) -> Proportion:
    if first.value is None or second.value is None:
        return Proportion(None, None, None, 0, "none")
    value = (first.value + second.value) / 2.0
    below = math.hypot(first.value - (first.lower or 0.0), second.value - (second.lower or 0.0)) / 2.0
    above = math.hypot((first.upper or 0.0) - first.value, (second.upper or 0.0) - second.value) / 2.0
    return Proportion(value, max(0.0, value - below), min(1.0, value + above), first.n + second.n, "mover")

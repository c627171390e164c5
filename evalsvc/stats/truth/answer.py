"""What labels say of all scores of an evaluator: the truth interval, and how far the evaluator can be trusted.

Binary labels of rows with a verdict go by strata (`strata`); other labels, and rows without any verdict, by `adjusted`.
Rows that the evaluator has not decided are a stratum of their own: they count in the truth interval, and sensitivity,
specificity and kappa are those of the decided rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.agreement.kappa import kappa_of_counts
from evalsvc.stats.basics.checks import FloatArray, validate_level
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.kinds import ALGEBRAIC
from evalsvc.stats.truth.adjusted import adjusted_mean, running_interval
from evalsvc.stats.truth.strata import (
    Stratum,
    estimate_share,
    fewest,
    finite_interval,
    labels_for_width,
    stratified_interval,
)

LEAST_LABELS = 20
MOST_LABELS = 10_000_000
TOO_FEW = "too_few_labels"
NO_INTERVAL = "no_interval"
STRATIFIED = "stratified"
VERDICTS: Mapping[bool | None, str] = {True: "pass", False: "fail", None: "undecided"}
VALUES: Mapping[bool | None, float] = {True: 1.0, False: 0.0, None: 0.5}


@dataclass(frozen=True, slots=True)
class LabelsOnly:
    """The interval from the labels alone, as a review answers it."""

    estimate: float
    lower: float | None
    upper: float | None
    method: str


@dataclass(frozen=True, slots=True)
class TruthEstimate:
    """What people would say of all scores.

    Attributes
    ----------
    n, population : int
        Labels, and scores that were drawn from.
    n_more : int
        Labels that are missing for an interval; 0 from 20 on.
    naive : float or None
        The evaluator's own pass rate of the decided scores, or its mean score.
    estimate, lower, upper : float or None
        Of what people would say of scores like these (new data). A fixed-sample interval.
    this_set : pair of float or None
        The interval for these N scores; of zero width when all are labelled.
    running : pair of float or None
        An interval for new data that may be looked at while labels come in.
    labels_only : LabelsOnly or None
        Without the evaluator.
    method : str or None
        ``stratified``, ``guarded-t`` or ``t``.
    strata : tuple of Stratum
        By the evaluator's verdict; empty where labels are not pass or fail, or no row has a verdict.
    sensitivity, specificity : Proportion or None
        Of the rows that people pass (fail) and the evaluator has decided, the share that it passes (fails).
    kappa : AgreementFigure or None
        Agreement of the evaluator with people on decided rows, corrected for chance.
    n_alone : int or None
        How many labels alone would give an interval as narrow.
    n_for_width : int or None
        How many labels in all are expected to give the width that was asked for; None where all would not.
    least_width : float or None
        The width that labels of all N scores are expected to give; a narrower interval needs more scores.
    reason : str or None
        Why there is no interval.
    """

    level: float
    n: int
    population: int
    n_more: int
    naive: float | None
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    this_set: Ends | None = None
    running: Ends | None = None
    labels_only: LabelsOnly | None = None
    method: str | None = None
    strata: tuple[Stratum, ...] = ()
    sensitivity: Proportion | None = None
    specificity: Proportion | None = None
    kappa: AgreementFigure | None = None
    n_alone: int | None = None
    n_for_width: int | None = None
    least_width: float | None = None
    reason: str | None = None

    @property
    def labels_saved(self) -> int | None:
        """How many labels the evaluator's scores are worth; below 0 where they only add noise."""
        return None if self.n_alone is None else self.n_alone - self.n


def estimate_share_of_truth(
    labels: Sequence[bool],
    verdicts: Sequence[bool | None],
    counts: Mapping[bool | None, int],
    *,
    level: float = 0.95,
    width: float | None = None,
) -> TruthEstimate:
    """Estimate the share that people would pass, from yes-or-no labels and the evaluator's verdicts.

    Parameters
    ----------
    labels, verdicts : sequence, shape (n,)
        Of the labelled rows, in the order of the draw: what people say, and the evaluator (None: undecided).
    counts : mapping
        How many of all N rows have which verdict.
    level : float
        Confidence level.
    width : float, optional
        The width for which `n_for_width` answers.

    Raises
    ------
    ValueError
        For more labels than rows of a verdict.

    Examples
    --------
    >>> labels = [True] * 36 + [False] * 4 + [False] * 9 + [True]
    >>> found = estimate_share_of_truth(labels, [True] * 40 + [False] * 10, {True: 900, False: 100})
    >>> round(found.naive, 2), round(found.estimate, 2), round(found.lower, 2), round(found.upper, 2)
    (0.9, 0.82, 0.7, 0.89)
    """
    level = validate_level(level)
    strata = _count_strata(labels, verdicts, counts)
    n, population = len(labels), sum(counts.values())
    n_decided = population - counts.get(None, 0)
    naive = counts.get(True, 0) / n_decided if n_decided else None
    if n < LEAST_LABELS:
        is_complete = 0 < n == population
        share = sum(labels) / n if is_complete else None
        this_set = (share, share) if share is not None else None
        return TruthEstimate(
            level, n, population, LEAST_LABELS - n, naive, share, this_set=this_set, strata=strata, reason=TOO_FEW
        )
    low, high = stratified_interval(strata, level)
    values = np.array([VALUES[verdict] for verdict in verdicts])
    all_values = np.repeat([*VALUES.values()], [counts.get(verdict, 0) for verdict in VALUES])
    answers = np.array(labels, dtype=np.float64)
    sensitivity, specificity, kappa = _compare_verdicts(labels, verdicts, level)
    alone = _labels_only(answers, level, (0.0, 1.0), binary=True)
    return TruthEstimate(
        *(level, n, population, 0, naive, estimate_share(strata), low, high, finite_interval(strata, level)),
        running_interval(answers, values, all_values, level=level, limits=(0.0, 1.0)),
        alone,
        STRATIFIED,
        strata,
        sensitivity,
        specificity,
        kappa,
        _count_alone(alone.estimate, high - low, level),
        None if width is None else labels_for_width(strata, width, level),
        _find_least_width(strata, level),
    )


def estimate_mean_of_truth(
    labels: FloatArray,
    scores: FloatArray,
    all_scores: FloatArray,
    *,
    limits: Ends | None,
    level: float = 0.95,
    width: float | None = None,
) -> TruthEstimate:
    """Estimate the mean that people would give, from labels that are numbers and the evaluator's scores.

    Parameters
    ----------
    labels, scores : array of float, shape (n,)
        Of the labelled rows, in the order of the draw.
    all_scores : array of float, shape (N,)
        The scores of all rows.
    limits : pair of float or None
        Lowest and highest possible label; None where there is none, and then no `running` interval either.
    level, width
        As for `estimate_share_of_truth`.

    Examples
    --------
    >>> scores = np.linspace(0, 1, 500)
    >>> found = estimate_mean_of_truth(scores[::10] ** 2, scores[::10], scores, limits=(0.0, 1.0), width=0.1)
    >>> round(found.estimate, 2), round(found.lower, 2), round(found.upper, 2), found.n_for_width
    (0.33, 0.27, 0.42, 141)
    """
    level = validate_level(level)
    n, population = labels.size, all_scores.size
    naive = float(all_scores.mean()) if population else None
    if n < LEAST_LABELS:
        is_complete = 0 < n == population
        mean = float(labels.mean()) if is_complete else None
        this_set = (mean, mean) if mean is not None else None
        return TruthEstimate(level, n, population, LEAST_LABELS - n, naive, mean, this_set=this_set, reason=TOO_FEW)
    found = adjusted_mean(labels, scores, all_scores, level=level, limits=limits)
    alone = _labels_only(labels, level, limits, binary=False)
    low, high = found.new_data or (None, None)
    running = None
    if limits is not None:
        running = running_interval(labels, scores, all_scores, level=level, limits=limits)
    return TruthEstimate(
        *(level, n, population, 0, naive, found.estimate, low, high, found.this_set, running, alone),
        None if low is None else found.method,
        n_alone=_scale_alone(alone, n, low, high),
        n_for_width=None if width is None else _labels_for_mean(found.core, found.extra, n, population, width),
        least_width=None if low is None else math.sqrt(found.core * n / population + found.extra),
        reason=NO_INTERVAL if low is None else None,
    )


def _count_strata(
    labels: Sequence[bool], verdicts: Sequence[bool | None], counts: Mapping[bool | None, int]
) -> tuple[Stratum, ...]:
    strata = []
    for verdict, name in VERDICTS.items():
        answers = [label for label, own in zip(labels, verdicts, strict=True) if own is verdict]
        population = counts.get(verdict, 0)
        if len(answers) > population:
            raise ValueError(f"`counts` must be at least the labels: {name} has {len(answers)} of {population}.")
        if population:
            strata.append(Stratum(name, population, len(answers), sum(answers)))
    return tuple(strata)


def _compare_verdicts(
    labels: Sequence[bool], verdicts: Sequence[bool | None], level: float
) -> tuple[Proportion, Proportion, AgreementFigure]:
    pairs = [(label, verdict) for label, verdict in zip(labels, verdicts, strict=True) if verdict is not None]
    table = [sum(pair == (label, verdict) for pair in pairs) for label in (True, False) for verdict in (True, False)]
    both_pass, missed, false_pass, both_fail = table
    return (
        _proportion(both_pass, both_pass + missed, level),
        _proportion(both_fail, both_fail + false_pass, level),
        kappa_of_counts(both_pass, missed, false_pass, both_fail, level),
    )


def _proportion(successes: int, n: int, level: float) -> Proportion:
    if not n:
        return Proportion(None, None, None, 0, "none")
    return Proportion(successes / n, *clopper_pearson(successes, n, level), n, "clopper-pearson")


def _labels_only(labels: FloatArray, level: float, limits: Ends | None, *, binary: bool) -> LabelsOnly:
    interval = new_data_interval(ALGEBRAIC, compute_sums(labels), level=level, value_range=limits, binary=binary)
    return LabelsOnly(float(labels.mean()), interval.lower, interval.upper, interval.method)


def _count_alone(share: float, width: float, level: float) -> int | None:
    """Return with how many labels the exact interval of a share is as narrow."""

    def is_narrow(n: int) -> bool:
        low, high = clopper_pearson(share * n, n, level)
        return high - low <= width

    return fewest(is_narrow, MOST_LABELS)


def _find_least_width(strata: Sequence[Stratum], level: float) -> float:
    """Return the width below which `labels_for_width` has no answer."""
    n, population = sum(stratum.n for stratum in strata), sum(stratum.population for stratum in strata)
    low, high = stratified_interval(strata, level, scale=population / n)
    return high - low


def _scale_alone(alone: LabelsOnly, n: int, low: float | None, high: float | None) -> int | None:
    if alone.lower is None or alone.upper is None or low is None or high is None or high <= low:
        return None
    return math.ceil(n * ((alone.upper - alone.lower) / (high - low)) ** 2)


def _labels_for_mean(core: float, extra: float, n: int, population: int, width: float) -> int | None:
    """Return how many labels give a width, of which the square is core·n/m + extra."""
    if width**2 <= extra:
        return None
    needed = max(1, math.ceil(n * core / (width**2 - extra)))
    return needed if needed <= population else None

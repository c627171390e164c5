"""Intervals for new data: the value that a metric would approach with more examples like the ones scored.

No finite-population correction is applied: these intervals have a width even when every example has been scored.
The usual question is whether a prompt is better, not whether it was better on these examples, so this is the default.

| metric | one look | anytime-valid |
|---|---|---|
| binary | Clopper-Pearson | prior over posterior (`running_share`) |
| in a range | `guarded_t` | betting |
| without a range | Student's t, warned `heavy_tail` | none |
| ratio | Student's t of linearised residuals | none |
| total, untyped | none | none |
"""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.stats.basics.checks import Scores, ValueRange, n_known, validate_level, validate_range
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.basics.sums import Sums
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK, WATCHED
from evalsvc.stats.formulas.anytime import anytime_share, running_share
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.extremes import guarded_t, shape_warnings
from evalsvc.stats.formulas.finite import Ends, t_margin
from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.kinds import MetricKind


@dataclass(frozen=True, slots=True)
class NewDataInterval:
    """An interval for the mean (or ratio) of new data.

    Attributes
    ----------
    lower, upper : float or None
        In the unit of one score; both are numbers or both are None, never NaN.
    method : str
        The formula that answered; ``none`` without an interval.
    safe : str
        ``one look`` or ``safe while watched``.
    warnings : tuple of str
        Some of ``n<30``, ``degenerate``, ``heavy_tail``, ``skewed``, ``wide_range``, in this order.
    """

    lower: float | None
    upper: float | None
    method: str
    safe: str
    warnings: tuple[str, ...] = ()


def new_data_interval(
    kind: MetricKind,
    sums: Sums,
    *,
    level: float,
    value_range: ValueRange | None,
    binary: bool,
    watched: bool = False,
    scores: Scores | None = None,
) -> NewDataInterval:
    """Return the interval for new data of a metric of this kind.

    Parameters
    ----------
    kind : MetricKind
        One of `kinds.KINDS`. Totals of new data are not supported; the kind of the mean is `of_one_score`.
    sums : Sums
        Of the scores so far.
    level : float
        Confidence level, strictly between 0 and 1.
    value_range : pair of float or None
        Lowest and highest possible score; a binary metric has 0 to 1.
    binary : bool
        Whether every score is declared to be 0 or 1.
    watched : bool
        True for an anytime-valid interval, False for a single look chosen beforehand.
    scores : sequence of float, optional
        The scores in the order in which they arrived, NaN for a failed example. Only an anytime-valid interval uses
        them: with them a mean once ruled out stays ruled out, and scores that are not binary require them.

    Returns
    -------
    NewDataInterval
        The range itself for one score in a range; without bounds for no scores.

    Raises
    ------
    ValueError
        For scores outside the range, or missing scores that are required.

    Examples
    --------
    >>> from evalsvc.stats.basics.sums import compute_sums
    >>> from evalsvc.stats.kinds import ALGEBRAIC
    >>> found = new_data_interval(ALGEBRAIC, compute_sums([1] * 9 + [0]), level=0.95, value_range=None, binary=True)
    >>> round(found.lower, 3), round(found.upper, 3), found.method, found.safe
    (0.555, 0.997, 'clopper-pearson', 'one look')
    """
    limits = (0.0, 1.0) if binary else validate_range(value_range)
    kind.check(sums, limits)
    safe = WATCHED if watched else ONE_LOOK
    ends, method = _ends(kind, sums, validate_level(level), limits, binary, watched, scores)
    if ends is None:
        return NewDataInterval(None, None, "none", safe, _warnings(kind, sums, limits, binary))
    return NewDataInterval(*ends, method, safe, _warnings(kind, sums, limits, binary))


def _ends(
    kind: MetricKind,
    sums: Sums,
    level: float,
    limits: Ends | None,
    binary: bool,
    watched: bool,
    scores: Scores | None,
) -> tuple[Ends | None, str]:
    if kind.covers != NEW_DATA or not sums.n:
        return None, "none"
    if limits is None or not kind.is_of_single_scores:
        return (None, "none") if watched else _build_t_interval(kind, sums, level)
    return (
        _build_anytime_interval(sums, level, limits, binary, scores)
        if watched
        else _one_look(sums, level, limits, binary)
    )


def _one_look(sums: Sums, level: float, limits: Ends, binary: bool) -> tuple[Ends, str]:
    if binary:
        return clopper_pearson(round(sums.total), sums.n, level), "clopper-pearson"
    if sums.n == 1:
        return limits, "range"
    return guarded_t(sums, limits, level), "guarded-t"


def _build_anytime_interval(
    sums: Sums, level: float, limits: Ends, binary: bool, scores: Scores | None
) -> tuple[Ends, str]:
    if scores is not None and n_known(scores) != sums.n:
        raise ValueError("`scores` must hold every score seen, in order, for an interval that may be watched.")
    if binary and scores is not None:
        return running_share(scores, None, level), "beta-binomial"
    if binary:
        return anytime_share(round(sums.total), sums.n, None, level), "beta-binomial"
    if sums.n == 1:
        return limits, "range"
    if scores is None:
        raise ValueError("`scores` must hold every score seen, in order, for an interval that may be watched.")
    return betting_interval(scores, None, level, limits, running=True), "betting"


def _build_t_interval(kind: MetricKind, sums: Sums, level: float) -> tuple[Ends | None, str]:
    value, variance = kind.quotient(sums), kind.variance(sums)
    if value is None or variance == 0.0:
        return None, "none"
    margin = t_margin(variance, sums.n, None, level)
    return (value - margin, value + margin), "t"


def _warnings(kind: MetricKind, sums: Sums, limits: Ends | None, binary: bool) -> tuple[str, ...]:
    if not sums.n or kind.covers != NEW_DATA:
        return ()
    warnings = [FEW_SCORES] if sums.n < 30 else []
    if kind.is_degenerate(sums):
        warnings.append(DEGENERATE)
    has_no_shape = binary or not kind.is_of_single_scores
    return (*warnings, *(() if has_no_shape else shape_warnings(sums, limits)))

"""Estimates while an evaluation runs: the score of the whole set, from the random part of it that has been seen.

Two questions, never mixed. **This set**: the score that these N examples will have in the end; no uncertainty is left
once all have been seen. **New data**: where the score would settle with more examples like these.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.stats.basics.checks import Scores, ValueRange, validate_level, validate_range
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.basics.sums import Sums, compute_sums
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK, THIS_SET
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.kinds import MetricKind
from evalsvc.stats.strategies.of_sets import SetQuestion, SetRule, interval_by
from evalsvc.stats.strategies.registry import SET_STRATEGIES, STRATEGIES, set_rule

__all__ = ["Estimate", "Sums", "bounds_under_failures", "check_strategy", "compute_sums", "estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of a metric of the complete set from the scores so far.

    Attributes
    ----------
    value, lower, upper : float or None
        In the unit of the metric (for a distributive one: the total of the set). None where undefined. The
        interval need not be symmetric.
    n, population : int
        Number of scores, and size of the set (None when unknown).
    strategy, method : str
        The strategy requested, and the formula used.
    level : float
        Confidence level.
    covers : str
        ``this set`` or ``new data``.
    safe : str
        ``one look``: valid at one moment chosen beforehand. ``safe while watched``: valid at all moments at once.
    warnings : tuple of str
        Any of ``n<30``, ``degenerate``.
    """

    value: float | None
    lower: float | None
    upper: float | None
    n: int
    population: int | None
    strategy: str
    method: str
    level: float
    covers: str
    safe: str
    warnings: tuple[str, ...]


def check_strategy(strategy: str, kind: MetricKind, binary: bool, value_range: ValueRange | None) -> str | None:
    """Return a message why the strategy does not apply to such a metric, or None if it applies.

    Examples
    --------
    >>> from evalsvc.stats.kinds import ALGEBRAIC
    >>> check_strategy("exact", ALGEBRAIC, binary=False, value_range=(1, 5))
    'The strategy exact counts ones, and this metric is not declared binary.'
    """
    rule = set_rule(kind.stand_ins.get(strategy, strategy))
    if rule is None:
        return f"The strategy must be one of {', '.join(SET_STRATEGIES)}."
    if kind.why_no_strategy is not None:
        return kind.why_no_strategy
    if not kind.is_of_single_scores:
        return None if rule.is_of_variance else _why_not_of_variance(strategy, kind)
    if rule.counts_ones and not binary:
        return f"The strategy {strategy} counts ones, and this metric is not declared binary."
    if rule.needs_range and not binary and value_range is None:
        return f"The strategy {strategy} needs a value_range, and this metric declares none."
    return None


def _why_not_of_variance(strategy: str, kind: MetricKind) -> str:
    fit = [rule.name for rule in STRATEGIES.values() if rule.of_set is not None and rule.of_set.is_of_variance]
    return f"A {kind} takes the strategies {' and '.join(fit)}; {strategy} needs single scores in a range."


def estimate(
    kind: MetricKind,
    sums: Sums,
    *,
    population: int | None,
    strategy: str,
    level: float,
    value_range: ValueRange | None,
    binary: bool,
    use_fpc: bool,
    scores: Scores | None = None,
) -> Estimate:
    """Estimate a metric of the complete set from a random part of it.

    Parameters
    ----------
    kind : MetricKind
        One of `kinds.KINDS`: a mean, a sum, a ratio of sums, or the plain mean so far, without an interval.
    sums : Sums
        Of the scores so far: a random part of the set, drawn without replacement.
    population : int or None
        Size N of the set; None when unknown, in that case the interval is for new data and a sum cannot be estimated.
    strategy : str
        One of `SET_STRATEGIES`; one that passes `check_strategy`.
    level : float
        Confidence level, strictly between 0 and 1.
    value_range : pair of float or None
        Lowest and highest possible score; a binary metric has 0 to 1.
    binary : bool
        Whether every score is declared to be 0 or 1.
    use_fpc : bool
        True for an interval for this set, False for one for new data.
    scores : sequence of float, optional
        The scores themselves in the order of the permutation; only ``anytime`` uses them, and it requires
        them for metrics that are not binary.

    Returns
    -------
    Estimate
        Never NaN. Without numbers for no scores; the certain bounds for one score.

    Raises
    ------
    ValueError
        If the strategy does not fit, or the sums contradict the range or the population.

    Examples
    --------
    >>> from evalsvc.stats.kinds import ALGEBRAIC
    >>> found = estimate(ALGEBRAIC, compute_sums([1] * 45 + [0] * 5), population=400, strategy="exact", level=0.95,
    ...                  value_range=(0, 1), binary=True, use_fpc=True)
    >>> found.value, round(found.lower, 4), round(found.upper, 4), found.covers
    (0.9, 0.79, 0.9625, 'this set')
    """
    limits = (0.0, 1.0) if binary else validate_range(value_range)
    _check_population(sums, population)
    kind.check(sums, limits)
    value = kind.value(sums)
    covers = THIS_SET if use_fpc and population is not None else NEW_DATA
    question = SetQuestion(
        kind, sums, population if covers == THIS_SET else None, validate_level(level), limits, binary, scores
    )
    rule = None if kind.covers is None else _fitting_rule(strategy, kind, binary, limits)
    ends, method = interval_by(rule, question, value) if rule else (None, "none")
    warnings = _warnings(rule, question, ends)
    if kind.covers == THIS_SET:
        value, ends = _scale_to_set(kind, value, ends, population)
    lower, upper = ends if ends is not None else (None, None)
    strategy_used, safe = (strategy, rule.safe) if rule else ("none", ONE_LOOK)
    return Estimate(value, lower, upper, sums.n, population, strategy_used, method, level, covers, safe, warnings)


def bounds_under_failures(
    kind: MetricKind, sums: Sums, n_failed: int, *, value_range: ValueRange | None, population: int | None
) -> Ends | None:
    """Return the metric if all failed examples had the worst score, and if all had the best score.

    Returns
    -------
    tuple of float or None
        For the examples attempted (for a sum scaled to the population). None for a metric without a range, or without
        a score of each example, or nothing has been attempted.

    Examples
    --------
    >>> from evalsvc.stats.kinds import ALGEBRAIC
    >>> bounds_under_failures(ALGEBRAIC, compute_sums([1, 1, 1, 0]), 4, value_range=[0, 1], population=400)
    (0.375, 0.875)
    """
    limits = validate_range(value_range)
    attempted = sums.n + n_failed
    if limits is None or not attempted or not kind.is_of_single_scores:
        return None
    low, high = ((sums.total + n_failed * bound) / attempted for bound in limits)
    return _scale_to_set(kind, low, (low, high), population)[1] if kind.covers == THIS_SET else (low, high)


def _check_population(sums: Sums, population: int | None) -> None:
    if population is not None and not 0 <= sums.n <= population:
        raise ValueError(f"`population` must not be less than the scores seen, {sums.n}, and is {population}.")


def _fitting_rule(strategy: str, kind: MetricKind, binary: bool, limits: Ends | None) -> SetRule:
    reason, rule = check_strategy(strategy, kind, binary, limits), set_rule(kind.stand_ins.get(strategy, strategy))
    if reason is not None or rule is None:
        raise ValueError(reason)
    return rule


def _warnings(rule: SetRule | None, question: SetQuestion, ends: Ends | None) -> tuple[str, ...]:
    sums = question.sums
    if rule is None or sums.n == question.population:
        return ()
    warnings = []
    if rule.is_approximate and sums.n < 30:
        warnings.append(FEW_SCORES)
    # No width, or no interval although there are scores: their equality is all that is known.
    if (ends is None and sums.n) or (ends is not None and ends[0] == ends[1]):
        warnings.append(DEGENERATE)
    return tuple(warnings)


def _scale_to_set(
    kind: MetricKind, value: float | None, ends: Ends | None, population: int | None
) -> tuple[float | None, Ends | None]:
    """Turn a mean into the number of the set; without its size there is none."""
    if value is None or population is None:
        return None, None
    scale = kind.scale(population)
    return scale * value, None if ends is None else (scale * ends[0], scale * ends[1])

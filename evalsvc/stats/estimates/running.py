"""Estimates while an evaluation runs: the score of the whole set, from the random part of it that has been seen.

Two questions, never mixed. **This set**: the score that these N examples will have in the end; no uncertainty is left
once all have been seen. **New data**: where the score would settle with more examples like these.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.stats.basics.checks import Scores, ValueRange, check_within, checked_level, checked_range
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.basics.sums import Sums, sums_of
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.strategies.of_sets import Question, interval_of_mean

__all__ = [
    "KINDS",
    "STRATEGIES",
    "Estimate",
    "Sums",
    "bounds_under_failures",
    "check_strategy",
    "default_strategy",
    "estimate",
    "sums_of",
]

STRATEGIES = ("normal", "wilson", "hoeffding", "exact", "t", "hoeffding-serfling", "anytime")
KINDS = ("algebraic", "distributive", "ratio", "untyped")
THIS_SET, NEW_DATA = "this set", "new data"
ONE_LOOK, WATCHED = "one look", "safe while watched"
# Strategies that trust a bell curve, and should not below thirty scores.
APPROXIMATE = ("normal", "wilson", "t")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric of the whole set, as far as the scores seen tell.

    Attributes
    ----------
    value, lower, upper : float or None
        In the unit of the metric (for a distributive one: the total of the set). None where there is no number. The
        interval need not be symmetric.
    n, population : int
        Scores seen, and size of the set (None when unknown).
    strategy, method : str
        What was asked for, and the formula that answered.
    level : float
        Confidence level.
    covers : str
        ``this set`` or ``new data``.
    safe : str
        ``one look``: right this often at one moment chosen beforehand. ``safe while watched``: at all moments together.
    warnings : tuple of str
        Some of ``n<30``, ``degenerate``.
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


def default_strategy(kind: str, binary: bool) -> str | None:
    """Return the strategy to use when none is named; None for a metric that cannot have an interval.

    Examples
    --------
    >>> default_strategy("algebraic", binary=True), default_strategy("ratio", binary=False)
    ('exact', 't')
    """
    if kind == "untyped":
        return None
    return "exact" if binary and kind != "ratio" else "t"


def check_strategy(strategy: str, kind: str, binary: bool, value_range: ValueRange | None) -> str | None:
    """Return a sentence that says why the strategy does not fit such a metric, or None when it does.

    Examples
    --------
    >>> check_strategy("exact", "algebraic", binary=False, value_range=(1, 5))
    'The strategy exact counts ones, and this metric is not declared binary.'
    """
    if strategy not in STRATEGIES:
        return f"The strategy must be one of {', '.join(STRATEGIES)}."
    if kind == "untyped":
        return "A metric without a type is shown as it is; no strategy applies to it."
    if kind == "ratio":
        fits = strategy in ("normal", "t")
        return (
            None if fits else f"A ratio takes the strategies normal and t; {strategy} needs single scores in a range."
        )
    if not binary and (strategy == "exact" or (strategy == "wilson" and kind == "algebraic")):
        return f"The strategy {strategy} counts ones, and this metric is not declared binary."
    if not binary and value_range is None and strategy in ("hoeffding", "hoeffding-serfling", "anytime"):
        return f"The strategy {strategy} needs a value_range, and this metric declares none."
    return None


def estimate(
    kind: str,
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
    """Estimate a metric of the whole set from a random part of it.

    Parameters
    ----------
    kind : str
        ``algebraic`` (a mean), ``distributive`` (a sum), ``ratio`` (sum of numerators over sum of denominators) or
        ``untyped`` (the mean so far, which claims nothing).
    sums : Sums
        Of the scores seen: a random part of the set, drawn without replacement.
    population : int or None
        Size N of the set; None when unknown, and then the interval is for new data and a sum has no estimate.
    strategy : str
        One of `STRATEGIES`; one that passes `check_strategy`.
    level : float
        Confidence level, strictly between 0 and 1.
    value_range : pair of float or None
        Lowest and highest possible score; a binary metric has 0 to 1.
    binary : bool
        Whether every score is declared to be 0 or 1.
    use_fpc : bool
        True for an interval for this set, False for one for new data.
    scores : sequence of float, optional
        The scores themselves in the order of the permutation; only ``anytime`` reads them, and for metrics that are not
        binary it must have them.

    Returns
    -------
    Estimate
        Never NaN. No score gives no numbers, one score the bounds that are certain.

    Raises
    ------
    ValueError
        If the strategy does not fit, or the sums contradict the range or the population.

    Examples
    --------
    >>> found = estimate("algebraic", sums_of([1] * 45 + [0] * 5), population=400, strategy="exact", level=0.95,
    ...                  value_range=(0, 1), binary=True, use_fpc=True)
    >>> found.value, round(found.lower, 4), round(found.upper, 4), found.covers
    (0.9, 0.79, 0.9625, 'this set')
    """
    limits = (0.0, 1.0) if binary else checked_range(value_range)
    _check_sums(kind, sums, limits, population)
    value = _value(kind, sums)
    covers = THIS_SET if use_fpc and population is not None else NEW_DATA
    question = Question(
        kind, sums, population if covers == THIS_SET else None, checked_level(level), limits, binary, scores
    )
    if kind == "untyped":
        ends, method, strategy = None, "none", "none"
    else:
        _refuse_unfit(strategy, kind, binary, limits)
        ends, method = interval_of_mean(strategy, question, value)
    warnings = _warnings(strategy, question, ends)
    if kind == "distributive":
        value, ends = _scaled(value, ends, population)
    lower, upper = ends if ends is not None else (None, None)
    safe = WATCHED if strategy == "anytime" else ONE_LOOK
    return Estimate(value, lower, upper, sums.n, population, strategy, method, level, covers, safe, warnings)


def bounds_under_failures(
    kind: str, sums: Sums, n_failed: int, *, value_range: ValueRange | None, population: int | None
) -> Ends | None:
    """Return the metric if every failed example had scored worst, and if every one had scored best.

    Returns
    -------
    tuple of float or None
        Of the examples attempted (for a distributive metric scaled to the population). None where the metric has no
        range, is a ratio or untyped, or nothing has been attempted.

    Examples
    --------
    >>> bounds_under_failures("algebraic", sums_of([1, 1, 1, 0]), 4, value_range=[0, 1], population=400)
    (0.375, 0.875)
    """
    limits = checked_range(value_range)
    attempted = sums.n + n_failed
    if limits is None or not attempted or kind in ("ratio", "untyped"):
        return None
    low, high = ((sums.total + n_failed * bound) / attempted for bound in limits)
    if kind == "algebraic":
        return low, high
    return (population * low, population * high) if population is not None else None


def _check_sums(kind: str, sums: Sums, limits: Ends | None, population: int | None) -> None:
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(KINDS)}, not {kind!r}.")
    if population is not None and not 0 <= sums.n <= population:
        raise ValueError(f"`population` must not be less than the scores seen, {sums.n}, and is {population}.")
    if kind != "ratio" and sums.lowest is not None and sums.highest is not None:
        check_within(sums.lowest, sums.highest, limits)


def _refuse_unfit(strategy: str, kind: str, binary: bool, limits: Ends | None) -> None:
    reason = check_strategy(strategy, kind, binary, limits)
    if reason is not None:
        raise ValueError(reason)


def _value(kind: str, sums: Sums) -> float | None:
    """Return the mean, or the ratio; None where there is none."""
    if not sums.n:
        return None
    if kind == "ratio":
        return sums.total / sums.den_total if sums.den_total else None
    # A mean of equal scores is one of them, whatever rounding says.
    return sums.lowest if sums.is_flat else sums.mean


def _warnings(strategy: str, question: Question, ends: Ends | None) -> tuple[str, ...]:
    sums = question.sums
    if sums.n == question.population:
        return ()
    found = []
    if strategy in APPROXIMATE and sums.n < 30:
        found.append(FEW_SCORES)
    # No width, or no interval although there are scores: their equality is all that is known.
    if (ends is None and strategy != "none" and sums.n) or (ends is not None and ends[0] == ends[1]):
        found.append(DEGENERATE)
    return tuple(found)


def _scaled(value: float | None, ends: Ends | None, population: int | None) -> tuple[float | None, Ends | None]:
    """Turn a mean into the total of the set; without its size there is no total."""
    if value is None or population is None:
        return None, None
    return population * value, None if ends is None else (population * ends[0], population * ends[1])

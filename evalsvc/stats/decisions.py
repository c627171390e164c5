"""The interval that a decision may rest on while a plan runs: right at all its looks together.

| metric | how | looks |
|---|---|---|
| binary | `exact` at alpha over the looks | the ends of shards |
| in a range | `anytime`, betting, at the plan's own level | every example |
| ratio | `t` at alpha over the looks | the ends of shards, for large samples |
| without a range | none: ``no_range`` | |

Student's t looked at after every shard misses in 37 % of runs where failures are rare, however the level is split: its
error is that of the bell curve, not that of looking often.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.stats.checks import Scores, ValueRange
from evalsvc.stats.results import DEGENERATE
from evalsvc.stats.running import WATCHED, Estimate, estimate
from evalsvc.stats.sums import Sums

NO_RANGE, NO_SCORES, UNTYPED = "no_range", "no_scores", "untyped"
PLANNED_LOOKS = "planned looks"


@dataclass(frozen=True, slots=True)
class DecisionInterval:
    """An interval at the looks of a plan, or the reason why there is none.

    Attributes
    ----------
    lower, upper : float or None
        In the unit of the metric, both or neither.
    level : float
        At which each single interval was computed.
    method : str
        The formula; ``none`` without an interval.
    safe : str
        ``safe while watched`` (at every example) or ``planned looks`` (at the ends of shards).
    reason : str or None
        Why there is no interval: ``no_range``, ``no_scores``, ``untyped`` or ``degenerate``.
    """

    lower: float | None
    upper: float | None
    level: float
    method: str
    safe: str
    reason: str | None = None


def decision_strategy(kind: str, binary: bool, value_range: ValueRange | None) -> str | None:
    """Return the strategy that decisions about such a metric rest on; None where there can be none.

    Those with ``anytime`` need the scores in their order, unless the metric is binary.

    Examples
    --------
    >>> decision_strategy("algebraic", False, (0, 1)), decision_strategy("algebraic", False, None)
    ('anytime', None)
    """
    if kind == "ratio":
        return "t"
    if kind == "untyped" or (value_range is None and not binary):
        return None
    return "exact" if binary else "anytime"


def decision_interval(
    kind: str,
    sums: Sums,
    *,
    population: int,
    n_looks: int,
    level: float,
    value_range: ValueRange | None,
    binary: bool,
    scores: Scores | None = None,
) -> DecisionInterval:
    """Return the interval for this set that holds at all looks of a plan together.

    Parameters
    ----------
    kind, sums, level, value_range, binary
        As for `running.estimate`; the level is that of the plan.
    population : int
        Examples of the plan, failed ones included, less those before `designed_after`.
    n_looks : int
        At how many shard ends one looks before everything is known.
    scores : sequence of float, optional
        For a metric in a range that is not binary: its scores in order, NaN for an example that failed.

    Examples
    --------
    >>> from evalsvc.stats.sums import sums_of
    >>> scores = [0.98, 0.99, 1.0, 0.97, 0.0] * 10
    >>> found = decision_interval("algebraic", sums_of(scores), population=400, n_looks=7, level=0.95,
    ...                           value_range=(0, 1), binary=False, scores=scores)
    >>> round(found.lower, 3), round(found.upper, 3), found.method, found.safe
    (0.633, 0.928, 'betting', 'safe while watched')
    """
    strategy = decision_strategy(kind, binary, value_range)
    if strategy is None or not sums.n:
        reason = UNTYPED if kind == "untyped" else NO_SCORES if strategy else NO_RANGE
        return DecisionInterval(None, None, level, "none", PLANNED_LOOKS, reason)
    each = level if strategy == "anytime" else 1.0 - (1.0 - level) / max(1, n_looks)
    found = estimate(
        kind,
        sums,
        population=population,
        strategy=strategy,
        level=each,
        value_range=value_range,
        binary=binary,
        use_fpc=True,
        scores=scores if strategy == "anytime" else None,
    )
    return _of(found, WATCHED if strategy == "anytime" else PLANNED_LOOKS)


def _of(found: Estimate, safe: str) -> DecisionInterval:
    # Only a ratio that is the same for every example gets this far without an interval.
    reason = DEGENERATE if found.lower is None else None
    return DecisionInterval(found.lower, found.upper, found.level, found.method, safe, reason)

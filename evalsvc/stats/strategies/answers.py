"""The interval of a history by the strategy that a request names."""

from __future__ import annotations

from evalsvc.stats.basics.checks import (
    Scores,
    ValueRange,
    check_declared,
    validate_level,
    validate_range,
    validate_scores,
)
from evalsvc.stats.basics.results import HistoryInterval
from evalsvc.stats.histories.percentile import history_interval
from evalsvc.stats.strategies.of_histories import CheckedHistory, interval_by_rule
from evalsvc.stats.strategies.registry import history_rule


def interval_for(
    strategy: str,
    scores: Scores,
    level: float = 0.95,
    *,
    value_range: ValueRange | None = None,
    binary: bool | None = None,
    seed: int = 0,
) -> HistoryInterval:
    """Return the interval for the mean of a history by the strategy of this name.

    Parameters
    ----------
    strategy : str
        One of `HISTORY_STRATEGIES`. ``none`` answers without numbers. ``wilson`` and ``clopper-pearson`` need scores
        that are declared binary, ``studentized`` scores that are not, ``betting`` a range, ``full-history-block`` 50.
    scores : sequence of float or ndarray
        At least two for an answer. ``full-history-block`` needs them in the order of time, forwards or backwards; the
        other answers do not depend on order, but for the warning ``autocorrelated``.
    level, value_range, binary
        As in `history_interval`.
    seed : int
        For the three strategies that draw (bca, block, studentized): the same seed and scores give the same interval.

    Returns
    -------
    HistoryInterval
        Never NaN. Fewer than two scores: no numbers. Equal scores: the degenerate interval, except that ``wilson``,
        ``clopper-pearson`` and ``betting`` always have a width.

    Raises
    ------
    StrategyNotApplicable
        If the strategy does not fit what the evaluator declares.
    ValueError
        For an unknown strategy, and as in `history_interval`.

    Examples
    --------
    >>> interval = interval_for("wilson", [1] * 20, binary=True)
    >>> interval.lower, interval.median, interval.upper
    (0.838874842, 1.0, 1.0)
    """
    rule = history_rule(strategy)
    if strategy == "full-history":
        # The default, and the fastest: zeros and ones are counted without a look at each.
        return history_interval(scores, level, value_range=value_range, binary=binary)
    return interval_by_rule(strategy, rule, _check_scores(scores, level, value_range, binary, seed))


def _check_scores(
    scores: Scores, level: float, value_range: ValueRange | None, binary: bool | None, seed: int
) -> CheckedHistory:
    history = CheckedHistory(validate_scores(scores), validate_level(level), validate_range(value_range), binary, seed)
    check_declared(history.row, history.limits, binary)
    return history

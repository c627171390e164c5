"""The strategies for a history: what each refuses, and its formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from evalsvc.stats.basics.checks import (
    FloatArray,
)
from evalsvc.stats.basics.results import NO_RANGE, HistoryInterval
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.formulas.bca import bca_quantiles
from evalsvc.stats.formulas.extremes import guarded_t, hides_an_end
from evalsvc.stats.formulas.intervals import clopper_pearson, wilson
from evalsvc.stats.histories.percentile import (
    all_equal,
    bets_on,
    build_resampled_interval,
    degenerate_interval,
    interval_with_warnings,
    no_interval,
    percentile_limit,
)
from evalsvc.stats.histories.saddlepoint import effective_size

RESAMPLES = 2000
# With fewer scores a resample repeats so few values that its own standard error means nothing.
BOOTSTRAP_T_SCORES = 8
# With fewer scores there are too few runs to resample: measured coverage was below that of single scores.
BLOCK_SCORES = 50
# `auto` changes to the large-sample formula from so many scores on: all scores for a share, and those that carry the
# variance for others.
MANY = 100
NO_RANGE_REASON = (
    "The mean of scores without a declared range has no interval that can be trusted. The strategy "
    "full-history resamples those so far."
)


class StrategyNotApplicable(ValueError):
    """Raised when a strategy makes no sense for scores of this kind; the message is a sentence for the caller."""


@dataclass(frozen=True, slots=True)
class CheckedHistory:
    """Checked input: what every strategy reads."""

    row: FloatArray
    level: float
    limits: tuple[float, float] | None
    binary: bool | None
    seed: int

    @property
    def tail(self) -> float:
        """How often the mean may lie beyond one end."""
        return (1.0 - self.level) / 2.0

    def unit(self) -> tuple[float, float, FloatArray]:
        """Return the lowest score, the spread, and the scores mapped to [0, 1], where no power of them underflows."""
        low = float(self.row.min())
        width = float(self.row.max()) - low
        return low, width, (self.row - low) / width

    @property
    def flat(self) -> bool:
        """Whether all scores are equal, rounding errors aside."""
        return all_equal(float(self.row.min()), float(self.row.max()))


@dataclass(frozen=True, slots=True)
class HistoryRule:
    """How a strategy answers for a history, and for which it is refused.

    Attributes
    ----------
    compute : callable
        From a checked history of two scores or more to its interval.
    why_unfit : callable
        From the strategy's name and a checked history to the sentence that refuses it, or None.
    draws : bool
        Whether it draws random numbers, so that it reads the seed.
    """

    compute: Callable[[CheckedHistory], HistoryInterval]
    why_unfit: Callable[[str, CheckedHistory], str | None] = lambda strategy, history: None
    draws: bool = False


def interval_by_rule(strategy: str, rule: HistoryRule, history: CheckedHistory) -> HistoryInterval:
    """Return what a strategy finds; raise StrategyNotApplicable where it makes no sense for such scores."""
    if (reason := rule.why_unfit(strategy, history)) is not None:
        raise StrategyNotApplicable(reason)
    return no_interval(history.row.size) if history.row.size < 2 else rule.compute(history)


def _unless_binary(strategy: str, history: CheckedHistory) -> str | None:
    if history.binary:
        return None
    return f"The strategy {strategy} is for evaluators whose scores are declared binary."


def _if_binary(strategy: str, history: CheckedHistory) -> str | None:
    if not history.binary:
        return None
    return f"The strategy {strategy} is for continuous scores; binary ones have wilson."


def _if_short(strategy: str, history: CheckedHistory) -> str | None:
    n = history.row.size
    if not 2 <= n < BLOCK_SCORES:
        return None
    return f"The strategy {strategy} needs {BLOCK_SCORES} scores to tell a run from chance, and there are {n}."


def _none(history: CheckedHistory) -> HistoryInterval:
    return no_interval(history.row.size)


def _full_history(history: CheckedHistory) -> HistoryInterval:
    return percentile_limit(history.row, history.level, history.limits, history.binary)


def _auto(history: CheckedHistory) -> HistoryInterval:
    """Choose by what is declared, and by how many scores carry the variance; `method` names the formula chosen."""
    if history.binary:
        return _clopper_pearson(history) if history.row.size < MANY else _wilson(history)
    if history.limits is None:
        found = no_interval(history.row.size)
        return replace(found, warnings=(*found.warnings, NO_RANGE), reason=NO_RANGE_REASON)
    return _full_history(history) if _resampling_suffices(history, history.limits) else _t_with_guard(history)


def _resampling_suffices(history: CheckedHistory, limits: tuple[float, float]) -> bool:
    """Return whether the scores show all that a resample must: their variance, and no end of the range is hidden."""
    # Fewer scores cannot have that effective size, and equal ones have none.
    if history.row.size < MANY or history.flat:
        return False
    low, width, unit = history.unit()
    variance = width**2 * float(unit.var(ddof=1))
    is_hidden = hides_an_end(unit.size, low, low + width, variance, limits)
    return not is_hidden and effective_size(unit) >= MANY


def _t_with_guard(history: CheckedHistory) -> HistoryInterval:
    """Return Student's interval with scores added at the ends of the range (`extremes.guarded_t`)."""
    if history.limits is None:
        raise StrategyNotApplicable(NO_RANGE_REASON)
    lower, upper = guarded_t(compute_sums(history.row), history.limits, history.level)
    return _answer(history, (lower, float(history.row.mean()), upper), "guarded-t")


def _wilson(history: CheckedHistory) -> HistoryInterval:
    ones, n = int(history.row.sum()), history.row.size
    return _interval_around_mean(history, wilson(ones, n, history.level), "wilson")


def _clopper_pearson(history: CheckedHistory) -> HistoryInterval:
    ones, n = int(history.row.sum()), history.row.size
    return _interval_around_mean(history, clopper_pearson(ones, n, history.level), "clopper-pearson")


def _interval_around_mean(history: CheckedHistory, ends: tuple[float, float], method: str) -> HistoryInterval:
    """Answer with the observed share as the median: both intervals shrink to it as the level goes to zero."""
    lower, upper = ends
    return _answer(history, (lower, float(history.row.mean()), upper), method)


def _bca(history: CheckedHistory) -> HistoryInterval:
    """Bias-corrected and accelerated bootstrap (Efron 1987), with resamples by arch."""
    from arch.bootstrap import IIDBootstrap

    if history.flat:
        return _degenerate(history)
    low, width, unit = history.unit()
    means = IIDBootstrap(unit, seed=history.seed).apply(_mean, RESAMPLES)[:, 0]
    deviations = unit - unit.mean()
    acceleration = float((deviations**3).sum()) / (6.0 * float(deviations @ deviations) ** 1.5)
    probabilities = [history.tail, 0.5, 1.0 - history.tail]
    lower, median, upper = bca_quantiles(means, float(unit.mean()), acceleration, probabilities)
    return _resample_interval(history, (low + width * lower, low + width * median, low + width * upper), "bca")


def _mean(row: FloatArray) -> FloatArray:
    # A third of the time of np.mean, a few thousand times over.
    return np.atleast_1d(np.add.reduce(row) / row.size)


def _block(history: CheckedHistory) -> HistoryInterval:
    """Stationary bootstrap (Politis & Romano 1994) with the block length of Patton, Politis & White (2009), by arch."""
    from arch.bootstrap import StationaryBootstrap

    if history.flat:
        return _degenerate(history)
    low, width, unit = history.unit()
    # arch annotates a whole number, and reads the mean of a geometric length.
    length = cast("int", block_length(unit))
    means = StationaryBootstrap(length, unit, seed=history.seed).apply(_mean, RESAMPLES)[:, 0]
    lower, median, upper = (low + width * np.quantile(means, [history.tail, 0.5, 1.0 - history.tail])).tolist()
    return _resample_interval(history, (lower, median, upper), "stationary-bootstrap")


def block_length(row: FloatArray) -> float:
    """Return the mean block length for a stationary bootstrap of the mean, between 1 and n/2.

    Examples
    --------
    >>> block_length(np.array([0.0, 1.0, 0.0]))
    1.0
    """
    from arch.bootstrap import optimal_block_length

    longest = max(1.0, row.size / 2.0)
    if row.size < BOOTSTRAP_T_SCORES:
        return min(longest, float(round(row.size ** (1.0 / 3.0))))
    with np.errstate(all="ignore"):
        length = float(optimal_block_length(row)["stationary"].iloc[0])
    return min(max(length, 1.0), longest) if math.isfinite(length) else 1.0


def _studentized(history: CheckedHistory) -> HistoryInterval:
    """Bootstrap-t (Efron 1982): quantiles of resampled t statistics; for very few scores Student's own."""
    if history.flat:
        return _degenerate(history)
    low, width, unit = history.unit()
    few = unit.size < BOOTSTRAP_T_SCORES
    t = _student_t(history) if few else _resample_t(unit, history)
    mean, error = float(unit.mean()), float(unit.std(ddof=1)) / math.sqrt(unit.size)
    # The upper quantile of t gives the lower end, and the reverse.
    upper, median, lower = (low + width * (mean - error * quantile) for quantile in t)
    if history.limits is None and not (math.isfinite(lower) and math.isfinite(upper)):
        raise StrategyNotApplicable(
            "The strategy studentized finds no bound for these scores: too many resamples have no variance, and no "
            "value_range is declared."
        )
    return _resample_interval(history, (lower, median, upper), "student-t" if few else "bootstrap-t")


def _resample_t(unit: FloatArray, history: CheckedHistory) -> list[float]:
    n = unit.size
    samples = unit[np.random.default_rng(history.seed).integers(0, n, size=(RESAMPLES, n))]
    errors, distances = samples.std(axis=1, ddof=1) / math.sqrt(n), samples.mean(axis=1) - unit.mean()
    # A resample of one repeated score has a standard error of zero, so its t value is infinite. Excluding it would
    # ignore an outcome that occurs in many resamples.
    has_error = errors > 1e-9 * float(unit.std())
    t = np.where(has_error, distances, np.copysign(np.inf, distances)) / np.where(has_error, errors, 1.0)
    # Sorted values, without interpolation: halfway to infinity is nowhere.
    tails = [np.quantile(t, history.tail, method="lower"), np.quantile(t, 1.0 - history.tail, method="higher")]
    return [float(tails[0]), float(np.quantile(t, 0.5, method="nearest")), float(tails[1])]


def _student_t(history: CheckedHistory) -> list[float]:
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    quantile = float(stdtrit(history.row.size - 1, 1.0 - history.tail))
    return [-quantile, 0.0, quantile]


def _betting(history: CheckedHistory) -> HistoryInterval:
    """Return the betting interval (Waudby-Smith & Ramdas 2024), valid for any scores in the range."""
    if history.limits is None:
        raise StrategyNotApplicable("The strategy betting needs a value_range, and this evaluator declares none.")
    lower, upper = bets_on(history.row, history.level, history.limits)
    return _answer(history, (lower, float(history.row.mean()), upper), "betting")


def _degenerate(history: CheckedHistory) -> HistoryInterval:
    return degenerate_interval(history.row, history.level, history.limits, history.binary)


def _answer(history: CheckedHistory, ends: tuple[float, float, float], method: str) -> HistoryInterval:
    return interval_with_warnings(history.row, _cut(history, ends), method)


def _resample_interval(history: CheckedHistory, ends: tuple[float, float, float], method: str) -> HistoryInterval:
    """Answer as `full-history` does where the scores seen do not tell resampling enough."""
    ends = _cut(history, ends)
    return build_resampled_interval(history.row, ends, method, history.level, history.limits, history.binary)


def _cut(history: CheckedHistory, ends: tuple[float, float, float]) -> tuple[float, float, float]:
    if history.limits is None:
        return ends
    # The mean of scores in a range is within the range, whatever a t quantile gives.
    low, high = history.limits
    return min(max(ends[0], low), high), min(max(ends[1], low), high), min(max(ends[2], low), high)


HISTORY_RULES = {
    "none": HistoryRule(_none),
    "auto": HistoryRule(_auto),
    "full-history": HistoryRule(_full_history),
    "full-history-bca": HistoryRule(_bca, draws=True),
    "full-history-block": HistoryRule(_block, _if_short, draws=True),
    "wilson": HistoryRule(_wilson, _unless_binary),
    "clopper-pearson": HistoryRule(_clopper_pearson, _unless_binary),
    "studentized": HistoryRule(_studentized, _if_binary, draws=True),
    "betting": HistoryRule(_betting),
}

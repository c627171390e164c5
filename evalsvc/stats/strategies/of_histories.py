"""The strategies for a history: what each refuses, and its formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from evalsvc.stats.basics.checks import (
    FloatArray,
)
from evalsvc.stats.basics.results import HistoryInterval
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

RESAMPLES = 2000
# With fewer scores a resample repeats so few values that its own standard error means nothing.
BOOTSTRAP_T_SCORES = 8
# With fewer scores there are too few runs to resample: measured coverage was below that of single scores.
BLOCK_SCORES = 50
# `auto` resamples from here on.
AUTO_SCORES = 100
# At a level this small, arch returns the point where the two bounds meet: the median.
MEETING_LEVEL = 1e-6


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


def _auto(history: CheckedHistory) -> HistoryInterval:
    """Choose by the declared kind and the number of scores: below 100, resampling covers less than it says."""
    n = history.row.size
    if history.binary:
        return _clopper_pearson(history) if n < AUTO_SCORES else _wilson(history)
    return _betting(history) if history.limits is not None and n < AUTO_SCORES else _full_history(history)


def _bca(history: CheckedHistory) -> HistoryInterval:
    """Bias-corrected and accelerated bootstrap (Efron 1987), by arch."""
    if history.flat:
        return _degenerate(history)
    low, width, unit = history.unit()
    with np.errstate(all="ignore"):
        try:
            lower, median, upper = _bca_ends(unit, history)
        except (RuntimeError, ValueError):
            # arch raises where its corrections are undefined; the uncorrected interval is used then.
            return _full_history(history)
    return _resample_interval(history, (low + width * lower, low + width * median, low + width * upper), "bca")


def _bca_ends(unit: FloatArray, history: CheckedHistory) -> tuple[float, float, float]:
    from arch.bootstrap import IIDBootstrap

    resampler = IIDBootstrap(unit, seed=history.seed)
    ends = resampler.conf_int(_mean, reps=RESAMPLES, method="bca", size=history.level)
    middle = resampler.conf_int(_mean, reps=RESAMPLES, method="bca", size=MEETING_LEVEL, reuse=True)
    return float(ends[0, 0]), float(middle.mean()), float(ends[1, 0])


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
    "full-history": HistoryRule(_full_history),
    "auto": HistoryRule(_auto),
    "full-history-bca": HistoryRule(_bca, draws=True),
    "full-history-block": HistoryRule(_block, _if_short, draws=True),
    "wilson": HistoryRule(_wilson, _unless_binary),
    "clopper-pearson": HistoryRule(_clopper_pearson, _unless_binary),
    "studentized": HistoryRule(_studentized, _if_binary, draws=True),
    "betting": HistoryRule(_betting),
}

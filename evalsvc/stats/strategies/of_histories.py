"""The strategies a request may name, all with one signature and one kind of answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from evalsvc.stats.basics.checks import (
    FloatArray,
    Scores,
    ValueRange,
    check_declared,
    checked_level,
    checked_range,
    checked_scores,
)
from evalsvc.stats.basics.results import HistoryInterval
from evalsvc.stats.formulas.intervals import clopper_pearson, wilson
from evalsvc.stats.histories.percentile import (
    all_equal,
    bets_on,
    degenerate_interval,
    history_interval,
    interval_of,
    no_interval,
    percentile_limit,
    resampled_interval,
)

RESAMPLES = 2000
# With fewer scores a resample repeats so few values that its own standard error means nothing.
BOOTSTRAP_T_SCORES = 8
# With fewer scores there are too few runs to resample: measured coverage was below that of single scores.
BLOCK_SCORES = 50
# A level this small asks arch for the point where the two ends meet: the median.
MEETING_LEVEL = 1e-6


class StrategyNotApplicable(ValueError):
    """Raised when a strategy makes no sense for scores of this kind; the message is a sentence for the caller."""


@dataclass(frozen=True, slots=True)
class _History:
    """Checked input: what every strategy reads."""

    row: FloatArray
    level: float
    limits: tuple[float, float] | None
    binary: bool | None
    seed: int

    @property
    def tail(self) -> float:
        return (1.0 - self.level) / 2.0

    def unit(self) -> tuple[float, float, FloatArray]:
        """Return the lowest score, the spread, and the scores mapped to [0, 1], where no power of them underflows."""
        low = float(self.row.min())
        spread = float(self.row.max()) - low
        return low, spread, (self.row - low) / spread

    @property
    def flat(self) -> bool:
        return all_equal(float(self.row.min()), float(self.row.max()))


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
        One of `STRATEGIES`. ``none`` answers without numbers. ``wilson`` and ``clopper-pearson`` need scores that are
        declared binary, ``studentized`` scores that are not, ``betting`` a range, ``full-history-block`` 50 scores.
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
    if strategy not in _COMPUTED:
        raise ValueError(f"`strategy` must be one of {', '.join(STRATEGIES)}, not {strategy!r}.")
    if strategy == "full-history":
        return history_interval(scores, level, value_range=value_range, binary=binary)
    history = _checked(scores, level, value_range, binary, seed)
    _refuse_unfit(strategy, binary, history.row.size)
    return no_interval(history.row.size) if history.row.size < 2 else _COMPUTED[strategy](history)


def _checked(scores: Scores, level: float, value_range: ValueRange | None, binary: bool | None, seed: int) -> _History:
    history = _History(checked_scores(scores), checked_level(level), checked_range(value_range), binary, seed)
    check_declared(history.row, history.limits, binary)
    return history


def _refuse_unfit(strategy: str, binary: bool | None, n: int) -> None:
    if strategy in ("wilson", "clopper-pearson") and not binary:
        raise StrategyNotApplicable(f"The strategy {strategy} is for evaluators whose scores are declared binary.")
    if strategy == "full-history-block" and 2 <= n < BLOCK_SCORES:
        raise StrategyNotApplicable(
            f"The strategy full-history-block needs {BLOCK_SCORES} scores to tell a run from chance, and there are {n}."
        )
    if strategy == "studentized" and binary:
        raise StrategyNotApplicable("The strategy studentized is for continuous scores; binary ones have wilson.")


def _none(history: _History) -> HistoryInterval:
    return no_interval(history.row.size)


def _full_history(history: _History) -> HistoryInterval:
    return percentile_limit(history.row, history.level, history.limits, history.binary)


def _wilson(history: _History) -> HistoryInterval:
    ones, n = int(history.row.sum()), history.row.size
    return _around_mean(history, wilson(ones, n, history.level), "wilson")


def _clopper_pearson(history: _History) -> HistoryInterval:
    ones, n = int(history.row.sum()), history.row.size
    return _around_mean(history, clopper_pearson(ones, n, history.level), "clopper-pearson")


def _around_mean(history: _History, ends: tuple[float, float], method: str) -> HistoryInterval:
    """Answer with the observed share as the median: both intervals shrink to it as the level goes to zero."""
    lower, upper = ends
    return _answer(history, (lower, float(history.row.mean()), upper), method)


def _bca(history: _History) -> HistoryInterval:
    """Bias-corrected and accelerated bootstrap (Efron 1987), by arch."""
    if history.flat:
        return _degenerate(history)
    low, spread, unit = history.unit()
    with np.errstate(all="ignore"):
        try:
            lower, median, upper = _bca_ends(unit, history)
        except (RuntimeError, ValueError):
            # arch refuses where its corrections have no value; the uncorrected interval then stands.
            return _full_history(history)
    return _resampled(history, (low + spread * lower, low + spread * median, low + spread * upper), "bca")


def _bca_ends(unit: FloatArray, history: _History) -> tuple[float, float, float]:
    from arch.bootstrap import IIDBootstrap

    resampler = IIDBootstrap(unit, seed=history.seed)
    ends = resampler.conf_int(_mean, reps=RESAMPLES, method="bca", size=history.level)
    middle = resampler.conf_int(_mean, reps=RESAMPLES, method="bca", size=MEETING_LEVEL, reuse=True)
    return float(ends[0, 0]), float(middle.mean()), float(ends[1, 0])


def _mean(row: FloatArray) -> FloatArray:
    # A third of the time of np.mean, a few thousand times over.
    return np.atleast_1d(np.add.reduce(row) / row.size)


def _block(history: _History) -> HistoryInterval:
    """Stationary bootstrap (Politis & Romano 1994) with the block length of Patton, Politis & White (2009), by arch."""
    from arch.bootstrap import StationaryBootstrap

    if history.flat:
        return _degenerate(history)
    low, spread, unit = history.unit()
    # arch annotates a whole number, and reads the mean of a geometric length.
    length = cast("int", block_length(unit))
    means = StationaryBootstrap(length, unit, seed=history.seed).apply(_mean, RESAMPLES)[:, 0]
    lower, median, upper = (low + spread * np.quantile(means, [history.tail, 0.5, 1.0 - history.tail])).tolist()
    return _resampled(history, (lower, median, upper), "stationary-bootstrap")


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
        found = float(optimal_block_length(row)["stationary"].iloc[0])
    return min(max(found, 1.0), longest) if math.isfinite(found) else 1.0


def _studentized(history: _History) -> HistoryInterval:
    """Bootstrap-t (Efron 1982): quantiles of resampled t statistics; for very few scores Student's own."""
    if history.flat:
        return _degenerate(history)
    low, spread, unit = history.unit()
    few = unit.size < BOOTSTRAP_T_SCORES
    t = _student_t(history) if few else _resampled_t(unit, history)
    mean, error = float(unit.mean()), float(unit.std(ddof=1)) / math.sqrt(unit.size)
    # The upper quantile of t gives the lower end, and the reverse.
    upper, median, lower = (low + spread * (mean - error * quantile) for quantile in t)
    if history.limits is None and not (math.isfinite(lower) and math.isfinite(upper)):
        raise StrategyNotApplicable(
            "The strategy studentized finds no bound for these scores: too many resamples have no variance, and no "
            "value_range is declared."
        )
    return _resampled(history, (lower, median, upper), "student-t" if few else "bootstrap-t")


def _resampled_t(unit: FloatArray, history: _History) -> list[float]:
    n = unit.size
    samples = unit[np.random.default_rng(history.seed).integers(0, n, size=(RESAMPLES, n))]
    errors, distances = samples.std(axis=1, ddof=1) / math.sqrt(n), samples.mean(axis=1) - unit.mean()
    # A resample of one repeated score is infinitely many of its standard errors away. Leaving it out would say that
    # what happens in many a resample cannot happen.
    has_error = errors > 1e-9 * float(unit.std())
    t = np.where(has_error, distances, np.copysign(np.inf, distances)) / np.where(has_error, errors, 1.0)
    # Sorted values, without interpolation: halfway to infinity is nowhere.
    tails = [np.quantile(t, history.tail, method="lower"), np.quantile(t, 1.0 - history.tail, method="higher")]
    return [float(tails[0]), float(np.quantile(t, 0.5, method="nearest")), float(tails[1])]


def _student_t(history: _History) -> list[float]:
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    quantile = float(stdtrit(history.row.size - 1, 1.0 - history.tail))
    return [-quantile, 0.0, quantile]


def _betting(history: _History) -> HistoryInterval:
    """What nobody could have become rich against (Waudby-Smith & Ramdas 2024): holds for any scores in the range."""
    if history.limits is None:
        raise StrategyNotApplicable("The strategy betting needs a value_range, and this evaluator declares none.")
    lower, upper = bets_on(history.row, history.level, history.limits)
    return _answer(history, (lower, float(history.row.mean()), upper), "betting")


def _degenerate(history: _History) -> HistoryInterval:
    return degenerate_interval(history.row, history.level, history.limits, history.binary)


def _answer(history: _History, ends: tuple[float, float, float], method: str) -> HistoryInterval:
    return interval_of(history.row, _cut(history, ends), method)


def _resampled(history: _History, ends: tuple[float, float, float], method: str) -> HistoryInterval:
    """Answer as `full-history` does where the scores seen do not tell resampling enough."""
    ends = _cut(history, ends)
    return resampled_interval(history.row, ends, method, history.level, history.limits, history.binary)


def _cut(history: _History, ends: tuple[float, float, float]) -> tuple[float, float, float]:
    if history.limits is None:
        return ends
    # The mean of scores in a range lies in it, whatever a t quantile says.
    low, high = history.limits
    return min(max(ends[0], low), high), min(max(ends[1], low), high), min(max(ends[2], low), high)


_COMPUTED: dict[str, Callable[[_History], HistoryInterval]] = {
    "none": _none,
    "full-history": _full_history,
    "full-history-bca": _bca,
    "full-history-block": _block,
    "wilson": _wilson,
    "clopper-pearson": _clopper_pearson,
    "studentized": _studentized,
    "betting": _betting,
}
STRATEGIES = tuple(_COMPUTED)

"""The interval of a history: the percentile bootstrap of the mean, computed instead of simulated."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from evalsvc.stats.basics.checks import (
    FloatArray,
    Scores,
    ValueRange,
    as_row,
    check_declared,
    check_within,
    validate_level,
    validate_range,
    validate_scores,
)
from evalsvc.stats.basics.results import (
    AUTOCORRELATED,
    DEGENERATE,
    FEW_SCORES,
    SKEWED,
    Advice,
    HistoryInterval,
    Warnings,
)
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.extremes import hides_an_end
from evalsvc.stats.formulas.intervals import clopper_pearson, z_quantile
from evalsvc.stats.histories.bits import Bits, count_bits
from evalsvc.stats.histories.bootstrap import (
    binomial_quantiles,
    count_lattice_cells,
    enumeration_quantiles,
    grid_quantiles,
    is_clumped,
    lattice_quantiles,
)
from evalsvc.stats.histories.saddlepoint import effective_size, saddlepoint_quantiles

ENUMERATED = 7
LATTICE_VALUES = 64
SADDLEPOINT_SCORES = 20
SADDLEPOINT_EFFECTIVE = 12.0
WARNED_BELOW = 30
# Below so many scores that carry the variance, resampling them tells too little.
CARRYING = 8.0
# Scores that differ by less are the same number with different rounding errors.
SAME = 1e-12


def history_interval(
    scores: Scores,
    level: float = 0.95,
    *,
    value_range: ValueRange | None = None,
    binary: bool | None = None,
) -> HistoryInterval:
    r"""Return the percentile-bootstrap interval for the mean of a history, in the limit of infinitely many resamples.

    Covers the mean of new data, if the scores are independent draws; it does not predict the next score.
    The bounds are the (1-level)/2 and (1+level)/2 quantiles of the resampled mean.

    Parameters
    ----------
    scores : sequence of float or ndarray
        At least two for an interval. Their order affects only the warning ``autocorrelated``, and can be reversed.
    level : float
        Confidence level, strictly between 0 and 1.
    value_range : pair of float, optional
        Lowest and highest score the evaluator can give; a tuple and a list are the same.
    binary : bool, optional
        Whether the evaluator declares its scores to be 0 or 1. It is not inferred from the scores: an evaluator with
        five grades might have given only the extreme ones so far.

    Returns
    -------
    HistoryInterval
        Rounded to 1e-9 (to 12 significant digits where that is coarser), so that results are identical on every
        machine.
        Without numbers for fewer than two scores. When all scores are equal the interval has zero width and the warning
        ``degenerate``; when few of them carry the variance the warning is ``skewed``. Both include as advice the
        Clopper-Pearson interval (declared binary) or that of betting (range given).

    Raises
    ------
    ValueError
        If a score is not finite, lies outside the range or is not 0 or 1 though declared binary, or if the level or the
        range is invalid.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; Davison & Hinkley (1997), Bootstrap
    Methods and their Application, section 9.5 (saddlepoint).

    Examples
    --------
    >>> interval = history_interval([1, 1, 0, 1, 1, 1, 0, 1, 1, 1])
    >>> interval.lower, interval.median, interval.upper, interval.method
    (0.5, 0.8, 1.0, 'exact-binomial')
    >>> history_interval([1, 1, 1, 1], binary=True).advice
    Advice(kind='clopper-pearson', lower=0.397635364, upper=1.0)
    """
    level, limits = validate_level(level), validate_range(value_range)
    row = as_row(scores)
    bits = count_bits(row)
    if bits is not None:
        check_within(bits.low, bits.high, limits)
        return _interval_from_bits(bits, row, level, limits, binary)
    check_declared(validate_scores(row), limits, binary)
    return percentile_limit(row, level, limits, binary)


def _interval_from_bits(
    bits: Bits, row: FloatArray, level: float, limits: tuple[float, float] | None, binary: bool | None
) -> HistoryInterval:
    """Answer for zeros and ones from their counts alone, as `percentile_limit` does from the scores."""
    if bits.n < 2:
        return no_interval(bits.n)
    if bits.low == bits.high:
        return degenerate_interval(row, level, limits, binary)
    ends, factor = _binomial_ends(bits.n, bits.ones, level), _factor(bits.autocorrelation, bits.n)
    interval = _answer(bits.n, ends, "exact-binomial", factor, 1.0)
    is_skewed = _few_carry(bits.n, effective_share(bits.ones, bits.n))
    return _mark_as_skewed(interval, _advice(row, level, limits, binary)) if is_skewed else interval


@lru_cache(maxsize=8192)
def _binomial_ends(n: int, ones: int, level: float) -> tuple[float, float, float]:
    lower, median, upper = binomial_quantiles(n, ones, _probabilities(level)).tolist()
    return lower, median, upper


def percentile_limit(
    row: FloatArray, level: float, limits: tuple[float, float] | None, binary: bool | None
) -> HistoryInterval:
    """Do what `history_interval` does for input that has been checked."""
    n = row.size
    if n < 2:
        return no_interval(n)
    low, high = float(row.min()), float(row.max())
    if all_equal(low, high):
        return degenerate_interval(row, level, limits, binary)
    method, unit_ends = _dispatch(row, low, high, level)
    lower, median, upper = (min(max(low + (high - low) * end, low), high) for end in unit_ends)
    interval = interval_with_warnings(row, (lower, median, upper), method)
    return (
        _mark_as_skewed(interval, _advice(row, level, limits, binary))
        if _is_skewed(row, low, high, limits)
        else interval
    )


def no_interval(n: int) -> HistoryInterval:
    """Return the answer without numbers, for a history too short to resample."""
    return HistoryInterval(None, None, None, n, None, warnings=(FEW_SCORES,) if n < WARNED_BELOW else ())


def build_resampled_interval(
    row: FloatArray,
    ends: tuple[float, float, float],
    method: str,
    level: float,
    limits: tuple[float, float] | None,
    binary: bool | None,
) -> HistoryInterval:
    """Return what resampling found, with a warning and advice where these scores do not tell it enough."""
    interval = interval_with_warnings(row, ends, method)
    is_skewed = _is_skewed(row, float(row.min()), float(row.max()), limits)
    return _mark_as_skewed(interval, _advice(row, level, limits, binary)) if is_skewed else interval


def interval_with_warnings(row: FloatArray, ends: tuple[float, float, float], method: str) -> HistoryInterval:
    """Return (lower, median, upper), in order and rounded, with the warnings that the scores give cause for."""
    return _answer(row.size, ends, method, width_factor(row), float(np.abs(row).max()))


def _answer(
    n: int, ends: tuple[float, float, float], method: str, factor: float | None, scale: float
) -> HistoryInterval:
    lower, median, upper = ends
    # Three approximations may cross by a little, where they lie close together.
    middle = min(max(median, lower), upper)
    few: Warnings = (FEW_SCORES,) if n < WARNED_BELOW else ()
    drifting: Warnings = () if factor is None else (AUTOCORRELATED,)
    lower, middle, upper = _round_values((lower, middle, upper), scale)
    return HistoryInterval(
        lower,
        middle,
        upper,
        n,
        method,
        warnings=few + drifting,
        autocorrelation_width_factor=factor,
    )


def all_equal(low: float, high: float) -> bool:
    """Return whether the lowest and the highest score are one number, rounding errors aside."""
    return high - low <= SAME * max(-low, high)


def degenerate_interval(
    row: FloatArray, level: float, limits: tuple[float, float] | None, binary: bool | None
) -> HistoryInterval:
    """Return the zero-width interval for equal scores, with a theoretical interval as advice."""
    n, score = row.size, float(row[0])
    (point,) = _round_values((score,), abs(score))
    few: Warnings = (FEW_SCORES,) if n < WARNED_BELOW else ()
    advice = _advice(row, level, limits, binary)
    return HistoryInterval(
        point, point, point, n, "degenerate", degenerate=True, warnings=(*few, DEGENERATE), advice=advice
    )


def _advice(row: FloatArray, level: float, limits: tuple[float, float] | None, binary: bool | None) -> Advice | None:
    if binary:
        return Advice("clopper-pearson", *_round_pair(clopper_pearson(int(row.sum()), row.size, level), 1.0))
    if limits is not None:
        return Advice("betting", *bets_on(row, level, limits))
    return None


def bets_on(row: FloatArray, level: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the betting interval of a history, rounded; where all scores are equal, from a small store."""
    low, high = float(row.min()), float(row.max())
    ends = _bets_on_one(low, row.size, level, limits) if low == high else betting_interval(row, None, level, limits)
    return _round_pair(ends, max(map(abs, limits)))


@lru_cache(maxsize=4096)
def _bets_on_one(score: float, n: int, level: float, limits: tuple[float, float]) -> tuple[float, float]:
    return betting_interval(np.full(n, score), None, level, limits)


def _mark_as_skewed(found: HistoryInterval, advice: Advice | None) -> HistoryInterval:
    before = tuple(word for word in found.warnings if word != AUTOCORRELATED)
    after = tuple(word for word in found.warnings if word == AUTOCORRELATED)
    return replace(found, warnings=(*before, SKEWED, *after), advice=advice)


def _is_skewed(row: FloatArray, low: float, high: float, limits: tuple[float, float] | None) -> bool:
    """Return whether few scores carry the variance, or a score at an unobserved end of the range would move the mean
    much.
    """
    # On [0, 1], where no power of a score overflows.
    unit = (row - low) / (high - low)
    n, squares = row.size, (unit - unit.mean()) ** 2
    total = float(squares.sum())
    if limits is not None and hides_an_end(n, low, high, (high - low) ** 2 * total / (n - 1), limits):
        return True
    return _few_carry(n, total**2 / float(squares @ squares))


def _few_carry(n: int, effective: float) -> bool:
    # Of ten evenly spread scores five carry the variance; of ten skewed ones, two.
    return effective < CARRYING and effective < n / 3.0


def effective_share(ones: int, n: int) -> float:
    """Return (sum d^2)^2 / sum d^4 of so many ones among n: how many scores carry the variance.

    Examples
    --------
    >>> effective_share(50, 100), round(effective_share(1, 100), 2)
    (100.0, 1.02)
    """
    product = ones * (n - ones) / n**2
    return n * product / (1.0 - 3.0 * product)


def width_factor(row: FloatArray) -> float | None:
    r"""Return √((1+rho)/(1-rho)) when the lag-1 autocorrelation rho exceeds 2/√n, otherwise None.

    By this factor the mean of a first-order autoregression is more uncertain than that of independent scores.

    Examples
    --------
    >>> width_factor(np.repeat([0.2, 0.9], 50))
    8.103497187
    >>> width_factor(np.tile([0.2, 0.9], 50)) is None
    True
    """
    centred = row - row.mean()
    total = float(centred @ centred)
    if total == 0.0:
        return None
    return _factor(float(centred[1:] @ centred[:-1]) / total, row.size)


def _factor(rho: float, n: int) -> float | None:
    # The margin prevents rounding errors from deciding a tie.
    if rho <= 2.0 / math.sqrt(n) + 1e-9:
        return None
    return round(math.sqrt((1.0 + rho) / (1.0 - rho)), 9)


def _round_pair(ends: tuple[float, float], scale: float) -> tuple[float, float]:
    lower, upper = _round_values(ends, scale)
    return lower, upper


def _round_values(values: tuple[float, ...], scale: float) -> tuple[float, ...]:
    # Adding zero turns -0.0 into 0.0, which would otherwise be different bytes for the same number.
    decimals = 9 if scale < 1000.0 else 11 - math.floor(math.log10(scale))
    return tuple(round(value, decimals) + 0.0 for value in values)


@lru_cache(maxsize=256)
def _probabilities(level: float) -> FloatArray:
    tail = (1.0 - level) / 2.0
    row = np.array([tail, 0.5, 1.0 - tail])
    row.flags.writeable = False
    return row


def _dispatch(row: FloatArray, low: float, high: float, level: float) -> tuple[str, list[float]]:
    """Choose the cheapest method that is accurate; return its name and the three quantiles on [0, 1]."""
    probabilities = _probabilities(level)
    n_high = int(np.count_nonzero(row == high))
    if n_high + int(np.count_nonzero(row == low)) == row.size:
        return "exact-binomial", binomial_quantiles(row.size, n_high, probabilities).tolist()
    unit = (np.sort(row) - low) / (high - low)
    if row.size <= ENUMERATED:
        return "exact-enumeration", enumeration_quantiles(unit, probabilities).tolist()
    on_lattice = _lattice(unit, probabilities)
    return _continuous(unit, level, probabilities) if on_lattice is None else ("exact-lattice", on_lattice.tolist())


def _lattice(unit: FloatArray, probabilities: FloatArray) -> FloatArray | None:
    new = unit[1:] != unit[:-1]
    if np.count_nonzero(new) >= LATTICE_VALUES:
        return None
    cells = count_lattice_cells(np.concatenate((unit[:1], unit[1:][new])))
    return None if cells is None else lattice_quantiles(unit, cells, probabilities)


def _continuous(unit: FloatArray, level: float, probabilities: FloatArray) -> tuple[str, list[float]]:
    if _is_smooth(unit):
        ends = saddlepoint_quantiles(unit, z_quantile(level))
        if ends is not None:
            return "saddlepoint", list(ends)
    return "fft", grid_quantiles(unit, probabilities).tolist()


def _is_smooth(unit: FloatArray) -> bool:
    """Return whether the resampled mean is close enough to a smooth distribution for a saddlepoint."""
    # When a few scores carry the variance, the resampled mean is a handful of bumps.
    many = unit.size >= SADDLEPOINT_SCORES and effective_size(unit) >= SADDLEPOINT_EFFECTIVE
    return many and not is_clumped(unit)

"""Refuse what cannot be computed, in words that name the parameter; the formulas assume that this has been done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
Scores: TypeAlias = Sequence[float] | FloatArray
ValueRange: TypeAlias = tuple[float, float] | Sequence[float]

# The sum of a thousand fourth powers must stay below the largest double.
LARGEST_SCORE = 1e70


def validate_level(level: float) -> float:
    """Return the confidence level as a float strictly between 0 and 1, or raise ValueError."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        raise ValueError(f"`level` must be a number between 0 and 1, not {level!r}.") from None
    if not 0.0 < number < 1.0:
        raise ValueError(f"`level` must lie strictly between 0 and 1, not {number!r}.")
    return number


def validate_range(value_range: ValueRange | None) -> tuple[float, float] | None:
    """Return (low, high) from a tuple or a JSON list, None from None, or raise ValueError."""
    if value_range is None:
        return None
    try:
        low, high = (float(bound) for bound in value_range)
    except (TypeError, ValueError):
        raise ValueError("`value_range` must be two numbers, the lowest and the highest score.") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"`value_range` must be two finite numbers, the lower one first, not ({low!r}, {high!r}).")
    return low, high


def validate_scores(scores: Scores) -> FloatArray:
    """Return the scores as one row of finite doubles, or raise ValueError."""
    row = as_row(scores)
    if row.size:
        _check_extremes(float(row.min()), float(row.max()))
    return row


def as_row(scores: Scores) -> FloatArray:
    """Return the scores as one row of doubles, finite or not, or raise ValueError."""
    try:
        row = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("`scores` must be numbers.") from None
    if row.ndim != 1:
        raise ValueError(f"`scores` must have one dimension, not {row.ndim}.")
    return row


def n_known(scores: Scores) -> int:
    """Return how many scores are not NaN, the mark of an example that failed."""
    return int(np.count_nonzero(~np.isnan(as_row(scores))))


def _check_extremes(lowest: float, highest: float) -> None:
    # NaN travels through min, and an infinity is one of the two: no third pass over the scores.
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise ValueError("`scores` must be finite: NaN and infinity are not scores.")
    if max(-lowest, highest) > LARGEST_SCORE:
        raise ValueError(f"`scores` must not exceed {LARGEST_SCORE:g} in magnitude.")


def check_declared(scores: FloatArray, value_range: tuple[float, float] | None, binary: bool | None) -> None:
    """Raise ValueError when the scores contradict what the evaluator declares about them."""
    if not scores.size:
        return
    check_within(float(scores.min()), float(scores.max()), value_range)
    if binary and not bool(np.all((scores == 0.0) | (scores == 1.0))):
        raise ValueError("`binary` says that every score is 0 or 1, and some are neither.")


def check_within(lowest: float, highest: float, value_range: tuple[float, float] | None) -> None:
    """Raise ValueError when a score lies outside the declared range."""
    if value_range is not None and not value_range[0] <= lowest <= highest <= value_range[1]:
        raise ValueError(f"`scores` must lie within `value_range`, {value_range[0]:g} to {value_range[1]:g}.")

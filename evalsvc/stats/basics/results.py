"""What an interval looks like when it leaves this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Warnings: TypeAlias = tuple[str, ...]

FEW_SCORES = "n<30"
DEGENERATE = "degenerate"
AUTOCORRELATED = "autocorrelated"
SKEWED = "skewed"
HEAVY_TAIL = "heavy_tail"
WIDE_RANGE = "wide_range"
NO_RANGE = "no_range"


@dataclass(frozen=True, slots=True)
class Advice:
    """A wider interval to show beside one that resampling makes too narrow, and the theory it rests on."""

    kind: Literal["clopper-pearson", "betting"]
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class HistoryInterval:
    """An interval for the mean of a history, with what a reader needs to trust or doubt it.

    Attributes
    ----------
    lower, median, upper : float or None
        In the unit of the scores. All three are numbers, or all three are None; never NaN.
    n : int
        How many scores were used.
    method : str or None
        How the numbers were found; None when there are none.
    degenerate : bool
        True when the scores are all equal, so that resampling them cannot show any uncertainty.
    warnings : tuple of str
        Some of ``n<30``, ``no_range``, ``degenerate``, ``skewed``, ``autocorrelated``, in this order.
    advice : Advice or None
        For a degenerate or skewed history: the interval that theory gives instead.
    autocorrelation_width_factor : float or None
        With the warning ``autocorrelated``: how many times wider an interval that minds the order would be.
    reason : str or None
        A sentence that says why there are no numbers although there are two scores or more.
    """

    lower: float | None
    median: float | None
    upper: float | None
    n: int
    method: str | None
    degenerate: bool = False
    warnings: Warnings = ()
    advice: Advice | None = None
    autocorrelation_width_factor: float | None = None
    reason: str | None = None

"""Compute interval bounds from resampled values, for each column and simultaneously for all columns.

Each side has its own width, because strengths are skewed where one config nearly always wins. Simultaneous coverage
uses the largest of all deviations (max-T): every interval is widened by the factor that all of them need together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.intervals import z_quantile

LEAST_WIDTH = 1e-12


@dataclass(frozen=True, slots=True)
class Band:
    """Of some numbers: the middle of what was drawn, and how far down and up one unit of the level reaches."""

    middle: FloatArray
    down: FloatArray
    up: FloatArray

    def ends(self, factor: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return the ends, moved out by a factor."""
        return self.middle - factor * self.down, self.middle + factor * self.up


def compute_band(drawn: FloatArray, level: float) -> Band:
    """Return the band of each column of draws; with a factor of 1 its ends are the percentiles."""
    low, middle, high = np.quantile(drawn, ((1 - level) / 2, 0.5, (1 + level) / 2), axis=0)
    return Band(middle, np.maximum(middle - low, LEAST_WIDTH), np.maximum(high - middle, LEAST_WIDTH))


def max_t_factor(drawn: FloatArray, band: Band, level: float) -> float:
    """Return the factor by which to widen all intervals for simultaneous coverage."""
    if not drawn.shape[1]:
        return 1.0
    off = drawn - band.middle
    largest = np.where(off < 0, -off / band.down, off / band.up).max(axis=1)
    return max(1.0, float(np.quantile(largest, level)))


def adjust_level(factor: float, level: float) -> float:
    """Return the level of single intervals that are so much wider: Student's t adds more the farther out they reach."""
    tail = math.erfc(factor * z_quantile(level) / math.sqrt(2.0))
    return 1.0 - max(tail, 1e-12)

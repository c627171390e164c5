"""Quantiles of the bootstrap distribution of the mean, without resampling.

A resample of n scores draws n times from the scores' own distribution, so the resampled sum is an n-fold convolution
of a known distribution. Its quantiles can be computed; drawing ten thousand resamples only estimates them.

Scores come **sorted and mapped to [0, 1]** (lowest to 0, highest to 1), and the quantiles are returned on that scale.
Sorting makes the answer independent of the order, bit for bit.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray

# A tie between a cumulative probability and the wanted one must not be decided by the last bit of a sum.
TIE = 1e-12
# Below this tail a Fourier transform in doubles shows its own noise.
SMALLEST_TAIL = 1e-9
GRID_CELLS = 511
LATTICE_CELLS = 512
# Longer transforms than these cost more than they tell; a lattice is worth more, being exact.
LONGEST_GRID = 20 * 1024
LONGEST_LATTICE = 1 << 14
# Steps of the mean that are smoothed down to this share no longer move an end by 0.01 standard errors.
VISIBLE_STEPS = 0.05


@lru_cache(maxsize=64)
def _log_factorials(n: int) -> FloatArray:
    table = np.array([math.lgamma(i + 1.0) for i in range(n + 1)])
    table.flags.writeable = False
    return table


def binomial_quantiles(n: int, k: int, probabilities: FloatArray) -> FloatArray:
    """Return quantiles of Binomial(n, k/n)/n: the resampled mean when k of n scores are high and the others low.

    Equal to ``scipy.stats.binom.ppf(probabilities, n, k / n) / n``.

    Examples
    --------
    >>> binomial_quantiles(100, 90, np.array([0.025, 0.5, 0.975]))
    array([0.84, 0.9 , 0.95])
    """
    # Where the tail is smallest, 1e-16, a Chernoff bound puts the quantile within this reach of the mean.
    reach = 9.0 * math.sqrt(k * (1.0 - k / n)) + 26.0
    first, last = max(0, int(k - reach)), min(n, int(k + reach))
    ones = np.arange(first, last + 1)
    logs = _log_factorials(n)
    log_pmf = ones * math.log(k / (n - k)) - logs[first : last + 1] - logs[n - last : n - first + 1][::-1]
    cdf = np.cumsum(np.exp(log_pmf + (logs[n] + n * math.log1p(-k / n))))
    return _first_reaching(cdf, probabilities, first) / n


def _first_reaching(cdf: FloatArray, probabilities: FloatArray, first: int = 0) -> FloatArray:
    # A tail smaller than the tie itself is taken as it is.
    targets = probabilities - np.minimum(TIE, probabilities * 1e-9)
    indexes = np.searchsorted(cdf, targets).clip(max=cdf.size - 1)
    return (indexes + first).astype(np.float64)


@lru_cache(maxsize=8)
def _multisets(n: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return every multiset of n draws from n items, as counts per item, and how many draws give each."""
    counts = np.array(list(_compositions(n, n)), dtype=np.float64)
    ways = np.array([math.factorial(n) // math.prod(math.factorial(int(c)) for c in row) for row in counts])
    return counts, ways


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(total,)]
    return [(head, *remainder) for head in range(total + 1) for remainder in _compositions(total - head, parts - 1)]


def enumeration_quantiles(unit: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return quantiles of the resampled mean from all multisets of at most seven scores.

    Each counts as often as it would be drawn.

    Examples
    --------
    >>> enumeration_quantiles(np.array([0.0, 0.5, 1.0]), np.array([0.025, 0.5, 0.975]))
    array([0. , 0.5, 1. ])
    """
    n = unit.size
    counts, ways = _multisets(n)
    means = counts @ unit / n
    order = np.argsort(means, kind="stable")
    cdf = np.cumsum(ways[order]) / float(n**n)
    quantiles: FloatArray = means[order][_first_reaching(cdf, probabilities).astype(np.intp)]
    return quantiles


def count_lattice_cells(distinct: FloatArray) -> int | None:
    """Return how many equal cells cut [0, 1] so that every distinct value is a cut, or None when 512 do not do.

    Examples
    --------
    >>> count_lattice_cells(np.array([0.0, 0.25, 0.75, 1.0]))
    4
    >>> count_lattice_cells(np.array([0.0, 1 / math.pi, 1.0])) is None
    True
    """
    step = 1.0
    for gap in np.diff(distinct).tolist():
        step = _common_divisor(gap, step)
        if step < 0.999 / LATTICE_CELLS:
            return None
    cells = round(1.0 / step)
    position = distinct * cells
    off = float(np.abs(position - np.rint(position)).max())
    return cells if off < 1e-6 else None


def _common_divisor(a: float, b: float) -> float:
    # Euclid on doubles: a remainder this close to zero, or to the divisor, is one left by decimal fractions.
    while a > 1e-9:
        a, b = math.fmod(b, a), a
        if b - a < 1e-9:
            a = 0.0
    return b


def lattice_quantiles(unit: FloatArray, cells: int, probabilities: FloatArray) -> FloatArray | None:
    """Return quantiles of the resampled mean of scores that lie on a lattice of so many cells.

    None if the sum spreads over too many cells for a fast transform: hundreds of cells and hundreds of scores.

    Examples
    --------
    >>> lattice_quantiles(np.array([0.0, 0.5, 1.0]), 2, np.array([0.5]))
    array([0.5])
    """
    position = np.rint(unit * cells).astype(np.intp)
    pmf = np.bincount(position, minlength=cells + 1) / unit.size
    window = _window(pmf, unit.size, aliasing=TIE)
    if window[1] - window[0] >= LONGEST_LATTICE:
        return None
    return _sum_quantiles(pmf, unit.size, probabilities, window) / (unit.size * cells)


def grid_quantiles(unit: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return quantiles of the resampled mean after the scores are put on a grid of 512 levels.

    A score between two levels is split linearly over both, which preserves the mean exactly and moves a bound by about
    0.002 standard errors. The grid is halved, down to 128 levels, where its sum would spread over too many cells.

    Examples
    --------
    >>> grid_quantiles(np.array([0.0, 0.5, 1.0]), np.array([0.5])).round(2)
    array([0.5])
    """
    # An aliasing error of a thousandth of the smallest tail is negligible compared with the grid.
    aliasing = 1e-3 * min(probabilities.min(), 1.0 - probabilities.max())
    for cells in (GRID_CELLS, GRID_CELLS // 2, GRID_CELLS // 4):
        pmf = _project_on_grid(unit, cells)
        window = _window(pmf, unit.size, aliasing)
        if window[1] - window[0] < LONGEST_GRID:
            break
    return _sum_quantiles(pmf, unit.size, probabilities, window) / (unit.size * cells)


def _project_on_grid(unit: FloatArray, cells: int) -> FloatArray:
    """Return the scores' distribution on the cuts of [0, 1] into so many cells."""
    position = unit * cells
    below = position.astype(np.intp)
    upward = position - below
    mass = np.bincount(below, 1.0 - upward, cells + 2) + np.bincount(below + 1, upward, cells + 2)
    pmf: FloatArray = mass[: cells + 1] / unit.size
    return pmf


def is_clumped(unit: FloatArray) -> bool:
    """Return whether the resampled mean has discrete steps that a smooth approximation would miss.

    Scores near a few values, like those of a highly confident classifier, behave as if they were on a lattice: their
    characteristic function returns to almost 1 at the frequency of its steps. Its n-th power measures the
    steps that remain in the mean.

    Examples
    --------
    >>> is_clumped(np.linspace(0.0, 1.0, 50) ** 2), is_clumped(np.repeat([0.0, 0.001, 0.999, 1.0], 25))
    (False, True)
    """
    spectrum = np.fft.rfft(_project_on_grid(unit, GRID_CELLS), 4 * (GRID_CELLS + 1))
    size = spectrum.real**2 + spectrum.imag**2
    # The first fall from 1 is every distribution's; only a return counts, and may peak between two samples.
    returned = size[int(np.argmax(size[1:] > size[:-1])) :].max()
    return bool(returned > 0.85 * VISIBLE_STEPS ** (2.0 / unit.size))


def _sum_quantiles(pmf: FloatArray, n: int, probabilities: FloatArray, window: tuple[int, int]) -> FloatArray:
    """Return quantiles of the sum of n draws from pmf, in cells."""
    first, last = window
    length = _fast_length(max(last - first + 1, pmf.size))
    circular = np.fft.irfft(_power(np.fft.rfft(pmf, length), n), length)
    turn = first % length
    density = np.concatenate((circular[turn:], circular[:turn]))
    cdf = np.cumsum(np.maximum(density, 0.0, out=density))
    quantiles = _first_reaching(cdf, probabilities, first)
    top = float(n * (pmf.size - 1))
    quantiles[probabilities < SMALLEST_TAIL] = 0.0
    quantiles[1.0 - probabilities < SMALLEST_TAIL] = top
    return np.minimum(quantiles, top)


def _window(pmf: FloatArray, n: int, aliasing: float) -> tuple[int, int]:
    """Return the cells that contain the sum with probability at least 1 - `aliasing`, by Bernstein's inequality."""
    top = pmf.size - 1
    cells = np.arange(pmf.size)
    mean = float(pmf @ cells)
    variance = float(pmf @ (cells - mean) ** 2)
    log_odds = math.log(2.0 / max(aliasing, TIE))
    linear = max(mean, top - mean) * log_odds / 3.0
    reach = linear + math.sqrt(linear**2 + 2.0 * n * variance * log_odds)
    return max(0, math.floor(n * mean - reach)), min(n * top, math.ceil(n * mean + reach))


def _fast_length(wanted: int) -> int:
    """Return the next even length with a fast Fourier transform."""
    scale = 1 << max(1, (wanted - 1).bit_length() - 4)
    return next(scale * odd for odd in (8, 9, 10, 12, 15, 16, 18, 20, 24, 30, 32) if scale * odd >= wanted)


def _power(spectrum: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """Raise to the n-th power; what would end below 1e-18 is set to zero instead, which is most of a wide spectrum."""
    size = spectrum.real**2 + spectrum.imag**2
    significant = np.flatnonzero(size > 10.0 ** (-36.0 / n))
    powered = np.zeros_like(spectrum)
    powered[significant] = _integer_power(spectrum[significant], n)
    return powered


def _integer_power(base: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    # Repeated squaring: an order of magnitude faster than the general complex power, and the same on every machine.
    result = base.copy()
    for bit in bin(n)[3:]:
        result *= result
        if bit == "1":
            result *= base
    return result

"""Slow, independent answers that the fast ones are compared with."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import fft as scipy_fft
from scipy.stats import norm as normal
from scipy.stats import t as student

Row = NDArray[np.float64]
TAILS = (0.025, 0.5, 0.975)


def standard_error(scores: Row) -> float:
    """Standard deviation of the bootstrap distribution of the mean."""
    return float(scores.std() / np.sqrt(scores.size))


def over_clusters(scores: Sequence[float] | Row, clusters: Sequence[Hashable], level: float) -> tuple[float, float]:
    """Mean of clusters with CR1 and as many degrees of freedom as clusters are effective, less one; one by one."""
    row, names = np.asarray(scores, dtype=float), list(dict.fromkeys(clusters))
    members = [np.array([one == name for one in clusters]) for name in names]
    squares = sum(float((row[mine] - row.mean()).sum()) ** 2 for mine in members)
    error = float(np.sqrt(len(names) / (len(names) - 1) * squares)) / row.size
    effective = row.size**2 / sum(int(mine.sum()) ** 2 for mine in members)
    margin = float(student.ppf((1.0 + level) / 2.0, effective - 1.0)) * error
    return float(row.mean()) - margin, float(row.mean()) + margin


def guarded_over_clusters(
    scores: Sequence[float] | Row, clusters: Sequence[Hashable], level: float, limits: tuple[float, float]
) -> tuple[float, float]:
    """The same, with some clusters at the far end of the range added to the effective ones, at each end."""
    row, names = np.asarray(scores, dtype=float), list(dict.fromkeys(clusters))
    members = [np.array([one == name for one in clusters]) for name in names]
    effective = row.size**2 / sum(int(mine.sum()) ** 2 for mine in members)
    squares = sum(float((row[mine] - row.mean()).sum()) ** 2 for mine in members)
    variance = effective * len(names) / (len(names) - 1) * squares / row.size**2
    tail = (1.0 - level) / 2.0
    added = 1.25 * max(1.0, float(normal.ppf(1.0 - tail / 2.0) / normal.ppf(0.975)) ** 2)
    quantile = float(student.ppf(1.0 - tail, effective - 1.0))
    ends = []
    for limit, side in zip(limits, (-1.0, 1.0), strict=True):
        # How much less extreme a cluster is than a score: not less than the mean of independent scores.
        prior = 0.25 * (limit - row.mean()) ** 2
        nearer = np.sqrt((effective * variance + prior) / (effective * row.var() + prior))
        far = row.mean() + float(np.clip(nearer, np.sqrt(effective / row.size), 1.0)) * (limit - row.mean())
        centre = (effective * row.mean() + added * far) / (effective + added)
        around = effective * (variance + (row.mean() - centre) ** 2) + added * (far - centre) ** 2
        ends.append(float(centre + side * quantile * np.sqrt(around) / (effective + added)))
    return max(limits[0], ends[0]), min(limits[1], ends[1])


def brute_force(scores: Row, probabilities: tuple[float, ...] = TAILS) -> list[float]:
    """Quantiles over all n**n equally likely resamples."""
    means = sorted(sum(draw) / scores.size for draw in itertools.product(scores.tolist(), repeat=scores.size))
    return [means[max(int(np.ceil(p * len(means) - 1e-9)), 1) - 1] for p in probabilities]


def direct_convolution(pmf: Row, n: int) -> Row:
    """Probabilities of the sum of n draws, by adding one draw at a time: nothing is transformed."""
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, pmf)
    return total


def fine_grid(scores: Row, levels: int, probabilities: tuple[float, ...] = TAILS) -> list[float]:
    """Quantiles of the resampled mean on a grid of so many levels, by a transform with room for 16 standard deviations.

    Shares no code with the product: scipy's transform, the library's complex power, midpoints between grid points.
    """
    low, spread = float(scores.min()), float(np.ptp(scores))
    position = (scores - low) / spread * (levels - 1)
    below = position.astype(np.int64)
    mass = np.zeros(levels + 1)
    np.add.at(mass, below, 1.0 - (position - below))
    np.add.at(mass, below + 1, position - below)
    mass /= scores.size
    return [low + spread * q for q in _sum_quantiles(mass[:levels], scores.size, probabilities)]


def _sum_quantiles(mass: Row, n: int, probabilities: tuple[float, ...]) -> list[float]:
    levels = mass.size
    cells = np.arange(levels)
    mean = float(mass @ cells)
    deviation = float(np.sqrt(n * (mass @ (cells - mean) ** 2)))
    first = max(0, int(n * mean - 16.0 * deviation))
    last = min(n * (levels - 1), int(n * mean + 16.0 * deviation) + levels)
    length = scipy_fft.next_fast_len(max(last - first + 1, levels), real=True)
    circular = scipy_fft.irfft(scipy_fft.rfft(mass, length) ** n, length)
    cdf = np.cumsum(np.roll(circular, -(first % length)))
    return [(first + int(np.argmax(cdf >= p - 1e-11))) / (n * (levels - 1)) for p in probabilities]

"""Sufficient statistics: sums of scores, from which an estimate is made without reading the scores again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evalsvc.stats.basics.checks import Scores, as_row


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of the scores so far; for a ratio, of its numerators, denominators and their products.

    Attributes
    ----------
    n : int
        Number of scores.
    total, squares : float
        Sum of the scores (of the numerators), and of their squares.
    lowest, highest : float or None
        Smallest and largest score; None without scores. If both are equal the variance is exactly zero, which a
        difference
        of large sums cannot show.
    den_total, den_squares, cross : float
        For a ratio: sum of the denominators, of their squares, of numerator times denominator.
    """

    n: int
    total: float
    squares: float
    lowest: float | None
    highest: float | None
    den_total: float = 0.0
    den_squares: float = 0.0
    cross: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of the scores. Raises ZeroDivisionError without scores."""
        return self.total / self.n

    @property
    def is_flat(self) -> bool:
        """Whether all scores are equal."""
        return self.lowest is not None and self.lowest == self.highest

    @property
    def variance(self) -> float:
        """The sample variance, with n-1; 0 below two scores."""
        if self.n < 2 or self.is_flat:
            return 0.0
        return max(0.0, (self.squares - self.total * self.mean) / (self.n - 1))

    def residual_variance(self) -> float:
        r"""Return the variance of the linearised residuals of a ratio R, :math:`(x_i - R y_i)/\bar y`, with n-1."""
        if self.n < 2 or self.den_total == 0.0:
            return 0.0
        ratio = self.total / self.den_total
        squares = self.squares - 2.0 * ratio * self.cross + ratio * ratio * self.den_squares
        # Below this the difference is rounding: the ratio is the same for every example.
        if squares <= 1e-12 * max(abs(self.squares), ratio * ratio * self.den_squares):
            return 0.0
        return squares / (self.n - 1) / (self.den_total / self.n) ** 2


def compute_sums(scores: Scores, denominators: Scores | None = None) -> Sums:
    """Return the sums of these scores, or of these numerators and denominators.

    `sum_scores` of evalsvc/experiments/sql/functions.sql does the same in the database, which rounds at each step.

    Examples
    --------
    >>> compute_sums([1, 0, 1]).total
    2.0
    >>> compute_sums([1, 2], [2, 4]).residual_variance()
    0.0
    """
    row = as_row(scores)
    n = int(row.size)
    divisors = as_row(denominators) if denominators is not None else np.zeros(n)
    if divisors.size != n:
        raise ValueError(f"`denominators` must be as many as the scores, {n}, not {divisors.size}.")
    return Sums(
        n,
        math.fsum(row),
        math.fsum(row * row),
        float(row.min()) if n else None,
        float(row.max()) if n else None,
        math.fsum(divisors),
        math.fsum(divisors * divisors),
        math.fsum(row * divisors),
    )

r"""Quantiles with exact distribution-free intervals, as used for latency and cost.

The number of scores below a quantile :math:`\xi_q` of continuous scores is binomial, so

.. math:: P(x_{(l)} \le \xi_q \le x_{(u)}) \ge \sum_{k=l}^{u-1}\binom nk q^k(1-q)^{n-k}

for any distribution. l and u are chosen so that each tail is at most half of the error rate. Student's t covers the
*mean* of such scores 76 to 85 % of the time at a nominal 95 %: one score in a hundred dominates the mean.

References
----------
David & Nagaraja (2003), Order Statistics, section 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evalsvc.stats.basics.checks import Scores, validate_level, validate_scores

USUAL = (0.5, 0.95, 0.99)
ORDER_STATISTICS = "order-statistics"


@dataclass(frozen=True, slots=True)
class Quantile:
    """One quantile of new data.

    Attributes
    ----------
    q : float
        The level of the quantile: .95 for the value that 95 % of scores do not exceed.
    value : float or None
        The smallest score that at least a proportion q of the scores does not exceed; None without scores.
    lower, upper : float or None
        Order statistics; None where there are too few scores for a bound on that side. One bound can be
        present alone: it then has the error rate of its side of the interval.
    n : int
        Number of scores.
    n_needed : int
        Number of scores required for both bounds.
    """

    q: float
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    n_needed: int
    method: str = ORDER_STATISTICS

    @property
    def name(self) -> str:
        """``p50``, ``p95``, ``p99``, ``p99.9``."""
        return f"p{self.q * 100:g}"


def compute_quantiles(scores: Scores, level: float = 0.95, *, at: Iterable[float] = USUAL) -> list[Quantile]:
    """Compute quantiles of new data with distribution-free intervals.

    Parameters
    ----------
    scores : sequence of float
        In any order; sorted once.
    level : float
        Guaranteed coverage of each interval, for independent scores.
    at : iterable of float
        Levels of the quantiles, each strictly between 0 and 1.

    Examples
    --------
    >>> for quantile in compute_quantiles([float(ms) for ms in range(1, 201)]):
    ...     print(quantile.name, quantile.value, quantile.lower, quantile.upper, quantile.n_needed)
    p50 100.0 86.0 115.0 6
    p95 190.0 184.0 197.0 72
    p99 198.0 195.0 None 368
    """
    row, level = np.sort(validate_scores(scores)), validate_level(level)
    return [_quantile(row.tolist(), q, level) for q in at]


def _quantile(row: list[float], q: float, level: float) -> Quantile:
    n = len(row)
    lower, upper = ranks(n, q, level)
    value = row[max(1, math.ceil(q * n - 1e-9)) - 1] if n else None
    return Quantile(
        q,
        value,
        row[lower - 1] if lower >= 1 else None,
        row[upper - 1] if upper <= n else None,
        n,
        needed(q, level),
    )


@lru_cache(maxsize=4096)
def ranks(n: int, q: float, level: float) -> tuple[int, int]:
    """Return from which to which of n sorted scores the interval goes, from 1 on; 0 and n+1 mean that there is none.

    Examples
    --------
    >>> ranks(100, 0.5, 0.95), ranks(5, 0.5, 0.95)
    ((40, 61), (0, 6))
    """
    if not 0.0 < q < 1.0:
        raise ValueError(f"`q` must lie strictly between 0 and 1, not {q!r}.")
    tail = (1.0 - validate_level(level)) / 2.0
    if n == 0:
        return 0, 1
    return _highest(n, q, tail), n + 1 - _highest(n, 1.0 - q, tail)


def _highest(n: int, q: float, tail: float) -> int:
    """Return the largest l for which fewer than l of n scores below the quantile are no more likely than the tail."""
    from scipy.special import bdtr  # type: ignore[import-untyped, unused-ignore]

    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(bdtr(middle - 1, n, q)) <= tail else (low, middle)
    return low


def needed(q: float, level: float) -> int:
    """Return how many scores it takes for a bound on either side.

    Examples
    --------
    >>> needed(0.5, 0.95), needed(0.99, 0.95)
    (6, 368)
    """
    tail = (1.0 - level) / 2.0
    return math.ceil(math.log(tail) / math.log(max(q, 1.0 - q)) - 1e-9)

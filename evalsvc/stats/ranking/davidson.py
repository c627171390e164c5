r"""Strengths by maximum likelihood: Bradley and Terry's model, with ties after Davidson.

With :math:`\delta = \theta_i - \theta_j` config i wins against j with probability
:math:`e^{\delta/2} / (e^{\delta/2} + e^{-\delta/2} + \nu)`, and the two tie with :math:`\nu` in place of the numerator.
Without any tie :math:`\nu = 0`, and the model is that of Bradley and Terry. What is maximised is the log likelihood
less
:math:`\lambda/2\,(\sum_i\theta_i^2 + \log^2\nu)`: it is concave, so Newton's method finds the one maximum, where the
strengths of configs that are connected add up to zero.

References
----------
Bradley and Terry (1952), Rank analysis of incomplete block designs, Biometrika 39; Davidson (1970), On extending the
Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 65.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.ranking.matches import IntArray, PairCounts

PENALTY = 0.01
LONGEST_STEP, MOST_STEPS, SETTLED = 2.0, 100, 1e-9


@dataclass(frozen=True, slots=True)
class Fit:
    """Strengths, a row for each row of counts, and the logarithm of the tie parameter, None in a fit without ties."""

    strengths: FloatArray
    log_tie: FloatArray | None

    def worth(self, pairs: IntArray) -> FloatArray:
        """Return the expected share of each pair's first config: its chance to win, and half that of a tie."""
        win, tie, _ = _chances(_gaps(self.strengths, pairs), self.log_tie)
        worth: FloatArray = win + tie / 2
        return worth


def fit(
    n_configs: int,
    pairs: IntArray,
    counts: PairCounts,
    *,
    with_ties: bool,
    start: Fit | None = None,
    penalty: float = PENALTY,
) -> Fit:
    """Fit the model to each row of counts; `start` is one fit to begin from.

    Examples
    --------
    >>> pairs = np.array([[0, 1]])
    >>> three_to_one = PairCounts(np.array([[75.0]]), np.array([[0.0]]), np.array([[25.0]]))
    >>> found = fit(2, pairs, three_to_one, with_ties=False, penalty=0.0001)
    >>> [round(strength, 3) for strength in found.strengths[0].tolist()]
    [0.549, -0.549]
    """
    problem = _Problem(n_configs, pairs, with_ties, penalty)
    place = np.zeros((len(counts.first), n_configs + with_ties))
    if start is not None:
        place[:, :n_configs] = start.strengths
        if with_ties and start.log_tie is not None:
            place[:, n_configs] = start.log_tie
    for _ in range(MOST_STEPS):
        step = problem.step(place, counts)
        place = place + step
        if np.abs(step).max(initial=0.0) < SETTLED:
            break
    return Fit(place[:, :n_configs], place[:, n_configs] if with_ties else None)


def _gaps(strengths: FloatArray, pairs: IntArray) -> FloatArray:
    gaps: FloatArray = strengths[..., pairs[:, 0]] - strengths[..., pairs[:, 1]]
    return gaps


def _chances(gaps: FloatArray, log_tie: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the chances of the first, of a tie and of the second."""
    logs = np.stack((gaps / 2, np.full_like(gaps, -np.inf), -gaps / 2))
    if log_tie is not None:
        logs[1] = log_tie[..., None]
    powers = np.exp(logs - logs.max(axis=0))
    win, tie, loss = powers / powers.sum(axis=0)
    return win, tie, loss


class _Problem:
    """Newton's steps: gradient and curvature of the penalised likelihood, for all rows at once."""

    def __init__(self, n_configs: int, pairs: IntArray, with_ties: bool, penalty: float) -> None:
        self.n, self.pairs, self.with_ties, self.penalty = n_configs, pairs, with_ties, penalty
        self.sides = np.zeros((len(pairs), n_configs))
        rows = np.arange(len(pairs))
        self.sides[rows, pairs[:, 0]], self.sides[rows, pairs[:, 1]] = 1.0, -1.0
        self.squares = (self.sides[:, :, None] * self.sides[:, None, :]).reshape(len(pairs), -1)

    def step(self, place: FloatArray, counts: PairCounts) -> FloatArray:
        """Return a step towards the maximum, limited in length because the approximation is poor far away from it."""
        size = self.n + self.with_ties
        log_tie = place[:, self.n] if self.with_ties else None
        win, tie, loss = _chances(_gaps(place[:, : self.n], self.pairs), log_tie)
        total = counts.total
        gradient, curvature = -self.penalty * place, np.zeros((len(place), size, size))
        gradient[:, : self.n] += ((counts.first - counts.second - total * (win - loss)) / 2) @ self.sides
        bends = total * (win + loss - (win - loss) ** 2) / 4
        curvature[:, : self.n, : self.n] = (bends @ self.squares).reshape(-1, self.n, self.n)
        if self.with_ties:
            gradient[:, self.n] += (counts.tie - total * tie).sum(axis=1)
            across = (-total * (win - loss) * tie / 2) @ self.sides
            curvature[:, : self.n, self.n] = curvature[:, self.n, : self.n] = across
            curvature[:, self.n, self.n] = (total * tie * (1 - tie)).sum(axis=1)
        curvature += self.penalty * np.eye(size)
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        shortened: FloatArray = step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))
        return shortened

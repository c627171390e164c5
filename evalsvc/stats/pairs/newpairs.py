r"""Evidence that one config is better than another on new data, for the displayed conclusions.

A gambler stakes a fraction of his wealth on each paired difference :math:`D_i`, first minus second, scaled to [-1, 1].
If
the mean difference on new data is not above zero, no way of betting gains on average, so

.. math:: E_t = \frac1{8}\sum_\lambda \prod_{i \le t} (1 + \lambda D_i)

ever exceeds c with probability at most 1/c, under any schedule of interim analyses and any stopping rule. A second
gambler
stakes against, with :math:`-D_i`. Races test another hypothesis, which config is better *on this set*: see `evidence`.

The order of the pairs does not matter, and for scores of 0 and 1 two counts are sufficient: `evidence_of_counts`.

References
----------
Waudby-Smith & Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B 86; Howard, Ramdas,
McAuliffe & Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of Statistics 49.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, Scores, as_row

# The stakes of a race as well.
STAKES = (0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8)
# The largest exponent with a finite exponential.
LARGEST = 700.0
# Steps towards the number of pairs that a word takes; a handful is enough, and each doubles the digits.
ROUNDS, PRECISE = 60, 1e-12
BETTER, WORSE, INCONCLUSIVE = "better", "worse", "inconclusive"
_STAKES = np.array(STAKES)
_NOTHING = (0.0,) * len(STAKES)


@dataclass(frozen=True, slots=True)
class NewEvidence:
    """What is known about one pair of configs; the other direction is its mirror, `swapped`.

    Attributes
    ----------
    n : int
        How many pairs have been counted.
    log_better, log_worse : tuple of float
        Log fortunes of the eight gamblers who stake on the first config, and of the eight who stake on the second.
    """

    n: int = 0
    log_better: tuple[float, ...] = _NOTHING
    log_worse: tuple[float, ...] = _NOTHING

    @property
    def better(self) -> float:
        """The e-value against "the first is not better on new data"."""
        return _mean_fortune(self.log_better)

    @property
    def worse(self) -> float:
        """The e-value against "the first is not worse on new data"."""
        return _mean_fortune(self.log_worse)

    @property
    def swapped(self) -> NewEvidence:
        """The same evidence, seen from the second config."""
        return NewEvidence(self.n, self.log_worse, self.log_better)

    def word(self, threshold: float) -> str:
        """Return ``better``, ``worse`` or ``inconclusive``.

        `threshold` is that of `simultaneous.word_threshold`, so that all conclusions of an experiment are
        simultaneously valid.
        """
        if max(self.better, self.worse) < threshold:
            return INCONCLUSIVE
        return BETTER if self.better > self.worse else WORSE

    def more_for_a_word(self, threshold: float) -> int | None:
        """Return the approximate number of further pairs until the conclusion is better or worse.

        If the differences continue as before, each gambler's log wealth grows in proportion to the pairs.

        Returns
        -------
        int or None
            0 if it is reached. None if neither gambler has gained so far: without pairs, without differing pairs, or
            with
            equally many in both directions.

        Examples
        --------
        >>> evidence_of_counts(60, 1, 0).more_for_a_word(40.0), evidence_of_counts(60, 10, 0).more_for_a_word(40.0)
        (486, 0)
        """
        if max(self.better, self.worse) >= threshold:
            return 0
        logs = max(self.log_better, self.log_worse, key=max)
        if self.n < 1 or max(logs) <= 0.0:
            return None
        return max(1, math.ceil(self.n * (_times_until(threshold, logs) - 1.0)))


def advance_new(evidence: NewEvidence, differences: Scores) -> NewEvidence:
    """Return the evidence after these further pairs.

    Parameters
    ----------
    evidence : NewEvidence
        So far; ``NewEvidence()`` before the first pair.
    differences : sequence of float
        First minus second, both rescaled to [0, 1], higher being better. Pairs with a missing half are left out.

    Raises
    ------
    ValueError
        For a difference outside [-1, 1], or NaN.

    Examples
    --------
    >>> found = advance_new(NewEvidence(), [1.0] * 10 + [0.0] * 390)
    >>> round(found.better, 1), round(found.worse, 3), found.word(40.0)
    (64.3, 0.253, 'better')
    """
    return advance_new_all([evidence], [differences])[0]


def advance_new_all(evidence: Sequence[NewEvidence], differences: Sequence[Scores]) -> list[NewEvidence]:
    """Do the same for many pairs of configs at once, which costs little more than one."""
    rows = [as_row(row) for row in differences]
    if not rows:
        return []
    padded = np.zeros((len(rows), max(row.size for row in rows)))
    for i, row in enumerate(rows):
        padded[i, : row.size] = row
    if padded.size and not (padded.min() >= -1.0 and padded.max() <= 1.0):
        raise ValueError("`differences` must be numbers between -1 and 1.")
    better, worse = _growth(padded), _growth(-padded)
    return [
        NewEvidence(
            pair_evidence.n + row.size,
            _add_growth(pair_evidence.log_better, better[i]),
            _add_growth(pair_evidence.log_worse, worse[i]),
        )
        for i, (pair_evidence, row) in enumerate(zip(evidence, rows, strict=True))
    ]


def _growth(rows: FloatArray) -> FloatArray:
    # One stake at a time: eight passes over the rows, without a block of eight times their size.
    return np.stack([np.log1p(stake * rows).sum(axis=1) for stake in STAKES], axis=1)


def _add_growth(logs: tuple[float, ...], growth: FloatArray) -> tuple[float, ...]:
    return tuple(log + float(increase) for log, increase in zip(logs, growth, strict=True))


def evidence_of_counts(n: int, n_plus: int, n_minus: int) -> NewEvidence:
    """Return the evidence of n pairs of scores that are 0 or 1:

    the counts where only one config scored 1 are sufficient.

    Examples
    --------
    >>> round(evidence_of_counts(400, 10, 0).better, 1)
    64.3
    """
    if n_plus < 0 or n_minus < 0 or n_plus + n_minus > n:
        raise ValueError(f"`n` must be at least the pairs that differ, {n_plus} and {n_minus}, and is {n}.")
    up, down = np.log1p(_STAKES), np.log1p(-_STAKES)
    better, worse = n_plus * up + n_minus * down, n_minus * up + n_plus * down
    return NewEvidence(n, tuple(better.tolist()), tuple(worse.tolist()))


def _mean_fortune(logs: Sequence[float]) -> float:
    if max(logs) > LARGEST:
        logs = [min(log, LARGEST) for log in logs]
    return math.fsum(map(math.exp, logs)) / len(logs)


def _times_until(threshold: float, logs: Sequence[float]) -> float:
    """Return by what log fortunes must be multiplied until their mean fortune reaches a threshold above 1.

    The log of the mean is convex in the factor, so Newton's steps from above never pass below the answer.
    """
    # Once the best of them alone has enough for all, the mean has.
    times = math.log(threshold * len(logs)) / max(logs)
    for _ in range(ROUNDS):
        fortunes = [math.exp(times * log) for log in logs]
        total = math.fsum(fortunes)
        slope = math.fsum(map(operator.mul, logs, fortunes)) / total
        step = math.log(total / (threshold * len(logs))) / slope
        times -= step
        if step <= PRECISE * times:
            break
    return times

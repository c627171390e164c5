r"""The verdict on one test from its trials: fine, broken, flaky, or undecided, with what would decide it.

With c of m trials passed, the one-sided Clopper-Pearson bounds of the chance p to pass decide, each with error rate
alpha: ``fine`` if p of at least `fine_at` is shown, ``broken`` if p of at most `broken_at` is. Else a test with both
outcomes is ``flaky``, since 0 < p < 1 is certain, and one with a single outcome is ``undecided``. A wrong ``fine`` and
a wrong ``broken`` have probability alpha at most each. Few trials show little: all of 5 passed show p >= 0.55.

Where trials are added until there is a verdict, their number depends on their outcomes, and these bounds are wrong more
often than that. `anytime_share` then bounds p after every trial at once: with probability alpha at most it is ever
wrong. It takes more trials: 69 passes in a row show p >= 0.9, where 29 do that were planned.

Whether a test passes less often than before is Fisher's exact test on its two counts, and over many tests Holm's
adjustment: with error rate alpha at most any test is called worse that is not. "It passed before and fails now" is no
such test: with p = 0.9 in both, it holds in 9 % of pairs of single trials.

References
----------
Clopper & Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial, Biometrika
26; Fisher (1935), The logic of inductive inference, Journal of the Royal Statistical Society 98; Holm (1979), A simple
sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from evalsvc.stats.formulas.anytime import anytime_share
from evalsvc.stats.formulas.intervals import clopper_pearson

FINE, BROKEN, FLAKY, UNDECIDED = VERDICTS = ("fine", "broken", "flaky", "undecided")
PASSED, FAILED, MIXED, NOTHING = SEEN = ("passed", "failed", "mixed", "nothing")
FINE_AT, BROKEN_AT = 0.9, 0.1
PLANNED, ANYTIME = METHODS = ("clopper-pearson", "anytime")
"""The bounds for a number of trials that was planned, and for one that depends on their outcomes."""


@dataclass(frozen=True, slots=True)
class FlakinessVerdict:
    """What the trials of a test show.

    Attributes
    ----------
    seen : str
        ``passed``, ``failed`` or ``mixed``; ``nothing`` without a trial.
    verdict : str
        ``fine``, ``broken``, ``flaky`` or ``undecided``.
    at_least, at_most : float
        One-sided bounds of the chance to pass, each at the level.
    n_more : int or None
        Of a test that is undecided with one outcome: how many further trials with the same outcome decide it.
    """

    seen: str
    verdict: str
    at_least: float
    at_most: float
    n_more: int | None


def judge_test(
    n_passed: int,
    n_trials: int,
    *,
    level: float = 0.95,
    fine_at: float = FINE_AT,
    broken_at: float = BROKEN_AT,
    method: str = PLANNED,
) -> FlakinessVerdict:
    """Judge a test by its trials; each bound holds at the level.

    `method` is one of METHODS. With ``anytime`` trials may be added until there is a verdict.

    Examples
    --------
    >>> judge_test(4, 5).verdict, judge_test(29, 29).verdict, judge_test(0, 40).verdict
    ('flaky', 'fine', 'broken')
    >>> found = judge_test(5, 5)
    >>> found.verdict, round(found.at_least, 2), found.n_more
    ('undecided', 0.55, 24)
    """
    if not n_trials:
        return FlakinessVerdict(NOTHING, UNDECIDED, 0.0, 1.0, None)
    at_least, at_most = _bound(n_passed, n_trials, level, method)
    seen = PASSED if n_passed == n_trials else MIXED if n_passed else FAILED
    if at_least >= fine_at:
        verdict = FINE
    elif at_most <= broken_at:
        verdict = BROKEN
    else:
        verdict = FLAKY if seen == MIXED else UNDECIDED
    limit = fine_at if seen == PASSED else 1.0 - broken_at
    n_more = max(1, count_in_a_row(limit, level=level, method=method) - n_trials) if verdict == UNDECIDED else None
    return FlakinessVerdict(seen, verdict, at_least, at_most, n_more)


def _bound(n_passed: int, n_trials: int, level: float, method: str) -> tuple[float, float]:
    if method == ANYTIME:
        return anytime_share(n_passed, n_trials, None, level)
    # At twice the error both sides of the interval are one-sided bounds at the level.
    return clopper_pearson(n_passed, n_trials, 2.0 * level - 1.0)


@lru_cache(maxsize=64)
def count_in_a_row(chance: float, *, level: float = 0.95, method: str = PLANNED) -> int:
    """Return how many passes in a row show that a test passes with at least this chance.

    Examples
    --------
    >>> [count_in_a_row(chance) for chance in (0.5, 0.8, 0.9, 0.95)]
    [5, 14, 29, 59]
    >>> [count_in_a_row(chance, method="anytime") for chance in (0.5, 0.8, 0.9)]
    [8, 29, 69]
    """
    n = math.ceil(math.log(1.0 - level) / math.log(chance))
    while method == ANYTIME and _bound(n, n, level, method)[0] < chance:
        n += 1
    return n


@lru_cache(maxsize=1024)
def compute_worse_p(n_passed: int, n_trials: int, n_passed_before: int, n_trials_before: int) -> float:
    """Return the one-sided p-value of Fisher's exact test that a test passes less often than before.

    Examples
    --------
    >>> [round(compute_worse_p(n_passed, 5, 5, 5), 4) for n_passed in (2, 1)]
    [0.0833, 0.0238]
    >>> compute_worse_p(0, 0, 5, 5)
    1.0
    """
    n_all, n_passes = n_trials + n_trials_before, n_passed + n_passed_before
    n_as_bad = sum(
        math.comb(n_trials, n) * math.comb(n_trials_before, n_passes - n)
        for n in range(max(0, n_passes - n_trials_before), n_passed + 1)
    )
    return n_as_bad / math.comb(n_all, n_passes)


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number: tests with one of at most alpha are all shown at that error rate.

    Examples
    --------
    >>> adjust_holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted

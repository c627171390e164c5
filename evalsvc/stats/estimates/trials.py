r"""Reliability of a system that is asked m times for each test: pass^k and pass@k, without bias, and their mean.

A test that passed c of m trials, with the chance p of passing one, is estimated by

.. math:: \widehat{p^k} = \binom{c}{k} \Big/ \binom{m}{k}, \qquad
          \widehat{1-(1-p)^k} = 1 - \binom{m-c}{k} \Big/ \binom{m}{k}

The estimand is the mean over tests, so tests are what is counted: an interval takes one number of each test, and trials
of different tests are never added up. The mean pass rate to the power k is another number, larger for every set whose
tests differ, and (c/m)^k is biased.

Of a lost trial nothing is known. Its test is estimated from the trials that ran, where those are k or more, and the
bounds take all lost trials as failed, and as passed.

The variance of the numbers of tests splits into that within tests, which more trials reduce, and that between them.
With :math:`e_r` the mean of :math:`\binom{c}{r}/\binom{m}{r}`,

.. math:: \hat\sigma^2 = \frac1n\sum_i \Big(\hat h_i^2 - \binom{c_i}{2k}\Big/\binom{m_i}{2k}\Big), \qquad
          \hat\tau^2 = S^2 - \hat\sigma^2, \qquad
          \hat\sigma^2_{m'} = \sum_{j=1}^{k} \frac{\binom{k}{j}\binom{m'-k}{k-j}}{\binom{m'}{k}}(e_{2k-j} - e_{2k})

which takes m of 2k or more. For k = 1 it is the split of `splits`.

References
----------
Chen et al. (2021), Evaluating large language models trained on code (pass@k); Yao et al. (2024), tau-bench (pass^k);
Hoeffding (1948), A class of statistics with asymptotically normal distribution, for the variance of an average over all
subsets of k trials; Manski (2003), Partial identification of probability distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.estimates.splits import ExpectedError, VarianceSplit
from evalsvc.stats.formulas.clusters import cluster_mean_interval, cluster_method, sum_clusters
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.kinds import ALGEBRAIC

MEAN, PASS_ALL, PASS_ANY = TRIAL_ESTIMANDS = ("mean", "pass^k", "pass@k")
UNIT: Ends = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """The trials of each test: how many passed, and how many of those planned ran.

    Attributes
    ----------
    passed, ran : ndarray of int
        One number of each test; a trial that is lost has not run.
    planned : int
        Trials of each test in the plan.
    clusters : ndarray of int or None
        The cluster of each test, a number from 0 on.
    """

    passed: NDArray[np.int_]
    ran: NDArray[np.int_]
    planned: int
    clusters: NDArray[np.int_] | None = None

    def score(self, of: str, k: int) -> FloatArray:
        """Return the number of each test; NaN where fewer than k trials ran."""
        return _map_counts(lambda passed, ran: score_test(of, passed, ran, k), self.passed, self.ran)

    def bounds(self, of: str, k: int) -> tuple[FloatArray, FloatArray]:
        """Return the number of each test had its lost trials failed, and had they passed."""
        most = self.passed + (self.planned - self.ran)
        planned = np.full_like(self.ran, self.planned)
        worst, best = (
            _map_counts(lambda passed, ran: score_test(of, passed, ran, k), passed, planned)
            for passed in (self.passed, most)
        )
        return worst, best

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether each test has lost no trial."""
        return np.asarray(self.ran == self.planned)


def score_test(of: str, n_passed: int, n_trials: int, k: int) -> float | None:
    """Return the unbiased estimate of pass^k or pass@k of one test; None where fewer than k trials ran.

    `mean` is either of k = 1. Raises ValueError for counts that no test can have.

    Examples
    --------
    >>> round(score_test("pass^k", 4, 5, 3), 3), score_test("pass@k", 1, 5, 3), score_test("pass^k", 2, 2, 3)
    (0.4, 0.6, None)
    """
    if not 0 <= n_passed <= n_trials or k < 1:
        raise ValueError(f"`n_passed` must lie between 0 and `n_trials`, {n_trials}, and `k` above 0.")
    if of == MEAN:
        k = 1
    if k > n_trials:
        return None
    if of == PASS_ANY:
        return 1.0 - math.comb(n_trials - n_passed, k) / math.comb(n_trials, k)
    return math.comb(n_passed, k) / math.comb(n_trials, k)


def _map_counts(
    score: Callable[[int, int], float | None], passed: NDArray[np.int_], ran: NDArray[np.int_]
) -> FloatArray:
    """Apply a function to the counts of each test, once for each pair of counts."""
    base = int(ran.max(initial=0)) + 1
    codes, inverse = np.unique(passed * base + ran, return_inverse=True)
    values = [score(*divmod(code, base)) for code in codes.tolist()]
    scores = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    return np.asarray(scores[inverse], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PassEstimate:
    """pass^k or pass@k of the tests: the mean of n tests, with an interval for new tests.

    `method` is ``clopper-pearson`` where k is the number of trials, so that a test scores 0 or 1, ``guarded-t`` below,
    ``guarded-cr1`` over clusters, and ``none`` without a test.
    """

    k: int
    n: int
    value: float | None
    lower: float | None
    upper: float | None
    method: str


def estimate_tests(counts: TrialCounts, of: str, k: int, *, level: float) -> PassEstimate:
    """Estimate pass^k or pass@k over the tests of which k trials ran.

    Examples
    --------
    >>> counts = TrialCounts(np.array([5, 5, 4, 0] * 10), np.full(40, 5), planned=5)
    >>> found = estimate_tests(counts, "pass^k", 3, level=0.95)
    >>> round(found.value, 3), round(found.lower, 3), round(found.upper, 3), found.method
    (0.6, 0.446, 0.745, 'guarded-t')
    """
    scores = counts.score(of, k)
    is_scored = ~np.isnan(scores)
    row = scores[is_scored]
    if not row.size:
        return PassEstimate(k, 0, None, None, None, "none")
    value = math.fsum(row) / row.size
    if counts.clusters is not None:
        sums = sum_clusters(row, counts.clusters[is_scored])
        ends, _ = cluster_mean_interval(sums, level=level, value_range=UNIT)
        lower, upper = ends if ends is not None else (None, None)
        return PassEstimate(k, row.size, value, lower, upper, cluster_method(ends, UNIT))
    is_binary = k == counts.planned and of != MEAN
    found = new_data_interval(ALGEBRAIC, compute_sums(row), level=level, value_range=UNIT, binary=is_binary)
    return PassEstimate(k, row.size, value, found.lower, found.upper, found.method)


def trace_curve(counts: TrialCounts, of: str, *, level: float) -> list[PassEstimate]:
    """Return the estimate for each k up to the number of trials; `mean` has the curve of pass^k."""
    of = PASS_ALL if of == MEAN else of
    return [estimate_tests(counts, of, k, level=level) for k in range(1, counts.planned + 1)]


def bound_tests(counts: TrialCounts, of: str, k: int) -> Ends | None:
    """Return the mean over all tests with the lost trials as failed, and as passed; None without a test.

    Examples
    --------
    >>> counts = TrialCounts(np.array([5, 3, 2, 4]), np.array([5, 5, 4, 4]), planned=5)
    >>> [round(end, 3) for end in bound_tests(counts, "pass^k", 3)]
    [0.375, 0.55]
    """
    if not counts.passed.size:
        return None
    worst, best = counts.bounds(of, k)
    return math.fsum(worst) / worst.size, math.fsum(best) / best.size


def compute_hidden_flakiness(counts: TrialCounts) -> float | None:
    r"""Return of the tests that pass all but one of the trials, what share fails the last.

    That is :math:`(e_{m-1} - e_m)/e_{m-1}` over the tests without a lost trial; None where none passes so many.

    Examples
    --------
    >>> round(compute_hidden_flakiness(TrialCounts(np.array([5, 5, 4, 0]), np.full(4, 5), planned=5)), 3)
    0.091
    """
    last = counts.planned
    passed = counts.passed[counts.complete]
    if last < 2 or not passed.size:
        return None
    before, after = (math.fsum(math.comb(int(n), k) / math.comb(last, k) for n in passed) for k in (last - 1, last))
    return (before - after) / before if before else None


def split_trials(counts: TrialCounts, of: str, k: int) -> VarianceSplit | None:
    """Split the variance of the mean over tests; None for fewer than 2k trials or two tests.

    Tests of which fewer than 2k trials ran are left out. The estimate of the variance between tests can be below 0 by
    chance; the projections then use 0.

    Examples
    --------
    >>> counts = TrialCounts(np.array([6, 6, 5, 3, 0, 6, 4, 6]), np.full(8, 6), planned=6)
    >>> split = split_trials(counts, "pass^k", 3)
    >>> round(split.within, 4), round(split.between, 4)
    (0.0366, 0.1737)
    """
    k, m = (1 if of == MEAN else k), counts.planned
    has_enough = counts.ran >= 2 * k
    if m < 2 * k or np.count_nonzero(has_enough) < 2:
        return None
    passed, ran = counts.passed[has_enough], counts.ran[has_enough]
    # 1 - pass@k is pass^k of the failures, of the same variance.
    passed = ran - passed if of == PASS_ANY else passed
    scores = _estimate_power(passed, ran, k)
    n, variance = scores.size, float(scores.var(ddof=1))
    within = float(np.mean(scores * scores - _estimate_power(passed, ran, 2 * k)))
    between = variance - within
    plans = dict.fromkeys([(n, 2 * m), (n, max(10, m)), (2 * n, m)])
    return VarianceSplit(
        within=within,
        between=between,
        share_within=min(1.0, max(0.0, within / variance)) if variance > 0.0 else None,
        standard_error=math.sqrt(variance / n),
        expected=tuple(
            ExpectedError(size, trials, math.sqrt((max(between, 0.0) + _expect_within(passed, ran, k, trials)) / size))
            for size, trials in plans
            if (size, trials) != (n, m)
        ),
    )


def _estimate_power(passed: NDArray[np.int_], ran: NDArray[np.int_], r: int) -> FloatArray:
    """Return the unbiased estimate of the power r of each test's chance to pass."""
    return _map_counts(lambda n_passed, n_ran: math.comb(n_passed, r) / math.comb(n_ran, r), passed, ran)


def _expect_within(passed: NDArray[np.int_], ran: NDArray[np.int_], k: int, n_trials: int) -> float:
    """Return the variance within tests that so many trials are expected to have."""
    means = {r: float(np.mean(_estimate_power(passed, ran, r))) for r in range(k, 2 * k + 1)}
    variance = math.fsum(
        math.comb(k, j) * math.comb(n_trials - k, k - j) / math.comb(n_trials, k) * (means[2 * k - j] - means[2 * k])
        for j in range(1, k + 1)
    )
    return max(0.0, variance)

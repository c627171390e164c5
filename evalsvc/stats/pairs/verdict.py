r"""Is one config better than another? The answer that every page, endpoint, client, report and gate gives.

The error :math:`\alpha` of a comparison is split. A tenth is for monitoring: before the planned end a verdict takes an
e-value of :math:`2m/(\alpha/10)` for m simultaneous comparisons, valid at every interim analysis (`newpairs`). The rest
is for one fixed-sample analysis at the planned end, by the paired interval at :math:`1 - 0.9\alpha/m`, which includes
zero unless the sign test rejects it (`comparison`). The verdict is either, so that watching a run costs little of the
power of the test at its end. Runs that nobody planned to compare have one fixed-sample analysis at the whole
:math:`\alpha`. A mean of scores without a range has no verdict.

The interval never contradicts the verdict. While it is inconclusive, the fixed-sample interval is extended to zero.
Where only monitoring has decided, the bound next to zero is that of the e-value. Since
:math:`1+\lambda D\ge 1-\lambda`,

.. math:: \prod_i\big(1+\lambda(D_i-\delta)\big) \ge
          \Big(1-\frac{\lambda\delta}{1-\lambda}\Big)^n \prod_i(1+\lambda D_i)

bounds the evidence against a mean difference of :math:`\delta` from below, and the largest :math:`\delta` that it still
rules out is a confidence bound.

References
----------
Howard, Ramdas, McAuliffe & Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of
Statistics 49; Lan & DeMets (1983), Discrete sequential boundaries for clinical trials, Biometrika 70 (spending of
alpha).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.pairs.clustered import ClusteredPairs, cluster_difference_interval
from evalsvc.stats.pairs.common import Common
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.newpairs import BETTER, INCONCLUSIVE, STAKES, WORSE, NewEvidence
from evalsvc.stats.pairs.paired import Differences, PairedInterval
from evalsvc.stats.pairs.simultaneous import simultaneous_level, word_threshold

MONITORING, PLANNED_END, POST_HOC = "monitoring", "planned_end", "post_hoc"
MONITORING_SHARE = 0.1
# From this share of pairs with a missing score or a lost trial on, a verdict has to hold whatever these are.
MUCH_MISSING = 0.1
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Analysis:
    """When a comparison is made, and at what error.

    Attributes
    ----------
    basis : str
        ``monitoring`` before the planned end, ``planned_end``, or ``post_hoc``: of a config that was added when
        answers could be seen already, or of runs that were not planned together.
    level : float
        Confidence level of all comparisons together.
    n_comparisons : int
        Number of simultaneous comparisons.
    is_monitored : bool
        Whether interim analyses were possible, so that a tenth of the error belongs to them.
    """

    basis: str
    level: float
    n_comparisons: int
    is_monitored: bool = True

    @property
    def fixed_sample_level(self) -> float:
        """The level of the fixed-sample interval of one comparison.

        Examples
        --------
        >>> round(Analysis(PLANNED_END, 0.95, 1).fixed_sample_level, 6), Analysis(POST_HOC, 0.95, 1, False).threshold
        (0.955, None)
        """
        level = get_fixed_sample_level(self.level, is_monitored=self.is_monitored)
        return simultaneous_level(level, self.n_comparisons)

    @property
    def threshold(self) -> float | None:
        """The e-value that decides while the run is monitored; None if it was not."""
        if not self.is_monitored:
            return None
        return word_threshold(1.0 - MONITORING_SHARE * (1.0 - self.level), self.n_comparisons)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a comparison, first against second, with the interval that belongs to it.

    `lower` and `upper` bound the mean difference on similar data on the scale on which configs are compared, None where
    there is no interval.
    """

    word: str
    lower: float | None
    upper: float | None
    method: str


def get_fixed_sample_level(level: float, *, is_monitored: bool) -> float:
    """Return the confidence level that is left for the analysis at the planned end."""
    return 1.0 - (1.0 - level) * (1.0 - MONITORING_SHARE) if is_monitored else level


def decide_verdict(
    common: Common,
    analysis: Analysis,
    *,
    binary: bool,
    reach: float | None,
    evidence: NewEvidence | None = None,
    clusters: ClusteredPairs | None = None,
) -> Verdict:
    """Return whether the first config is better or worse than the second.

    Parameters
    ----------
    common : Common
        The pairs of both configs.
    analysis : Analysis
        When it is asked, and at what error.
    binary : bool
        Whether both scores are declared to be 0 or 1.
    reach : float or None
        Largest possible difference; None for scores without a range, on which there is no verdict.
    evidence : NewEvidence, optional
        E-values of the pairs that neither designer can have seen; None where there are none.
    clusters : ClusteredPairs, optional
        The sums over clusters, if clusters are the independent units.

    Examples
    --------
    >>> from evalsvc.stats.pairs.newpairs import evidence_of_counts
    >>> common = Common(1, 2, upto=200, n=200, total=22.0, squares=58.0, n_plus=40, n_minus=18)
    >>> seen = evidence_of_counts(200, 40, 18)
    >>> during, end = (Analysis(basis, 0.95, 1) for basis in (MONITORING, PLANNED_END))
    >>> decide_verdict(common, during, binary=True, reach=1.0, evidence=seen).word
    'inconclusive'
    >>> found = decide_verdict(common, end, binary=True, reach=1.0, evidence=seen)
    >>> found.word, round(found.lower, 3), round(found.upper, 3)
    ('better', 0.033, 0.185)
    """
    interval = _build_fixed_sample_interval(common.differences, analysis, binary, reach, clusters)
    if interval.lower is None or interval.upper is None:
        return Verdict(INCONCLUSIVE, None, None, interval.method)
    if reach is None:
        # The next score may outweigh all of these: differences that look alike show nothing about their mean.
        return Verdict(INCONCLUSIVE, min(interval.lower, 0.0), max(interval.upper, 0.0), interval.method)
    ends = _bound_missing(common, (interval.lower, interval.upper), reach)
    fixed_word = _read_word(ends) if analysis.basis != MONITORING else INCONCLUSIVE
    monitored = _monitor(analysis, evidence if clusters is None else None)
    if is_much_missing(common) and _read_word(ends) != monitored.word:
        monitored = Verdict(INCONCLUSIVE, None, None, "none")
    word = fixed_word if fixed_word != INCONCLUSIVE else monitored.word
    if word == INCONCLUSIVE:
        return Verdict(word, min(ends[0], 0.0), max(ends[1], 0.0), interval.method)
    if _read_word(ends) == word:
        return Verdict(word, *ends, interval.method)
    if word == BETTER:
        return Verdict(word, monitored.lower, max(ends[1], monitored.lower or 0.0), monitored.method)
    return Verdict(word, min(ends[0], monitored.upper or 0.0), monitored.upper, monitored.method)


def _build_fixed_sample_interval(
    pairs: Differences, analysis: Analysis, binary: bool, reach: float | None, clusters: ClusteredPairs | None
) -> PairedInterval:
    if clusters is not None:
        return cluster_difference_interval(clusters, level=analysis.fixed_sample_level, reach=reach)
    return new_data_difference(pairs, level=analysis.fixed_sample_level, binary=binary, reach=reach)


def is_much_missing(common: Common) -> bool:
    """Return whether so many pairs miss a score, or have lost trials, that a verdict has to hold whatever these are."""
    n_open = common.n_missing + common.n_lost
    return n_open > 0 and n_open >= MUCH_MISSING * (common.n + common.n_missing)


def _bound_missing(common: Common, ends: Ends, reach: float | None) -> Ends:
    """Return the ends if many pairs are missing: the missing scores and lost trials as worst, and as best."""
    if reach is None or not is_much_missing(common):
        return ends
    n_all = common.n + common.n_missing
    return (
        (ends[0] * common.n + common.lost_low + common.missing_low) / n_all,
        (ends[1] * common.n + common.lost_high + common.missing_high) / n_all,
    )


def _read_word(ends: Ends) -> str:
    return BETTER if ends[0] > 0.0 else WORSE if ends[1] < 0.0 else INCONCLUSIVE


def _monitor(analysis: Analysis, evidence: NewEvidence | None) -> Verdict:
    """Return the verdict of the e-values, with the bound next to zero."""
    threshold = analysis.threshold
    if evidence is None or threshold is None or (word := evidence.word(threshold)) == INCONCLUSIVE:
        return Verdict(INCONCLUSIVE, None, None, "none")
    logs = evidence.log_better if word == BETTER else evidence.log_worse
    bound = monitored_bound(logs, evidence.n, threshold)
    return Verdict(BETTER, bound, None, "betting") if word == BETTER else Verdict(WORSE, None, -bound, "betting")


def monitored_bound(logs: tuple[float, ...], n: int, threshold: float) -> float:
    """Return the largest mean difference that wealth of these logarithms, won on n pairs, still rules out.

    Examples
    --------
    >>> from evalsvc.stats.pairs.newpairs import evidence_of_counts
    >>> found = evidence_of_counts(200, 60, 10)
    >>> 0.0 < monitored_bound(found.log_better, 200, 400.0) < 0.25
    True
    """

    def is_ruled_out(delta: float) -> bool:
        wealth = [
            math.exp(min(700.0, log + n * math.log1p(-stake * delta / (1.0 - stake))))
            for stake, log in zip(STAKES, logs, strict=True)
            if stake * delta < 1.0 - stake
        ]
        return math.fsum(wealth) / len(logs) >= threshold

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_ruled_out(middle) else (low, middle)
    return low or math.ulp(0.0)

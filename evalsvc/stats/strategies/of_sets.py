"""Strategies for a set of examples with a random part seen: requirements and formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evalsvc.stats.basics.checks import Scores, n_known
from evalsvc.stats.basics.sums import Sums
from evalsvc.stats.basics.words import ONE_LOOK, WATCHED
from evalsvc.stats.formulas.anytime import anytime_share, running_share
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.finite import (
    Ends,
    exact_interval,
    hoeffding_margin,
    normal_margin,
    serfling_margin,
    t_margin,
    wilson_finite,
)
from evalsvc.stats.kinds import MetricKind

Interval = tuple[Ends | None, str]


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """Checked input: what every strategy reads. `population` is None when the interval is for new data."""

    kind: MetricKind
    sums: Sums
    population: int | None
    level: float
    limits: Ends | None
    binary: bool
    scores: Scores | None

    @property
    def share(self) -> tuple[int, int, int | None, float]:
        """Ones, seen, population and level: what the intervals of a share take."""
        return round(self.sums.total), self.sums.n, self.population, self.level

    @property
    def width(self) -> float:
        """How far apart the lowest and highest possible score are."""
        low, high = self.range
        return high - low

    @property
    def range(self) -> Ends:
        """The lowest and highest possible score; ValueError where none are declared."""
        if self.limits is None:
            raise ValueError("`value_range` must be two numbers for this strategy.")
        return self.limits

    @property
    def feasible(self) -> Ends:
        """What no score still to come can change."""
        return self.kind.certain(self.sums, self.population, self.range)


@dataclass(frozen=True, slots=True)
class SetRule:
    """The formula of a strategy for a set, and its requirements on the scores.

    Attributes
    ----------
    compute : callable
        From a question and the value to the bounds on the scale of one score (None without any) and the formula.
    counts_ones : bool
        Whether the scores must be declared binary.
    needs_range : bool
        Whether scores that are not binary must have a range.
    is_of_variance : bool
        Whether it reads only a variance, so that it also applies to a ratio of sums.
    is_approximate : bool
        Whether it relies on a normal approximation, and should not be used below thirty scores.
    stays_open : bool
        Whether it never claims certainty before everything has been seen. The seed's three strategies retain their
        formulas.
    safe : str
        ``one look`` or ``safe while watched``.
    """

    compute: Callable[[SetQuestion, float], Interval]
    counts_ones: bool = False
    needs_range: bool = False
    is_of_variance: bool = False
    is_approximate: bool = False
    stays_open: bool = False
    safe: str = ONE_LOOK


def interval_by(rule: SetRule, question: SetQuestion, value: float | None) -> Interval:
    """Return the ends on the scale of a mean (None without any) and the formula that gave them.

    First the cases that all strategies share, then the strategy's own formula.
    """
    n, population = question.sums.n, question.population
    if value is None:
        return None, "none"
    if population is not None and n >= population:
        return (value, value), "census"
    if n == 1:
        return _certain(question)
    ends, method = rule.compute(question, value)
    if ends is None:
        return None, method
    if rule.stays_open and ends[0] == ends[1]:
        return _certain(question)
    return (min(ends[0], value), max(ends[1], value)), method


def _certain(question: SetQuestion) -> Interval:
    """Return what no score still to come can change; nothing for a metric without a range."""
    return (question.feasible, "feasible") if question.limits is not None else (None, "none")


def _normal(question: SetQuestion, value: float) -> Interval:
    sums, is_share = question.sums, question.binary and question.kind.is_of_single_scores
    variance = value * (1.0 - value) if is_share else question.kind.variance(sums)
    margin = normal_margin(variance, sums.n, question.population, question.level)
    return (value - margin, value + margin), "normal"


def _wilson(question: SetQuestion, value: float) -> Interval:
    return wilson_finite(*question.share), "wilson"


def _hoeffding(question: SetQuestion, value: float) -> Interval:
    margin = hoeffding_margin(question.width, question.sums.n, question.population, question.level)
    return (value - margin, value + margin), "hoeffding"


def _exact(question: SetQuestion, value: float) -> Interval:
    method = "clopper-pearson" if question.population is None else "hypergeometric"
    return exact_interval(*question.share), method


def _t(question: SetQuestion, value: float) -> Interval:
    sums = question.sums
    variance = question.kind.variance(sums)
    if variance == 0.0:
        # Equal scores show no variance, which does not mean that there is none.
        has_bounds = question.kind.is_of_single_scores and question.limits is not None
        return _serfling(question, value) if has_bounds else _certain(question)
    margin = t_margin(variance, sums.n, question.population, question.level)
    return _cut(question, value - margin, value + margin), "t"


def _serfling(question: SetQuestion, value: float) -> Interval:
    margin = serfling_margin(question.width, question.sums.n, question.population, question.level)
    method = "hoeffding" if question.population is None else "hoeffding-serfling"
    return _cut(question, value - margin, value + margin), method


def _anytime(question: SetQuestion, value: float) -> Interval:
    scores, population = question.scores, question.population
    if scores is None:
        if not question.binary:
            raise ValueError("`scores` must hold every score seen, in order, for the strategy anytime.")
        return anytime_share(*question.share), "beta-binomial"
    if n_known(scores) != question.sums.n:
        raise ValueError("`scores` must hold every score seen, in order, for the strategy anytime.")
    if question.binary:
        return running_share(scores, population, question.level), "beta-binomial"
    return betting_interval(scores, population, question.level, question.range, running=True), "betting"


def _cut(question: SetQuestion, lower: float, upper: float) -> Ends:
    """Leave out what cannot be true of scores in their range."""
    if question.limits is None:
        return lower, upper
    low, high = question.feasible
    return max(lower, low), min(upper, high)


SET_RULES = {
    "normal": SetRule(_normal, is_of_variance=True, is_approximate=True),
    "wilson": SetRule(_wilson, counts_ones=True, is_approximate=True),
    "hoeffding": SetRule(_hoeffding, needs_range=True),
    "exact": SetRule(_exact, counts_ones=True, stays_open=True),
    "t": SetRule(_t, is_of_variance=True, is_approximate=True, stays_open=True),
    "hoeffding-serfling": SetRule(_serfling, needs_range=True, stays_open=True),
    "anytime": SetRule(_anytime, needs_range=True, stays_open=True, safe=WATCHED),
}

"""The formula behind each strategy for a running estimate, and the cases in which it gives way to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evalsvc.stats.basics.checks import Scores, n_known
from evalsvc.stats.basics.sums import Sums
from evalsvc.stats.formulas.anytime import anytime_share, running_share
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.finite import (
    Ends,
    exact_interval,
    feasible,
    hoeffding_margin,
    normal_margin,
    serfling_margin,
    t_margin,
    wilson_finite,
)

Interval = tuple[Ends | None, str]


@dataclass(frozen=True, slots=True)
class Question:
    """Checked input: what every strategy reads. `population` is None when the interval is for new data."""

    kind: str
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
        # The unseen denominators can be anything, so of a ratio only its own range is certain.
        if self.kind == "ratio":
            return self.range
        return feasible(self.sums.total, self.sums.n, self.population, self.range)


def interval_of_mean(strategy: str, question: Question, value: float | None) -> Interval:
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
    ends, method = _COMPUTED[strategy](question, value)
    if ends is None:
        return None, method
    if strategy in OURS and ends[0] == ends[1]:
        return _certain(question)
    return (min(ends[0], value), max(ends[1], value)), method


def _certain(question: Question) -> Interval:
    """Return what no score still to come can change; nothing for a metric without a range."""
    return (question.feasible, "feasible") if question.limits is not None else (None, "none")


def _normal(question: Question, value: float) -> Interval:
    sums = question.sums
    if question.kind == "ratio":
        variance = sums.residual_variance()
    elif question.binary:
        variance = value * (1.0 - value)
    else:
        variance = sums.variance
    margin = normal_margin(variance, sums.n, question.population, question.level)
    return (value - margin, value + margin), "normal"


def _wilson(question: Question, value: float) -> Interval:
    if question.kind == "distributive":
        return _normal(question, value)
    return wilson_finite(*question.share), "wilson"


def _hoeffding(question: Question, value: float) -> Interval:
    margin = hoeffding_margin(question.width, question.sums.n, question.population, question.level)
    return (value - margin, value + margin), "hoeffding"


def _exact(question: Question, value: float) -> Interval:
    method = "clopper-pearson" if question.population is None else "hypergeometric"
    return exact_interval(*question.share), method


def _t(question: Question, value: float) -> Interval:
    sums = question.sums
    variance = sums.residual_variance() if question.kind == "ratio" else sums.variance
    if variance == 0.0:
        # Equal scores show no variance, which does not mean that there is none.
        is_ratio = question.kind == "ratio" or question.limits is None
        return _certain(question) if is_ratio else _serfling(question, value)
    margin = t_margin(variance, sums.n, question.population, question.level)
    return _cut(question, value - margin, value + margin), "t"


def _serfling(question: Question, value: float) -> Interval:
    margin = serfling_margin(question.width, question.sums.n, question.population, question.level)
    method = "hoeffding" if question.population is None else "hoeffding-serfling"
    return _cut(question, value - margin, value + margin), method


def _anytime(question: Question, value: float) -> Interval:
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


def _cut(question: Question, lower: float, upper: float) -> Ends:
    """Leave out what cannot be true of scores in their range."""
    if question.limits is None:
        return lower, upper
    low, high = question.feasible
    return max(lower, low), min(upper, high)


_COMPUTED: dict[str, Callable[[Question, float], Interval]] = {
    "normal": _normal,
    "wilson": _wilson,
    "hoeffding": _hoeffding,
    "exact": _exact,
    "t": _t,
    "hoeffding-serfling": _serfling,
    "anytime": _anytime,
}
# The seed's three keep their formulas; these never claim certainty before everything has been seen.
OURS = ("exact", "t", "hoeffding-serfling", "anytime")

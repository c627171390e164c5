"""Rules on `truth`: what people would say of a history, by the interval that `GET /v1/history?truth=` answers.

A rule holds if the whole interval at the level of the gate is on its side of the limit, and does not hold if that at
1 - alpha / m is on the other side, for m rules of the gate. Labels come in while the gate is asked again, so the
interval is `running`, which is valid at all looks together, unless the rule has `looks: one`. Too few labels
show nothing, and neither does a draw that most of the scores are newer than, or one of scores that rules drew with
unequal probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from evalsvc.evaluations.history.interval import UNWEIGHTED
from evalsvc.gates.answers import RuleResult, RuleTruth
from evalsvc.gates.bodies import GateRule, Looks
from evalsvc.gates.words import rule_sentence
from evalsvc.reviews.truth import OLD_DRAW, HistoryTruth, LabelledDraw
from evalsvc.stats.basics.results import FEW_SCORES
from evalsvc.stats.basics.rows import IntervalRows
from evalsvc.stats.formulas.intervals import z_quantile
from evalsvc.stats.gating.claims import GateClaim
from evalsvc.stats.gating.decisions import FAIL, LIMIT_INSIDE, PASS, UNDECIDED, JudgedClaim, judge_all
from evalsvc.stats.gating.ends import ConfidenceBounds
from evalsvc.stats.gating.power import POWER
from evalsvc.stats.truth.answer import TruthEstimate

TRUTH = "truth"
"""The metric of these rules."""
BETTING = "betting"


@dataclass(frozen=True, slots=True)
class TruthRule:
    """A rule about what people would say, with the labelled draw that it is about."""

    rule: GateRule
    draw: LabelledDraw

    def judge(self, alpha: float, alpha_to_fail: float) -> JudgedClaim:
        """Return the decision on the rule by itself."""
        found = self.draw.estimate(1.0 - alpha).estimate
        ends = self._build_bounds(found)
        if self.draw.is_old or self.draw.is_unweighted:
            reason = OLD_DRAW if self.draw.is_old else UNWEIGHTED
            return JudgedClaim(UNDECIDED, ends, alpha_to_fail, None, None, reason)
        if self._is_beyond(ends, is_opposite=False):
            return JudgedClaim(PASS, ends, alpha_to_fail, None, 0, None)
        to_fail = self.draw.estimate(1.0 - alpha_to_fail).estimate
        if self._is_beyond(self._build_bounds(to_fail), is_opposite=True):
            return JudgedClaim(FAIL, ends, alpha_to_fail, None, 0, None)
        n_more = self._count_more(found, alpha, alpha_to_fail)
        return JudgedClaim(UNDECIDED, ends, alpha_to_fail, None, n_more, found.reason or LIMIT_INSIDE)

    @property
    def looks(self) -> Looks:
        """Whether it may be asked again while labels come in."""
        return self.rule.looks or "watched"

    def _build_bounds(self, found: TruthEstimate) -> ConfidenceBounds:
        if self.looks == "one":
            return ConfidenceBounds(found.lower, found.upper, found.method or "none")
        lower, upper = found.running or (None, None)
        return ConfidenceBounds(lower, upper, BETTING if found.running is not None else "none")

    def _is_beyond(self, found: ConfidenceBounds, *, is_opposite: bool) -> bool:
        """Return whether the interval is on the rule's side of the limit, or else all on the other side."""
        if found.lower is None or found.upper is None:
            return False
        if self.rule.at_least is not None:
            return found.upper < self.rule.at_least if is_opposite else found.lower >= self.rule.at_least
        assert self.rule.at_most is not None  # noqa: S101  one of the two is there
        return found.lower > self.rule.at_most if is_opposite else found.upper <= self.rule.at_most

    def _count_more(self, found: TruthEstimate, alpha: float, alpha_to_fail: float) -> int | None:
        """Return about how many more labels decide it with a power of 80 %; None if unknown, or if all would not."""
        limit = self.rule.at_least if self.rule.at_least is not None else self.rule.at_most
        if found.lower is None or found.estimate is None or limit is None or found.estimate == limit:
            return None
        holds = (found.estimate > limit) is (self.rule.at_least is not None)
        level = 1.0 - (alpha if holds else alpha_to_fail)
        # The margin and what an unlucky draw of labels takes from it, in proportion to their quantiles.
        margin = abs(found.estimate - limit) / (1.0 + z_quantile(2.0 * POWER - 1.0) / z_quantile(level))
        needed = self.draw.estimate(level, width=2.0 * margin / self._compare_widths(level)).estimate.n_for_width
        return None if needed is None else max(1, needed - found.n)

    def _compare_widths(self, level: float) -> float:
        """Return how many times as wide as the fixed-sample interval its own is."""
        found = self.draw.estimate(level).estimate
        ends = self._build_bounds(found)
        if ends.lower is None or ends.upper is None or found.lower is None or found.upper is None:
            return 1.0
        return (ends.upper - ends.lower) / (found.upper - found.lower)

    def describe(self, judged: JudgedClaim, alpha: float) -> RuleResult:
        """Return what the rule came to."""
        found = self.draw.estimate(1.0 - alpha)
        estimate, kind = found.estimate, self.rule.kinds[0]
        result = RuleResult(
            metric=self.rule.metric,
            kind=kind,
            limit=float(getattr(self.rule, kind)),
            quantile=None,
            outcome=judged.outcome,  # type: ignore[arg-type]
            reason=judged.reason,
            estimate=estimate.estimate,
            lower=judged.ends.lower,
            upper=judged.ends.upper,
            method=judged.ends.method,
            level_of_ends=1.0 - alpha,
            interval_level=1.0 - alpha,
            level_to_fail=1.0 - judged.alpha_to_fail,
            higher_is_better=True,
            n=estimate.n,
            rows=IntervalRows(estimate.n),
            n_missing=0,
            n_not_applicable=0,
            n_improved=None,
            n_regressed=None,
            n_unchanged=None,
            smallest_effect=None,
            about_n_more=judged.about_n_more,
            warnings=[*found.warnings, *[FEW_SCORES] * (estimate.n < 30)],
            says="",
            truth=_describe_labels(found, self.looks),
        )
        return structs.replace(result, says=rule_sentence(result))


def judge_with_truth(
    claims: Sequence[GateClaim], rules: Sequence[TruthRule], alpha: float, *, watched: bool
) -> tuple[list[JudgedClaim], list[JudgedClaim]]:
    """Judge the claims about scores and the rules about labels of one gate.

    The opposite of each rule on `truth` is tested at alpha / m, and those of the claims by Holm's method within what
    that leaves of alpha, so that a gate of m rules fails wrongly with probability alpha at most.
    """
    judged = judge_all(claims, alpha, watched=watched)
    if not rules:
        return judged, []
    n_all = len(claims) + len(rules)
    if claims:
        left = judge_all(claims, alpha * len(claims) / n_all, watched=watched)
        judged = [
            first if first.outcome == PASS else replace(second, ends=first.ends, smallest_effect=first.smallest_effect)
            for first, second in zip(judged, left, strict=True)
        ]
    return judged, [rule.judge(alpha, alpha / n_all) for rule in rules]


def _describe_labels(found: HistoryTruth, looks: Looks) -> RuleTruth:
    return RuleTruth(
        criteria_id=found.criteria.pk,
        review_id=found.review.pk,
        drawn_at=found.review.created_at,
        population=found.estimate.population,
        n_since=found.n_since,
        naive=found.estimate.naive,
        looks=looks,
        share_since=found.share_since,
        first_at=found.first_at,
        last_at=found.last_at,
    )

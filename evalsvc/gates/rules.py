"""From rules to results: the claim of each rule, its outcome, and its numbers in the unit of its metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from msgspec import structs

from evalsvc.evaluations.history.interval import UNWEIGHTED
from evalsvc.gates.answers import RuleResult
from evalsvc.gates.bodies import GateRule
from evalsvc.gates.evidence.scores import GateScores
from evalsvc.gates.truth import TruthRule, judge_with_truth
from evalsvc.gates.words import rule_sentence
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.basics.results import FEW_SCORES
from evalsvc.stats.basics.rows import IntervalRows
from evalsvc.stats.estimates.bounds import is_only_bounded
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.gating.claims import GateClaim, pair_claim, quantile_claim, threshold_claim
from evalsvc.stats.gating.decisions import PASS, UNDECIDED, JudgedClaim
from evalsvc.stats.gating.quantiles import compute_quantile, quantile_ends
from evalsvc.stats.pairs.common import BoundedScores

Rule = TypeVar("Rule")
LOST_TRIALS = "lost_trials"
MUCH_UNDECIDED = "much_undecided"


@dataclass(frozen=True, slots=True)
class WeighedRule:
    """A rule with the scores that it is about, and how those are measured."""

    rule: GateRule
    scores: GateScores
    value_range: Ends | None
    """The metric's own, or else the rule's."""
    binary: bool
    higher_is_better: bool
    has_unequal_probabilities: bool = False
    """Whether rules drew the scores with unequal probabilities."""

    @property
    def limit(self) -> float:
        """The limit of the rule as a claim uses it: negative for `not_worse_by`."""
        value = float(getattr(self.rule, self.rule.kinds[0]))
        return 0.0 - value if self.rule.not_worse_by is not None else value

    def claim(self, *, of_this_set: bool) -> GateClaim:
        """Return what it claims; with lost trials, each score as bad and as good as these can make it."""
        scores = self.scores
        claim = replace(self._claim(scores, of_this_set=of_this_set), clusters=scores.clusters)
        if scores.candidate_ends is None and scores.baseline_ends is None:
            return claim
        first = scores.candidate_ends or (scores.candidate, scores.candidate)
        second = scores.baseline_ends or (scores.baseline, scores.baseline)
        extremes = [
            self._claim(replace(scores, candidate=first[at], baseline=second[1 - at]), of_this_set=of_this_set)
            for at in (0, 1)
        ]
        worst = np.minimum(extremes[0].worst, extremes[1].worst)
        best = np.maximum(extremes[0].best, extremes[1].best)
        pairs = claim.pairs
        if pairs is not None and second[0] is not None and second[1] is not None:
            pairs = replace(
                pairs,
                candidate_ends=BoundedScores(pairs.candidate, *first),
                baseline_ends=BoundedScores(pairs.baseline, second[0], second[1]),
            )
        return replace(claim, worst=worst, best=best, pairs=pairs)

    def _claim(self, scores: GateScores, *, of_this_set: bool) -> GateClaim:
        rule, population = self.rule, scores.population if of_this_set else None
        if scores.baseline is not None and rule.is_paired:
            return pair_claim(
                scores.candidate,
                scores.baseline,
                limit=self.limit,
                value_range=self._orient_range(),
                binary=self.binary,
                is_one_run=scores.is_one_run,
                population=population,
            )
        ends = {"at_least": rule.at_least, "at_most": rule.at_most}
        if rule.quantile is not None:
            return quantile_claim(scores.candidate, rule.quantile, **ends, population=population)
        return threshold_claim(
            scores.candidate, **ends, value_range=self.value_range, binary=self.binary, population=population
        )

    def _orient_range(self) -> Ends | None:
        if self.value_range is None or self.higher_is_better:
            return self.value_range
        return -self.value_range[1], -self.value_range[0]


def resolve_rule_range(rule: GateRule, declared: Ends | None, pointer: str) -> Ends | None:
    """Return the range of the scores: the metric's own, or else the rule's.

    Raises Invalid for a rule that contradicts the metric's range, and for a limit that no value could reach.
    """
    given = None if rule.value_range is None else (rule.value_range[0], rule.value_range[1])
    if declared is not None and given not in (None, declared):
        detail = f"The metric declares the range {declared[0]:g} to {declared[1]:g}; leave this out."
        raise Invalid(FieldError(f"{pointer}/value_range", detail))
    value_range = declared or given
    if value_range is None:
        return None
    low, high = value_range
    kind = rule.kinds[0]
    limit = float(getattr(rule, kind))
    low_limit, high_limit = (0.0, high - low) if rule.is_paired else (low, high)
    if not low_limit <= limit <= high_limit:
        what = "differences are at most" if rule.is_paired else "values lie between"
        numbers = f"{high_limit:g}" if rule.is_paired else f"{low:g} and {high:g}"
        raise Invalid(FieldError(f"{pointer}/{kind}", f"{limit:g} is out of range: {what} {numbers}."))
    return value_range


def check_scores_in_range(weighed: WeighedRule, pointer: str) -> None:
    """Raise Invalid if scores lie outside the range that the rule gave."""
    if weighed.rule.value_range is None:
        return
    low, high = weighed.rule.value_range
    sides = [side for side in (weighed.scores.candidate, weighed.scores.baseline) if side is not None]
    scores = np.concatenate(sides)
    if weighed.scores.baseline is not None and not weighed.higher_is_better:
        # Scores of pairs are oriented: higher is better.
        scores = -scores
    n_outside = int(((scores < low) | (scores > high)).sum())
    if n_outside:
        n_scored = int((~np.isnan(scores)).sum())
        raise Invalid(FieldError(pointer, f"{n_outside} of {n_scored} scores lie outside {low:g} to {high:g}."))


def evaluate_rules(
    rules: Sequence[WeighedRule | TruthRule], *, alpha: float, watched: bool, of_this_set: bool
) -> tuple[list[RuleResult], list[JudgedClaim]]:
    """Return what each rule of a gate came to, in their order."""
    claims = {i: (rule, rule.claim(of_this_set=of_this_set)) for i, rule in _select(rules, WeighedRule)}
    truths = dict(_select(rules, TruthRule))
    judged, judged_truths = judge_with_truth(
        [claim for _, claim in claims.values()], [*truths.values()], alpha, watched=watched
    )
    found: dict[int, tuple[RuleResult, JudgedClaim]] = {}
    for (i, (rule, claim)), judged_claim in zip(claims.items(), judged, strict=True):
        decided = _withhold_decision(rule, claim, judged_claim)
        found[i] = _result(rule, claim, decided, alpha, watched), decided
    for (i, truth), decided in zip(truths.items(), judged_truths, strict=True):
        found[i] = truth.describe(decided, alpha), decided
    return [found[i][0] for i in sorted(found)], [found[i][1] for i in sorted(found)]


def _select(rules: Sequence[WeighedRule | TruthRule], kind: type[Rule]) -> Iterator[tuple[int, Rule]]:
    return ((i, rule) for i, rule in enumerate(rules) if isinstance(rule, kind))


def _withhold_decision(rule: WeighedRule, claim: GateClaim, judged: JudgedClaim) -> JudgedClaim:
    """Return what a claim came to: undecided where its scores were drawn with unequal probabilities.

    It does not pass where a tenth of its examples or more are undecided.
    """
    if rule.has_unequal_probabilities:
        return replace(judged, outcome=UNDECIDED, reason=UNWEIGHTED, smallest_effect=None, about_n_more=None)
    n_undecided = rule.scores.n_undecided
    if judged.outcome != PASS or not is_only_bounded(claim.n - n_undecided, n_undecided):
        return judged
    return replace(judged, outcome=UNDECIDED, reason=MUCH_UNDECIDED, about_n_more=None)


def _result(rule: WeighedRule, claim: GateClaim, judged: JudgedClaim, alpha: float, watched: bool) -> RuleResult:
    lower, upper = _compute_bounds(rule, claim, judged, alpha, watched)
    result = RuleResult(
        metric=rule.rule.metric,
        kind=rule.rule.kinds[0],
        limit=float(getattr(rule.rule, rule.rule.kinds[0])),
        quantile=rule.rule.quantile,
        value_range=rule.rule.value_range,
        outcome=judged.outcome,  # type: ignore[arg-type]
        reason=judged.reason,
        estimate=_estimate(rule),
        lower=lower,
        upper=upper,
        method=_method(rule, judged),
        level_of_ends=1.0 - alpha,
        interval_level=1.0 - 2.0 * alpha,
        level_to_fail=1.0 - judged.alpha_to_fail,
        higher_is_better=rule.higher_is_better,
        n=claim.n - claim.n_missing,
        rows=IntervalRows(
            claim.n - claim.n_missing,
            n_missing=claim.n_missing - rule.scores.n_undecided,
            n_undecided=rule.scores.n_undecided,
        ),
        n_clusters=claim.n_independent if claim.clusters is not None else None,
        n_missing=claim.n_missing,
        n_not_applicable=rule.scores.n_not_applicable,
        smallest_effect=judged.smallest_effect,
        about_n_more=judged.about_n_more,
        warnings=_warnings(claim),
        says="",
        truth=None,
        **_changes(rule),
    )
    return structs.replace(result, says=rule_sentence(result))


def _compute_bounds(
    rule: WeighedRule, claim: GateClaim, judged: JudgedClaim, alpha: float, watched: bool
) -> tuple[float | None, float | None]:
    """Return the ends in the unit of the metric; a quantile's are scores."""
    if rule.rule.quantile is not None:
        return quantile_ends(
            rule.scores.candidate,
            rule.rule.quantile,
            alpha,
            watched=watched,
            population=claim.population,
            clusters=claim.clusters,
        )
    lower, upper = judged.ends.lower, judged.ends.upper
    if rule.rule.at_most is None or lower is None or upper is None:
        return lower, upper
    base = 1.0 if claim.is_share else 0.0
    return base - upper, base - lower


def _method(rule: WeighedRule, judged: JudgedClaim) -> str:
    is_of_ranks = rule.rule.quantile is not None and rule.scores.clusters is None
    return "order-statistics" if is_of_ranks else judged.ends.method


def _estimate(rule: WeighedRule) -> float | None:
    scores = rule.scores
    row = _differences(scores) if rule.rule.is_paired else scores.candidate[~np.isnan(scores.candidate)]
    if not row.size:
        return None
    if rule.rule.quantile is not None:
        return compute_quantile(row, rule.rule.quantile)
    return math.fsum(row) / row.size


def _differences(scores: GateScores) -> FloatArray:
    assert scores.baseline is not None  # noqa: S101  a paired rule has one
    differences = scores.candidate - scores.baseline
    return np.asarray(differences[~np.isnan(differences)])


def _changes(rule: WeighedRule) -> dict[str, int | None]:
    if not rule.rule.is_paired:
        return dict.fromkeys(("n_improved", "n_regressed", "n_unchanged"))
    differences = _differences(rule.scores)
    up, down = int((differences > 0.0).sum()), int((differences < 0.0).sum())
    return {"n_improved": up, "n_regressed": down, "n_unchanged": int(differences.size) - up - down}


def _warnings(claim: GateClaim) -> list[str]:
    n = claim.n - claim.n_missing if claim.clusters is None else claim.n_independent
    has_lost = int((claim.worst < claim.best).sum()) > claim.n_missing
    return [FEW_SCORES] * (n < 30) + [LOST_TRIALS] * has_lost

"""Decide a gate: find its subjects, evaluate its rules, and store the decision with its evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.db import IntegrityError, connections, transaction

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.evaluations.history.interval import UNWEIGHTED
from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.cluster_sums import load_clusters
from evalsvc.experiments.inference.pairs.compare import count_common, matched_by, pairing_warnings
from evalsvc.gates.answers import GateEvidence, GatePairing, GateSpending, Regression
from evalsvc.gates.bodies import MOST_ATTEMPTS, GateBody, GateRule
from evalsvc.gates.evidence.histories import HistorySubject, find_history
from evalsvc.gates.evidence.regressions import find_regressions
from evalsvc.gates.evidence.scores import read_gate_pairs, read_gate_scores
from evalsvc.gates.evidence.subjects import (
    GateSubject,
    check_looks,
    find_subject,
    resolve_gate_cluster,
    resolve_shared_metric,
)
from evalsvc.gates.models import Gate
from evalsvc.gates.rules import WeighedRule, check_scores_in_range, evaluate_rules, resolve_rule_range
from evalsvc.gates.truth import TRUTH, TruthRule
from evalsvc.gates.words import gate_summary
from evalsvc.infra.locks import BENCHMARK
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.gating.decisions import JudgedClaim, alpha_of_attempt, combine_outcomes
from evalsvc.tenancy.scope import current_role

TRIES = 5
SEEN, NEVER_ASKED, RACED = "designer_saw_examples", "never_asked", "stopped_by_policy"
RETRIED, UNCLUSTERED = "retried", "unclustered"


@dataclass(frozen=True, slots=True)
class _Case:
    """What a gate has found, before it is decided."""

    rules: Sequence[WeighedRule | TruthRule]
    candidate: GateSubject | None = None
    baseline: GateSubject | None = None
    history: HistorySubject | None = None
    pairing: GatePairing | None = None
    metrics: dict[str, tuple[Metric, Metric]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cluster_by: str | None = None

    @property
    def about(self) -> dict[str, object]:
        """The columns of a gate that name what it is about."""
        sides = (("", self.candidate), ("baseline_", self.baseline))
        about: dict[str, object] = {f"{side}experiment_id": subject.plan.pk for side, subject in sides if subject}
        about |= {f"{side}config_id": subject.config.pk for side, subject in sides if subject}
        return about | ({"evaluator_id": self.history.evaluator_id} if self.history else {})

    def regressions(self, *, watched: bool) -> list[Regression]:
        """Return the examples on which the candidate got worse; none without a baseline."""
        if self.candidate is None or self.baseline is None:
            return []
        return find_regressions(self.candidate, self.baseline, self.metrics, watched=watched)


def decide_about(*, account: Account, epoch: str | None, body: GateBody, actor: str) -> Gate:
    """Decide a gate and store the decision. Raises Invalid, with pointers, for requests that cannot be decided."""
    _check_rules(body)
    case = _find(account, epoch, body)
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                return _store_decision(account, body, case, actor)
        except IntegrityError:
            # Another candidate came at the same moment, by a process of before there were turns, and took this number.
            continue
    raise Invalid(FieldError("/benchmark", "Other candidates keep coming at the same moment: try again."))


def _store_decision(account: Account, body: GateBody, case: _Case, actor: str) -> Gate:
    spending, is_first = _spending(account, body, case)
    outcome, evidence = _decide(body, case, spending)
    gate = Gate.objects.create(
        account=account,
        name=body.name,
        outcome=outcome,
        benchmark=body.benchmark,
        attempt=spending.attempt if spending else None,
        is_first=is_first,
        evidence=msgspec.to_builtins(evidence),
        actor=actor,
        **case.about,
    )
    gate.refresh_from_db()
    record_audit(
        account=account,
        actor=actor,
        action="gate.decided",
        target=str(gate.pk),
        name=body.name or None,
        outcome=gate.outcome,
        benchmark=body.benchmark,
    )
    return gate


def _decide(body: GateBody, case: _Case, spending: GateSpending | None) -> tuple[str, GateEvidence]:
    """Weigh the rules at the level that is left to this candidate; return the outcome, and what it rests on."""
    is_watched = body.looks == "watched"
    alpha = spending.alpha if spending is not None else 1.0 - body.level
    results, claims = evaluate_rules(case.rules, alpha=alpha, watched=is_watched, of_this_set=body.covers == "this_set")
    outcome, n_more = combine_outcomes(claims), _more(claims)
    return outcome, GateEvidence(
        level=body.level,
        looks=body.looks,
        covers=body.covers,
        cluster_by=case.cluster_by,
        summary=gate_summary(outcome, results, n_more),
        about_n_more=n_more,
        candidate=case.candidate.describe() if case.candidate else None,
        baseline=case.baseline.describe() if case.baseline else None,
        history=case.history.describe() if case.history else None,
        rules=results,
        pairing=case.pairing,
        spending=spending,
        regressions=case.regressions(watched=is_watched),
        warnings=case.warnings,
    )


def _more(judged: Sequence[JudgedClaim]) -> int | None:
    """Return about how many more examples settle every rule that is open; None where no number is known."""
    numbers = [claim.about_n_more for claim in judged if claim.outcome == "undecided"]
    counts = [number for number in numbers if number is not None]
    return max(counts, default=0) if len(counts) == len(numbers) else None


def _check_rules(body: GateBody) -> None:
    """Refuse bodies with incomplete or contradictory rules."""
    errors = [error for i, rule in enumerate(body.rules) for error in _rule_errors(rule, f"/rules/{i}", body)]
    if (body.candidate is None) is (body.history is None):
        errors.append(FieldError("/candidate", "Give a `candidate`, or a `history`."))
    if body.baseline is not None and body.candidate is None:
        errors.append(FieldError("/baseline", "A baseline goes with a `candidate`."))
    if errors:
        raise Invalid(*errors)


def _rule_errors(rule: GateRule, pointer: str, body: GateBody) -> list[FieldError]:
    kinds = rule.kinds
    if len(kinds) != 1:
        return [FieldError(pointer, "Exactly one of `not_worse_by`, `better_by`, `at_least`, `at_most`.")]
    if rule.quantile is not None and rule.is_paired:
        return [FieldError(f"{pointer}/quantile", "A quantile has `at_least` or `at_most`; differences are of means.")]
    if rule.value_range is not None and rule.quantile is not None:
        return [FieldError(f"{pointer}/value_range", "It is for a rule on a mean; a quantile needs no range.")]
    if rule.value_range is not None and not rule.value_range[0] < rule.value_range[1]:
        return [FieldError(f"{pointer}/value_range", "The first number must be the smaller one.")]
    if rule.looks is not None and rule.metric != TRUTH:
        return [FieldError(f"{pointer}/looks", "Only rules on `truth` of a history have it; give `looks` of the gate.")]
    if rule.is_paired and body.baseline is None and body.history is None:
        return [FieldError(f"{pointer}/{kinds[0]}", "It compares with a `baseline`, and none is given.")]
    return []


def _find(account: Account, epoch: str | None, body: GateBody) -> _Case:
    if body.history is not None:
        if body.cluster_by is not None:
            raise Invalid(FieldError("/cluster_by", "Examples of experiments share something; a history has none."))
        history = find_history(account, epoch, body, body.history)
        rules = [_build_history_rule(history, rule, f"/rules/{i}") for i, rule in enumerate(body.rules)]
        return _Case(rules, history=history, warnings=[UNWEIGHTED] * history.has_unequal_probabilities)
    assert body.candidate is not None  # noqa: S101  one of the two is there
    candidate = find_subject(account, body.candidate, "/candidate")
    baseline = find_subject(account, body.baseline, "/baseline") if body.baseline is not None else None
    subjects = [candidate, *([baseline] if baseline else [])]
    if baseline is not None and candidate.config.pk == baseline.config.pk:
        raise Invalid(FieldError("/baseline", "It is the candidate itself; name another config."))
    check_looks(subjects, watched=body.looks == "watched")
    return _build_case(body, candidate, baseline)


def _build_history_rule(history: HistorySubject, rule: GateRule, pointer: str) -> WeighedRule | TruthRule:
    if rule.metric == TRUTH and history.draw is not None:
        limits = resolve_rule_range(rule, history.draw.limits, pointer)
        if limits is None and rule.looks != "one":
            detail = "Labels without a range cannot be watched; send `one`, and ask once."
            raise Invalid(FieldError(f"{pointer}/looks", detail))
        return TruthRule(rule, history.draw)
    scores, declared, binary = history.read(rule.metric)
    value_range = resolve_rule_range(rule, declared, pointer)
    weighed = WeighedRule(rule, scores, value_range, binary, True, history.has_unequal_probabilities)
    check_scores_in_range(weighed, f"{pointer}/value_range")
    return weighed


def _build_case(body: GateBody, candidate: GateSubject, baseline: GateSubject | None) -> _Case:
    is_watched = body.looks == "watched"
    pairs: dict[str, tuple[Metric, Metric]] = {}
    rules: list[WeighedRule] = []
    pairing, warnings = None, _warnings(candidate, baseline, is_watched)
    cluster_by = resolve_gate_cluster(body, [subject for subject in (candidate, baseline) if subject is not None])
    clusters = load_clusters(candidate.plan.pk, read_cluster(cluster_by)) if cluster_by is not None else None
    warnings += [UNCLUSTERED] if clusters is not None and clusters.n_bare else []
    for i, rule in enumerate(body.rules):
        pointer = f"/rules/{i}/metric"
        metric = candidate.metric(rule.metric, pointer)
        if rule.is_paired and baseline is not None:
            pairs[rule.metric] = metric_pair = resolve_shared_metric(candidate, baseline, rule, pointer)
            pairing = pairing or _pairing(candidate, baseline, metric_pair, body.min_share)
            n_common = pairing.n_common
            scores = read_gate_pairs(
                candidate, baseline, metric_pair, watched=is_watched, n_common=n_common, clusters=clusters
            )
            warnings += pairing_warnings(
                candidate.side(metric_pair[0]), baseline.side(metric_pair[1]), pairing.n_common
            )
        else:
            scores = read_gate_scores(candidate, metric, watched=is_watched, clusters=clusters)
        value_range = resolve_rule_range(rule, metric.value_range, f"/rules/{i}")
        weighed = WeighedRule(rule, scores, value_range, metric.binary, metric.higher_is_better)
        check_scores_in_range(weighed, f"/rules/{i}/value_range")
        rules.append(weighed)
    return _Case(rules, candidate, baseline, None, pairing, pairs, list(dict.fromkeys(warnings)), cluster_by)


def _pairing(candidate: GateSubject, baseline: GateSubject, both: tuple[Metric, Metric], least: float) -> GatePairing:
    """Return how the examples pair; Invalid where too few of either are in both."""
    first, second = candidate.side(both[0]), baseline.side(both[1])
    n_common = count_common(first, second)
    n_first, n_second = candidate.plan.n_examples, baseline.plan.n_examples
    share = n_common / max(1, n_first + n_second - n_common)
    if share < least:
        detail = (
            f"Only {n_common} examples are in both, of {n_first} and {n_second}: a share of {share:.2f}; `min_share`"
            f" is {least:g}. A gate over so few of them would speak of other examples than either did."
        )
        raise Invalid(FieldError("/baseline/experiment_id", detail))
    return GatePairing(
        matched_by=matched_by(first, second),
        n_candidate=n_first,
        n_baseline=n_second,
        n_common=n_common,
        share=share,
        min_share=least,
    )


def _warnings(candidate: GateSubject, baseline: GateSubject | None, watched: bool) -> list[str]:
    warnings = []
    subjects = [candidate, *([baseline] if baseline else [])]
    if candidate.config.fresh_from:
        warnings.append(SEEN)
    if any(subject.n_left and not subject.is_going for subject in subjects):
        warnings.append(NEVER_ASKED)
    if any(subject.config.stop_reason == "policy" for subject in subjects):
        warnings.append(RACED)
    if not watched and any(subject.config.n_retried for subject in subjects):
        warnings.append(RETRIED)
    return warnings


def _spending(account: Account, body: GateBody, case: _Case) -> tuple[GateSpending | None, bool]:
    """Return what this candidate may spend, and whether it is the first gate of it on its benchmark."""
    if body.benchmark is None and body.attempt is None:
        return None, False
    attempt, is_first = body.attempt or 1, False
    if body.benchmark is not None:
        attempt, is_first = _assign_attempt(account, body, case)
    alpha = 1.0 - body.level
    attempt_alpha = alpha_of_attempt(alpha, attempt)
    return GateSpending(benchmark=body.benchmark, attempt=attempt, alpha=attempt_alpha, alpha_of_all=alpha), is_first


def _take_turn(account: Account, body: GateBody) -> None:
    digest = hashlib.sha256(f"{account.pk} {body.benchmark}".encode()).digest()
    with connections[current_role()].cursor() as cursor:
        BENCHMARK.take(cursor, int.from_bytes(digest[:8], signed=True))


def _assign_attempt(account: Account, body: GateBody, case: _Case) -> tuple[int, bool]:
    """Return the number of this candidate on the benchmark, and whether it is new; an existing one retains its number.

    Gates of a benchmark take turns from here on: a candidate with two numbers at once would be tested twice.
    """
    _take_turn(account, body)
    rows: Any = Gate.objects.filter(account=account, benchmark=body.benchmark, is_first=True)
    config = case.candidate.config.pk if case.candidate else None
    # One statement: between two, another gate of this candidate could come, which the second alone would see.
    numbers: dict[int | None, int] = dict(rows.values_list("config_id", "attempt"))
    before = numbers.get(config)
    if before is not None:
        if body.attempt not in (None, before):
            raise Invalid(FieldError("/attempt", f"This candidate was number {before} on the benchmark, and stays it."))
        return before, False
    number = 1 + max(numbers.values(), default=0)
    if number > MOST_ATTEMPTS:
        raise Invalid(FieldError("/benchmark", f"It has had {MOST_ATTEMPTS} candidates: take other examples by now."))
    if body.attempt is not None and body.attempt < number:
        raise Invalid(
            FieldError("/attempt", f"The benchmark has had {number - 1} candidates: this is number {number}.")
        )
    return body.attempt or number, True

"""Reads of rules, always for one account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from evalsvc.accounts.models import Account
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.rest.problems import NotFound
from evalsvc.rules.bodies import SpanFilter, SpanMapping
from evalsvc.rules.candidates import CandidateSpan, build_condition, is_match, read_candidates
from evalsvc.rules.models import Rule, RuleBackfill, RuleSpan
from evalsvc.rules.samples import FAULTS, Unmappable, build_body, build_sample, check_body, describe_fault
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.selectors import TIMEOUT_SECONDS

PREVIEW_SPANS = 10
PREVIEW_PORTIONS = (50, 450)
"""Spans that are read at once: few are enough where most match."""
STAND_IN = [{"evaluator": "exact-match"}]
"""An evaluator for the preview of a rule that names none yet."""


@dataclass(frozen=True, slots=True)
class PreviewedSpan:
    """A span that a filter matches: the sample that evaluators would be sent, or why there is none."""

    span: Span
    sample: dict[str, Any] | None
    reason: str | None
    detail: str | None


def list_rules(*, account: Account) -> QuerySet[Rule]:
    """Return the rules of an account."""
    return Rule.objects.filter(account=account)


def list_rules_with_activity(*, account: Account) -> QuerySet[Rule]:
    """Return the rules of an account, each with `last_span_at`: when it last scored or dropped a span, or None."""
    newest = RuleSpan.objects.filter(account=account, rule=OuterRef("pk")).order_by("-id")
    return list_rules(account=account).annotate(last_span_at=Subquery(newest.values("created_at")[:1]))


def get_rule(*, account: Account, id: int, lock: bool = False) -> Rule:
    """Return a rule; NotFound for missing and foreign alike."""
    rows = list_rules(account=account).filter(pk=id)
    rule = (rows.select_for_update() if lock else rows).first()
    if rule is None:
        raise NotFound
    return rule


def list_rule_spans(*, account: Account, rule: Rule, reason: str | None = None) -> QuerySet[RuleSpan]:
    """Return the spans that a rule has scored or dropped."""
    rows = RuleSpan.objects.filter(account=account, rule=rule)
    return rows if reason is None else rows.filter(reason=reason)


def list_backfills(*, account: Account, rule: Rule) -> QuerySet[RuleBackfill]:
    """Return the backfills of a rule."""
    return RuleBackfill.objects.filter(account=account, rule=rule)


def preview_rule(
    *, account: Account, wanted: SpanFilter, mapping: SpanMapping, evaluators: list[Any] | None
) -> tuple[list[PreviewedSpan], int]:
    """Return the newest ten spans that match, and how many were read for them.

    Raises Problem `search_too_slow`. Within the account's scope.
    """
    found: list[CandidateSpan] = []
    n_read = 0
    rows = Span.objects.filter(build_condition(wanted), account=account).order_by("-id")
    with in_time(TIMEOUT_SECONDS, what="The preview"):
        for portion in PREVIEW_PORTIONS:
            spans = list(rows[:portion])
            n_read += len(spans)
            found += [row for row in read_candidates(account.pk, spans) if is_match(wanted, row)]
            if len(spans) < portion or len(found) >= PREVIEW_SPANS:
                break
            rows = rows.filter(id__lt=spans[-1].pk)
    return [preview_span(candidate, mapping, evaluators) for candidate in found[:PREVIEW_SPANS]], n_read


def preview_span(candidate: CandidateSpan, mapping: SpanMapping, evaluators: list[Any] | None = None) -> PreviewedSpan:
    """Return the sample that a mapping makes of a span, or why there is none."""
    try:
        sample = build_sample(mapping, candidate)
        check_body(build_body(sample, candidate, evaluators=evaluators or STAND_IN, app=None, tags={}))
    except Unmappable as exc:
        return PreviewedSpan(candidate.span, None, exc.reason, exc.detail)
    except FAULTS as fault:
        return PreviewedSpan(candidate.span, None, RuleSpan.Reason.INVALID, describe_fault(fault))
    return PreviewedSpan(candidate.span, sample, None, None)

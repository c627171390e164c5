"""Reads of rules, always for one account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from evalsvc.accounts.models import Account
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.rest.problems import NotFound
from evalsvc.rules.bodies import RuleFilter, SpanMapping
from evalsvc.rules.evaluations import Candidate
from evalsvc.rules.models import Rule, RuleBackfill, RuleSpan
from evalsvc.rules.samples import FAULTS, Unmappable, build_body, build_sample, check_body, describe_fault
from evalsvc.rules.sources import build_source
from evalsvc.telemetry.selectors import TIMEOUT_SECONDS

PREVIEW_SPANS = 10
PREVIEW_PORTIONS = (50, 450)
"""Spans that are read at once: few are enough where most match."""
STAND_IN = [{"evaluator": "exact-match"}]
"""An evaluator for the preview of a rule that names none yet."""


@dataclass(frozen=True, slots=True)
class PreviewedSpan:
    """A span or evaluation that a filter matches: the sample that evaluators would be sent, or why there is none."""

    candidate: Candidate
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
    *, account: Account, source: str, wanted: RuleFilter, mapping: SpanMapping, evaluators: list[Any] | None
) -> tuple[list[PreviewedSpan], int]:
    """Return the newest ten spans or evaluations that match, and how many were read for them.

    Raises Problem `search_too_slow`. Within the account's scope.
    """
    found: list[Candidate] = []
    n_read, reader = 0, build_source(source, account.pk, wanted)
    ids = reader.list_newest()
    with in_time(TIMEOUT_SECONDS, what="The preview"):
        for portion in PREVIEW_PORTIONS:
            read = list(ids[n_read : n_read + portion])
            n_read += len(read)
            found += reader.read_matching(read)
            if len(read) < portion or len(found) >= PREVIEW_SPANS:
                break
    return [preview_span(candidate, mapping, evaluators) for candidate in found[:PREVIEW_SPANS]], n_read


def preview_span(candidate: Candidate, mapping: SpanMapping, evaluators: list[Any] | None = None) -> PreviewedSpan:
    """Return the sample that a mapping makes of a span or evaluation, or why there is none."""
    try:
        sample = build_sample(mapping, candidate)
        check_body(build_body(sample, candidate, evaluators=evaluators or STAND_IN, app=None, tags={}))
    except Unmappable as exc:
        return PreviewedSpan(candidate, None, exc.reason, exc.detail)
    except FAULTS as fault:
        return PreviewedSpan(candidate, None, RuleSpan.Reason.INVALID, describe_fault(fault))
    return PreviewedSpan(candidate, sample, None, None)

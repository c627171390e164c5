"""One rule: what it matches, a preview on the newest spans, and its newest scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.evaluations.verdicts import outcome_word, verdict_chip
from evalsvc.console.pages.rules.words import REASONS, count_dropped, describe_filter, describe_share, format_entries
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import search_refusal
from evalsvc.evaluations.database.partitions import lookups_for_requests
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.pages import search_evaluations
from evalsvc.evaluations.search.samples import VERDICT_COLUMNS
from evalsvc.rest.problems import Problem
from evalsvc.rules.budget import sum_spend
from evalsvc.rules.candidates import CandidateSpan
from evalsvc.rules.evaluations import CandidateEvaluation
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.readers import read_parts
from evalsvc.rules.samples import RULE_TAG
from evalsvc.rules.selectors import PreviewedSpan, get_rule, list_rule_spans, preview_rule

NEWEST, MAX_VERDICTS = 20, 400


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A span or evaluation of the preview: its sample, or why it has none."""

    name: str
    started_at: datetime
    href: str
    sample: dict[str, Any] | None
    reason: str


@dataclass(frozen=True, slots=True)
class SpanRow:
    """What the rule has drawn: its verdicts, or why it was dropped."""

    span: RuleSpan
    name: str
    href: str
    chips: Sequence[SafeString]
    reason: str


@require_safe
@console_page()
def rule_page(request: PageRequest, id: int) -> HttpResponse:
    """Show a rule, what it would score of the newest spans, and what it has scored."""
    account = request.visitor.account
    rule = get_rule(account=account, id=id)
    spans, n_errors = _list_newest(account, rule)
    preview, n_read, refusal = _preview(account, rule)
    context = {
        "rule": rule,
        "conditions": describe_filter(rule.filter),
        "every": f"every {rule.source[:-1]}",
        "mapping": list(rule.mapping.items()),
        "evaluators": format_entries(rule.evaluators),
        "share": describe_share(rule),
        "spent": sum_spend([rule.pk]).get(rule.pk, 0.0) if rule.budget_per_day is not None else None,
        "dropped": count_dropped(rule),
        "spans": spans,
        "n_errors": n_errors,
        "n_newest": sum(bool(row.chips) for row in spans),
        "preview": preview,
        "n_read": n_read,
        "refusal": refusal,
        "scores_href": page_address("console_evaluations", tag=f"{RULE_TAG}:{rule.name}"),
        "call": ApiCall("GET", f"/v1/rules/{rule.pk}"),
    }
    return render(request, "console/rules/detail.html", context)


def _preview(account: Account, rule: Rule) -> tuple[list[PreviewRow], int, str]:
    parts = read_parts(rule)
    try:
        found, n_read = preview_rule(
            account=account,
            source=rule.source,
            wanted=parts.filter,
            mapping=parts.mapping,
            evaluators=list(parts.evaluators),
        )
    except Problem as problem:
        return [], 0, search_refusal(problem)
    candidates = [row.candidate for row in found]
    ids = [candidate.request.pk for candidate in candidates if isinstance(candidate, CandidateEvaluation)]
    evaluations = _find_evaluations(account, ids)
    return [_build_preview_row(row, evaluations) for row in found], n_read, ""


def _build_preview_row(row: PreviewedSpan, evaluations: Mapping[int, int]) -> PreviewRow:
    reason = f"{REASONS[RuleSpan.Reason(row.reason)]}: {row.detail}" if row.reason else ""
    candidate = row.candidate
    if isinstance(candidate, CandidateSpan):
        span = candidate.span
        return PreviewRow(span.name, span.started_at, _span_address(*candidate.key), row.sample, reason)
    request = candidate.request
    href = _evaluation_address(request.pk, evaluations)
    return PreviewRow(candidate.name, request.created_at, href, row.sample, reason)


def _find_evaluations(account: Account, request_ids: Sequence[int]) -> dict[int, int]:
    """Return the first evaluation of each call, which has the page of the sample."""
    if not request_ids:
        return {}
    rows = Evaluation.objects.filter(account=account, position=0, **lookups_for_requests(request_ids))
    return dict(rows.values_list("request_id", "id"))


def _evaluation_address(request_id: int, evaluations: Mapping[int, int]) -> str:
    return page_address("console_evaluation", evaluations[request_id]) if request_id in evaluations else ""


def _span_address(trace_id: str, span_id: str) -> str:
    return f"{page_address('console_trace', trace_id)}#span-{span_id}"


def _list_newest(account: Account, rule: Rule) -> tuple[list[SpanRow], int]:
    """Return the newest spans of a rule, and how many of their verdicts are errors."""
    spans = list(list_rule_spans(account=account, rule=rule).order_by("-id")[:NEWEST])
    verdicts: dict[int, list[Any]] = {}
    if ids := [span.request_id for span in spans if span.request_id is not None]:
        found = search_evaluations(
            account=account, condition=Q(request_id__in=ids), limit=MAX_VERDICTS, columns=VERDICT_COLUMNS
        )
        for verdict in found.rows:
            verdicts.setdefault(verdict.request_id, []).append(verdict)
    n_errors = sum(outcome_word(verdict) == "error" for rows in verdicts.values() for verdict in rows)
    evaluations = _find_evaluations(account, [int(id) for span in spans if (id := span.evaluated_request_id)])
    return [_build_span_row(span, verdicts.get(span.request_id or 0, []), evaluations) for span in spans], n_errors


def _build_span_row(span: RuleSpan, verdicts: Sequence[Any], evaluations: Mapping[int, int]) -> SpanRow:
    words = REASONS[RuleSpan.Reason(span.reason)] if span.reason else ""
    reason = f"{words}: {span.detail}" if span.detail else words
    request_id = span.evaluated_request_id
    chips = [verdict_chip(verdict) for verdict in verdicts]
    if request_id is None:
        return SpanRow(span, span.trace_id[:8], _span_address(span.trace_id, span.span_id), chips, reason)
    return SpanRow(span, request_id, _evaluation_address(int(request_id), evaluations), chips, reason)

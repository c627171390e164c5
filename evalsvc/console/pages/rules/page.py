"""One rule: what it matches, a preview on the newest spans, and its newest scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from evalsvc.evaluations.search.pages import search_evaluations
from evalsvc.evaluations.search.samples import VERDICT_COLUMNS
from evalsvc.rest.problems import Problem
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.readers import read_parts
from evalsvc.rules.samples import RULE_TAG
from evalsvc.rules.selectors import PreviewedSpan, get_rule, list_rule_spans, preview_rule

NEWEST, MAX_VERDICTS = 20, 400


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A span of the preview: its sample, or why it has none."""

    span: Any
    href: str
    sample: dict[str, Any] | None
    reason: str


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A span that the rule has drawn: its verdicts, or why it was dropped."""

    span: RuleSpan
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
        "mapping": list(rule.mapping.items()),
        "evaluators": format_entries(rule.evaluators),
        "share": describe_share(rule),
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
            account=account, wanted=parts.filter, mapping=parts.mapping, evaluators=list(parts.evaluators)
        )
    except Problem as problem:
        return [], 0, search_refusal(problem)
    return [_build_preview_row(row) for row in found], n_read, ""


def _build_preview_row(row: PreviewedSpan) -> PreviewRow:
    reason = f"{REASONS[RuleSpan.Reason(row.reason)]}: {row.detail}" if row.reason else ""
    return PreviewRow(row.span, _span_address(row.span.trace_id, row.span.span_id), row.sample, reason)


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
    return [_build_span_row(span, verdicts.get(span.request_id or 0, [])) for span in spans], n_errors


def _build_span_row(span: RuleSpan, verdicts: Sequence[Any]) -> SpanRow:
    words = REASONS[RuleSpan.Reason(span.reason)] if span.reason else ""
    reason = f"{words}: {span.detail}" if span.detail else words
    href = _span_address(span.trace_id, span.span_id)
    return SpanRow(span, href, [verdict_chip(verdict) for verdict in verdicts], reason)

"""The list of gates, with what was decided today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.gates.form import TONES
from evalsvc.console.parts.addresses import choice, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.gates.answers import GatedConfig, GateEvidence
from evalsvc.gates.models import Gate
from evalsvc.gates.selectors import list_gates, load_evidence
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.rest.answering.pagination import page

ON_A_PAGE, MOST_OF_TODAY = 25, 1000
OUTCOMES = ("pass", "fail", "undecided")
COLUMNS = (
    Column("Gate"),
    Column("Outcome"),
    Column("Why", kind="wide"),
    Column("Benchmark"),
    Column("When"),
)


@require_safe
@console_page()
def gates_page(request: PageRequest) -> HttpResponse:
    """List the account's gates, newest first, and count those of today."""
    account, now = request.visitor.account, request.visitor.now
    query = {"outcome": choice(request, "outcome", OUTCOMES, ""), "benchmark": request.GET.get("benchmark", "")[:100]}
    rows = list_gates(account=account, outcome=query["outcome"] or None, benchmark=query["benchmark"] or None)
    gates, cursor = page(rows, limit=ON_A_PAGE, cursor=request.GET.get("cursor"), of=f"gates:{account.pk}")
    today = list_gates(account=account, since=now.replace(hour=0, minute=0, second=0, microsecond=0))
    counts = Counter(today.order_by("-id").values_list("outcome", flat=True)[:MOST_OF_TODAY])
    options = [("", "any"), *((outcome, outcome) for outcome in OUTCOMES)]
    context = {
        "fields": [
            FormField("outcome", "Outcome", "select", query["outcome"], options),
            FormField("benchmark", "Benchmark", value=query["benchmark"]),
        ],
        "today": [(name, counts[name], TONES[name]) for name in OUTCOMES],
        "table": PageTable(
            "Gates", COLUMNS, [_row(gate, now) for gate in gates], next_cursor=cursor, is_walked=True,
            empty="No gates match these filters.",
        ),
        "is_first": not gates and not any(query.values()),
        "call": ApiCall("GET", "/v1/gates", {**query, "limit": ON_A_PAGE}),
    }  # fmt: skip
    return render(request, "console/gates/list.html", context)


def _row(gate: Gate, now: datetime) -> TableRow:
    evidence = load_evidence(gate)
    name = join_parts(
        [
            element("bdi", gate.name or describe_subject(evidence)),
            element("span", f" {describe_subject(evidence)}", class_="quiet wrap", dir="auto") if gate.name else None,
        ]
    )
    cells = (
        name,
        outcome_badge(gate.outcome),
        element("span", evidence.summary, dir="auto"),
        element("span", f"{gate.benchmark}, attempt {gate.attempt}" if gate.benchmark else "—", dir="auto"),
        time_tag(gate.created_at, now),
    )
    return TableRow(cells, href=page_address("console_gate", gate.pk), tone=TONES[gate.outcome])


def outcome_badge(outcome: str) -> SafeString:
    """Return a decision as a word in its colour."""
    return element("span", outcome, class_=f"badge {TONES[outcome]}")


def describe_scope(scope: Any) -> str:
    """Describe the scope of a history; an empty text for all of it."""
    if not isinstance(scope, Mapping):
        return ""
    scope_values = (
        ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
        for value in scope.values()
    )
    return "".join(f", {name} {words}" for name, words in zip(scope, scope_values, strict=True))


def describe_subject(evidence: GateEvidence) -> str:
    """Return what a gate is about, in a few words."""
    if evidence.history is not None:
        profile = f" · {evidence.history.profile_name}" if evidence.history.profile_name else ""
        return f"history of {evidence.history.evaluator_id}{profile}{describe_scope(evidence.history.scope)}"
    sides = [
        f"{side.config} of {side.experiment}"
        for side in (evidence.candidate, evidence.baseline)
        if isinstance(side, GatedConfig)
    ]
    return " against ".join(sides)

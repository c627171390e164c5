"""One gate: its subject, its rules with evidence, earlier gates of the same name, and the commands for CI."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.gates.commands import (
    ci_run_command,
    curl_for_ci,
    exports,
    gate_body,
    gate_command,
    unsaid_in_command,
)
from evalsvc.console.pages.gates.form import GateDetail, load_gate
from evalsvc.console.pages.gates.lists import describe_subject, outcome_badge
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall, as_curl, base_address
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.digits import level_text
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.selectors import get_plan
from evalsvc.gates.models import Gate
from evalsvc.gates.selectors import get_gate, list_gates, load_evidence
from evalsvc.gates.words import ends_words, interval_words, list_looks, list_warnings, rule_name
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.rest.problems import NotFound

MOST_RUNS = 20
RULES = (
    Column("Rule"),
    Column("Outcome"),
    Column("Evidence", kind="wide"),
    Column("In words", kind="wide"),
    Column("How sure", kind="wide"),
)
RUNS = (
    Column("When"),
    Column("Outcome"),
    Column("About", kind="wide"),
    Column("Rules and their intervals", kind="wide"),
)
LOOKS_TEXTS = {"one": "one, when all answers were there", "watched": "as often as one likes while answers come"}


@require_safe
@console_page()
def one_gate_page(request: PageRequest, id: int) -> HttpResponse:
    """Show a gate as it was decided; it never changes."""
    account = request.visitor.account
    row = get_gate(account=account, id=id)
    detail = load_gate(account, str(id))
    assert detail is not None  # noqa: S101  it has just been found
    evidence = load_evidence(row)
    body = gate_body(evidence, name=row.name)
    n_wrong = 100 * (1 - evidence.level)
    context: dict[str, Any] = {
        "shown": detail,
        "gate": detail.gate,
        "title": row.name or describe_subject(evidence),
        "subject": describe_subject(evidence),
        "row": row,
        "rules": _rules(detail),
        "warnings": list_warnings(detail.gate),
        "runs": _runs(request, row),
        "compare": _comparison(row),
        "exports": exports(base_address(request)),
        "run": ci_run_command(evidence, _plan(request, row)),
        "command": gate_command(evidence, name=row.name),
        "curl": curl_for_ci(as_curl(request, ApiCall("POST", "/v1/gates", body=body))),
        "unsaid": unsaid_in_command(body),
        "looks": " and ".join(LOOKS_TEXTS[looks] for looks in list_looks(detail.gate)),
        "level": f"{level_text(evidence.level)}: it passes wrongly in at most {n_wrong:.3g} of 100 cases",
        "call": ApiCall("GET", f"/v1/gates/{row.pk}"),
    }
    return render(request, "console/gates/gate.html", context)


def _plan(request: PageRequest, row: Gate) -> ExperimentPlan | None:
    """Return the candidate's plan, if it is still there: a decision outlives it."""
    if row.experiment_id is None:
        return None
    try:
        return get_plan(account=request.visitor.account, id=row.experiment_id)
    except NotFound:
        return None


def _rules(shown: GateDetail) -> PageTable:
    rows = [
        TableRow(
            (
                element("bdi", rule_detail.name),
                outcome_badge(rule_detail.outcome),
                join_parts([number_markup(rule_detail.number), element("span", rule_detail.counts, class_="quiet")]),
                element("span", rule_detail.says, dir="auto"),
                ends_words(rule),
            ),
            tone=rule_detail.tone,
        )
        for rule_detail, rule in zip(shown.rules, shown.gate.rules, strict=True)
    ]
    return PageTable("Rules", RULES, rows)


def _runs(request: PageRequest, row: Gate) -> PageTable:
    """Return the gates of the same name, or else on the same benchmark, the newest first."""
    rows = list_gates(account=request.visitor.account)
    if row.name:
        rows = rows.filter(name=row.name)
    elif row.benchmark:
        rows = rows.filter(benchmark=row.benchmark)
    else:
        rows = rows.filter(pk=row.pk)
    table_rows = []
    for gate in rows.order_by("-id")[:MOST_RUNS]:
        evidence = load_evidence(gate)
        rules = "; ".join(
            f"{rule_name(rule)}: {rule.outcome}, {interval_words(rule)}, n = {rule.n}" for rule in evidence.rules
        )
        cells = (
            time_tag(gate.created_at, request.visitor.now),
            outcome_badge(gate.outcome),
            element("span", describe_subject(evidence), dir="auto"),
            element("span", rules, dir="auto"),
        )
        table_rows.append(TableRow(cells, "" if gate.pk == row.pk else page_address("console_gate", gate.pk)))
    return PageTable("Runs of this gate", RUNS, table_rows)


def _comparison(row: Gate) -> str:
    if row.config_id is None or row.baseline_config_id is None:
        return ""
    return page_address("console_compare", a=row.config_id, b=row.baseline_config_id)

"""The form of a rule. What it has no field for, such as attributes and the mapping, stays as the API has set it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.rules.words import format_entries, format_entry
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields, read_fields
from evalsvc.rest.bodies.located import locate_error
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.rules.bodies import KINDS, RuleBody, RuleChange
from evalsvc.rules.models import Rule
from evalsvc.rules.selectors import get_rule
from evalsvc.rules.services import change_rule, create_rule

FILTERED = {
    "spans": ("service_name", "span_name", "kind", "model", "status", "text"),
    "evaluations": ("app", "evaluator", "criteria", "verdict", "tags", "text"),
}
"""Conditions that the form shows, by source."""
SINGLE = ("tags", "text")
"""Conditions that do not take several values with commas between."""
VERDICTS = ("pass", "fail", "undecided")
STATUSES = ("ok", "error", "unset")
EXAMPLE = {"name": "Addresses", "filter": {"kind": "llm"}, "evaluators": [{"evaluator": "pii"}]}


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_rule(request: PageRequest) -> HttpResponse:
    """Create a rule for spans that arrive, or evaluations that are finished, from now on."""
    visitor = request.visitor
    if request.method != "POST":
        source = "evaluations" if request.GET.get("source") == "evaluations" else "spans"
        return _render(request, None, {"source": source, "kind": "llm", "rate": "1", "by": "trace"})
    values = read_fields(request)
    try:
        body = _convert(_read_form(values, None), RuleBody)
        rule = create_rule(account=visitor.account, epoch=None, body=body, actor=visitor.actor)
    except Problem as problem:
        return _render(request, None, values, errors_at(problem, _get_field), status=422)
    messages.success(request, f"Rule {rule.name} created. It scores what arrives from now on.")
    return redirect(page_address("console_rule", rule.pk))


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def edit_rule(request: PageRequest, id: int) -> HttpResponse:
    """Change a rule; what is scored stays."""
    visitor = request.visitor
    rule = get_rule(account=visitor.account, id=id)
    if request.method != "POST":
        return _render(request, rule, _show_rule(rule))
    values = read_fields(request)
    try:
        body = _convert(_read_form(values, rule), RuleChange)
        rule = change_rule(account=visitor.account, id=id, epoch=None, body=body, actor=visitor.actor)
    except Problem as problem:
        return _render(request, rule, values, errors_at(problem, _get_field), status=422)
    messages.success(request, f"Rule {rule.name} saved: revision {rule.revision}.")
    return redirect(page_address("console_rule", rule.pk))


def _show_rule(rule: Rule) -> dict[str, str]:
    """Return the fields of a stored rule."""
    stored = {name: rule.filter.get(name, "") for name in FILTERED[rule.source]}
    return {name: _show_condition(value) for name, value in stored.items()} | {
        "source": rule.source,
        "name": rule.name,
        "evaluators": "\n".join(format_entries(rule.evaluators)),
        "rate": f"{rule.rate:g}",
        "by": rule.sample_by,
        "cap_per_hour": str(rule.cap_per_hour or ""),
        "budget_per_day": "" if rule.budget_per_day is None else f"{rule.budget_per_day.normalize():f}",
    }


def _show_condition(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name}={text}" for name, text in value.items()]
    return ", ".join(value) if isinstance(value, list) else str(value)


def _get_source(values: Mapping[str, str]) -> str:
    return "evaluations" if values.get("source") == "evaluations" else "spans"


def _read_form(values: Mapping[str, str], rule: Rule | None) -> dict[str, Any]:
    """Return the form as a body of the API. Raises Invalid for what is no number.

    What a rule has and the form shows as it was stays exactly: a rate is shown rounded, and a name may have a comma.
    """
    texts = {name: text.strip() for name, text in values.items()}
    stored, same = ({}, set[str]()) if rule is None else (rule.filter, _find_untouched(values, rule))
    source = _get_source(texts) if rule is None else rule.source
    filtered = FILTERED[source]
    touched = [name for name in filtered if texts.get(name) and name not in same]
    conditions = {name: _read_condition(name, texts[name]) for name in touched}
    rate, evaluators = texts.get("rate", ""), texts.get("evaluators", "")
    return {
        "name": texts.get("name", ""),
        **({"source": source} if rule is None else {}),
        "filter": {name: stored[name] for name in stored if name not in filtered or name in same} | conditions,
        "evaluators": rule.evaluators if rule and "evaluators" in same else _read_evaluators(evaluators, rule),
        "sampling": {
            "rate": rule.rate if rule and "rate" in same else _read_rate(rate),
            "by": (source == "spans" and texts.get("by")) or "trace",
            # The form does not show them.
            **({"strata": rule.strata} if rule and rule.strata else {}),
        },
        "cap_per_hour": _read_number("cap_per_hour", texts.get("cap_per_hour", "")),
        "budget_per_day": _read_money(texts.get("budget_per_day", "")),
    }


def _find_untouched(values: Mapping[str, str], rule: Rule) -> set[str]:
    """Return the fields that were sent as the form has shown them; browsers leave out line breaks of some."""
    fields = _show_rule(rule).items()
    return {name for name, shown in fields if _join_lines(name, shown) == _join_lines(name, values.get(name, ""))}


def _join_lines(name: str, text: str) -> str:
    return ("\n" if name == "evaluators" else "").join(text.splitlines()).strip()


def _read_condition(name: str, text: str) -> str | list[str] | dict[str, str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if name == "tags":
        pairs = [part.partition("=") for part in parts]
        if not all(key and sign for key, sign, _ in pairs):
            raise Invalid(FieldError("/filter/tags", "Enter each tag as name=value."))
        return {key.strip(): value.strip() for key, _, value in pairs}
    return parts if len(parts) > 1 and name not in SINGLE else text


def _read_evaluators(text: str, rule: Rule | None) -> list[dict[str, Any]]:
    """Return the evaluators of the lines; one that the rule has keeps what the form does not show."""
    stored: dict[str, list[dict[str, Any]]] = {}
    for entry in rule.evaluators if rule else ():
        stored.setdefault(format_entry(entry), []).append(entry)
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    return [stored[line].pop(0) if stored.get(line) else _read_entry(line) for line in lines]


def _read_entry(line: str) -> dict[str, str]:
    evaluator, _, profile = line.partition("/")
    return {"evaluator": evaluator.strip()} | ({"criteria": profile.strip()} if profile.strip() else {})


def _read_rate(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        raise Invalid(FieldError("/rate", "Enter a number above 0, up to 1.")) from None


def _read_number(name: str, text: str) -> int | None:
    if text and not is_bigint(text):
        raise Invalid(FieldError(f"/{name}", "Enter a whole number."))
    return int(text) if text else None


def _read_money(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise Invalid(FieldError("/budget_per_day", "Enter an amount of money.")) from None


def _convert(body: dict[str, Any], kind: Any) -> Any:
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as exc:
        raise Invalid(locate_error(str(exc))) from None


def _get_field(pointer: str) -> str:
    """Return the field of the form that a pointer of the API is about."""
    parts = pointer.strip("/").split("/")
    name = parts[1] if parts[0] in ("filter", "sampling") and len(parts) > 1 else parts[0]
    known = (
        *FILTERED["spans"],
        *FILTERED["evaluations"],
        "name",
        "evaluators",
        "rate",
        "by",
        "cap_per_hour",
        "budget_per_day",
    )
    return name if name in known else ""


def _render(
    request: PageRequest,
    rule: Rule | None,
    values: Mapping[str, str],
    errors: Mapping[str, str] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    call = ApiCall("POST", "/v1/rules", body=EXAMPLE)
    if rule is not None:
        call = ApiCall("PATCH", f"/v1/rules/{rule.pk}", body={"filter": rule.filter})
    source = _get_source(values)
    context = {
        "rule": rule,
        "source": source,
        "refused": (errors or {}).get("", ""),
        "which": populate_fields(_build_filter_fields(source, values), values, errors),
        "how": populate_fields(_build_score_fields(source), values, errors),
        "call": call,
    }
    return render(request, "console/rules/form.html", context, status=status)


def _build_filter_fields(source: str, values: Mapping[str, str]) -> list[FormField]:
    several = "Several with commas between; empty: any."
    name = FormField("name", "Name", help="Its scores have it as the tag rule.", is_required=True)
    if source == "evaluations":
        return [
            name,
            FormField("app", "App", help=several),
            FormField("evaluator", "Evaluator", help=several),
            FormField("criteria", "Profile", help=several),
            FormField("verdict", "Verdict", "select", options=_build_options(VERDICTS, values.get("verdict", ""))),
            FormField("tags", "Tags", help="As name=value, with commas between; all must hold."),
            FormField("text", "Input or output contains"),
        ]
    return [
        name,
        FormField("service_name", "Service", help=several),
        FormField("span_name", "Span name", help=several),
        FormField("kind", "Kind", "select", options=_build_options(sorted(KINDS), values.get("kind", ""))),
        FormField("model", "Model", help=several),
        FormField("status", "Status", "select", options=_build_options(STATUSES, values.get("status", ""))),
        FormField("text", "Input or output contains"),
    ]


def _build_options(names: Any, chosen: str) -> list[tuple[str, str]]:
    """Return any and each, and what the API has set where that is several."""
    several = [] if chosen in (*names, "") else [(chosen, chosen)]
    return [("", "any"), *several, *((name, name) for name in names)]


def _build_score_fields(source: str) -> list[FormField]:
    by = FormField("by", "Sample by", "select", "trace", [("trace", "trace"), ("session", "session")])
    return [
        FormField(
            "evaluators",
            "Evaluators",
            "textarea",
            rows=4,
            help="One on each line, with a profile after a slash if it needs one: pii, or judge/polite.",
            is_required=True,
        ),
        FormField("rate", "Rate", "number", "1", help="Share of the traces or sessions that are scored, up to 1."),
        *([by] if source == "spans" else []),
        FormField("cap_per_hour", "Cap per hour", "number", help="Scored at most; empty: no cap."),
        FormField("budget_per_day", "Budget per day", "number", help="Money for its judges; empty: no budget."),
    ]

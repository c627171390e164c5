"""Create a monitor from a form, which shows the baseline that it would have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.accounts.models import Account
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.alerts.words import baseline_number
from evalsvc.console.pages.gates.lists import describe_scope
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, errors_at, first_part, populate_fields, read_fields
from evalsvc.console.parts.forms.json_fields import UnreadableJson, read_json
from evalsvc.evaluations.history.read import list_histories
from evalsvc.monitors.answers import MonitorPreview, describe_estimand, preview_out
from evalsvc.monitors.bodies import MEAN_RUN, MEAN_RUNS, MonitorBody
from evalsvc.monitors.models import Monitor
from evalsvc.monitors.services import build_monitor, create_monitor, list_binary_criteria
from evalsvc.rest.bodies.located import locate_error
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, Problem

MOST_HISTORIES = 100
EXAMPLE = {"name": "answers of the shop", "evaluator": "exact-match", "scope": {"app": "shop"}}
FIELDS = {"criteria": "profile"}
SHOWN = (
    "evaluator",
    "profile",
    "app",
    "scope",
    "estimand",
    "direction",
    "above",
    "labels",
    "limit",
    "period_minutes",
    "mean_run",
    "name",
)
"""The fields of the form; an error of the body that is of none of them stands above it."""
MISSING = "baseline_scores"


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_alert(request: PageRequest) -> HttpResponse:
    """Create a monitor, or show the baseline that it would have; nothing is stored by that."""
    visitor = request.visitor
    values = read_fields(request) if request.method == "POST" else _read_address(request)
    if not values.get("evaluator") and request.method != "POST":
        return _form(request, values)
    try:
        body = _parse_form(values)
        if request.method == "POST" and "preview" not in values:
            monitor = create_monitor(
                account=visitor.account, epoch=None, body=body, now=visitor.now, actor=visitor.actor
            )
            messages.success(request, f"Monitor {monitor.name} created. It reads new scores every few seconds.")
            return redirect(page_address("console_alerts"))
        preview = preview_out(build_monitor(account=visitor.account, epoch=None, body=body, now=visitor.now))
    except Problem as problem:
        errors = errors_at(problem, _get_field)
        if not values.get("scope"):
            errors = {"app" if name == "scope" else name: text for name, text in errors.items()}
        return _form(request, values, errors, status=422 if request.method == "POST" else 200)
    return _form(request, values, preview=preview)


def _read_address(request: PageRequest) -> dict[str, str]:
    """Return what the history page has put into the address, with a name that says it."""
    values = {name: request.GET.get(name, "") for name in ("evaluator", "profile", "app", "scope")}
    name = values["profile"] or values["evaluator"]
    scope = describe_scope(_parse_scope(values))
    return {**values, "name": f"{name}{scope}"[:100]}


def _parse_scope(values: Mapping[str, str]) -> Any:
    """Return the scope as `POST /v1/monitors` takes it; a text that is no JSON stays one, which is refused."""
    text, app = values.get("scope", "").strip(), values.get("app", "").strip()
    if not text:
        return {"app": app} if app else None
    try:
        return read_json(text)
    except UnreadableJson:
        return text


def _parse_form(values: Mapping[str, str]) -> MonitorBody:
    """Read the form as the body of `POST /v1/monitors`. Raises Invalid with the same pointers."""
    texts = {name: values.get(name, "").strip() for name in SHOWN}
    body: dict[str, Any] = {
        "name": texts["name"],
        "evaluator": texts["evaluator"],
        "criteria": texts["profile"] or None,
        "scope": _parse_scope(texts),
        "estimand": texts["estimand"] or None,
        "direction": texts["direction"] or None,
        "above": _parse_number("above", texts["above"]),
        "labels": texts["labels"] or None,
        "limit": _parse_number("limit", texts["limit"]),
        "mean_run": _parse_whole("mean_run", texts["mean_run"]),
        "period_minutes": _parse_whole("period_minutes", texts["period_minutes"]),
    }
    try:
        return msgspec.convert(body, MonitorBody)
    except msgspec.ValidationError as exc:
        raise Invalid(locate_error(str(exc))) from None


def _parse_whole(name: str, text: str) -> int | None:
    if text and not is_bigint(text):
        raise Invalid(FieldError(f"/{name}", "Enter a whole number."))
    return int(text) if text else None


def _parse_number(name: str, text: str) -> float | None:
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Invalid(FieldError(f"/{name}", "Enter a number."))
    return number


def _get_field(pointer: str) -> str:
    part = first_part(pointer)
    name = FIELDS.get(part, part)
    return name if name in (*SHOWN, MISSING) else ""


def _form(
    request: PageRequest,
    values: Mapping[str, str],
    errors: Mapping[str, str] | None = None,
    *,
    preview: MonitorPreview | None = None,
    status: int = 200,
) -> HttpResponse:
    errors = errors or {}
    context = {
        "fields": populate_fields(_build_fields(request.visitor.account, values.get("scope", "")), values, errors),
        "refused": errors.get("", ""),
        "missing": errors.get(MISSING, ""),
        "preview": preview,
        "what": describe_estimand(preview.estimand, preview.above) if preview else "",
        "number": baseline_number(preview) if preview else None,
        "call": ApiCall("POST", "/v1/monitors", body=EXAMPLE),
    }
    return render(request, "console/alerts/new.html", context, status=status)


def _build_fields(account: Account, scope: str) -> list[FormField]:
    pairs = list_histories(account=account, limit=MOST_HISTORIES)
    evaluators = dict.fromkeys(evaluator for evaluator, _ in pairs)
    profiles = dict.fromkeys(profile for _, profile in pairs if profile)
    low, high = MEAN_RUNS
    return [
        FormField("evaluator", "Evaluator", options=[(name, name) for name in evaluators], is_required=True),
        FormField("profile", "Profile", options=[(name, name) for name in profiles], help="Default: the evaluator's."),
        FormField("scope", "Scope", help="As in the API; without it the whole account.")
        if scope
        else FormField("app", "App", help="Default: the whole account."),
        FormField(
            "estimand",
            "Metric",
            "select",
            options=[("", "default of the evaluator"), *((value, label.lower()) for value, label in ESTIMANDS)],
        ),
        FormField(
            "direction",
            "Alert on",
            "select",
            options=[("", "default of the metric"), *((value, f"a {label.lower()}") for value, label in DIRECTIONS)],
            help="Default: a rise of undecided, failed, slow and long evaluations, else a drop.",
        ),
        FormField(
            "above",
            "Slow or many tokens",
            help="Seconds of the evaluator, or tokens of its judge. Default: more than 95 % of the baseline have.",
        ),
        FormField(
            "labels",
            "Labels",
            "select",
            options=[("", "none"), *((str(row.pk), row.name) for row in list_binary_criteria(account))],
            help="Of people, for the agreement.",
        ),
        FormField(
            "limit",
            "Limit",
            help="0.9 for 90 %, or a number of evaluations. Default: none, the newest scores are the baseline.",
        ),
        FormField(
            "period_minutes",
            "Minutes",
            "number",
            help="Of the number of evaluations: the window that the limit is for.",
        ),
        FormField(
            "mean_run",
            "Units between false alarms",
            "number",
            help=f"On average at least so many scores, samples or sessions while nothing changes: {low} to {high}."
            f" Default: {MEAN_RUN}. Not of the number of evaluations.",
        ),
        FormField("name", "Name", help="Shown in lists, alarms and messages.", is_required=True),
    ]


ESTIMANDS, DIRECTIONS = Monitor.Estimand.choices, Monitor.Direction.choices

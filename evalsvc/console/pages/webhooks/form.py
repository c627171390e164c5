"""Make a webhook, and edit one: the form of POST and PATCH /v1/event-endpoints, errors at their fields."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError

from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.once import OneTimeSecretResponse, format_once_message
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, errors_at, first_part, populate_fields, read_fields
from evalsvc.events.bodies import EventEndpointIn
from evalsvc.events.models import EventEndpoint, EventType
from evalsvc.events.selectors import get_endpoint
from evalsvc.events.services import create_endpoint, revise_endpoint
from evalsvc.rest.problems import Invalid

LISTS = ("evaluators", "profiles", "project_ids")
SHOWN_BEFORE = format_once_message("The secret", "If nobody copied it, rotate it.")
EXAMPLE = {"url": "https://hooks.example.com/evalsvc", "event_types": ["evaluation.failed"]}


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN, once=SHOWN_BEFORE)
def new_webhook(request: PageRequest) -> HttpResponse:
    """Make a webhook, and show its secret, this once."""
    visitor = request.visitor
    if request.method != "POST":
        return _form(request, None, {})
    try:
        fields = EventEndpointIn(data=read_webhook(request)).fields_of()
        endpoint, plain = create_endpoint(account=visitor.account, fields=fields, actor=visitor.actor)
    except (Invalid, ValidationError) as exc:
        return _form(request, None, errors_at(exc, _field))
    return show_secret(request, endpoint, plain, is_new=True)


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN)
def edit_webhook(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Change a webhook; its secret and its deliveries stay."""
    visitor = request.visitor
    row = get_endpoint(account=visitor.account, id=id)
    if request.method != "POST":
        return _form(request, row, {})
    try:
        changes = EventEndpointIn(data=read_webhook(request), partial=True).fields_of()
        revise_endpoint(account=visitor.account, endpoint=row, changes=changes, actor=visitor.actor)
    except (Invalid, ValidationError) as exc:
        return _form(request, row, errors_at(exc, _field))
    messages.success(request, "Webhook updated. Pending deliveries go to the new URL.")
    return redirect(page_address("console_webhook", id))


def show_secret(request: PageRequest, row: EventEndpoint, plain: str, *, is_new: bool = False) -> HttpResponse:
    """Show a new secret in the response to the form that created it; no page displays it again."""
    context = {"endpoint": row, "secret": plain, "is_new": is_new}
    lands_at = page_address("console_webhook", row.pk)
    return OneTimeSecretResponse(request, "console/webhooks/secret.html", context, lands_at=lands_at)


def read_webhook(request: PageRequest) -> dict[str, Any]:
    """Return the form as the API's body."""
    post = request.POST
    rules: dict[str, Any] = {
        name: [part.strip() for part in post[name].split(",") if part.strip()]
        for name in LISTS
        if post.get(name, "").strip()
    }
    if post.get("max_score", "").strip():
        rules["max_score"] = post["max_score"].strip()
    key = post.get("routing_key", "").strip()
    return {
        "url": post.get("url", "").strip(),
        "format": post.get("format", EventEndpoint.Format.STANDARD),
        **({"routing_key": key} if key else {}),
        "event_types": [type for type in EventType.values if type in post],
        "per_hour": post.get("per_hour", "").strip() or "100",
        "rules": rules,
    }


def _field(pointer: str) -> str:
    return first_part(pointer.removeprefix("/rules"))


def _values(row: EventEndpoint | None) -> Mapping[str, str]:
    if row is None:
        return {}
    rules = {name: ", ".join(row.rules.get(name, ())) for name in LISTS}
    limit = {"max_score": f"{row.rules['max_score']:g}"} if "max_score" in row.rules else {}
    return {
        "url": row.url,
        "format": row.format,
        "per_hour": str(row.per_hour),
        **dict.fromkeys(row.event_types, "on"),
        **rules,
        **limit,
    }


def _form(request: PageRequest, row: EventEndpoint | None, errors: Mapping[str, str]) -> HttpResponse:
    form_values = read_fields(request)
    values = form_values if request.method == "POST" else _values(row)
    types = [FormField(type.value, f"{type.value}: {type.label}", "checkbox") for type in EventType]
    path = "/v1/event-endpoints" if row is None else f"/v1/event-endpoints/{row.pk}"
    context = {
        "endpoint": row,
        "address": populate_fields(ADDRESS, values, errors),
        "types": populate_fields(types, values),
        "types_error": errors.get("event_types", ""),
        "rules": populate_fields(RULES, values, errors),
        "opens_rules": any(values.get(field.name) or errors.get(field.name) for field in RULES),
        "refused": errors.get("", ""),
        "call": ApiCall("POST" if row is None else "PATCH", path, body=EXAMPLE),
    }
    return render(request, "console/webhooks/form.html", context, status=422 if errors else 200)


ADDRESS = (
    FormField(
        "url",
        "Address",
        help="Events are sent there, as to https://hooks.example.com/evalsvc; e-mails as to mailto:ada@example.com.",
        is_required=True,
    ),
    FormField("format", "Format", "select", EventEndpoint.Format.STANDARD, EventEndpoint.Format.choices),
    FormField("routing_key", "Routing key", help="Of PagerDuty only; it is stored encrypted and not shown again."),
    FormField("per_hour", "Maximum deliveries per hour", value="100", help="Further ones are skipped and listed."),
)  # fmt: skip
RULES = (
    FormField("evaluators", "Evaluators", help="Comma-separated dated ids. Default: all."),
    FormField("profiles", "Profiles", help="Comma-separated names. Default: all."),
    FormField("project_ids", "Projects", help="Comma-separated ids. Default: all."),
    FormField("max_score", "Maximum score", help="Only verdicts with at most this score. Default: any."),
)

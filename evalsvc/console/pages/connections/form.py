"""Make a connection, and edit one: the form of POST and PATCH /v1/connections. A key goes in and is never shown."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError

from evalsvc.accounts.views import validate_strict
from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields
from evalsvc.console.parts.forms.json_fields import format_json, read_json_object
from evalsvc.judges.connections.bodies import ConnectionIn
from evalsvc.judges.connections.checks import hint_at_path
from evalsvc.judges.connections.facts import ConnectionFields
from evalsvc.judges.models import Connection
from evalsvc.judges.selectors import get_connection
from evalsvc.judges.services import create_connection, revise_connection
from evalsvc.rest.problems import Invalid

TEXTS = ("name", "base_url", "model")
NUMBERS = (
    *("price_input_per_million", "price_output_per_million", "daily_budget"),
    *("rpm", "tpm", "max_concurrency", "max_output_tokens"),
)
SECRETS = {
    "headers": ("Headers", 'Further headers as JSON, such as {"OpenAI-Organization": "org-…"}'),
    "query": ("Query parameters", 'Parameters of each request as JSON, such as {"api-version": "2024-10-21"}'),
}
SWITCHES = ("is_default", "sees_images", "hears_audio")
EXAMPLE = {"name": "house", "base_url": "https://llm.example.com/v1", "model": "small-1", "key": "…"}
ADDRESS = (
    FormField("name", "Name", is_required=True),
    FormField(
        "base_url",
        "Address",
        is_required=True,
        help="As https://llm.example.com/v1; /chat/completions, or the page of another protocol, is added.",
    ),
    FormField("model", "Model", is_required=True, help="Asked when nothing names another."),
)
REQUEST = (
    FormField("protocol", "Protocol", "select", value="chat", options=Connection.Protocol.choices,
              help="Chat Completions, unless the model is served by the Responses API only, or is a classifier."),
    FormField("max_output_tokens", "Maximum output tokens", "number",
              help="Includes reasoning tokens. Empty: 16384 for judges."),
    FormField("extra_body", "Extra fields of each request", "textarea", rows=3,
              help='As JSON, such as {"reasoning_effort": "low"}. Shown to everyone in the account.'),
)  # fmt: skip
MONEY = (
    FormField("currency", "Currency", help=f"As EUR. Empty: {settings.CURRENCY}."),
    FormField("price_input_per_million", "Price per million input tokens", "number"),
    FormField("price_output_per_million", "Price per million output tokens", "number"),
    FormField("daily_budget", "Daily budget", "number", help="Needs both prices. The day begins at midnight UTC."),
)
LIMITS = (
    FormField("timeout_seconds", "Timeout (seconds)", "number", value="60"),
    FormField("rpm", "Calls per minute", "number", help="Empty: any."),
    FormField("tpm", "Tokens per minute", "number", help="Empty: any."),
    FormField("max_concurrency", "Concurrent calls", "number", help="Empty: any."),
    FormField("is_default", "Asked by evaluators whose profile names no other", "checkbox"),
    FormField("sees_images", "The model accepts images", "checkbox"),
    FormField("hears_audio", "The model accepts audio", "checkbox"),
)  # fmt: skip
TEST_IT = "Test it: one small question shows whether it returns a verdict."
TYPED_AGAIN = "Enter it again: nothing was saved, and secrets are never sent back to the browser."


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN, once=SENT_TWICE)
def new_connection(request: PageRequest) -> HttpResponse:
    """Make a connection."""
    visitor = request.visitor
    if request.method != "POST":
        return _form(request, None, {})
    try:
        connection = create_connection(account=visitor.account, fields=_fields(request), actor=visitor.actor)
    except (Invalid, ValidationError) as exc:
        return _form(request, None, errors_at(exc))
    messages.success(request, f"{connection.name} is there. {TEST_IT}{_hint(connection)}")
    return redirect(page_address("console_connection", connection.pk))


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN)
def edit_connection(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Change a connection; a key, headers or a query that are not typed stay."""
    visitor = request.visitor
    row = get_connection(account=visitor.account, id=id)
    if request.method != "POST":
        return _form(request, row, {})
    try:
        changes = _fields(request)
        after = revise_connection(account=visitor.account, connection=row, changes=changes, actor=visitor.actor)
    except (Invalid, ValidationError) as exc:
        return _form(request, row, errors_at(exc))
    messages.success(request, f"Connection updated. {TEST_IT}{_hint(after)}")
    return redirect(page_address("console_connection", id))


def _fields(request: PageRequest) -> ConnectionFields:
    """Return the form as the API's body, checked. Raises Invalid by the API's pointers."""
    post = request.POST
    body: dict[str, Any] = {name: post.get(name, "").strip() for name in TEXTS}
    body |= {name: post.get(name, "").strip() or None for name in NUMBERS}
    body |= {name: name in post for name in SWITCHES}
    body["timeout_seconds"] = post.get("timeout_seconds", "").strip() or "60"
    if post.get("key") or "remove_key" in post:
        body["key"] = "" if "remove_key" in post else post["key"]
    body |= {name: read_json_object(post[name], f"/{name}") for name in SECRETS if post.get(name, "").strip()}
    body["extra_body"] = read_json_object(post.get("extra_body", ""), "/extra_body")
    body["currency"] = post.get("currency", "").strip().upper() or None
    body["protocol"] = post.get("protocol", "") or "chat"
    return cast("ConnectionFields", validate_strict(ConnectionIn(data=body)))


def _values(row: Connection | None) -> Mapping[str, str]:
    if row is None:
        return {}
    plain = {name: str(getattr(row, name)) for name in TEXTS}
    numbers = {
        name: f"{value:f}".rstrip("0").rstrip(".") for name in NUMBERS[:3] if (value := getattr(row, name)) is not None
    }
    limits = {name: str(value) for name in NUMBERS[3:] if (value := getattr(row, name)) is not None}
    switches = {name: "on" for name in SWITCHES if getattr(row, name)}
    extra_body = format_json(row.extra_body) if row.extra_body else ""
    request = {"protocol": row.protocol, "extra_body": extra_body, "currency": row.currency}
    return {**plain, **numbers, **limits, **switches, **request, "timeout_seconds": f"{row.timeout_seconds:g}"}


def _hint(row: Connection) -> str:
    hint = hint_at_path(row.base_url, row.protocol)
    return f" {hint}" if hint else ""


def _secrets(row: Connection | None) -> list[FormField]:
    has_stored_key = row is not None and row.has_key
    stays = "Stored encrypted and never shown again." + (" Empty: keep the stored one." if has_stored_key else "")
    fields = [FormField("key", "Replace the key" if has_stored_key else "Key", "password", help=stays)]
    if has_stored_key:
        fields.append(FormField("remove_key", "Remove the stored key", "checkbox"))
    stored = {"headers": row.header_names, "query": row.query_names} if row else {}
    for name, (label, words) in SECRETS.items():
        names = ", ".join(stored.get(name, ()))
        stay = f" Stored now: {names}. Empty: they stay; {{}}: none." if names else ""
        fields.append(FormField(name, label, "textarea", rows=3, help=f"{words}; stored encrypted.{stay}"))
    return fields


def _form(request: PageRequest, row: Connection | None, errors: Mapping[str, str]) -> HttpResponse:
    secret_names = ("key", *SECRETS)  # what is secret is typed again
    data = {name: value for name, value in request.POST.items() if isinstance(value, str) and name not in secret_names}
    values = data if request.method == "POST" else _values(row)
    again = {name: TYPED_AGAIN for name in secret_names if request.POST.get(name)}
    path = "/v1/connections" if row is None else f"/v1/connections/{row.pk}"
    context = {
        "connection": row,
        "groups": [
            ("Where it is", populate_fields(ADDRESS, values, errors)),
            ("Key", populate_fields(_secrets(row), values, again | dict(errors))),
            ("Request", populate_fields(REQUEST, values, errors)),
            ("Money", populate_fields(MONEY, values, errors)),
            ("Limits", populate_fields(LIMITS, values, errors)),
        ],
        "refused": errors.get("", ""),
        "call": ApiCall("POST" if row is None else "PATCH", path, body=EXAMPLE),
    }
    return render(request, "console/connections/form.html", context, status=422 if errors else 200)

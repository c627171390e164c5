"""/console/keys: the account's keys; one is issued, and shown in that one answer; one is revoked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from evalsvc.accounts.models import ApiKey
from evalsvc.accounts.selectors import get_key, list_keys
from evalsvc.accounts.services import issue_key, revoke_key
from evalsvc.console.access import ADMIN, PageRequest, Visitor, console_page
from evalsvc.console.once import OneTimeSecretResponse, format_once_message
from evalsvc.console.pages.account.pagination import paginate_newest
from evalsvc.console.parts.addresses import choice, page_address
from evalsvc.console.parts.calls import KEY, ApiCall
from evalsvc.console.parts.forms.confirmation import is_confirmed
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.reports.page.elements import element
from evalsvc.rest.problems import Invalid

COLUMNS = (
    Column("Name"),
    Column("Key"),
    Column("May"),
    Column("State"),
    Column("Last used", note="To within 15 minutes."),
    Column("Issued by"),
    Column("Issued"),
    Column("Ends"),
)
TONES = {"live": "good", "expired": "warn", "revoked": "bad"}
ENDS = (
    ("", "never"),
    ("1", "in a day"),
    ("7", "in a week"),
    ("30", "in 30 days"),
    ("90", "in 90 days"),
    ("365", "in a year"),
)
WHOAMI = ApiCall("GET", "/v1/whoami")
KEY_ONCE = format_once_message("The key", "If nobody copied it, revoke it and create another one.")


@require_safe
@console_page(role=ADMIN)
def keys_page(request: PageRequest) -> HttpResponse:
    """List the account's keys, newest first; revoked keys only on request."""
    rows = list_keys(account=request.visitor.account)
    if choice(request, "state", ("all",), "") != "all":
        rows = rows.filter(revoked_at=None)
    keys, cursor = paginate_newest(request, rows)
    options = [("", "not revoked"), ("all", "all")]
    context = {
        "fields": [FormField("state", "Keys", "select", request.GET.get("state", ""), options)],
        "table": PageTable(
            "Keys", COLUMNS, [_row(key, request.visitor.now) for key in keys], next_cursor=cursor, is_walked=True
        ),
        "call": WHOAMI,
    }
    return render(request, "console/account/keys.html", context)


def _row(key: Any, now: datetime) -> TableRow:
    state = key.state(now)
    cells = (
        element("bdi", key.name),
        element("span", f"ek_{key.public}.…", class_="mono"),
        key.get_scope_display(),
        element("span", state, class_=f"badge {TONES[state]}"),
        time_tag(key.used_at, now),
        key.who or "—",
        time_tag(key.created_at, now),
        time_tag(key.expires_at, now) if key.expires_at else "never",
    )
    return TableRow(cells, page_address("console_key", key.pk))


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN, once=KEY_ONCE)
def new_key_page(request: PageRequest) -> HttpResponse:
    """Show the form of a new key; the response to it is the only page that displays the key."""
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            key, text = _issued(request.visitor, request.POST)
        except Invalid as exc:
            errors = errors_at(exc)
        else:
            details = {"key": key, "text": str(text), "variable": KEY, "call": WHOAMI}
            return OneTimeSecretResponse(
                request, "console/account/issued.html", details, lands_at=page_address("console_keys")
            )
    context = {"fields": _fields(request.POST, errors), "call": WHOAMI}
    return render(request, "console/account/new_key.html", context, status=422 if errors else 200)


def _issued(visitor: Visitor, sent: Mapping[str, str]) -> tuple[ApiKey, object]:
    scope = sent.get("scope", "")
    days = sent.get("ends", "")
    return issue_key(
        account=visitor.account,
        name=sent.get("name", ""),
        scope=ApiKey.Scope(scope) if scope in ApiKey.Scope.values else ApiKey.Scope.READ,
        expires_at=visitor.now + timedelta(days=int(days)) if days in {value for value, _ in ENDS[1:]} else None,
        actor=visitor.actor,
    )


def _fields(sent: Mapping[str, str], errors: Mapping[str, str]) -> list[FormField]:
    fields = (
        FormField("name", "Name"),
        FormField("scope", "It may", "select", ApiKey.Scope.WRITE, ApiKey.Scope.choices),
        FormField("ends", "It ends", "select", "", ENDS),
    )
    return populate_fields(fields, sent, errors)


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN)
def key_page(request: PageRequest, id: int) -> HttpResponse:
    """Show what is known of a key; end it once its name was typed."""
    visitor = request.visitor
    key = get_key(account=visitor.account, id=id)
    error = ""
    if request.method == "POST":
        if is_confirmed(request, key.name):
            revoke_key(account=visitor.account, key=key, now=visitor.now, actor=visitor.actor)
            messages.success(request, f"The key {key.name} is revoked. Requests with it are refused from now on.")
            return redirect(page_address("console_keys"))
        error = "Nothing was revoked: the name does not match."
    state = key.state(visitor.now)
    context = {
        "key": key,
        "state": state,
        "tone": TONES[state],
        "field": FormField("confirm", f"Type {key.name} to confirm", error=error, is_required=True),
        "call": WHOAMI,
    }
    return render(request, "console/account/key.html", context, status=422 if error else 200)

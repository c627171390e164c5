"""The list of connections, and one of them."""

from __future__ import annotations

import uuid
from datetime import datetime

import orjson
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.connections.words import (
    REMEDIES,
    budget_share,
    format_cause,
    format_failures,
    format_spend,
    format_state,
    format_times,
)
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.judges.ledger.status import ConnectionStatus, list_connection_statuses
from evalsvc.judges.models import Connection
from evalsvc.judges.questions.descriptions import describe_dialect
from evalsvc.judges.selectors import get_connection, list_connections
from evalsvc.reports.page.elements import element, join_parts

COLUMNS = (
    Column("Connection"),
    Column("Model"),
    Column("State"),
    Column("Spent today", note="Spent and reserved since midnight UTC, of the daily budget"),
    Column("Failed in 24 h"),
    Column("Latency"),
    Column("Last call"),
    Column("What is wrong, and what to do", kind="wide"),
)
DIALECTS = (Column("Model"), Column("Called with", kind="wide"))
FAILURES = (Column("Code"), Column("Calls", kind="figure"), Column("What to do", kind="wide"))


@require_safe
@console_page()
def connections_page(request: PageRequest) -> HttpResponse:
    """List the account's connections by name, each with its spend and how its calls end."""
    visitor = request.visitor
    statuses = list_connection_statuses(list(list_connections(account=visitor.account)), now=visitor.now)
    context = {
        "table": PageTable("Connections", COLUMNS, [_row(status, visitor.now) for status in statuses], is_walked=True),
        "call": ApiCall("GET", "/v1/connections"),
    }
    return render(request, "console/connections/list.html", context)


def _row(one: ConnectionStatus, now: datetime) -> TableRow:
    row, (state, tone) = one.connection, format_state(one)
    name = join_parts(
        [element("bdi", row.name), element("span", " default", class_="quiet") if row.is_default else None]
    )
    cells = (
        name,
        element("bdi", row.model),
        element("span", state, class_=f"badge {tone}"),
        format_spend(one),
        format_failures(one.health),
        format_times(one.health),
        time_tag(one.health.last_at if one.health else None, now),
        format_cause(one) or "—",
    )
    return TableRow(cells, href=page_address("console_connection", row.pk), tone=tone if tone != "good" else "")


@require_safe
@console_page()
def connection_page(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Show the status of a connection, its failures with their causes, and what to do about them."""
    visitor = request.visitor
    row = get_connection(account=visitor.account, id=id)
    (status,) = list_connection_statuses([row], now=visitor.now)
    state, tone = format_state(status)
    share = budget_share(status.spent, row.daily_budget)
    failures = status.health.failed if status.health else {}
    rows = [TableRow((code, n, REMEDIES.get(code, ""))) for code, n in failures.items()]
    context = {
        "connection": row,
        "standing": status,
        "state": state,
        "tone": tone,
        "why": format_cause(status),
        "spent": format_spend(status),
        "currency": row.currency or settings.CURRENCY,
        "extra_body": orjson.dumps(row.extra_body).decode() if row.extra_body else "",
        "share": None if share is None else min(share, 1.0),
        "failed": format_failures(status.health),
        "time": format_times(status.health),
        "failures": PageTable("Failed calls by code, last 24 hours", FAILURES, rows, empty="No failed calls."),
        "dialects": PageTable("Request settings learned per model", DIALECTS, _dialect_rows(row)),
        "call": ApiCall("GET", f"/v1/connections/{row.pk}"),
    }
    return render(request, "console/connections/connection.html", context)


def _dialect_rows(row: Connection) -> list[TableRow]:
    return [
        TableRow((element("bdi", model), describe_dialect(dialect))) for model, dialect in sorted(row.dialects.items())
    ]

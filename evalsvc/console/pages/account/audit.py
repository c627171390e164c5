"""/console/audit: who did what in the account, and when; newest first, with filters, and as CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.accounts.models import Account, AuditEntry
from evalsvc.accounts.selectors import audit_choices, list_audit
from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.pages.account.pagination import paginate_newest
from evalsvc.console.parts.addresses import datetime_param, page_address
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.spreadsheets import csv_answer
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.reports.page.elements import element

MAX_ROWS = 10_000
"""Of a file."""
MAX_ASKED = 120
COLUMNS = (
    Column("When"),
    Column("Who"),
    Column("Did"),
    Column("To what", kind="wide"),
    Column("Detail", kind="wide"),
)
HEAD = ("id", "created_at", "actor", "who", "action", "target", "detail")


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """The filters in the address, with their errors."""

    actor: str
    action: str
    since: datetime | None
    until: datetime | None
    errors: Mapping[str, str]

    def rows(self, account: Account) -> QuerySet[AuditEntry]:
        """Return the entries."""
        return list_audit(account=account, actor=self.actor, action=self.action, since=self.since, until=self.until)


def _parse_query(request: PageRequest) -> AuditQuery:
    actor, action = (request.GET.get(name, "").strip()[:MAX_ASKED].replace("\0", "") for name in ("actor", "action"))
    since, wrong_since = datetime_param(request, "since")
    until, wrong_until = datetime_param(request, "until")
    return AuditQuery(actor, action, since, until, {"since": wrong_since, "until": wrong_until})


@require_safe
@console_page(role=ADMIN)
def audit_page(request: PageRequest) -> HttpResponse:
    """List what was done, newest first."""
    visitor, query = request.visitor, _parse_query(request)
    entries, cursor = paginate_newest(request, query.rows(visitor.account))
    rows = [_row(entry, visitor.now) for entry in entries]
    context = {
        "fields": _fields(request, query),
        "table": PageTable("Audit trail", COLUMNS, rows, next_cursor=cursor, empty="No entries match these filters."),
        "file": f"{page_address('console_audit_csv')}?{request.GET.urlencode()}",
        "most": MAX_ROWS,
    }
    return render(request, "console/account/audit.html", context)


def _fields(request: PageRequest, asked: AuditQuery) -> list[FormField]:
    actors, actions = audit_choices(account=request.visitor.account)
    if asked.actor:
        actors.setdefault(asked.actor, asked.actor)
    return [
        FormField("actor", "Who", "select", asked.actor, [("", "anybody"), *actors.items()]),
        FormField(
            "action",
            "Did",
            value=asked.action,
            options=[(action, action) for action in actions],
            help="Or a prefix: key.",
        ),
        FormField(
            "since", "From (UTC)", "datetime-local", _get_datetime_param(request, "since"), error=asked.errors["since"]
        ),
        FormField(
            "until", "Until (UTC)", "datetime-local", _get_datetime_param(request, "until"), error=asked.errors["until"]
        ),
    ]


def _get_datetime_param(request: PageRequest, name: str) -> str:
    return request.GET.get(name, "")[:16]


def _row(entry: Any, now: datetime) -> TableRow:
    detail = ", ".join(f"{name}: {value}" for name, value in entry.detail.items())
    cells = (
        time_tag(entry.created_at, now),
        element("bdi", entry.who),
        element("span", entry.action, class_="mono"),
        element("bdi", entry.target),
        element("bdi", detail or "—"),
    )
    return TableRow(cells)


@require_safe
@console_page(role=ADMIN)
def audit_csv(request: PageRequest) -> HttpResponse:
    """Answer the newest entries that the filters leave as a file."""
    rows = _parse_query(request).rows(request.visitor.account)[:MAX_ROWS]
    return csv_answer("audit.csv", [HEAD, *map(_line, rows)])


def _line(entry: Any) -> Sequence[object]:
    detail = json.dumps(entry.detail, ensure_ascii=False)
    moment = entry.created_at.isoformat()
    return entry.pk, moment, entry.actor, entry.who, entry.action, entry.target, detail

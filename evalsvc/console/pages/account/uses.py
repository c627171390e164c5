"""What an account has used of what it may: requests, and what LLMs cost it today."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from evalsvc.accounts.access.authentication import get_limits
from evalsvc.accounts.access.rate_limiter import requests_so_far
from evalsvc.accounts.models import Account
from evalsvc.console.pages.connections.words import format_state
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.judges.ledger.status import ConnectionStatus, list_connection_statuses
from evalsvc.judges.selectors import list_connections
from evalsvc.reports.page.elements import element
from evalsvc.reports.words import number_text

MAX_CONNECTIONS = 8
SPENDS = (
    Column("Connection"),
    Column("Spent today", kind="figure"),
    Column("Daily budget", kind="figure"),
    Column("State"),
)


def limit_uses(account: Account) -> list[tuple[str, str, int, int]]:
    """Return the account's limits on requests: name, in words, used, limit."""
    names = ("Requests this minute", "Requests this month")
    uses = zip(names, requests_so_far(account.pk), get_limits(account), strict=True)
    return [(name, f"{_format_used(used)} of {number_text(limit)}", used or 0, limit) for name, used, limit in uses]


def _format_used(used: int | None) -> str:
    return "unknown" if used is None else number_text(used)


def list_spends(account: Account, now: datetime) -> list[ConnectionStatus]:
    """Return the account's connections by name, each with what it has spent today and how its calls end."""
    return list_connection_statuses(list(list_connections(account=account)), now=now)


def spends_table(standings: Sequence[ConnectionStatus]) -> PageTable:
    """Return what connections have spent today, of what they may, and whether they answer; those that fail first."""
    visible = sorted(standings, key=lambda one: one.failed_with is None)[:MAX_CONNECTIONS]
    return PageTable(
        "Spend by connection", SPENDS, list(map(_spend_row, visible)), empty="No connection to an LLM yet."
    )


def _spend_row(one: ConnectionStatus) -> TableRow:
    (state, tone), spend, budget = format_state(one), one.spent, one.connection.daily_budget
    cells = (
        one.connection.name,
        "unknown" if spend is None else number_text(spend),
        "none set" if budget is None else number_text(float(budget)),
        element("span", state, class_=f"badge {tone}"),
    )
    return TableRow(cells, page_address("console_connection", one.connection.pk), tone)

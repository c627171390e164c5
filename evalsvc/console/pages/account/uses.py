"""What an account has used of what it may: requests, and what LLMs cost it today."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from evalsvc.accounts.access.authentication import limits_of
from evalsvc.accounts.access.rate_limiter import requests_so_far
from evalsvc.accounts.models import Account
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.judges.ledger.limits import spent_today
from evalsvc.judges.models import Connection
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
    uses = zip(names, requests_so_far(account.pk), limits_of(account), strict=True)
    return [(name, f"{_said(used)} of {number_text(limit)}", used or 0, limit) for name, used, limit in uses]


def _said(used: int | None) -> str:
    return "unknown" if used is None else number_text(used)


def spends_of(account: Account) -> list[tuple[Connection, float | None]]:
    """Return the account's connections, each with what it has spent today; None where that is not known."""
    connections = list_connections(account=account)[:MAX_CONNECTIONS]
    return [(one, spent_today(account_id=account.pk, connection_id=one.pk)) for one in connections]


def spends_table(spends: Sequence[tuple[Connection, float | None]]) -> PageTable:
    """Return what each connection has spent today, of what it may."""
    rows = []
    for connection, spent in spends:
        budget = connection.daily_budget
        state, tone = _spend_state(spent, budget, connection.is_enabled)
        badge = element("span", state, class_=f"badge {tone}")
        rows.append(
            TableRow(
                (connection.name, "unknown" if spent is None else number_text(spent), _money(budget), badge), tone=tone
            )
        )
    return PageTable("Spend by connection", SPENDS, rows, empty="No connection to an LLM yet.")


def _money(amount: Decimal | None) -> str:
    return "none set" if amount is None else number_text(float(amount))


def _spend_state(spent: float | None, budget: Decimal | None, is_enabled: bool) -> tuple[str, str]:
    if not is_enabled:
        return "off", ""
    if spent is None or budget is None or float(budget) <= 0:
        return "on", "good"
    share = spent / float(budget)
    return ("spent", "bad") if share >= 1 else ("nearly spent", "warn") if share >= 0.8 else ("on", "good")

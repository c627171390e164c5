"""Periodic checks for conditions that no write reports: budgets near their end, and failing connections.

Both are read from Redis. Only connections of accounts that subscribe to these events are checked.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet
from redis.exceptions import RedisError

from evalsvc.events.models import EventEndpoint, EventType
from evalsvc.events.outbox import record_event
from evalsvc.judges.ledger.limits import failing_with, get_spend_today
from evalsvc.judges.models import Connection
from evalsvc.tenancy.scope import SYSTEM, role_scope
from evaluators.base import JSONValue

NEAR_END = 0.8
"""Of a day's budget."""


def watch_connections(now: datetime) -> int:
    """Write the events of connections that are near the end of their budget, or failing; return how many."""
    with role_scope(SYSTEM):
        return sum(
            _budget(row, now) for row in _list_connections(EventType.BUDGET_NEAR_END).exclude(daily_budget=None)
        ) + sum(_failing(row, now) for row in _list_connections(EventType.CONNECTION_FAILING))


def _list_connections(type: str) -> QuerySet[Connection]:
    accounts = EventEndpoint.objects.filter(is_enabled=True, event_types__contains=[type]).values("account_id")
    return Connection.objects.filter(account_id__in=accounts, deleted_at=None, is_enabled=True).order_by("id")


def _budget(row: Connection, now: datetime) -> bool:
    spend, budget = get_spend_today(account_id=row.account_id, connection_id=row.id), float(row.daily_budget or 0)
    if spend is None or spend < NEAR_END * budget or not budget:
        return False
    day = now.date().isoformat()
    data: dict[str, JSONValue] = {"connection_id": str(row.id), "day": day, "spent": spend, "daily_budget": budget}
    return record_event(account_id=row.account_id, type=EventType.BUDGET_NEAR_END, data=data, dedupe=f"{row.id}:{day}")


def _failing(row: Connection, now: datetime) -> bool:
    try:
        code = failing_with(row, row.model)
    except RedisError:
        return False
    if code is None:
        return False
    # Once an hour while it goes on: each pause of the breaker would be a flood.
    hour = now.strftime("%Y-%m-%dT%H")
    data: dict[str, JSONValue] = {"connection_id": str(row.id), "model": row.model, "code": code}
    return record_event(
        account_id=row.account_id, type=EventType.CONNECTION_FAILING, data=data, dedupe=f"{row.id}:{hour}"
    )

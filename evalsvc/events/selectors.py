"""Reads of endpoints and deliveries, always for one account."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connections
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.events.models import EventDelivery, EventEndpoint
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import SYSTEM, current_role

LOOKED_AT, LOOKED_BACK = 100, timedelta(days=7)
"""Of an endpoint's deliveries: the newest, and none that is older."""
MOST_LEFT_OUT = 1000
"""What the rate limit has left out is counted so far; a busy application has more of it than of all else."""
# What the rate limit has left out is counted apart: among the newest it would hide what has not arrived.
STANDINGS = """
SELECT e.id, e.url, e.is_enabled, e.disabled_reason,
  count(*) FILTER (WHERE d.status = 'delivered'),
  count(*) FILTER (WHERE d.status = 'failed'),
  count(*) FILTER (WHERE d.status = 'pending' AND d.n_attempts > 0),
  count(*) FILTER (WHERE d.status = 'pending' AND d.n_attempts = 0),
  l.n,
  max(d.finished_at) FILTER (WHERE d.status = 'delivered'),
  max(d.at) FILTER (WHERE d.is_missing),
  (array_agg(d.last_status ORDER BY d.at DESC, d.id DESC) FILTER (WHERE d.is_missing))[1],
  (array_agg(d.last_error ORDER BY d.at DESC, d.id DESC) FILTER (WHERE d.is_missing))[1]
FROM events_eventendpoint e CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT FROM events_eventdelivery o
    WHERE o.endpoint_id = e.id AND o.created_at > %s AND o.status = 'limited' LIMIT %s
  ) left_out
) l LEFT JOIN LATERAL (
  SELECT o.*, coalesce(o.finished_at, o.first_at) AS at,
    o.status = 'failed' OR o.status = 'pending' AND num_nonnulls(o.last_error, o.last_status) > 0 AS is_missing
  FROM events_eventdelivery o WHERE o.endpoint_id = e.id AND o.created_at > %s AND o.status <> 'limited'
  ORDER BY o.created_at DESC LIMIT %s
) d ON true
WHERE {which} GROUP BY e.id, l.n ORDER BY e.created_at, e.id LIMIT 2000
"""
# By the partial index of what is under way.
UNDER_WAY = """
SELECT count(*) FILTER (WHERE n_attempts = 0), count(*) FILTER (WHERE n_attempts > 0),
  coalesce(greatest(0, extract(epoch FROM %s - min(next_at))), 0)
FROM events_eventdelivery WHERE status = 'pending'
"""


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """How an endpoint takes what it is sent, by its newest deliveries."""

    id: uuid.UUID
    url: str
    is_enabled: bool
    disabled_reason: str | None
    """Why the service disabled it; None when it is enabled, or was switched off by a person."""
    n_delivered: int
    n_failed: int
    n_retried: int
    n_waiting: int
    n_limited: int
    """Left out by the rate limit within seven days; of more than MOST_LEFT_OUT, so many."""
    delivered_at: datetime | None
    missing_at: datetime | None
    """When the newest that has not arrived was given up, or was first tried."""
    last_status: int | None
    last_error: str | None
    """What came of the last attempt of that one."""

    @property
    def n_missing(self) -> int:
        """How many have been tried and have not arrived."""
        return self.n_failed + self.n_retried

    @property
    def is_failing(self) -> bool:
        """Whether nothing has arrived since a delivery failed."""
        if self.disabled_reason is not None:
            return True
        if not self.is_enabled or self.missing_at is None:
            return False
        return self.delivered_at is None or self.delivered_at <= self.missing_at

    @property
    def wants_a_look(self) -> bool:
        """Whether something has not arrived at an endpoint that no person switched off."""
        return self.disabled_reason is not None or (self.is_enabled and self.missing_at is not None)


def list_endpoint_health(*, account: Account, now: datetime) -> Sequence[EndpointHealth]:
    """Return the health of each endpoint of the account, oldest first; one query with bounded work each."""
    with connections[current_role()].cursor() as cursor:
        return _read_endpoint_health(cursor, "e.account_id = %s", now, account.pk)


def _read_endpoint_health(cursor: CursorWrapper, which: str, now: datetime, *given: int) -> list[EndpointHealth]:
    since = now - LOOKED_BACK
    cursor.execute(STANDINGS.format(which=which), [since, MOST_LEFT_OUT, since, LOOKED_AT, *given])
    return [EndpointHealth(*row) for row in cursor.fetchall()]


def list_endpoints(*, account: Account) -> QuerySet[EventEndpoint]:
    """Return the account's endpoints, the oldest first."""
    return EventEndpoint.objects.filter(account=account).order_by("created_at", "id")


def get_endpoint(*, account: Account, id: uuid.UUID, lock: bool = False) -> EventEndpoint:
    """Return an endpoint of the account; NotFound for missing and foreign."""
    rows = EventEndpoint.objects.filter(account=account, id=id)
    row = (rows.select_for_update() if lock else rows).first()
    if row is None:
        raise NotFound
    return row


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """Deliveries of all accounts, in counts alone."""

    n_new: int
    n_retried: int
    overdue_seconds: float
    """By how much the most overdue one is late."""
    n_endpoints: int
    n_failing: int
    n_failed: int
    """Given up, of the newest hundred of each endpoint within seven days."""


def count_all_deliveries(*, now: datetime) -> DeliveryCounts:
    """Return counts of deliveries over all accounts, as the system role."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(UNDER_WAY, [now])
        n_new, n_retried, overdue = cursor.fetchone()
        endpoints = _read_endpoint_health(cursor, "e.is_enabled", now)
    return DeliveryCounts(
        n_new=n_new,
        n_retried=n_retried,
        overdue_seconds=float(overdue),
        n_endpoints=len(endpoints),
        n_failing=sum(endpoint.is_failing for endpoint in endpoints),
        n_failed=sum(endpoint.n_failed for endpoint in endpoints),
    )


def list_deliveries(*, account: Account, **asked: object) -> QuerySet[EventDelivery]:
    """Return the account's deliveries that match the filters; a filter that is None matches everything."""
    conditions = {name: value for name, value in asked.items() if value is not None}
    return EventDelivery.objects.filter(account=account, **conditions).select_related("event")


def get_delivery(*, account: Account, id: int) -> EventDelivery:
    """Return a delivery of the account with its event; NotFound for missing and foreign."""
    row = EventDelivery.objects.filter(account=account, id=id).select_related("event").first()
    if row is None:
        raise NotFound
    return row

"""Fan-out from the outbox to deliveries: selects endpoints by event type, by their rules and by their rate limit."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction

from evalsvc.events.models import EventDelivery, EventEndpoint, EventType, OutboxEvent
from evalsvc.tenancy.scope import SYSTEM

MOST = 200
HOUR = timedelta(hours=1)
FIELDS = (("evaluators", "evaluator_id"), ("profiles", "profile_name"), ("project_ids", "project_id"))


def create_deliveries(now: datetime) -> int:
    """Make the deliveries of events that have none yet, over all accounts; return how many events that were."""
    with transaction.atomic(using=SYSTEM):
        events = list(
            OutboxEvent.objects.using(SYSTEM)
            .select_for_update(skip_locked=True, no_key=True)
            .filter(spread_at=None)
            .order_by("created_at")[:MOST]
        )
        if not events:
            return 0
        endpoints = _endpoints({event.account_id for event in events})
        remaining = {endpoint.pk: endpoint.per_hour - _count_recent_deliveries(endpoint, now) for endpoint in endpoints}
        deliveries = []
        for event in events:
            for endpoint in endpoints:
                if endpoint.account_id == event.account_id and is_subscribed(endpoint, event):
                    deliveries.append(_delivery(event, endpoint, now, is_limited=remaining[endpoint.pk] <= 0))
                    remaining[endpoint.pk] -= 1
        EventDelivery.objects.using(SYSTEM).bulk_create(deliveries)
        OutboxEvent.objects.using(SYSTEM).filter(pk__in=[event.pk for event in events]).update(spread_at=now)
    return len(events)


def is_subscribed(endpoint: EventEndpoint, event: OutboxEvent) -> bool:
    """Return whether an endpoint receives an event. Its rules apply to verdicts only."""
    if event.type not in endpoint.event_types:
        return False
    return event.type != EventType.EVALUATION_FAILED or _fits(endpoint, event)


def _fits(endpoint: EventEndpoint, event: OutboxEvent) -> bool:
    rules = endpoint.rules
    if any(name in rules and event.payload[field] not in rules[name] for name, field in FIELDS):
        return False
    return "max_score" not in rules or event.payload["score"] <= rules["max_score"]


def _endpoints(account_ids: Iterable[int]) -> list[EventEndpoint]:
    rows = EventEndpoint.objects.using(SYSTEM).filter(account_id__in=account_ids, is_enabled=True)
    # Of two spreaders the second waits, so that together they count no rate twice.
    return list(rows.select_for_update(no_key=True).order_by("pk"))


def _count_recent_deliveries(endpoint: EventEndpoint, now: datetime) -> int:
    rows = EventDelivery.objects.using(SYSTEM).filter(endpoint=endpoint, created_at__gt=now - HOUR)
    return rows.exclude(status=EventDelivery.Status.LIMITED).count()


def _delivery(event: OutboxEvent, endpoint: EventEndpoint, now: datetime, *, is_limited: bool) -> EventDelivery:
    status = EventDelivery.Status.LIMITED if is_limited else EventDelivery.Status.PENDING
    return EventDelivery(
        account_id=event.account_id,
        event=event,
        endpoint=endpoint,
        status=status,
        created_at=now,
        first_at=now,
        next_at=now,
        finished_at=now if is_limited else None,
    )

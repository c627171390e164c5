"""Verbs on endpoints and deliveries: make, change, rotate, test, replay, delete, tell, prune."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.catalog.resolve import may_fail
from evalsvc.events.connection_events import watch_connections
from evalsvc.events.fanout import create_deliveries
from evalsvc.events.formats import ACTIONS
from evalsvc.events.mails import SCHEME, check_recipients
from evalsvc.events.models import TEST, EventDelivery, EventEndpoint, OutboxEvent
from evalsvc.events.selectors import get_delivery, get_endpoint, list_deliveries
from evalsvc.events.sender import deliver_due
from evalsvc.judges.webhooks.secrets import OVERLAP, new_webhook_key, seal_webhook_key
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.guard import check_url
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import SYSTEM, account_scope

MAX_ENDPOINTS = 20
ROUTING_KEY = "routing_key"
FORMAT_FIELDS = ("format", "url", ROUTING_KEY, "event_types")
REMEDY = "Set `pass_threshold` in a profile of your own, or leave it out."
ROUND_SECONDS = 20.0
PRUNED_AT_ONCE = 5000
REPLAYED_AT_ONCE = 1000
UNDELIVERED = Q(status=EventDelivery.Status.FAILED) | Q(status=EventDelivery.Status.PENDING, n_attempts__gt=0)


def create_endpoint(*, account: Account, fields: Mapping[str, Any], actor: str) -> tuple[EventEndpoint, str]:
    """Make an endpoint; return it with its secret in plain text, this once. Raises Invalid."""
    _check(account, fields)
    plain = new_webhook_key()
    row = EventEndpoint(account=account, **{name: value for name, value in fields.items() if name != ROUTING_KEY})
    row.routing_key = _seal_routing_key(row, fields)
    with account_scope(account.pk):
        _check_format(row, FORMAT_FIELDS)
    row.secret, row.last4 = seal_webhook_key(plain, of=row.id), plain[-5:-1]
    with account_scope(account.pk):
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        if EventEndpoint.objects.filter(account=account).count() >= MAX_ENDPOINTS:
            raise Invalid(FieldError("", f"An account has at most {MAX_ENDPOINTS} endpoints of events."))
        row.save()
        record_audit(account=account, actor=actor, action="event_endpoint.created", target=str(row.pk))
        return get_endpoint(account=account, id=row.pk), plain


def revise_endpoint(
    *, account: Account, endpoint: EventEndpoint, changes: Mapping[str, Any], actor: str
) -> EventEndpoint:
    """Change an endpoint; what `changes` does not name stays. Raises Invalid."""
    _check(account, changes)
    with account_scope(account.pk):
        row = get_endpoint(account=account, id=endpoint.pk, lock=True)
        changes = dict(changes) | ({ROUTING_KEY: _seal_routing_key(row, changes)} if ROUTING_KEY in changes else {})
        for name, value in changes.items():
            setattr(row, name, value)
        _check_format(row, changes)
        # Whoever switches an endpoint on or off has seen why the service disabled it.
        seen = {"disabled_reason": None} if "is_enabled" in changes else {}
        EventEndpoint.objects.filter(account=account, pk=endpoint.pk).update(**changes, **seen, revised_at=Now())
        fields = ", ".join(sorted(changes))
        record_audit(
            account=account, actor=actor, action="event_endpoint.changed", target=str(endpoint.pk), fields=fields
        )
        return get_endpoint(account=account, id=endpoint.pk)


def delete_endpoint(*, account: Account, endpoint: EventEndpoint, actor: str) -> None:
    """Delete an endpoint with its deliveries, and forget its secret."""
    with account_scope(account.pk):
        get_endpoint(account=account, id=endpoint.pk, lock=True).delete()
        record_audit(account=account, actor=actor, action="event_endpoint.deleted", target=str(endpoint.pk))


def rotate_endpoint(
    *, account: Account, endpoint: EventEndpoint, now: datetime, actor: str
) -> tuple[EventEndpoint, str]:
    """Give an endpoint a new secret, returned in plain text this once; for 24 hours both sign. Raises Invalid."""
    plain = new_webhook_key()
    with account_scope(account.pk):
        row = get_endpoint(account=account, id=endpoint.pk, lock=True)
        row.previous, row.previous_until = row.secret, now + OVERLAP
        row.secret, row.last4, row.revised_at = seal_webhook_key(plain, of=row.id), plain[-5:-1], now
        row.save()
        record_audit(account=account, actor=actor, action="event_endpoint.rotated", target=str(row.pk))
        return row, plain


def send_test(*, account: Account, endpoint: EventEndpoint, now: datetime, actor: str) -> EventDelivery:
    """Send an endpoint a test event, whatever it has subscribed to."""
    with account_scope(account.pk):
        data = {"endpoint_id": str(endpoint.pk)}
        event = OutboxEvent.objects.create(account=account, type=TEST, payload=data, spread_at=now)
        delivery = EventDelivery.objects.create(
            account=account, event=event, endpoint=endpoint, first_at=now, next_at=now, created_at=now
        )
        record_audit(account=account, actor=actor, action="event_endpoint.tested", target=str(endpoint.pk))
        return get_delivery(account=account, id=delivery.pk)


def replay_delivery(*, account: Account, delivery: EventDelivery, now: datetime, actor: str) -> EventDelivery:
    """Send a delivery again with the same id, whatever its outcome; its day of retries restarts."""
    with account_scope(account.pk):
        rows = EventDelivery.objects.filter(account=account, pk=delivery.pk)
        # A delivery that is being sent retains its lease: the outcome of that attempt counts.
        rows.update(status=EventDelivery.Status.PENDING, first_at=now, next_at=now, finished_at=None)
        record_audit(account=account, actor=actor, action="event_delivery.replayed", target=delivery.event_id)
        return get_delivery(account=account, id=delivery.pk)


def replay_undelivered(*, account: Account, endpoint: EventEndpoint, now: datetime, actor: str) -> int:
    """Send now whatever an endpoint has not taken, the newest thousand; return how many deliveries that are."""
    with account_scope(account.pk):
        missing = list_deliveries(account=account, endpoint_id=endpoint.pk).filter(UNDELIVERED).order_by("-id")
        ids = list(missing.values_list("pk", flat=True)[:REPLAYED_AT_ONCE])
        rows = EventDelivery.objects.filter(UNDELIVERED, account=account, pk__in=ids)
        n = rows.update(status=EventDelivery.Status.PENDING, first_at=now, next_at=now, finished_at=None)
        if n:
            record_audit(account=account, actor=actor, action="event_deliveries.replayed", target=str(endpoint.pk), n=n)
        return n


def notify_endpoints(now: datetime) -> int:
    """Watch, make deliveries, and send what is due for a while; return how many were sent."""
    n, until = 0, time.monotonic() + ROUND_SECONDS
    watch_connections(now)
    while create_deliveries(now):
        pass
    while (n_sent := deliver_due(now)) and time.monotonic() < until:
        n += n_sent
    return n + n_sent


def prune_events(now: datetime) -> int:
    """Delete events older than EVENTS_RETENTION_DAYS with their deliveries and return their number; 0 disables it."""
    if not settings.EVENTS_RETENTION_DAYS:
        return 0
    oldest = now - timedelta(days=settings.EVENTS_RETENTION_DAYS)
    rows = OutboxEvent.objects.using(SYSTEM).filter(created_at__lt=oldest).order_by("created_at")
    ids = list(rows.values_list("pk", flat=True)[:PRUNED_AT_ONCE])
    EventDelivery.objects.using(SYSTEM).filter(event_id__in=ids).delete()
    OutboxEvent.objects.using(SYSTEM).filter(pk__in=ids).delete()
    return len(ids)


def _seal_routing_key(row: EventEndpoint, fields: Mapping[str, Any]) -> bytes | None:
    return seal_webhook_key(fields[ROUTING_KEY], of=row.id) if ROUTING_KEY in fields else None


def _check_format(row: EventEndpoint, sent: Collection[str]) -> None:
    """Refuse an address of another format, and one of PagerDuty without its key or for events not of an alarm.

    What is stored may be valid no longer, as when a recipient has left the account: only what is `sent` is checked, so
    that such an endpoint can still be disabled.
    """
    is_addressed = "format" in sent or "url" in sent
    if row.format == EventEndpoint.Format.EMAIL:
        if is_addressed and (errors := check_recipients(row.account, row.url)):
            raise Invalid(*errors)
        return
    if is_addressed and row.url.startswith(SCHEME):
        raise Invalid(FieldError("/format", "An address with `mailto:` has the format `email`."))
    if row.format != EventEndpoint.Format.PAGERDUTY:
        return
    errors = []
    if row.routing_key is None and ("format" in sent or ROUTING_KEY in sent):
        errors.append(FieldError(f"/{ROUTING_KEY}", "Required with the format `pagerduty`."))
    others = sorted(set(row.event_types) - {str(type) for type in ACTIONS})
    if others and ("format" in sent or "event_types" in sent):
        detail = f"PagerDuty is told of alarms only, not of {', '.join(others)}."
        errors.append(FieldError("/event_types", detail))
    if errors:
        raise Invalid(*errors)


def _check(account: Account, fields: Mapping[str, Any]) -> None:
    if "url" in fields and not fields["url"].startswith(SCHEME):
        try:
            check_url(fields["url"])
        except OutboundFailed as failed:
            raise Invalid(FieldError("/url", failed.detail)) from None
    profiles = fields.get("rules", {}).get("profiles", ())
    errors = [
        FieldError(f"/rules/profiles/{i}", f"Profile {name!r} has no threshold, so nothing fails it. {REMEDY}")
        for i, name in enumerate(profiles)
        if not may_fail(account.pk, name)
    ]
    if errors:
        raise Invalid(*errors)

"""Due deliveries: claimed with a lease, sent with signatures, and retried for a day.

If a process is killed while sending, its lease expires and the delivery is sent again, with the same id.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from django.db import connections, transaction
from django.db.models import Max, Min
from prometheus_client import Counter

from evalsvc.accounts.services import record_audit
from evalsvc.events.formats import write_body
from evalsvc.events.mails import NotSent, list_members, parse_recipients, send_event
from evalsvc.events.models import EventDelivery, EventEndpoint, EventType
from evalsvc.events.outbox import record_event
from evalsvc.infra.encryption import NoEncryptionKeys, UnreadableSecret
from evalsvc.judges.connections.secrets import unseal
from evalsvc.judges.webhooks.secrets import signing_key
from evalsvc.judges.webhooks.signing import signed_headers
from evalsvc.outbound.client import post_json
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.tenancy.scope import SYSTEM, role_scope
from evaluators.base import JSONValue

SENT = Counter("evalsvc_event_deliveries_total", "Attempts to deliver an event.", ["outcome"])
MOST, MOST_OF_ENDPOINT = 64, 8
"""Deliveries of one round, and those of one endpoint among them: a slow one holds up no other."""
N_THREADS = 16
CALL_SECONDS = 5.0
MAX_BYTES = 64 * 1024
LEASE = timedelta(seconds=60)
PATIENCE = timedelta(hours=24)
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 5.0, 3 * 3600.0
CLAIM = """
WITH ranked AS (
  SELECT id, row_number() OVER (PARTITION BY endpoint_id ORDER BY next_at, id) AS place
  FROM events_eventdelivery
  WHERE status = 'pending' AND next_at <= %(now)s AND NOT account_rests(account_id)
    AND (lease_until IS NULL OR lease_until <= %(now)s)
), picked AS (
  SELECT d.id FROM events_eventdelivery d JOIN ranked USING (id)
  WHERE ranked.place <= %(each)s AND d.status = 'pending' AND (d.lease_until IS NULL OR d.lease_until <= %(now)s)
  ORDER BY d.next_at, d.id LIMIT %(most)s FOR UPDATE OF d SKIP LOCKED
)
UPDATE events_eventdelivery d SET lease_until = %(until)s, n_attempts = d.n_attempts + 1
FROM picked WHERE d.id = picked.id RETURNING d.id
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one attempt: the HTTP status if there was a response, otherwise the error."""

    status: int | None = None
    error: str | None = None
    is_final: bool = False

    @property
    def is_delivered(self) -> bool:
        """Return whether the receiver has taken it."""
        return self.status is not None and HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


@dataclass(frozen=True, slots=True)
class SignedDelivery:
    """A delivery, ready to be signed and sent."""

    delivery: EventDelivery
    keys: Sequence[bytes]
    options: Mapping[str, str]
    """What the body has of the endpoint's secrets."""
    recipients: Sequence[str] = ()
    """Of an e-mail: those that are members now."""


def deliver_due(now: datetime) -> int:
    """Send what is due, one round of it; return how many deliveries that were."""
    letters, unsendable = _read(_claim(now), now)
    for delivery, attempt in unsendable:
        _note(delivery, attempt, now)
    if letters:
        with ThreadPoolExecutor(min(N_THREADS, len(letters)), thread_name_prefix="events") as pool:
            for letter, attempt in zip(letters, pool.map(send_delivery, letters), strict=True):
                _note(letter.delivery, attempt, now)
    return len(letters) + len(unsendable)


def build_body(delivery: EventDelivery) -> bytes:
    """Return what is sent, in the format of the endpoint, without a key: the same bytes each time."""
    return write_body(delivery.event, delivery.endpoint.format)


def send_delivery(letter: SignedDelivery) -> Attempt:
    """Send one delivery within a few seconds; redirects are not followed, and only the status is stored."""
    delivery = letter.delivery
    if delivery.endpoint.format == EventEndpoint.Format.EMAIL:
        return _send_mail(letter)
    body = write_body(delivery.event, delivery.endpoint.format, **letter.options)
    headers = signed_headers(letter.keys, delivery.event_id, int(time.time()), body)
    try:
        answer = post_json(
            delivery.endpoint.url, body, headers=headers, timeout_seconds=CALL_SECONDS, max_bytes=MAX_BYTES
        )
    except OutboundFailed as failed:
        is_final = failed.code in (OutboundFailed.REFUSED_ADDRESS, OutboundFailed.BAD_URL)
        return Attempt(error=f"{failed.code}: {failed.detail}"[:200], is_final=is_final)
    return Attempt(status=answer.status)


def _send_mail(letter: SignedDelivery) -> Attempt:
    try:
        return Attempt(status=send_event(letter.delivery, letter.recipients))
    except NotSent as exc:
        return Attempt(error=f"mail: {exc}"[:200], is_final=exc.is_final)


def delay_after(n_attempts: int) -> timedelta:
    """Return how long to wait after so many attempts: from 5 seconds doubled up to 3 hours, a fifth more or less."""
    delay_seconds = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** min(n_attempts - 1, 20))
    return timedelta(seconds=delay_seconds * random.uniform(0.8, 1.2))  # noqa: S311  # nosec B311 - not a secret


def endpoint_keys(endpoint: EventEndpoint, now: datetime) -> list[bytes]:
    """Return the keys to sign with, the newest first; raises UnreadableSecret and NoEncryptionKeys."""
    sealed = [endpoint.secret]
    if endpoint.previous is not None and endpoint.previous_until is not None and endpoint.previous_until > now:
        sealed.append(endpoint.previous)
    return [signing_key(unseal(bytes(secret), of=endpoint.id).key) for secret in sealed]


def read_options(endpoint: EventEndpoint) -> dict[str, str]:
    """Return the secrets that are part of the bodies of an endpoint; raises UnreadableSecret and NoEncryptionKeys."""
    if endpoint.format != EventEndpoint.Format.PAGERDUTY or endpoint.routing_key is None:
        return {}
    return {"routing_key": unseal(bytes(endpoint.routing_key), of=endpoint.id).key}


def _claim(now: datetime) -> list[int]:
    values: dict[str, datetime | int] = {"now": now, "until": now + LEASE, "each": MOST_OF_ENDPOINT, "most": MOST}
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(CLAIM, values)
        return [id for (id,) in cursor.fetchall()]


def _read(ids: Sequence[int], now: datetime) -> tuple[list[SignedDelivery], list[tuple[EventDelivery, Attempt]]]:
    letters, unsendable = [], []
    rows = EventDelivery.objects.using(SYSTEM).filter(pk__in=ids).select_related("event", "endpoint").order_by("id")
    for delivery in rows:
        try:
            if delivery.endpoint.is_enabled:
                endpoint = delivery.endpoint
                recipients = _read_recipients(endpoint)
                letters.append(
                    SignedDelivery(delivery, endpoint_keys(endpoint, now), read_options(endpoint), recipients)
                )
            else:
                unsendable.append((delivery, Attempt(error="disabled: The endpoint is switched off.", is_final=True)))
        except (UnreadableSecret, NoEncryptionKeys):
            unsendable.append(
                (delivery, Attempt(error="secret: The endpoint's secret cannot be decrypted; rotate it."))
            )
    return letters, unsendable


def _read_recipients(endpoint: EventEndpoint) -> list[str]:
    if endpoint.format != EventEndpoint.Format.EMAIL:
        return []
    addresses = parse_recipients(endpoint.url)
    with role_scope(SYSTEM):
        members = list_members(endpoint.account, addresses)
    return [address for address in addresses if address in members]


def _note(delivery: EventDelivery, attempt: Attempt, now: datetime) -> None:
    next_at = now + delay_after(delivery.n_attempts)
    changes: dict[str, object] = {"last_status": attempt.status, "last_error": attempt.error, "lease_until": None}
    if attempt.is_delivered:
        status = EventDelivery.Status.DELIVERED
    elif attempt.is_final or next_at > delivery.first_at + PATIENCE:
        status = EventDelivery.Status.FAILED
    else:
        status = EventDelivery.Status.PENDING
        changes["next_at"] = next_at
    if status != EventDelivery.Status.PENDING:
        changes["finished_at"] = now
    # If another process claimed it after the lease expired, that process has counted another attempt and records its
    # outcome.
    rows = EventDelivery.objects.using(SYSTEM).filter(pk=delivery.pk, n_attempts=delivery.n_attempts, status="pending")
    rows.update(status=status, **changes)
    SENT.labels("retry" if status == EventDelivery.Status.PENDING else status).inc()
    if attempt.status == HTTPStatus.GONE:
        _disable(delivery.endpoint, EventEndpoint.DisabledReason.GONE)
    elif status == EventDelivery.Status.FAILED and _has_failed_for_a_day(delivery, next_at):
        _disable(delivery.endpoint, EventEndpoint.DisabledReason.FAILING)


def _has_failed_for_a_day(delivery: EventDelivery, next_at: datetime) -> bool:
    """Return whether nothing has been delivered to the endpoint since the first try of a delivery of a day ago."""
    rows = EventDelivery.objects.using(SYSTEM).filter(endpoint=delivery.endpoint)
    delivered = rows.filter(status=EventDelivery.Status.DELIVERED).aggregate(at=Max("finished_at"))["at"]
    failed = rows.filter(status=EventDelivery.Status.FAILED)
    if delivered is not None:
        failed = failed.filter(first_at__gt=delivered)
    first_at = failed.aggregate(at=Min("first_at"))["at"]
    return first_at is not None and next_at > first_at + PATIENCE


def _disable(endpoint: EventEndpoint, reason: EventEndpoint.DisabledReason) -> None:
    """Disable an endpoint, once; other endpoints of the account are told."""
    with role_scope(SYSTEM), transaction.atomic(using=SYSTEM):
        # An endpoint that was revised since the delivery was read is given another chance.
        rows = EventEndpoint.objects.filter(pk=endpoint.pk, is_enabled=True, revised_at=endpoint.revised_at)
        if not rows.update(is_enabled=False, disabled_reason=reason):
            return
        account, target = endpoint.account, str(endpoint.pk)
        record_audit(account=account, actor="system", action="event_endpoint.disabled", target=target, reason=reason)
        data: dict[str, JSONValue] = {"endpoint_id": target, "reason": str(reason)}
        record_event(account_id=account.pk, type=EventType.ENDPOINT_DISABLED, data=data)

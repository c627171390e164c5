"""Reads of endpoints and deliveries, always for one account."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.events.models import EventDelivery, EventEndpoint
from evalsvc.rest.problems import NotFound


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


def list_deliveries(*, account: Account, **asked: object) -> QuerySet[EventDelivery]:
    """Return the account's deliveries that fit what is asked for; None asks for all."""
    conditions = {name: value for name, value in asked.items() if value is not None}
    return EventDelivery.objects.filter(account=account, **conditions).select_related("event")


def get_delivery(*, account: Account, id: int) -> EventDelivery:
    """Return a delivery of the account with its event; NotFound for missing and foreign."""
    row = EventDelivery.objects.filter(account=account, id=id).select_related("event").first()
    if row is None:
        raise NotFound
    return row

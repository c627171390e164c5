"""One webhook with its deliveries, and one delivery."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.webhooks.words import (
    Cause,
    cause_of_delivery,
    format_health,
    format_left_out,
    get_cause_of_health,
    get_state,
)
from evalsvc.console.parts.addresses import address_with, choice, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.events.models import EventDelivery
from evalsvc.events.selectors import get_delivery, get_endpoint, list_deliveries, list_endpoint_health
from evalsvc.events.sender import build_body
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.problems import NotFound

ON_A_PAGE = 25
STATES = tuple(EventDelivery.Status.values)


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A delivery as a row of the table."""

    row: EventDelivery
    state: str
    tone: str
    cause: Cause

    @property
    def is_pending(self) -> bool:
        """Whether it will be tried by itself."""
        return self.row.status == EventDelivery.Status.PENDING


def format_delivery(row: EventDelivery) -> DeliveryRow:
    """Return a delivery with its state and the result of its last attempt as text."""
    return DeliveryRow(row, *get_state(row), cause_of_delivery(row))


@require_safe
@console_page()
def webhook_page(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Show the status of a webhook, its deliveries, and the available actions."""
    visitor = request.visitor
    health = next(
        (endpoint for endpoint in list_endpoint_health(account=visitor.account, now=visitor.now) if endpoint.id == id),
        None,
    )
    if health is None:
        raise NotFound
    status = choice(request, "status", STATES, "")
    rows = list_deliveries(account=visitor.account, endpoint_id=id, status=status or None)
    deliveries, cursor = page(
        rows, limit=ON_A_PAGE, cursor=request.GET.get("cursor"), of=f"webhook:{visitor.account.pk}"
    )
    state, tone = format_health(health)
    context: dict[str, Any] = {
        "endpoint": get_endpoint(account=visitor.account, id=id),
        "standing": health,
        "state": state,
        "tone": tone,
        "left_out": format_left_out(health),
        "cause": get_cause_of_health(health),
        "fields": [
            FormField("status", "State", "select", status, [("", "all"), *((state, state) for state in STATES)])
        ],
        "deliveries": [format_delivery(row) for row in deliveries],
        "next": address_with(request, cursor=cursor) if cursor else "",
        "call": ApiCall("GET", "/v1/event-deliveries", {"endpoint_id": str(id), "status": status, "limit": ON_A_PAGE}),
    }
    return render(request, "console/webhooks/webhook.html", context)


@require_safe
@console_page()
def delivery_page(request: PageRequest, id: int) -> HttpResponse:
    """Show the body of a delivery, and the result of its last attempt."""
    row = get_delivery(account=request.visitor.account, id=id)
    endpoint = get_endpoint(account=request.visitor.account, id=row.endpoint_id)
    context = {
        "one": format_delivery(row),
        "row": row,
        "endpoint": endpoint,
        "body": orjson.dumps(orjson.loads(build_body(row)), option=orjson.OPT_INDENT_2).decode(),
        "back": page_address("console_webhook", endpoint.pk),
        "call": ApiCall("GET", f"/v1/event-deliveries/{row.pk}"),
    }
    return render(request, "console/webhooks/delivery.html", context)

"""/v1/event-deliveries: list, read, replay."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.events import services
from evalsvc.events.models import EventDelivery
from evalsvc.events.selectors import get_delivery, list_deliveries
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, answers_with, build_shape


class EventDeliveriesQuery(serializers.Serializer[Any]):
    """Filters and paging parameters of a list of deliveries."""

    endpoint_id = serializers.UUIDField(required=False)
    event_id = serializers.CharField(required=False, max_length=40)
    event_type = serializers.CharField(required=False, max_length=40)
    status = serializers.ChoiceField(required=False, choices=EventDelivery.Status.values)
    limit = serializers.IntegerField(min_value=0, max_value=200, default=50)
    cursor = serializers.CharField(required=False)


class EventDeliveryOut(AnswerShape):
    """An event on its way to an endpoint, and what came of the last attempt."""

    id: str
    event_id: str
    event_type: str
    data: Json
    endpoint_id: uuid.UUID
    status: str
    n_attempts: int
    next_at: Moment | None
    last_status: int | None
    last_error: str | None
    created_at: Moment
    finished_at: Moment | None


class EventDeliveryAnswer(AnswerShape):
    """One delivery."""

    event_delivery: EventDeliveryOut


class EventDeliveryPage(AnswerShape):
    """Deliveries, the newest first."""

    event_deliveries: list[EventDeliveryOut]
    next_cursor: str | None


def delivery_out(row: EventDelivery) -> EventDeliveryOut:
    """Return a delivery as the API shows it."""
    is_pending = row.status == EventDelivery.Status.PENDING
    return build_shape(
        row,
        EventDeliveryOut,
        id=str(row.pk),
        event_type=row.event.type,
        data=row.event.payload,
        next_at=row.next_at if is_pending else None,
    )


class EventDeliveriesView(AccountView):
    """The account's deliveries."""

    @extend_schema(
        operation_id="list_event_deliveries",
        tags=["events"],
        parameters=[EventDeliveriesQuery],
        responses=answers_with(EventDeliveryPage),
    )
    def get(self, request: Request) -> Response:
        """List deliveries, newest first, a page at a time."""
        query = validate_strict(EventDeliveriesQuery(data=get_query_params(request)))
        rows = list_deliveries(
            account=self.account,
            endpoint_id=query.get("endpoint_id"),
            event_id=query.get("event_id"),
            event__type=query.get("event_type"),
            status=query.get("status"),
        )
        of = f"event-deliveries:{self.account.pk}"
        deliveries, cursor = page(rows, limit=query["limit"], cursor=query.get("cursor"), of=of)
        return Response(
            EventDeliveryPage(event_deliveries=[delivery_out(row) for row in deliveries], next_cursor=cursor)
        )


class EventDeliveryView(AccountView):
    """One delivery."""

    @extend_schema(operation_id="get_event_delivery", tags=["events"], responses=answers_with(EventDeliveryAnswer))
    def get(self, request: Request, id: int) -> Response:
        """Return a delivery and what came of its last attempt."""
        return Response(EventDeliveryAnswer(event_delivery=delivery_out(get_delivery(account=self.account, id=id))))


class ReplayEventDeliveryView(AccountView):
    """A delivery that is sent again."""

    @extend_schema(
        operation_id="replay_event_delivery",
        tags=["events"],
        request=None,
        responses=answers_with(EventDeliveryAnswer),
    )
    def post(self, request: Request, id: int) -> Response:
        """Send a delivery again, whatever came of it, with the same `webhook-id`."""
        row = get_delivery(account=self.account, id=id)
        row = services.replay_delivery(account=self.account, delivery=row, now=timezone.now(), actor=self.caller.actor)
        return Response(EventDeliveryAnswer(event_delivery=delivery_out(row)))

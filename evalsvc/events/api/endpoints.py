"""/v1/event-endpoints: list, make, read, change, delete, rotate, test."""

from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.events import services
from evalsvc.events.api.deliveries import EventDeliveryAnswer, delivery_out
from evalsvc.events.bodies import EventEndpointIn
from evalsvc.events.models import EventEndpoint
from evalsvc.events.selectors import get_endpoint, list_endpoints
from evalsvc.rest.answering.shapes import AnswerShape, Moment, answer_with, answers_with, build_shape
from evalsvc.rest.idempotency import release_claim


class EventRulesOut(AnswerShape):
    """Which failing verdicts an endpoint is told of; null narrows nothing."""

    evaluators: list[str] | None
    profiles: list[str] | None
    project_ids: list[str] | None
    max_score: float | None


class EventEndpointOut(AnswerShape):
    """An endpoint without its secret."""

    id: uuid.UUID
    url: str
    event_types: list[str]
    format: str
    rules: EventRulesOut
    per_hour: int
    is_enabled: bool
    disabled_reason: str | None
    last4: str
    previous_until: Moment | None
    created_at: Moment
    revised_at: Moment


class NewEventEndpointOut(EventEndpointOut):
    """An endpoint with a new secret, readable this once."""

    secret: str


class EventEndpointAnswer(AnswerShape):
    """One endpoint."""

    event_endpoint: EventEndpointOut


class NewEventEndpointAnswer(AnswerShape):
    """One endpoint, with its secret."""

    event_endpoint: NewEventEndpointOut


class EventEndpointList(AnswerShape):
    """The account's endpoints, the oldest first."""

    event_endpoints: list[EventEndpointOut]


def _rules_out(row: EventEndpoint) -> EventRulesOut:
    names = ("evaluators", "profiles", "project_ids", "max_score")
    return EventRulesOut(**{name: row.rules.get(name) for name in names})


def endpoint_out(row: EventEndpoint) -> EventEndpointOut:
    """Return an endpoint as the API shows it."""
    return build_shape(row, EventEndpointOut, rules=_rules_out(row))


class SecretView(AccountView):
    """Base of the views that return a secret, which is stored nowhere in plain text."""

    def respond_with_secret(self, row: EventEndpoint, plain: str) -> Response:
        """Respond with a new secret, and store no response for a repeated Idempotency-Key."""
        if self.claim is not None:
            release_claim(self.claim)
            self.claim = None
        out = build_shape(row, NewEventEndpointOut, rules=_rules_out(row), secret=plain)
        return Response(NewEventEndpointAnswer(event_endpoint=out), status=201)


class EventEndpointsView(SecretView):
    """The account's endpoints of events."""

    bare = ("GET",)

    @extend_schema(operation_id="list_event_endpoints", tags=["events"], responses=answers_with(EventEndpointList))
    def get(self, request: Request) -> Response:
        """List the endpoints, the oldest first; their secrets are never shown."""
        rows = list_endpoints(account=self.account)
        return Response(EventEndpointList(event_endpoints=[endpoint_out(row) for row in rows]))

    @extend_schema(
        operation_id="create_event_endpoint",
        tags=["events"],
        request=EventEndpointIn,
        responses={201: answer_with(NewEventEndpointAnswer)},
    )
    def post(self, request: Request) -> Response:
        """Make an endpoint, and answer with its secret, this once."""
        fields = EventEndpointIn(data=request.data).fields_of()
        row, plain = services.create_endpoint(account=self.account, fields=fields, actor=self.caller.actor)
        return self.respond_with_secret(row, plain)


class EventEndpointView(AccountView):
    """One endpoint."""

    @extend_schema(operation_id="get_event_endpoint", tags=["events"], responses=answers_with(EventEndpointAnswer))
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Return the endpoint without its secret."""
        row = get_endpoint(account=self.account, id=id)
        return Response(EventEndpointAnswer(event_endpoint=endpoint_out(row)))

    @extend_schema(
        operation_id="revise_event_endpoint",
        tags=["events"],
        request=EventEndpointIn(partial=True),
        responses=answers_with(EventEndpointAnswer),
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change what is sent; the rest stays."""
        row = get_endpoint(account=self.account, id=id)
        changes = EventEndpointIn(data=request.data, partial=True).fields_of()
        row = services.revise_endpoint(account=self.account, endpoint=row, changes=changes, actor=self.caller.actor)
        return Response(EventEndpointAnswer(event_endpoint=endpoint_out(row)))

    @extend_schema(
        operation_id="delete_event_endpoint",
        tags=["events"],
        responses={204: OpenApiResponse(description="It is gone, with its secret and its deliveries.")},
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Delete the endpoint, with its deliveries."""
        row = get_endpoint(account=self.account, id=id)
        services.delete_endpoint(account=self.account, endpoint=row, actor=self.caller.actor)
        return Response(status=204)


class RotateEventEndpointView(SecretView):
    """A new secret of an endpoint."""

    @extend_schema(
        operation_id="rotate_event_endpoint",
        tags=["events"],
        request=None,
        responses={201: answer_with(NewEventEndpointAnswer)},
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Make a new secret and answer with it, this once. For 24 hours deliveries carry the old signature as well."""
        row = get_endpoint(account=self.account, id=id)
        row, plain = services.rotate_endpoint(
            account=self.account, endpoint=row, now=timezone.now(), actor=self.caller.actor
        )
        return self.respond_with_secret(row, plain)


class TestEventEndpointView(AccountView):
    """A test event for one endpoint."""

    @extend_schema(
        operation_id="send_test_event",
        tags=["events"],
        request=None,
        responses={201: answer_with(EventDeliveryAnswer)},
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Send an `endpoint.test` event, and answer with its delivery, which tells soon what came of it."""
        row = get_endpoint(account=self.account, id=id)
        delivery = services.send_test(account=self.account, endpoint=row, now=timezone.now(), actor=self.caller.actor)
        return Response(EventDeliveryAnswer(event_delivery=delivery_out(delivery)), status=201)

"""/v1/connections: list, make, read, change, delete, test."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Annotated, Any, cast

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, checked
from evalsvc.judges import services
from evalsvc.judges.calls.trial import Trial, try_connection
from evalsvc.judges.connections.checks import MAX_SECRET_CHARS
from evalsvc.judges.connections.facts import ConnectionFields
from evalsvc.judges.failures import CODES
from evalsvc.judges.ledger.limits import spent_today
from evalsvc.judges.models import Connection
from evalsvc.judges.selectors import get_connection, list_connections
from evalsvc.rest.answering.shapes import AnswerShape, Moment, among, answer_with, answers_with, shape_of
from evalsvc.rest.bodies.fields import StrictText
from evalsvc.rest.idempotency import release_claim
from evalsvc.tenancy.scope import account_scope

MONEY = ("price_input_per_million", "price_output_per_million", "daily_budget")


def money() -> serializers.DecimalField:
    """Return the field of an optional amount of money."""
    return serializers.DecimalField(
        max_digits=12, decimal_places=6, required=False, allow_null=True, coerce_to_string=False
    )


def limit() -> serializers.IntegerField:
    """Return the field of an optional limit."""
    return serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**31 - 1)


class ConnectionIn(serializers.Serializer[Any]):
    """A new connection."""

    name = StrictText(max_length=100)
    base_url = StrictText(max_length=2048)
    model = StrictText(max_length=200)
    key = StrictText(required=False, allow_null=True, allow_blank=True, max_length=MAX_SECRET_CHARS, write_only=True)
    headers = serializers.DictField(
        child=StrictText(max_length=MAX_SECRET_CHARS, allow_blank=True),
        required=False,
        allow_null=True,
        write_only=True,
    )
    price_input_per_million = money()
    price_output_per_million = money()
    timeout_seconds = serializers.FloatField(required=False, max_value=600)
    rpm = limit()
    tpm = limit()
    max_concurrency = limit()
    daily_budget = money()
    is_enabled = serializers.BooleanField(required=False)
    is_default = serializers.BooleanField(required=False)
    sees_images = serializers.BooleanField(required=False)
    hears_audio = serializers.BooleanField(required=False)


class ConnectionOut(AnswerShape):
    """A connection without its secrets."""

    id: uuid.UUID
    name: str
    base_url: str
    model: str
    key_set: bool
    key_last4: str | None
    header_names: list[str]
    price_input_per_million: float | None
    price_output_per_million: float | None
    timeout_seconds: float
    rpm: int | None
    tpm: int | None
    max_concurrency: int | None
    daily_budget: float | None
    spent_today: float | None
    is_enabled: bool
    is_default: bool
    sees_images: bool
    hears_audio: bool
    epoch: int
    created_at: Moment
    revised_at: Moment


class ConnectionEnvelope(AnswerShape):
    """One connection."""

    connection: ConnectionOut


class Connections(AnswerShape):
    """The connections of an account, by name."""

    connections: list[ConnectionOut]


class TrialErrorOut(AnswerShape):
    """Why a test call brought nothing."""

    code: Annotated[str, among(CODES)]
    detail: str


class TrialOut(AnswerShape):
    """What a test call brought."""

    ok: bool
    model: str
    latency_ms: float
    input_tokens: int
    output_tokens: int
    cost: float | None
    error: TrialErrorOut | None


def connection_out(row: Connection) -> ConnectionOut:
    """Return a connection as the API shows it."""
    return shape_of(
        row,
        ConnectionOut,
        key_set=row.has_key,
        key_last4=row.key_last4 or None,
        spent_today=spent_today(account_id=row.account_id, connection_id=row.id),
        **{name: _float(getattr(row, name)) for name in MONEY},
    )


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def trial_out(trial: Trial) -> TrialOut:
    """Return what a test call brought as the API shows it."""
    error = shape_of(trial, TrialErrorOut, code=trial.error_code, detail=trial.error_detail)
    return shape_of(trial, TrialOut, error=None if trial.ok else error)


class ConnectionsView(AccountView):
    """The connections of an account: endpoints of LLMs that act as judges."""

    bare = ("GET",)

    @extend_schema(
        operation_id="list_connections",
        tags=["connections"],
        responses=answers_with(Connections),
    )
    def get(self, request: Request) -> Response:
        """List the account's connections by name; their keys are never shown."""
        return Response(
            Connections(connections=[connection_out(row) for row in list_connections(account=self.account)])
        )

    @extend_schema(
        operation_id="create_connection",
        tags=["connections"],
        request=ConnectionIn,
        responses={201: answer_with(ConnectionEnvelope)},
    )
    def post(self, request: Request) -> Response:
        """Make a connection. Its key is stored encrypted and cannot be read again."""
        fields = cast("ConnectionFields", checked(ConnectionIn(data=request.data)))
        row = services.create_connection(account=self.account, fields=fields, actor=self.caller.actor)
        return Response(ConnectionEnvelope(connection=connection_out(row)), status=201)


class ConnectionView(AccountView):
    """One connection."""

    @extend_schema(operation_id="get_connection", tags=["connections"], responses=answers_with(ConnectionEnvelope))
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Return the connection and what it has spent today."""
        row = get_connection(account=self.account, id=id)
        return Response(ConnectionEnvelope(connection=connection_out(row)))

    @extend_schema(
        operation_id="revise_connection",
        tags=["connections"],
        request=ConnectionIn(partial=True),
        responses=answers_with(ConnectionEnvelope),
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change what is sent; the rest stays. Another server needs the key anew; an empty key removes it."""
        connection = get_connection(account=self.account, id=id)
        changes = cast("ConnectionFields", checked(ConnectionIn(data=request.data, partial=True)))
        row = services.revise_connection(
            account=self.account, connection=connection, changes=changes, actor=self.caller.actor
        )
        return Response(ConnectionEnvelope(connection=connection_out(row)))

    @extend_schema(
        operation_id="delete_connection",
        tags=["connections"],
        responses={204: OpenApiResponse(description="It is gone, and so is its key.")},
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Delete the connection and forget its key. What still names it is answered with `not_configured`."""
        connection = get_connection(account=self.account, id=id)
        services.delete_connection(
            account=self.account, connection=connection, now=timezone.now(), actor=self.caller.actor
        )
        return Response(status=204)


class ConnectionTestView(AccountView):
    """A test call, for the button on the connection's page."""

    # The call waits for another server, and no transaction may be open for so long.
    scoped = False

    @extend_schema(operation_id="test_connection", tags=["connections"], request=None, responses=answers_with(TrialOut))
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Make one tiny call, within the connection's limits, and tell what came of it; 200 even when it failed."""
        with account_scope(self.account.pk):
            connection = get_connection(account=self.account, id=id)
        trial = try_connection(connection)
        if self.claim is not None:
            # A repeated request must make a new call, and not be answered with the old result.
            release_claim(self.claim)
            self.claim = None
        return Response(trial_out(trial))

"""/v1/connections: list, make, read, change, delete, test."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, cast

import msgspec
from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.judges import services
from evalsvc.judges.connections.bodies import ConnectionIn
from evalsvc.judges.connections.facts import ConnectionFields
from evalsvc.judges.failures import CODES
from evalsvc.judges.ledger.status import ConnectionStatus, list_connection_statuses
from evalsvc.judges.models import Connection
from evalsvc.judges.questions.trial import Trial, try_connection
from evalsvc.judges.selectors import get_connection, list_connections
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, answer_with, answers_with, build_enum, build_shape
from evalsvc.rest.idempotency import release_claim
from evalsvc.tenancy.scope import account_scope

MONEY = ("price_input_per_million", "price_output_per_million", "daily_budget")


class ConnectionHealthOut(AnswerShape):
    """How the calls of the last 24 hours have ended: `failed` by code; `p50_ms` and `p95_ms` are rounded up.

    `failing` is the code of the failures for which the default model is left alone just now; null when it is not.
    """

    n_calls: int
    n_failed: int
    failed: dict[str, int]
    p50_ms: float | None
    p95_ms: float | None
    last_at: Moment | None
    last_code: str | None
    failed_at: Moment | None
    failed_code: str | None
    failed_detail: str | None
    failing: str | None


class DialectOut(AnswerShape):
    """How a model is called, as it was learnt."""

    mode: str = ""
    limit: str = ""
    dropped: list[str] = []
    least: int = 0
    most: int = 0
    takes_system: bool = True
    usage: str = ""


class ConnectionOut(AnswerShape):
    """A connection without its secrets."""

    id: uuid.UUID
    name: str
    base_url: str
    model: str
    key_set: bool
    key_last4: str | None
    header_names: list[str]
    query_names: list[str]
    protocol: Annotated[str, build_enum(Connection.Protocol.values)]
    extra_body: dict[str, Json]
    max_output_tokens: int | None
    price_input_per_million: float | None
    price_output_per_million: float | None
    currency: str
    timeout_seconds: float
    rpm: int | None
    tpm: int | None
    max_concurrency: int | None
    daily_budget: float | None
    spent_today: float | None
    health: ConnectionHealthOut | None
    dialects: dict[str, DialectOut]
    hint: str | None
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

    code: Annotated[str, build_enum(CODES)]
    detail: str


class TrialOut(AnswerShape):
    """What a test brought: tokens, latency and cost of all its calls, and how the model is called from now on."""

    ok: bool
    model: str
    calls: int
    latency_ms: float
    input_tokens: int
    output_tokens: int
    usage_estimated: bool
    cost: float | None
    currency: str
    dialect: DialectOut | None
    hint: str | None
    error: TrialErrorOut | None


def connections_out(rows: Sequence[Connection]) -> list[ConnectionOut]:
    """Return connections of one account as the API shows them."""
    return [
        _connection_out(connection_status) for connection_status in list_connection_statuses(rows, now=timezone.now())
    ]


def _connection_out(one: ConnectionStatus) -> ConnectionOut:
    row = one.connection
    return build_shape(
        row,
        ConnectionOut,
        key_set=row.has_key,
        key_last4=row.key_last4 or None,
        spent_today=one.spent,
        currency=row.currency or settings.CURRENCY,
        dialects={model: msgspec.convert(dialect, DialectOut) for model, dialect in row.dialects.items()},
        hint=one.hint,
        health=None if one.health is None else build_shape(one.health, ConnectionHealthOut, failing=one.failing),
        **{name: _float(getattr(row, name)) for name in MONEY},
    )


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def trial_out(trial: Trial) -> TrialOut:
    """Return what a test call brought as the API shows it."""
    error = build_shape(trial, TrialErrorOut, code=trial.error_code, detail=trial.error_detail)
    return build_shape(
        trial,
        TrialOut,
        usage_estimated=trial.is_estimated,
        dialect=None if trial.dialect is None else msgspec.convert(trial.dialect, DialectOut),
        error=None if trial.ok else error,
    )


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
        return Response(Connections(connections=connections_out(list(list_connections(account=self.account)))))

    @extend_schema(
        operation_id="create_connection",
        tags=["connections"],
        request=ConnectionIn,
        responses={201: answer_with(ConnectionEnvelope)},
    )
    def post(self, request: Request) -> Response:
        """Make a connection. Its key is stored encrypted and cannot be read again."""
        fields = cast("ConnectionFields", validate_strict(ConnectionIn(data=request.data)))
        row = services.create_connection(account=self.account, fields=fields, actor=self.caller.actor)
        return Response(ConnectionEnvelope(connection=connections_out([row])[0]), status=201)


class ConnectionView(AccountView):
    """One connection."""

    @extend_schema(operation_id="get_connection", tags=["connections"], responses=answers_with(ConnectionEnvelope))
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Return the connection and what it has spent today."""
        row = get_connection(account=self.account, id=id)
        return Response(ConnectionEnvelope(connection=connections_out([row])[0]))

    @extend_schema(
        operation_id="revise_connection",
        tags=["connections"],
        request=ConnectionIn(partial=True),
        responses=answers_with(ConnectionEnvelope),
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change what is sent; the rest stays. Another server needs the key anew; an empty key removes it."""
        connection = get_connection(account=self.account, id=id)
        changes = cast("ConnectionFields", validate_strict(ConnectionIn(data=request.data, partial=True)))
        row = services.revise_connection(
            account=self.account, connection=connection, changes=changes, actor=self.caller.actor
        )
        return Response(ConnectionEnvelope(connection=connections_out([row])[0]))

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
    """A test, for the button on the connection's page."""

    # The call waits for another server, and a transaction must not be open that long.
    scoped = False

    @extend_schema(operation_id="test_connection", tags=["connections"], request=None, responses=answers_with(TrialOut))
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Ask one small judge question, within the connection's limits, and tell what came of it; 200 if it failed."""
        with account_scope(self.account.pk):
            connection = get_connection(account=self.account, id=id)
            services.note_test(account=self.account, connection=connection, actor=self.caller.actor)
        trial = try_connection(connection)
        if self.claim is not None:
            # A repeated request must make a new call, and not be answered with the old result.
            release_claim(self.claim)
            self.claim = None
        return Response(trial_out(trial))

"""The base of every ordinary view: one caller, one account, one transaction, at most one effect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import msgspec
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from evalsvc.accounts.access.authentication import Caller, authenticate_request
from evalsvc.accounts.access.permissions import check_scope
from evalsvc.accounts.access.throttling import (
    add_rate_limit_headers,
    build_rate_limit_problem,
    charge_requests,
    check_limits,
)
from evalsvc.accounts.models import Account
from evalsvc.rest.answering.answers import WrittenAnswer
from evalsvc.rest.answering.offsets import OffsetList
from evalsvc.rest.answering.shapes import KeyWarning
from evalsvc.rest.answering.unknown import MAX_WARNINGS, add_warnings, key_warnings
from evalsvc.rest.basics.nearest import suggestion
from evalsvc.rest.bodies.fields import naming_choices
from evalsvc.rest.bodies.parsers import decode, join_chunks, list_body_keys, read_body
from evalsvc.rest.edge.slow_turns import leave_turn, take_turn
from evalsvc.rest.idempotency import (
    EVALUATIONS,
    KEY_META,
    Claim,
    Replay,
    claim_attempt,
    claim_key,
    compute_fingerprint,
    finish_claim,
    read_idempotency_key,
    read_retry_flag,
    release_claim,
)
from evalsvc.rest.problems import FieldError, Invalid, NotFound, escape
from evalsvc.tenancy.scope import account_scope

Body = TypeVar("Body", bound=msgspec.Struct)
PAGE_PARAMS = ("limit", "offset")
ROWS_A_REQUEST = 1000


class ShortCircuit(Exception):
    """Raised before the handler runs, when the answer is known already."""

    def __init__(self, response: HttpResponse) -> None:
        self.response = response


class EmptyBody(Serializer[Any]):
    """Nothing."""


class AccountView(APIView):
    """Run the handler in the caller's account scope, honour Idempotency-Key, and report the remaining rate limit."""

    scoped = True
    """False for views that wait: they open their own short transactions."""
    one_snapshot = False
    """True for answers put together from several reads that must agree; such a view cannot write."""
    remembers_tries: Collection[str] = ("POST", "DELETE")
    """Methods whose retry without an Idempotency-Key is answered as the try before it was.

    Not those that know a retry by themselves, and not those of which twice is as once: what was kept of an earlier call
    would be the answer to a later one that was lost, and what that one says would not be done.
    """
    bare: Collection[str] = ()
    """Methods that read no query and no body, on our own routes: what is sent there is refused by name."""
    plain: Mapping[str, str] = {}
    """Methods that need nothing of DRF's Request, with their handlers: these get Django's and read the body themselves.

    For views whose cost is felt. A request with an Idempotency-Key takes the ordinary way there too.
    """
    shows_evaluations = False
    """True where an answer holds texts of evaluations: what is kept of it ends when any of these is deleted."""
    standing: dict[str, str] | None = None
    """The headers of every answer of a plain method."""
    claim: Claim | None = None
    warnings: Sequence[KeyWarning] = ()
    """What the answer says beside itself: keys of the body that nothing reads."""
    _scope: AbstractContextManager[None] | None = None

    @property
    def caller(self) -> Caller:
        """Return who calls."""
        user = self.request.user
        assert isinstance(user, Caller)  # noqa: S101  the permission class has refused everyone else
        return user

    @property
    def account(self) -> Account:
        """Return the caller's account."""
        return self.caller.account

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer the request, in DRF's way or in the plain one."""
        handler = self.plain.get(request.method or "")
        if handler is None or KEY_META in request.META:
            return super().dispatch(request, *args, **kwargs)
        self.args, self.kwargs, self.request = args, kwargs, request  # type: ignore[assignment]
        try:
            caller = authenticate_request(request)
            request.user = caller  # type: ignore[assignment]
            check_scope(caller, request, self)
            check_limits(caller)
            join_chunks(request)
            response = getattr(self, handler)(request, *args, **kwargs)
        except Exception as exc:
            response = self.handle_exception(exc)
        return self._finalize_plain(request, response)

    def _finalize_plain(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if self.standing is None:
            type(self).standing = self.default_response_headers
        for name, value in (self.standing or {}).items():
            response.headers[name] = value
        add_rate_limit_headers(response, getattr(request, "user", None))
        return response

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Authenticate, throttle, claim the Idempotency-Key, and enter the account's transaction."""
        super().initial(request, *args, **kwargs)
        if self.scoped:
            take_turn(self.account.pk, f"{request.method} {type(self).__name__}")
        self.receive(request)
        if request.method in self.bare:
            body: dict[str, Any] = dict(request.data) if request.body else {}
            validate_strict(EmptyBody(data={**get_query_params(request), **body}))
        outcome = self._claim(request)
        if isinstance(outcome, Replay):
            raise ShortCircuit(outcome.response or self.replay_accepted(outcome.resource_id))
        self.claim = outcome
        if self.scoped:
            self._scope = account_scope(self.account.pk, one_snapshot=self.one_snapshot)
            self._scope.__enter__()

    def _claim(self, request: Request) -> Claim | Replay | None:
        """Claim the caller's key, or the one that is made for a client that counts its retries."""
        if request.method == "POST" and (key := read_idempotency_key(request)):
            return claim_key(account_id=self.account.pk, key=key, fingerprint=self.fingerprint(request))
        changes = request.method in self.remembers_tries and not getattr(self, "reads", False)
        if not (changes and self.scoped) or (is_retry := read_retry_flag(request)) is None:
            return None
        return claim_attempt(
            account_id=self.account.pk,
            actor=self.caller.actor,
            fingerprint=self.fingerprint(request),
            is_retry=is_retry,
        )

    def warn_of(self, keys: Iterable[str], known: Collection[str], rows: Iterable[KeyWarning] = ()) -> None:
        """Let the answer name the keys of a body that nothing reads; clients of the wire expect no failure.

        `rows` are the warnings of its rows.
        """
        self.warnings = [*self.warnings, *key_warnings(keys, known), *rows][:MAX_WARNINGS]

    def validate_lenient(self, serializer: Serializer[Any]) -> Mapping[str, Any]:
        """Return the validated fields of a body of the wire, and warn of those that are unknown."""
        serializer.is_valid(raise_exception=True)
        self.warn_of(serializer.initial_data, serializer.fields)
        fields: Mapping[str, Any] = serializer.validated_data
        return fields

    def parse_query(self, request: Request, query: type[Serializer[Any]]) -> Mapping[str, Any]:
        """Return the validated parameters of a list of the wire, and warn of those that nothing reads."""
        return self.validate_lenient(query(data=get_query_params(request)))

    def get_offset_list(self, request: Request, *, by: str = "created_at") -> OffsetList:
        """Return the list that this view answers by offset; the column `by` grows with each row that is added."""
        query = sorted((name, value) for name, value in get_query_params(request).items() if name not in PAGE_PARAMS)
        return OffsetList(f"{self.account.pk} {self.caller.actor} {request.path} {query}", by)

    def decode_body(self, request: Request, kind: type[Body]) -> Body:
        """Return a body of the wire, and warn of unknown keys. Fields that do not fit are 422, with pointers."""
        body = read_body(request)
        value = decode(body, msgspec.json.Decoder(kind))
        self.warn_of(list_body_keys(body), kind.__struct_fields__)
        return value

    def charge(self, n: int) -> None:
        """Count the request as `n` towards the account's limits; raise 429 where those are too many."""
        caller, n_allowed = charge_requests(self.caller, n)
        self.request.user = caller  # type: ignore[assignment]  # the headers of the answer tell what is left
        if n_allowed < n:
            raise build_rate_limit_problem(caller)

    def charge_page(self, limit: int) -> None:
        """Count a page as a request for each thousand rows that it may have."""
        self.charge(-(-limit // ROWS_A_REQUEST))

    def receive(self, request: Request) -> None:
        """Read the body before the transaction begins, so that a slow client does not occupy a database connection."""
        join_chunks(request._request)
        if request.method in SAFE_METHODS:
            return
        # A body of an unsupported type is refused by the parser, without being read.
        if self.get_content_negotiator().select_parser(request, self.get_parsers()) is not None:
            read_body(request)

    def fingerprint(self, request: Request) -> bytes:
        """Return the digest of what must be the same for the request to count as repeated."""
        read_body(request)
        return compute_fingerprint(request._request)

    def replay_accepted(self, resource_id: int | None) -> HttpResponse:
        """Answer a repeated request without a stored response: its work is unfinished, or the result was deleted."""
        raise NotFound("What this request was answered with has been deleted. Send it with a new Idempotency-Key.")

    def handle_exception(self, exc: Exception) -> Response:
        """Roll the account's transaction back, give the key back, and answer with a problem."""
        self._leave(exc)
        if isinstance(exc, ShortCircuit):
            return exc.response  # type: ignore[return-value]
        if self.claim is not None:
            release_claim(self.claim)
            self.claim = None
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """Render, store the response under the claim, and commit, so that every response that was sent is stored."""
        final = super().finalize_response(request, response, *args, **kwargs)
        try:
            # Rendering is part of it: a transaction that it left open would take in what this thread does next.
            if isinstance(final, Response):
                if self.warnings:
                    final.data = add_warnings(final.data, self.warnings)
                final.render()
                # The view, its request and this answer refer to each other: what it was written from would stay, for
                # as long as it takes the garbage collector to come and walk it.
                final.data = None
            if self._scope is not None or self.claim is not None:
                self._finish(final)
        except Exception as exc:
            final = super().finalize_response(request, self.handle_exception(exc), *args, **kwargs)
        if final.streaming:
            leave_turn()
        # Not `request.user`: where authentication has failed, it would be tried again.
        add_rate_limit_headers(final, getattr(request, "_user", None))
        return final

    def _finish(self, response: HttpResponse) -> None:
        if self.claim is not None and response.status_code < 400:
            # A view without a scope has done its work by now; what it did can be done twice.
            with nullcontext() if self._scope is not None else account_scope(self.account.pk):
                answer = WrittenAnswer(response.status_code, response.content, response.headers)
                finish_claim(self.claim, answer, resource_id=EVALUATIONS if self.shows_evaluations else None)
            self.claim = None
        self._leave(None)

    def _leave(self, exc: Exception | None) -> None:
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.__exit__(type(exc) if exc else None, exc, exc.__traceback__ if exc else None)


def get_query_params(request: Request) -> dict[str, str]:
    """Return the query, as every view reads it: an empty parameter is none, as clients of Patronus write null so."""
    return {name: value for name, value in request.query_params.items() if value != ""}


def get_unique_query_params(request: Request) -> dict[str, str]:
    """Return the query of a deletion, which no parameter may narrow in two ways; raise Invalid for one sent twice."""
    query = request.query_params
    repeated = [FieldError(f"/{escape(name)}", "Send it once.") for name in query if len(query.getlist(name)) > 1]
    if repeated:
        raise Invalid(*repeated)
    return get_query_params(request)


def validate_strict(serializer: Serializer[Any]) -> Mapping[str, Any]:
    """Return the validated fields of one of our own bodies or queries; unknown fields are refused by name."""
    field_names = [*serializer.fields]
    unknown = [name for name in serializer.initial_data if name not in serializer.fields]
    if unknown:
        raise Invalid(*(FieldError(f"/{escape(name)}", _unknown(name, field_names)) for name in unknown))
    with naming_choices(serializer, serializer.initial_data):
        serializer.is_valid(raise_exception=True)
    return serializer.validated_data


def _unknown(name: str, known: Sequence[str]) -> str:
    allowed = f" It takes: {', '.join(f'`{field}`' for field in known)}." if known else " It takes none."
    return f"`{name}` is not a field of this request.{suggestion(name, known)}{allowed}"

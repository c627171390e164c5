"""POST /v1/evaluate and GET /v1/evaluate/{id}: the hot path, decoded by msgspec and written by orjson."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evalsvc.accounts.gate import expect_repeats
from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.api import openapi
from evalsvc.evaluations.evaluate import accept, waiting
from evalsvc.evaluations.evaluate.accept import Accepted, Entry
from evalsvc.evaluations.evaluate.replies import reply_box
from evalsvc.evaluations.evaluate.retries import RETRY_WINDOW_SECONDS, Repeated, Sign, find_retried, reopen
from evalsvc.evaluations.evaluate.stored import Stored, facts_of_stored
from evalsvc.evaluations.maintenance.sweep import LaneRef
from evalsvc.evaluations.queueing import enqueue_lane
from evalsvc.evaluations.wire.answer import evaluate_answer
from evalsvc.evaluations.wire.request import EvaluateCall, fingerprint, read_call
from evalsvc.rest.idempotency import REPLAYED_HEADER, finish_claim, mark_accepted, retries_of
from evalsvc.rest.parsing import read_body
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Lane

_wait = re.compile(r"(?:^|,)\s*wait\s*=\s*\"?([0-9]{1,6})\"?\s*(?=,|;|$)", re.IGNORECASE)
_async = re.compile(r"(?:^|,)\s*respond-async\s*(?=,|;|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prefer:
    """The `Prefer` header (RFC 7240): how long to wait, and whether to answer 202 instead of waiting longer."""

    seconds: float
    respond_async: bool
    applied: str


def read_prefer(header: str, *, waits: bool = True) -> Prefer:
    """Read the header; what it does not say is the default, what it asks beyond the limit is the limit.

    `waits` says whether the default is to wait.
    """
    wait, respond_async = _wait.search(header), bool(_async.search(header))
    default = settings.WAIT_SECONDS if waits and not respond_async else 0
    seconds = min(int(wait[1]), settings.MAX_WAIT_SECONDS) if wait else default
    applied = [name for name, given in (("respond-async", respond_async), (f"wait={seconds}", bool(wait))) if given]
    return Prefer(seconds, respond_async, ", ".join(applied))


class EvaluateView(AccountView):
    """Evaluate what an LLM application said."""

    scoped = False
    plain: ClassVar = {"POST": "post"}

    @extend_schema(**openapi.EVALUATE)
    def post(self, request: Request) -> HttpResponse:
        """Run evaluators on one sample; each answers with its own status, and an interval if asked.

        Waits for workers as `Prefer: wait=N` says (25 s by default); what is unfinished then answers `pending` and is
        fetched at GET /v1/evaluate/{id}. `Prefer: respond-async` answers 202 at once.
        """
        body = read_body(request)
        prefer = read_prefer(request.META.get("HTTP_PREFER", ""))
        call = read_call(body)
        digest = fingerprint(self.account.pk, body)
        entries = accept.plan(account_id=self.account.pk, epoch=self.caller.admission.epoch, call=call)
        # A new Idempotency-Key is a new request, whatever its body; an old one was answered before it came here.
        sign = None if self.claim else sign_of(request, call, entries, prefer)
        with one_at_a_time(self.account.pk, digest) if sign else nullcontext():
            earlier = self._earlier(sign, digest, entries)
            if earlier is None:
                response, accepted = self._accept(call, entries, digest, prefer)
            else:
                again = self._again(earlier)
        if earlier is not None:
            for lane in again:
                enqueue_lane(LaneRef(self.account.pk, earlier.request_id, lane, 0), reply_to=None)
            return self._stored_answer(earlier.request_id, prefer)
        return response or self._work(accepted, prefer)

    def _again(self, earlier: Repeated) -> list[str]:
        """Give what failed in the earlier request another try; return the lanes that have it."""
        if not earlier.try_again:
            return []
        return reopen(account_id=self.account.pk, request_id=earlier.request_id)

    def _earlier(self, sign: Sign | None, digest: int, entries: list[Entry]) -> Repeated | None:
        """Find the request that this one repeats, where something says that it may.

        That is a sign in it, or that callers of this account were told to come back lately.
        """
        if self.claim is not None:
            return None
        if sign is None and not self.caller.admission.expects_repeats:
            return None
        return find_retried(
            account_id=self.account.pk, fingerprint=digest, n_results=len(entries), sign=sign, now=timezone.now()
        )

    def _accept(
        self, call: EvaluateCall, entries: list[Entry], digest: int, prefer: Prefer
    ) -> tuple[HttpResponse | None, Accepted]:
        """Do the inline work and make the rest durable; return the answer too when nothing is left to do."""
        with account_scope(self.account.pk) if self.claim else nullcontext():
            accepted = accept.accept(
                account_id=self.account.pk,
                epoch=self.caller.admission.epoch,
                call=call,
                entries=entries,
                fingerprint=digest,
                keep_always=prefer.respond_async,
                tells_pending=not prefer.respond_async and not waiting.may_wait(self.account.pk, prefer.seconds),
            )
            if not accepted.pending_lanes and not prefer.respond_async:
                return self._finish_claim(self._answer(accepted, prefer)), accepted
            if self.claim:
                assert accepted.request_id is not None  # noqa: S101  pending work always has a row
                mark_accepted(self.claim, accepted.request_id)
        return None, accepted

    def _work(self, accepted: Accepted, prefer: Prefer) -> HttpResponse:
        """Enqueue the pending lanes, wait as long as the caller prefers, and answer."""
        assert accepted.request_id is not None  # noqa: S101  pending work always has a row
        began = time.monotonic()
        seconds = 0 if accepted.is_told_pending else prefer.seconds
        # A place is taken before the work is enqueued: its verdict must find somebody who listens.
        with waiting.place_for(self.account.pk, accepted.request_id, seconds) as waiter:
            reply_to = reply_box().address if waiter else None
            for lane in accepted.pending_lanes:
                enqueue_lane(LaneRef(self.account.pk, accepted.request_id, lane, 0), reply_to=reply_to)
            if waiter:
                waiting.await_verdicts(accepted, waiter, seconds)
        if not accepted.pending_lanes:
            return self._finish_claim(self._answer(accepted, prefer))
        if not prefer.respond_async:
            if not accepted.is_told_pending:
                accept.mark_told_pending(account_id=self.account.pk, request_id=accepted.request_id)
            expect_repeats(self.account.pk, seconds=RETRY_WINDOW_SECONDS)
        # The key stands for the accepted work from here on, so that a repeated call sees how far it has come.
        self.claim = None
        response = self._answer(accepted, prefer)
        asks_judge = Lane.JUDGE in accepted.pending_lanes
        pause = waiting.retry_after(self.account.pk, asks_judge=asks_judge, age_seconds=time.monotonic() - began)
        response["Retry-After"] = str(pause)
        return response

    def _answer(self, accepted: Accepted, prefer: Prefer) -> HttpResponse:
        """Write the answer: 200, or 202 with the address of the rest when the caller would rather not wait."""
        response = json_response(evaluate_answer(*accept.facts_of(accepted)))
        if accepted.pending_lanes or (prefer.respond_async and prefer.seconds == 0):
            response["Location"] = f"/v1/evaluate/{accepted.request_id}"
            response.status_code = 202 if prefer.respond_async else 200
        if prefer.applied:
            response["Preference-Applied"] = prefer.applied
        return response

    def _finish_claim(self, response: HttpResponse) -> HttpResponse:
        """Keep the answer under the Idempotency-Key, if there is one."""
        if self.claim is not None:
            with account_scope(self.account.pk):
                finish_claim(self.claim, response)
            self.claim = None
        return response

    def _stored_answer(self, request_id: int, prefer: Prefer) -> HttpResponse:
        """Answer a repeated call with the evaluation that it repeats, waiting for it as for a new one."""
        stored = waiting.await_stored(account_id=self.account.pk, request_id=request_id, seconds=prefer.seconds)
        response = stored_response(stored)
        if not stored.is_finished:
            if prefer.respond_async:
                response.status_code = 202
            else:
                accept.mark_told_pending(account_id=self.account.pk, request_id=request_id)
                expect_repeats(self.account.pk, seconds=RETRY_WINDOW_SECONDS)
        if prefer.applied:
            response["Preference-Applied"] = prefer.applied
        return response

    def replay_accepted(self, resource_id: int | None) -> HttpResponse:
        """Answer a repeated Idempotency-Key whose first run was accepted and has no kept answer."""
        response = self._stored_answer(resource_id or 0, read_prefer("wait=0"))
        response[REPLAYED_HEADER] = "true"
        return response


def sign_of(request: Request, call: EvaluateCall, entries: list[Entry], prefer: Prefer) -> Sign | None:
    """Return what tells that the call may repeat one before it; None where no call before it can have left anything."""
    counted = retries_of(request)
    if counted is not None:
        # A client that counts its tries says by 0 that it means the call anew, whatever log it is about.
        return Sign.HEADER if counted else None
    leaves_rows = call.capture != "none" or prefer.respond_async or any(map(is_queued, entries))
    return Sign.NAME if call.names_itself and leaves_rows else None


def is_queued(entry: Entry) -> bool:
    """Say whether an evaluator is left to a worker."""
    return entry.verdict.status == "pending" and entry.lane != Lane.INLINE


@contextmanager
def one_at_a_time(account_id: int, digest: int) -> Iterator[None]:
    """Let only one of equal calls look for an earlier one and, if there is none, become it."""
    with account_scope(account_id):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [digest])
        yield


class StoredEvaluateView(AccountView):
    """What became of an evaluate request."""

    scoped = False
    plain: ClassVar = {"GET": "get"}

    @extend_schema(**openapi.STORED_EVALUATE)
    def get(self, request: Request, id: int) -> HttpResponse:
        """Return the results so far of a request that was answered with `pending` or 202, or that captured something.

        `Prefer: wait=N` waits for what is pending. With capture `none` all is gone an hour after the last verdict.
        """
        prefer = read_prefer(request.META.get("HTTP_PREFER", ""), waits=False)
        stored = waiting.await_stored(account_id=self.account.pk, request_id=id, seconds=prefer.seconds)
        response = stored_response(stored)
        if prefer.seconds:
            response["Preference-Applied"] = f"wait={prefer.seconds}"
        return response


def stored_response(stored: Stored) -> HttpResponse:
    """Write a stored request's answer."""
    request = stored.request
    response = json_response(evaluate_answer(*facts_of_stored(stored)))
    if not stored.is_finished:
        response["Location"] = f"/v1/evaluate/{request.id}"
        response["Retry-After"] = str(pause_for(stored))
    return response


def pause_for(stored: Stored) -> int:
    """Return in how many seconds to ask again for what is pending; what was given another try is as old as that."""
    began = max(evaluation.created_at for evaluation in stored.pending)
    asks_judge = any(evaluation.lane == Lane.JUDGE for evaluation in stored.pending)
    age = (timezone.now() - began).total_seconds()
    return waiting.retry_after(stored.request.account_id, asks_judge=asks_judge, age_seconds=age)


def json_response(body: dict[str, Any]) -> HttpResponse:
    """Write a body as JSON."""
    return HttpResponse(orjson.dumps(body), content_type="application/json")

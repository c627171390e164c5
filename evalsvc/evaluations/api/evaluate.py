"""POST /v1/evaluate and GET /v1/evaluate/{id}: the hot path, decoded by msgspec and written by orjson."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.api import openapi
from evalsvc.evaluations.evaluate import wait
from evalsvc.evaluations.evaluate.answers import answer_stored
from evalsvc.evaluations.evaluate.sessions import session_finder
from evalsvc.evaluations.evaluate.use_case import EvaluateRequest, answer_again, evaluate
from evalsvc.evaluations.queueing import enqueue_lane
from evalsvc.evaluations.wire.prefer import read_prefer
from evalsvc.evaluations.wire.request import fingerprint, read_call
from evalsvc.rest.answering.answers import to_response
from evalsvc.rest.bodies.parsers import read_body
from evalsvc.rest.idempotency import REPLAYED_HEADER, read_retry_flag


class EvaluateView(AccountView):
    """Evaluate the output of an LLM application."""

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
        evaluate_request = EvaluateRequest(
            read_call(body, session_finder(self.account.pk)),
            fingerprint(self.account.pk, body),
            prefer,
            read_retry_flag(request),
        )
        answer = evaluate(self.caller, evaluate_request, claim=self.claim, enqueue=enqueue_lane)
        # It is settled: with this answer, or with the work that is still pending.
        self.claim = None
        return to_response(answer)

    def replay_accepted(self, resource_id: int | None) -> HttpResponse:
        """Answer a repeated Idempotency-Key when the first request was accepted and its answer is not stored."""
        response = to_response(answer_again(self.account.pk, resource_id or 0, read_prefer("wait=0")))
        response[REPLAYED_HEADER] = "true"
        return response


class StoredEvaluateView(AccountView):
    """What became of an evaluate request."""

    scoped = False
    plain: ClassVar = {"GET": "get"}

    @extend_schema(**openapi.STORED_EVALUATE)
    def get(self, request: Request, id: int) -> HttpResponse:
        """Return the results so far of a request that was answered with `pending` or 202, or that captured something.

        `Prefer: wait=N` waits for what is pending. With capture `none` all is gone an hour after the last verdict.
        """
        prefer = read_prefer(request.META.get("HTTP_PREFER", ""), waits=False).waiting_only()
        stored_request = wait.await_stored(account_id=self.account.pk, request_id=id, seconds=prefer.seconds)
        return to_response(answer_stored(stored_request, prefer))

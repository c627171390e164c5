"""POST /v1/evaluate/batch: up to a thousand calls of /v1/evaluate in one, each with its own answer."""

from __future__ import annotations

from django.db import connection
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evalsvc.accounts.access.throttling import charge_requests
from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.api import openapi
from evalsvc.evaluations.bulk.planner import refuse_shared_faults
from evalsvc.evaluations.bulk.use_case import Batch, BatchRequest
from evalsvc.evaluations.queueing import enqueue_lanes
from evalsvc.evaluations.wire.bulk import NDJSON, read_batch
from evalsvc.evaluations.wire.prefer import read_prefer
from evalsvc.rest.answering.answers import JSON
from evalsvc.rest.bodies.parsers import read_body
from evalsvc.rest.idempotency import REPLAYED_HEADER, Claim, Replay, read_idempotency_key, read_retry_flag
from evalsvc.rest.idempotent_rows import RowsClaim, claim_rows, claim_rows_for_attempt


class EvaluateBatchView(AccountView):
    """Evaluate many samples."""

    scoped = False

    @extend_schema(**openapi.EVALUATE_BATCH)
    def post(self, request: Request) -> HttpResponseBase:
        """Run evaluators on 1 to 1000 samples; each gets a row of the answer, with the status that it alone would have.

        The rows come in the order of the samples: as one JSON object, or, with `Accept: application/x-ndjson`, a line
        each as soon as it is done. A sample that cannot be read harms no other; with a fault in the shared members
        nothing is run. Under an `Idempotency-Key` a request that was cut off goes on where it stood, and no sample is
        done twice.
        """
        body = read_body(request)
        batch = read_batch(body, request.META.get("CONTENT_TYPE", ""))
        refuse_shared_faults(self.account.pk, self.caller.admission.epoch, batch)
        claim = self._claim_rows(request)
        n_kept = claim.n_kept(len(batch.samples)) if claim else 0
        caller, n_allowed = charge_requests(self.caller, len(batch.samples) - n_kept)
        request.user = caller  # type: ignore[assignment]  # the headers of the answer tell what is left
        batch_request = BatchRequest(
            sent=batch,
            caller=caller,
            prefer=read_prefer(request.META.get("HTTP_PREFER", "")),
            is_retry=read_retry_flag(request),
            claim=claim,
            n_allowed=n_allowed,
            is_streamed=NDJSON in request.META.get("HTTP_ACCEPT", "").lower(),
        )
        return self._answer(batch_request, is_replayed=bool(n_kept))

    def _answer(self, asked: BatchRequest, *, is_replayed: bool) -> HttpResponseBase:
        rows = Batch(asked, enqueue_lanes).rows()
        connection.close()
        response: HttpResponseBase
        if asked.is_streamed:
            response = StreamingHttpResponse((row + b"\n" for row in rows), content_type=NDJSON)
            # Else a proxy would collect the rows.
            response["X-Accel-Buffering"] = "no"
        else:
            response = HttpResponse(b'{"rows":[' + b",".join(rows) + b"]}", content_type=JSON)
        if is_replayed:
            response[REPLAYED_HEADER] = "true"
        if asked.prefer.applied:
            response["Preference-Applied"] = asked.prefer.applied
        return response

    def receive(self, request: Request) -> None:
        """Read the body. The sender can be slow, so no database connection is occupied in the meantime."""
        connection.close()
        read_body(request)

    def _claim(self, request: Request) -> Claim | Replay | None:
        """Claim nothing yet: each sample is claimed with its own work."""
        return None

    def _claim_rows(self, request: Request) -> RowsClaim | None:
        account_id = self.account.pk
        if key := read_idempotency_key(request):
            return claim_rows(account_id=account_id, key=key, fingerprint=self.fingerprint(request))
        if (is_retry := read_retry_flag(request)) is None:
            return None
        return claim_rows_for_attempt(
            account_id=account_id, actor=self.caller.actor, fingerprint=self.fingerprint(request), is_retry=is_retry
        )

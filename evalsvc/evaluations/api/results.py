"""The /v1/evaluation-results of generated clients: keep results made elsewhere, read one, search."""

from __future__ import annotations

from typing import Any

import msgspec
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.answers import evaluation_result
from evalsvc.evaluations.call import Inputs
from evalsvc.evaluations.client_rows import MAX_ROWS
from evalsvc.evaluations.client_scores import keep_scores
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.openapi import RESULT, inlined
from evalsvc.evaluations.result_rows import ResultRow, read_results
from evalsvc.evaluations.result_search import get_result
from evalsvc.evaluations.selectors import RETRY_WINDOW_SECONDS, entry_of, id_at, request_facts
from evalsvc.rest.parsing import read_body

# No request has this id or a higher one: nothing that was kept before counts.
NEVER = 2**63 - 1
RESULT_OUT = RESULT["properties"]["evaluation_result"] | {"type": "object"}
ROW_ERROR = {
    "type": "object",
    "required": ["index", "pointer", "detail"],
    "properties": {"index": {"type": "integer"}, "pointer": {"type": "string"}, "detail": {"type": "string"}},
}


def batch_schema() -> dict[str, Any]:
    """Return the JSON Schema of a batch, from the structs that decode its rows."""
    _, components = msgspec.json.schema_components([ResultRow, Inputs], ref_template="{name}")
    row, inputs = (inlined(components[name], components) for name in ("ResultRow", "Inputs"))
    row["properties"] |= inputs["properties"]
    rows = {"type": "array", "minItems": 1, "maxItems": MAX_ROWS, "items": row}
    return {"type": "object", "required": ["evaluation_results"], "properties": {"evaluation_results": rows}}


def result_out(row: Evaluation) -> dict[str, Any]:
    """Return an evaluation in the shape of /v1/evaluation-results, with the inputs of its request."""
    return evaluation_result(request_facts(row.request), entry_of(row))


def answer_schema(name: str, schema: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer whose keys are all required."""
    properties = {name: schema, **others}
    return {"type": "object", "required": list(properties), "properties": properties}


class ResultBatchView(AccountView):
    """Results made elsewhere, with what they are results of."""

    @extend_schema(
        operation_id="keep_evaluation_results",
        tags=["evaluation results"],
        request={"application/json": batch_schema()},
        responses={
            (200, "application/json"): OpenApiResponse(
                answer_schema(
                    "evaluation_results",
                    {"type": "array", "items": RESULT_OUT},
                    errors={"type": "array", "items": ROW_ERROR},
                )
            )
        },
    )
    def post(self, request: Request) -> Response:
        """Keep 1 to 1000 results; rows that cannot be read are left out and named in `errors`, the others are kept.

        The same body again within ten minutes is a retry and answers with what the first one made, unless the client
        says that it is none: by a new `Idempotency-Key`, or by `X-Stainless-Retry-Count: 0`.
        """
        scores, errors = read_results(self.account.pk, read_body(request), since=self._since(request))
        kept, unplaced = keep_scores(account=self.account, scores=scores, name="evaluation_results")
        errors = sorted([*errors, *unplaced], key=lambda error: error.index)
        told = [{"index": error.index, "pointer": error.pointer, "detail": error.detail} for error in errors]
        return Response({"evaluation_results": [result_out(row) for row in kept], "errors": told})

    def _since(self, request: Request) -> int:
        """Return the lowest id of a request that this call may repeat."""
        counts = request.META.get("HTTP_X_STAINLESS_RETRY_COUNT")
        if self.claim is not None or counts == "0":
            return NEVER
        return id_at(timezone.now(), back_seconds=RETRY_WINDOW_SECONDS)


class ResultView(AccountView):
    """One result."""

    @extend_schema(
        operation_id="evaluation_result",
        tags=["evaluation results"],
        responses={(200, "application/json"): OpenApiResponse(answer_schema("evaluation_result", RESULT_OUT))},
    )
    def get(self, request: Request, id: int) -> Response:
        """Return a captured evaluation by its id, with the inputs of its request. One that failed has no result."""
        return Response({"evaluation_result": result_out(get_result(account=self.account, id=id))})

"""POST /v1/evaluations/batch: scores that an account's own code has made."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.ingest.rows import MAX_ROWS, LoggedScore, ScoreBatchBody, read_score_batch
from evalsvc.evaluations.ingest.scores import keep_scores
from evalsvc.evaluations.wire.answer import evaluation_out
from evalsvc.evaluations.wire.shapes import KeptEvaluations
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.bodies.parsers import list_body_keys, read_body


def score_batch_schema() -> dict[str, object]:
    """Return the JSON Schema of a body, from the struct that decodes its rows."""
    _, components = msgspec.json.schema_components([LoggedScore], ref_template="#/components/schemas/{name}")
    rows = {"type": "array", "minItems": 1, "maxItems": MAX_ROWS, "items": components[LoggedScore.__name__]}
    return {"type": "object", "required": ["evaluations"], "properties": {"evaluations": rows}}


class EvaluationBatchView(AccountView):
    """Scores made elsewhere."""

    shows_evaluations = True
    remembers_tries = ()

    @extend_schema(
        operation_id="keep_evaluations",
        tags=["evaluations"],
        request={"application/json": score_batch_schema()},
        responses=answers_with(KeptEvaluations),
    )
    def post(self, request: Request) -> Response:
        """Keep 1 to 1000 scores; rows that cannot be read are left out and named in `errors`, the others are kept.

        Each row is kept once: the same batch again answers with the evaluations that it made.
        """
        body = read_body(request)
        rows = read_score_batch(self.account.pk, body)
        self.warn_of(list_body_keys(body), ScoreBatchBody.__struct_fields__, rows.warnings)
        kept = keep_scores(account=self.account, scores=rows.scores)
        errors = sorted([*rows.errors, *kept.errors], key=lambda error: error.index)
        evaluations = [evaluation_out(row) for row in kept.evaluations]
        return Response(KeptEvaluations(evaluations=evaluations, n_new=kept.n_new, errors=errors))

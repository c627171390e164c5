"""GET /v1/reviews/{id}/export and POST …/import: collect answers with another tool."""

from __future__ import annotations

import uuid

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.rest.answering.shapes import AnswerShape, answers_with, build_shape
from evalsvc.reviews.answering import exchange
from evalsvc.reviews.bodies import ReviewExportQuery, ReviewImportIn
from evalsvc.reviews.selectors import get_review

TYPES = {exchange.CSV: "text/csv; charset=utf-8", exchange.JSONL: "application/jsonl"}


class ImportedAnswersOut(AnswerShape):
    """How many answers were kept, were there already, and were not given."""

    n_kept: int
    n_repeated: int
    n_empty: int


class ReviewExportView(AccountView):
    """A review as rows."""

    @extend_schema(
        operation_id="export_review",
        tags=["reviews"],
        parameters=[ReviewExportQuery],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, TYPES[exchange.JSONL]): OpenApiTypes.STR},
    )
    def get(self, request: Request, id: uuid.UUID) -> StreamingHttpResponse:
        """Download the items with their texts and answers, as CSV that a spreadsheet may open, or JSONL."""
        get_review(account=self.account, id=id)
        format = validate_strict(ReviewExportQuery(data=get_query_params(request)))["format"]
        parts = exchange.export_rows(account=self.account, id=id, format=format)
        response = StreamingHttpResponse(parts, content_type=TYPES[format])
        response["Content-Disposition"] = content_disposition_header(True, f"review-{id}.{format}")
        return response


class ReviewImportView(AccountView):
    """Answers that were given elsewhere."""

    # Importing the same rows again stores nothing twice.
    remembers_tries = ()

    @extend_schema(
        operation_id="import_review_answers",
        tags=["reviews"],
        request=ReviewImportIn,
        responses=answers_with(ImportedAnswersOut),
    )
    def post(self, request: Request, id: uuid.UUID) -> Response:
        """Keep answers that were given elsewhere, all or none; those that are there already are not kept twice."""
        get_review(account=self.account, id=id)
        data = validate_strict(ReviewImportIn(data=request.data))
        result = exchange.import_answers(account=self.account, id=id, actor=self.caller.actor, **data)
        return Response(build_shape(result, ImportedAnswersOut))

"""The /v1/evaluation-results of generated clients: store external results, read one, search."""

from __future__ import annotations

from typing import Any

import msgspec
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.api.openapi import inlined, published_spellings
from evalsvc.evaluations.api.search import MAX_OFFSET
from evalsvc.evaluations.evaluate.retries import RETRY_WINDOW_SECONDS
from evalsvc.evaluations.history.lineage import build_planned_warnings
from evalsvc.evaluations.ingest.results import ResultBatch, ResultRow, read_results
from evalsvc.evaluations.ingest.rows import MAX_ROWS
from evalsvc.evaluations.ingest.scores import keep_scores
from evalsvc.evaluations.search.results import FEEDBACK, get_result, result_condition, search_results
from evalsvc.evaluations.wire.answer import evaluation_result
from evalsvc.evaluations.wire.inputs import InputSpellings
from evalsvc.evaluations.wire.request import EXPLAIN
from evalsvc.evaluations.wire.shapes import (
    EvaluationResultAnswer,
    EvaluationResultPage,
    EvaluationResults,
    EvaluationVerdict,
)
from evalsvc.evaluations.wire.stored import build_entry, request_facts
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.bodies.fields import StrictText
from evalsvc.rest.bodies.parsers import list_body_keys, read_body
from evalsvc.rest.idempotency import read_retry_flag
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import id_at

# No request has this id or a higher one, so that no earlier request matches.
NEVER = 2**63 - 1
DEFAULT_LIMIT = 1000
MAX_TAGS = 100
ORDERS = [f"{sign}{column}" for column in ("created_at", "dataset_sample_id") for sign in ("", "+", "-")]


def batch_schema() -> dict[str, Any]:
    """Return the JSON Schema of a batch, from the structs that decode its rows."""
    _, components = msgspec.json.schema_components([ResultRow, InputSpellings], ref_template="{name}")
    row, inputs = (inlined(components[name], components) for name in ("ResultRow", "InputSpellings"))
    row["properties"] |= published_spellings(inputs["properties"])
    rows = {"type": "array", "minItems": 1, "maxItems": MAX_ROWS, "items": row}
    return {"type": "object", "required": ["evaluation_results"], "properties": {"evaluation_results": rows}}


def result_out(row: Any, request: Any = None) -> EvaluationVerdict:
    """Return an evaluation in the shape of /v1/evaluation-results, with the inputs of its request.

    `row` is an Evaluation, or a row of `search_results`, which comes with its request's.
    """
    return evaluation_result(request_facts(request or row.request, row.log_id), build_entry(row))


class ResultBatchView(AccountView):
    """Results made elsewhere, with what they are results of."""

    shows_evaluations = True
    remembers_tries = ()

    @extend_schema(
        operation_id="keep_evaluation_results",
        tags=["evaluation results"],
        request={"application/json": batch_schema()},
        responses=answers_with(EvaluationResults),
    )
    def post(self, request: Request) -> Response:
        """Keep 1 to 1000 results; rows that cannot be read are left out and named in `errors`, the others are kept.

        The same body again within ten minutes is a retry and answers with what the first one made, unless the client
        says that it is none: by a new `Idempotency-Key`, or by `X-Stainless-Retry-Count: 0`.
        """
        body = read_body(request)
        rows = read_results(self.account.pk, body, since=self._since(request))
        self.warn_of(list_body_keys(body), ResultBatch.__struct_fields__, rows.warnings)
        kept = keep_scores(account=self.account, scores=rows.scores, name="evaluation_results")
        errors = sorted([*rows.errors, *kept.errors], key=lambda error: error.index)
        results = [result_out(row) for row in kept.evaluations]
        return Response(EvaluationResults(evaluation_results=results, n_new=kept.n_new, errors=errors))

    def _since(self, request: Request) -> int:
        """Return the lowest id of a request that this call may repeat."""
        if self.claim is not None or read_retry_flag(request) is False:
            return NEVER
        return id_at(timezone.now(), back_seconds=RETRY_WINDOW_SECONDS)


class ResultView(AccountView):
    """One result."""

    @extend_schema(
        operation_id="evaluation_result",
        tags=["evaluation results"],
        responses=answers_with(EvaluationResultAnswer),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return a captured evaluation by its id, with the inputs of its request. One that failed has no result."""
        result = result_out(get_result(account=self.account, id=id))
        return Response(EvaluationResultAnswer(evaluation_result=result))


class Digits(serializers.IntegerField):
    """An id: a number, or its digits."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=2**63 - 1, **kwargs)


class Tags(serializers.DictField):
    """Keys with the values that they must have, all of them."""

    child = StrictText(allow_blank=True, max_length=10_000)


OPTIONAL: dict[str, Any] = {"required": False, "allow_null": True}


class ResultSearchIn(serializers.Serializer[Any]):
    """A search of results. What is absent or null filters nothing; fields that are not here are ignored."""

    app = StrictText(max_length=255, **OPTIONAL)
    project_id = serializers.UUIDField(**OPTIONAL)
    experiment_id = Digits(**OPTIONAL)
    evaluation_run_id = serializers.JSONField(**OPTIONAL, help_text="Matches nothing: there are no runs here.")
    evaluator_id = StrictText(max_length=255, **OPTIONAL)
    evaluator_family = StrictText(max_length=255, **OPTIONAL)
    profile_name = StrictText(max_length=255, **OPTIONAL)
    criteria = StrictText(max_length=255, **OPTIONAL)
    evaluator_profile_public_id = serializers.UUIDField(**OPTIONAL)
    dataset_id = StrictText(max_length=255, **OPTIONAL)
    after_datetime = serializers.DateTimeField(**OPTIONAL)
    before_datetime = serializers.DateTimeField(**OPTIONAL)
    after_id = Digits(**OPTIONAL)
    before_id = Digits(**OPTIONAL)
    explain = serializers.BooleanField(**OPTIONAL)
    explain_strategy = serializers.ChoiceField(EXPLAIN, **OPTIONAL)
    score_raw_min = serializers.FloatField(**OPTIONAL)
    score_raw_max = serializers.FloatField(**OPTIONAL)
    tags = Tags(**OPTIONAL)
    favorite = serializers.BooleanField(**OPTIONAL)
    evaluation_feedback_status = serializers.ChoiceField(list(FEEDBACK), **OPTIONAL)
    order = serializers.ChoiceField(ORDERS, **OPTIONAL)
    limit = serializers.IntegerField(min_value=0, max_value=10_000, default=DEFAULT_LIMIT, allow_null=True)
    offset = serializers.IntegerField(min_value=0, max_value=MAX_OFFSET, **OPTIONAL)
    cursor = serializers.CharField(max_length=1000, **OPTIONAL)

    def validate(self, attrs: dict[str, Any]) -> dict[str, object]:
        """Refuse a page that begins at two places, and bounds that are no numbers."""
        if attrs.get("cursor") and attrs.get("offset") is not None:
            raise Invalid(FieldError("/offset", "Send `cursor` or `offset`, not both."))
        if len(attrs.get("tags") or ()) > MAX_TAGS:
            raise Invalid(FieldError("/tags", f"At most {MAX_TAGS} tags."))
        return attrs


ResultSearchIn._declared_fields["pass"] = serializers.BooleanField(**OPTIONAL)


class ResultSearchView(AccountView):
    """Results by filters."""

    shows_evaluations = True
    reads = True

    @extend_schema(
        operation_id="search_evaluation_results",
        tags=["evaluation results"],
        request=ResultSearchIn,
        responses=answers_with(EvaluationResultPage),
    )
    def post(self, request: Request) -> Response:
        """Return the results that meet all filters, with their inputs: newest first unless `order` says otherwise.

        A page ends early where the inputs are long; `next_cursor` tells whether there is more.
        """
        serializer = ResultSearchIn(data=request.data)
        query = self.validate_lenient(serializer)
        limit = DEFAULT_LIMIT if query["limit"] is None else query["limit"]
        self.charge_page(limit)
        order = query.get("order") or "-created_at"
        experiment_ids = [id for id in (query.get("experiment_id"),) if id is not None]
        self.warn_of((), (), build_planned_warnings(self.account.pk, experiment_ids, "/experiment_id"))
        results = search_results(
            account=self.account,
            condition=result_condition(self.account, query),
            order=order if order[0] in "+-" else f"+{order}",
            limit=limit,
            cursor=query.get("cursor"),
            offset=query.get("offset"),
        )
        rows = [result_out(row, inputs) for row, inputs in results.rows]
        return Response(EvaluationResultPage(results=rows, next_cursor=results.next_cursor))

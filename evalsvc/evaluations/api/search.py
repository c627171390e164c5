"""GET /v1/evaluations/{id} and POST /v1/evaluations/search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F, Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.history.lineage import elsewhere
from evalsvc.evaluations.lookups import AnyOf
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.filters import MAX_LOG_IDS, evaluation_condition, experiments_in, unread_members
from evalsvc.evaluations.search.pages import requests_of, search_evaluations, settings_of
from evalsvc.evaluations.selectors import get_evaluation
from evalsvc.evaluations.wire.answer import digits, duration_of_microseconds
from evalsvc.evaluations.wire.inputs import as_sent
from evalsvc.evaluations.wire.scores import score_of, shown_extra
from evalsvc.evaluations.wire.shapes import EvaluationEnvelope, EvaluationPage, StoredEvaluation
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.rest.shapes import answers_with

# Each row before it is read and left out.
MAX_OFFSET = 100_000


class SearchIn(serializers.Serializer[Any]):
    """A search; `and_` and `or_` nest."""

    filters = serializers.ListField(child=serializers.DictField(), default=list, allow_null=True)
    limit = serializers.IntegerField(min_value=1, max_value=10_000, default=1000)
    cursor = serializers.CharField(required=False, allow_null=True, max_length=500)
    offset = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=MAX_OFFSET)
    trace_id = serializers.CharField(required=False, allow_null=True, max_length=255)
    log_id_in = serializers.ListField(
        child=serializers.CharField(max_length=255), required=False, allow_null=True, max_length=MAX_LOG_IDS
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a page that begins at two places."""
        if attrs.get("cursor") and attrs.get("offset") is not None:
            raise Invalid(FieldError("/offset", "Send `cursor` or `offset`, not both."))
        return attrs


def evaluation_out(row: Any, request: Any = None, *, config: dict[str, Any] | None = None) -> StoredEvaluation:
    """Return an evaluation in the shape of /v1/evaluations.

    `row` is an Evaluation or a row of `search_evaluations`, which comes with its request's row of `requests_of`.
    """
    request, details = request or row.request, as_sent(row.details) if row.details else {}
    return StoredEvaluation(
        id=str(row.id),
        log_id=row.log_id or "",
        created_at=row.created_at,
        project_id=row.project_id,
        app=row.app,
        experiment_id=row.experiment_id,
        # JavaScript cannot hold the number; the clients of this wire read nothing else.
        experiment_id_str=digits(row.experiment_id),
        evaluator_family=row.family,
        evaluator_id=row.evaluator_id,
        criteria=row.profile_name or None,
        criteria_id=row.profile_id,
        criteria_revision=row.profile_revision,
        criteria_config=config,
        status=row.status,
        error_code=row.error_code,
        error_message=row.error_message,
        explain_strategy=row.explain_strategy,
        passed=row.passed,
        score=score_of(row.family, row.score, row.passed),
        text_output=row.text_output,
        metadata=_metadata(row, details),
        explanation=row.explanation,
        evaluation_duration=duration_of_microseconds(row.duration_us),
        explanation_duration=duration_of_microseconds(details.get("explanation_us")),
        usage=usage_of(row.extra) if row.extra else None,
        metric_name=details.get("metric_name"),
        metric_description=details.get("metric_description"),
        annotation_criteria_id=details.get("annotation_criteria_id"),
        evaluation_type=row.evaluation_type,
        favorite=row.favorite,
        feedback=row.feedback,
        tags=request.tags or {},
        dataset_id=row.dataset_id,
        dataset_sample_id=request.dataset_sample_id,
        trace_id=row.trace_id,
        span_id=request.span_id,
    )


def usage_of(extra: Any) -> dict[str, int] | None:
    """Return the tokens that a judge has read and written for a verdict; None where none was asked."""
    judge = extra.get("judge") if isinstance(extra, dict) else None
    if not isinstance(judge, dict):
        return None
    counts = {name: judge.get(name) for name in ("input_tokens", "output_tokens")}
    return {name: int(count) for name, count in counts.items() if isinstance(count, int | float)} or None


def _metadata(row: Any, details: dict[str, Any]) -> dict[str, Any] | None:
    if row.evaluation_type != Evaluation.Type.MANAGED:
        return details.get("metadata")
    if row.status != Evaluation.Status.SUCCESS:
        return None
    return {"positions": row.spans, "extra": shown_extra(row.family, row.score, row.extra)}


class EvaluationView(AccountView):
    """One captured evaluation."""

    @extend_schema(
        operation_id="evaluation",
        tags=["evaluations"],
        responses=answers_with(EvaluationEnvelope),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return a captured evaluation by its id."""
        row = get_evaluation(account=self.account, id=id)
        config = settings_of(account=self.account, profile_id=row.profile_id, number=row.profile_revision)
        return Response(EvaluationEnvelope(evaluation=evaluation_out(row, config=config)))


class EvaluationSearchView(AccountView):
    """Captured evaluations by filters."""

    reads = True

    @extend_schema(
        operation_id="search_evaluations",
        tags=["evaluations"],
        request=SearchIn,
        responses=answers_with(EvaluationPage),
    )
    def post(self, request: Request) -> Response:
        """Return captured evaluations, newest first, that all filters let through.

        A filter names `field`, `operation` and `value`, or nests others in `and_` and `or_`.
        """
        serializer = SearchIn(data=request.data)
        wanted = self.lenient(serializer)
        filters = serializer.initial_data.get("filters") or []
        wanted_rows = evaluation_condition(filters) & _older_filters(wanted)
        planned = elsewhere(self.account.pk, experiments_in(filters), "/filters")
        self.warn_of((), (), [*unread_members(filters), *planned])
        found = search_evaluations(
            account=self.account,
            condition=wanted_rows,
            limit=wanted["limit"],
            cursor=wanted.get("cursor"),
            offset=wanted.get("offset") or 0,
        )
        requests = requests_of(account=self.account, request_ids=[row.request_id for row in found.rows])
        # What is deleted meanwhile is left out.
        rows = [evaluation_out(row, requests[row.request_id]) for row in found.rows if row.request_id in requests]
        return Response(EvaluationPage(evaluations=rows, next_cursor=found.next_cursor))


def _older_filters(wanted: Mapping[str, Any]) -> Q:
    combined = Q()
    if trace_id := wanted.get("trace_id"):
        combined &= Q(trace_id=trace_id)
    if (log_ids := wanted.get("log_id_in")) is not None:
        combined &= Q(AnyOf(F("log_id"), log_ids))
    return combined

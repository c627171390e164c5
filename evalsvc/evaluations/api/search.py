"""GET /v1/evaluations/{id} and POST /v1/evaluations/search."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.evaluations.answers import digits, iso_duration
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search import MAX_LOG_IDS, condition
from evalsvc.evaluations.selectors import as_sent, get_evaluation, list_evaluations
from evalsvc.rest.pagination import page


class EvaluationOut(serializers.Serializer[Evaluation]):
    """A captured evaluation. Its inputs are those of its request."""

    id = serializers.CharField()
    log_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    project_id = serializers.UUIDField(allow_null=True)
    app = serializers.CharField(allow_null=True)
    experiment_id = serializers.IntegerField(allow_null=True)
    evaluator_family = serializers.CharField(allow_null=True)
    evaluator_id = serializers.CharField()
    criteria = serializers.CharField(allow_null=True)
    criteria_id = serializers.UUIDField(allow_null=True)
    criteria_revision = serializers.IntegerField(allow_null=True)
    status = serializers.CharField()
    error_code = serializers.CharField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    text_output = serializers.CharField(allow_null=True)
    explanation = serializers.CharField(allow_null=True)
    explain_strategy = serializers.CharField()
    evaluation_duration = serializers.CharField(allow_null=True)
    explanation_duration = serializers.CharField(allow_null=True)
    metric_name = serializers.CharField(allow_null=True)
    metric_description = serializers.CharField(allow_null=True)
    evaluation_type = serializers.CharField()
    tags = serializers.DictField(child=serializers.CharField())
    dataset_id = serializers.CharField(allow_null=True)
    dataset_sample_id = serializers.CharField(allow_null=True)
    trace_id = serializers.CharField(allow_null=True)
    span_id = serializers.CharField(allow_null=True)


EvaluationOut._declared_fields["pass"] = serializers.BooleanField(allow_null=True)
EvaluationOut._declared_fields["metadata"] = serializers.DictField(allow_null=True)


class SearchIn(serializers.Serializer[Any]):
    """A search; `and_` and `or_` nest."""

    filters = serializers.ListField(child=serializers.DictField(), default=list)
    limit = serializers.IntegerField(min_value=1, max_value=10_000, default=1000)
    cursor = serializers.CharField(required=False, allow_null=True, max_length=500)
    trace_id = serializers.CharField(required=False, allow_null=True, max_length=255)
    log_id_in = serializers.ListField(
        child=serializers.CharField(max_length=255), required=False, allow_null=True, max_length=MAX_LOG_IDS
    )


def evaluation_out(row: Evaluation) -> dict[str, Any]:
    """Return an evaluation in the shape of /v1/evaluations."""
    request, details = row.request, as_sent(row.details or {})
    return {
        "id": digits(row.id),
        "log_id": request.log_id,
        "created_at": row.created_at,
        "project_id": request.project_id,
        "app": request.app,
        "experiment_id": request.experiment_id,
        "evaluator_family": row.family,
        "evaluator_id": row.evaluator_id,
        "criteria": row.profile_name or None,
        "criteria_id": row.profile_id,
        "criteria_revision": row.profile_revision,
        "criteria_config": None,
        "status": row.status,
        "error_code": row.error_code,
        "error_message": row.error_message,
        "explain_strategy": row.explain_strategy,
        "pass": row.passed,
        "score": row.score,
        "text_output": row.text_output,
        "metadata": _metadata(row, details),
        "explanation": row.explanation,
        "evaluation_duration": iso_duration(row.duration_us),
        "explanation_duration": iso_duration(details.get("explanation_us")),
        "usage": None,
        "metric_name": details.get("metric_name"),
        "metric_description": details.get("metric_description"),
        "annotation_criteria_id": None,
        "evaluation_type": row.evaluation_type,
        "feedback": None,
        "tags": request.tags or {},
        "dataset_id": request.dataset_id,
        "dataset_sample_id": request.dataset_sample_id,
        "trace_id": request.trace_id,
        "span_id": request.span_id,
    }


def _metadata(row: Evaluation, details: dict[str, Any]) -> dict[str, Any] | None:
    if row.evaluation_type != Evaluation.Type.MANAGED:
        return details.get("metadata")
    return {"positions": row.spans, "extra": row.extra} if row.status == Evaluation.Status.SUCCESS else None


class EvaluationView(AccountView):
    """One captured evaluation."""

    @extend_schema(
        operation_id="evaluation",
        tags=["evaluations"],
        responses=inline_serializer("EvaluationEnvelope", {"evaluation": EvaluationOut()}),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return a captured evaluation by its id."""
        return Response({"evaluation": evaluation_out(get_evaluation(account=self.account, id=id))})


class SearchView(AccountView):
    """Captured evaluations by filters."""

    reads = True

    @extend_schema(
        operation_id="search_evaluations",
        tags=["evaluations"],
        request=SearchIn,
        responses=inline_serializer(
            "EvaluationPage",
            {"evaluations": EvaluationOut(many=True), "next_cursor": serializers.CharField(allow_null=True)},
        ),
    )
    def post(self, request: Request) -> Response:
        """Return captured evaluations, newest first, that all filters let through.

        A filter names `field`, `operation` and `value`, or nests others in `and_` and `or_`.
        """
        serializer = SearchIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        wanted = serializer.validated_data
        rows = list_evaluations(account=self.account).filter(condition(serializer.initial_data.get("filters") or []))
        if trace_id := wanted.get("trace_id"):
            rows = rows.filter(request__trace_id=trace_id)
        if (log_ids := wanted.get("log_id_in")) is not None:
            rows = rows.filter(request__log_id__in=log_ids)
        found, cursor = page(
            rows, limit=wanted["limit"], cursor=wanted.get("cursor"), of=f"evaluations:{self.account.pk}"
        )
        return Response({"evaluations": [evaluation_out(row) for row in found], "next_cursor": cursor})

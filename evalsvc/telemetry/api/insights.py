"""Trace insights, as requested by Patronus' clients: always empty, because the service creates none."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.rest.answering.shapes import AnswerWithWarnings, Json, answers_with
from evalsvc.rest.bodies.schemas import body_schema
from evalsvc.rest.problems import Problem

LARGEST = 2**31 - 1


class InsightsQuery(serializers.Serializer[Any]):
    """The query of both lists."""

    app = serializers.CharField(required=False)
    experiment_id = serializers.CharField(required=False)
    job_id = serializers.CharField(required=False)
    job_status = serializers.CharField(required=False)
    project_id = serializers.CharField(required=False)
    trace_id = serializers.CharField(required=False)
    limit = serializers.IntegerField(min_value=0, max_value=LARGEST, default=1000)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)


class InsightSearchBody(msgspec.Struct):
    """What the searches are asked for."""

    app: str | None = None
    end_time: datetime | None = None
    error_types: list[str] | None = None
    experiment_id: int | str | None = None
    limit: int = 1000
    offset: int = 0
    project_id: str | None = None
    redis_job_id: str | None = None
    span_id: str | None = None
    start_time: datetime | None = None
    trace_id: str | None = None


class InsightJobBody(msgspec.Struct):
    """Which trace to look into."""

    trace_id: str


class TraceInsights(AnswerWithWarnings):
    """No insights."""

    trace_insights: list[dict[str, Json]]


class InsightJobs(AnswerWithWarnings):
    """No jobs."""

    insight_jobs: list[dict[str, Json]]


class InsightErrors(AnswerWithWarnings):
    """No errors that insights have found."""

    errors: list[dict[str, Json]]


class SpanAnalyses(AnswerWithWarnings):
    """No analyses."""

    span_analysis: list[dict[str, Json]]


class InsightSearchView(AccountView):
    """What the searches share: they read a question, and find nothing."""

    reads = True

    def answer_empty(self, request: Request, answer: AnswerWithWarnings) -> Response:
        """Refuse a question that is none, and answer it otherwise."""
        self.decode_body(request, InsightSearchBody)
        return Response(answer)


class InsightsView(AccountView):
    """Insights."""

    @extend_schema(
        operation_id="list_trace_insights",
        tags=["telemetry"],
        parameters=[InsightsQuery],
        responses=answers_with(TraceInsights),
    )
    def get(self, request: Request) -> Response:
        """List insights: there are none."""
        self.parse_query(request, InsightsQuery)
        return Response(TraceInsights(trace_insights=[]))


class FoundInsightsView(InsightSearchView):
    """Insights by their traces and times."""

    @extend_schema(
        operation_id="search_trace_insights",
        tags=["telemetry"],
        request=body_schema(InsightSearchBody),
        responses=answers_with(TraceInsights),
    )
    def post(self, request: Request) -> Response:
        """Search for insights: there are none."""
        return self.answer_empty(request, TraceInsights(trace_insights=[]))


class InsightErrorsView(InsightSearchView):
    """What insights have found, by kinds of errors."""

    @extend_schema(
        operation_id="trace_insight_errors",
        tags=["telemetry"],
        request=body_schema(InsightSearchBody),
        responses=answers_with(InsightErrors),
    )
    def post(self, request: Request) -> Response:
        """Count the errors that insights have found: there are none."""
        return self.answer_empty(request, InsightErrors(errors=[]))


class SpanAnalysesView(InsightSearchView):
    """Analyses of single spans."""

    @extend_schema(
        operation_id="search_span_analysis",
        tags=["telemetry"],
        request=body_schema(InsightSearchBody),
        responses=answers_with(SpanAnalyses),
    )
    def post(self, request: Request) -> Response:
        """Search for analyses of spans: there are none."""
        return self.answer_empty(request, SpanAnalyses(span_analysis=[]))


class InsightJobsView(AccountView):
    """Jobs that would make insights."""

    @extend_schema(
        operation_id="list_trace_insight_jobs",
        tags=["telemetry"],
        parameters=[InsightsQuery],
        responses=answers_with(InsightJobs),
    )
    def get(self, request: Request) -> Response:
        """List jobs: there are none."""
        self.parse_query(request, InsightsQuery)
        return Response(InsightJobs(insight_jobs=[]))

    @extend_schema(
        operation_id="create_trace_insight_job",
        tags=["telemetry"],
        request=body_schema(InsightJobBody),
        responses={(501, "application/problem+json"): {"$ref": "#/components/schemas/Problem"}},
    )
    def post(self, request: Request) -> Response:
        """Refuse to look into a trace. There are no insights here; clients are told not to try again."""
        self.decode_body(request, InsightJobBody)
        raise Problem(
            "This service makes no insights into traces.",
            code="not_implemented",
            headers={"x-should-retry": "false"},
        )

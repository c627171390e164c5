"""The addresses of telemetry."""

from django.urls import path

from evalsvc.telemetry.api.export import DoubledTracesView, LogsView, LogView, MetricsExportView, TracesView, TraceView
from evalsvc.telemetry.api.insights import (
    FoundInsightsView,
    InsightErrorsView,
    InsightJobsView,
    InsightsView,
    SpanAnalysesView,
)
from evalsvc.telemetry.api.search import LogSearchView, SpanSearchView
from evalsvc.telemetry.api.spans import SpansView

urlpatterns = [
    path("v1/traces", TracesView.as_view()),
    path("v1/traces/v1/traces", DoubledTracesView.as_view()),
    path("v1/metrics", MetricsExportView.as_view()),
    path("v1/traces/<str:trace_id>", TraceView.as_view()),
    path("v1/logs", LogsView.as_view()),
    path("v1/logs/<str:log_id>", LogView.as_view()),
    path("v1/otel/logs/search", LogSearchView.as_view()),
    path("v1/otel/spans", SpansView.as_view()),
    path("v1/otel/spans/search", SpanSearchView.as_view()),
    path("v1/trace-insight", InsightsView.as_view()),
    path("v1/trace-insight/search", FoundInsightsView.as_view()),
    path("v1/trace-insight/errors", InsightErrorsView.as_view()),
    path("v1/trace-insight-jobs", InsightJobsView.as_view()),
    path("v1/span-analysis/search", SpanAnalysesView.as_view()),
]

"""OTLP metrics: counted and discarded.

The response reports this to the exporter, so that its request does not fail.
"""

from __future__ import annotations

from typing import Any

from evalsvc.telemetry.otlp.otlp_json import Message, Parts, Unread, ignore_field
from evalsvc.telemetry.otlp.records import RecordBatch, refuse_scattered

KINDS_OF_POINTS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
NOT_KEPT = "metrics are not kept here; spans and logs are"


class DataPoints(Message):
    """The points of one kind."""

    data_points: Unread = None


class OtlpMetric(Message):
    """A metric: it has points of one kind."""

    gauge: DataPoints | None = None
    sum: DataPoints | None = None
    histogram: DataPoints | None = None
    exponential_histogram: DataPoints | None = None
    summary: DataPoints | None = None


class ScopeMetrics(Message):
    """The metrics of one library."""

    metrics_: Unread = ignore_field("metrics")

    @property
    def metrics(self) -> Parts:
        """Return the metrics."""
        return Parts(self.metrics_, OtlpMetric)


class ResourceMetrics(Message):
    """The metrics of one sender."""

    scope_metrics_: Unread = ignore_field("scopeMetrics")

    @property
    def scope_metrics(self) -> Parts:
        """Return what each library sends."""
        return Parts(self.scope_metrics_, ScopeMetrics)


class MetricsRequest(Message):
    """The body of POST /v1/metrics."""

    resource_metrics_: Unread = ignore_field("resourceMetrics")

    @property
    def resource_metrics(self) -> Parts:
        """Return what each sender sends."""
        return Parts(self.resource_metrics_, ResourceMetrics)


def read_metrics(request: Any) -> RecordBatch:
    """Read the body of POST /v1/metrics: a batch in which every point is rejected."""
    refuse_scattered(request.resource_metrics, "scope_metrics")
    parts = (part for sender in request.resource_metrics for part in sender.scope_metrics)
    batch = RecordBatch()
    batch.reject(NOT_KEPT, sum(n_points(metric) for part in parts for metric in part.metrics))
    return batch


def n_points(metric: Any) -> int:
    """Return how many points a metric has, in either encoding."""
    kinds = (getattr(metric, name) for name in KINDS_OF_POINTS)
    return sum(len(kind.data_points or ()) for kind in kinds if kind is not None)

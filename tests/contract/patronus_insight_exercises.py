"""The exercises of insights into traces: nothing here makes any, and programs that ask for them run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import patronus_api
import pytest

from tests.contract.patronus_clients import Called
from tests.contract.patronus_exercises import TRACE, exercises

ASKED: dict[str, Any] = {"start_time": datetime(2026, 1, 1, tzinfo=UTC), "end_time": "2026-02-01T00:00:00Z"}


@exercises("trace_insight.list")
def list_insights(client: Called) -> None:
    assert client.trace_insight.list().trace_insights == []
    asked = {"app": "shop", "experiment_id": "7", "job_id": "j", "limit": 0, "offset": 0, "trace_id": TRACE}
    assert client.trace_insight.list(project_id="p", **asked).trace_insights == []


@exercises("trace_insight.list_jobs")
def list_insight_jobs(client: Called) -> None:
    assert client.trace_insight.list_jobs(job_status="pending", limit=5).insight_jobs == []


@exercises("trace_insight.search_trace_insights")
def search_insights(client: Called) -> None:
    found = client.trace_insight.search_trace_insights(**ASKED, error_types=["x"], experiment_id=7, limit=0)

    assert found.trace_insights == []


@exercises("trace_insight.get_error_aggregations")
def count_insight_errors(client: Called) -> None:
    assert client.trace_insight.get_error_aggregations(**ASKED, app="shop", error_types=None).errors == []


@exercises("trace_insight.search_span_analysis")
def search_span_analysis(client: Called) -> None:
    assert client.trace_insight.search_span_analysis(**ASKED, span_id="s", trace_id=TRACE).span_analysis == []


@exercises("trace_insight.create_job")
def create_insight_job(client: Called) -> None:
    with pytest.raises(patronus_api.InternalServerError, match="not_implemented") as caught:
        client.trace_insight.create_job(trace_id=TRACE)

    # A client tries again after a 5xx, unless it is told not to.
    assert caught.value.response.request.headers["x-stainless-retry-count"] == "0"

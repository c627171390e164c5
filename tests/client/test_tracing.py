"""Outputs of the caller's code are linked to its traces, and keep what it says they took."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from evalsvc.client import Client, EvaluationResult, Output
from tests.client.capitals import CAPITALS, INPUTS, knows, run
from tests.conftest import CHECKOUT

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What the caller's tracer provider records."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def traced(query: str) -> str:
    with trace.get_tracer("app").start_as_current_span("retrieve"):
        return knows(query)


async def traced_later(query: str) -> str:
    return traced(query)


@pytest.mark.parametrize("runnable", [traced, traced_later])
def test_each_output_leads_to_what_it_called(client: Client, spans: InMemorySpanExporter, runnable: Any) -> None:
    result = run(client, runnable)

    recorded = spans.get_finished_spans()
    retrieved = {f"{one.context.trace_id:032x}": one for one in recorded if one.name == "retrieve"}
    assert {row.trace_id for row in result} == set(retrieved) and len(retrieved) == 4
    assert {row.span_id for row in result} == {f"{one.parent.span_id:016x}" for one in retrieved.values() if one.parent}
    outer = next(one for one in recorded if one.name == "evalsvc.example")
    assert outer.attributes is not None and result.experiment_id is not None
    assert outer.attributes["pat.experiment.id"] == result.experiment_id
    assert client.resume_experiment(result.experiment_id).result("eval").rows[0].trace_id == result.rows[0].trace_id


def test_a_span_around_the_evaluation_is_the_trace_of_all(client: Client, spans: InMemorySpanExporter) -> None:
    with trace.get_tracer("app").start_as_current_span("nightly") as outer:
        result = run(client, traced)

    assert {row.trace_id for row in result} == {f"{outer.get_span_context().trace_id:032x}"}
    assert len({row.span_id for row in result}) == 4


def test_what_breaks_is_found_by_its_trace(client: Client, spans: InMemorySpanExporter) -> None:
    def broken(query: str) -> str:
        raise KeyError(query)

    result = run(client, broken)

    failed = {f"{one.context.trace_id:032x}" for one in spans.get_finished_spans() if not one.status.is_ok}
    assert {row.trace_id for row in result.errors} == failed and len(failed) == 4


def test_without_a_recording_span_there_is_no_trace(client: Client) -> None:
    assert {(row.trace_id, row.span_id) for row in run(client, traced)} == {(None, None)}


def told(query: str) -> Output:
    return Output(knows(query), input_tokens=30, output_tokens=7, cost=0.25, trace_id=int(TRACE, 16), span_id=SPAN)


def test_what_the_caller_says_is_kept_and_outranks_what_was_seen(
    client: Client, spans: InMemorySpanExporter, tmp_path: Any
) -> None:
    result = run(client, told)

    assert [row.output for row in result] == [knows(country) for country in CAPITALS]
    assert result.metrics["exact-match"].value == 0.75
    assert result.experiment_id is not None
    read = client.resume_experiment(result.experiment_id).result("eval")
    for row in (*result, *read):
        assert (row.trace_id, row.span_id) == (TRACE, SPAN)
        assert (row.input_tokens, row.output_tokens, row.cost) == (30, 7, 0.25)
    assert EvaluationResult.load(result.save(tmp_path / "result.json")).rows == result.rows
    assert set(result.to_dataframe()["trace_id"]) == {TRACE}


@pytest.mark.parametrize(
    "ids", [{"trace_id": "abc"}, {"trace_id": 0}, {"span_id": SPAN}, {"trace_id": TRACE, "span_id": TRACE}]
)
def test_what_is_no_id_is_an_error_of_its_row(client: Client, ids: Any) -> None:
    result = run(client, lambda query: Output("Rome", **ids), INPUTS[:1], [])

    assert result.rows[0].error_type == "bug"
    assert "ValueError" in (result.rows[0].error_message or "")


def test_it_needs_no_opentelemetry() -> None:
    code = """
import sys
sys.modules["opentelemetry"] = None
from evalsvc.client.experiment.tracing import SpanReference, Tracing
with Tracing().example() as place:
    assert place == SpanReference()
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=CHECKOUT)

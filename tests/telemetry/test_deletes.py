"""DELETE /v1/otel/spans: traces go by filters, never all of them."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from evalsvc.accounts.models import AuditEntry
from evalsvc.telemetry import deletion
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import attribute, log, logs, n_logs, n_spans, new_id, span, traces

A, B = "ab" * 16, "cd" * 16


def fill(caller: Caller, trace_id: str, **place: str) -> None:
    """Send a span and a log of a trace that belong somewhere."""
    attributes = [attribute(name.replace("_", "."), value) for name, value in place.items()]
    assert caller.post("/v1/traces", traces(span(trace_id, attributes=attributes))).json() == {}
    named = [attribute("pat.log.id", new_id()), *attributes]
    assert caller.post("/v1/logs", logs(log(traceId=trace_id, attributes=named))).json() == {}


@pytest.fixture
def project_id(alice: Caller) -> str:
    """Alice with two traces: one in the app `shop` of a project and an experiment, one in none."""
    made: str = alice.post("/v1/projects", {"name": "North"}).json()["id"]
    fill(alice, A, pat_app="shop", pat_project_name="North", pat_experiment_id="7")
    fill(alice, B)
    return made


def left(caller: Caller) -> tuple[int, int]:
    return n_spans(caller), n_logs(caller)


FILTERS = {
    "app": ("app=shop", (1, 1)),
    "experiment": ("experiment_id=7", (1, 1)),
    "project": ("project_id={project_id}", (1, 1)),
    "trace": (f"trace_id={A.upper()}", (1, 1)),
    "all of them": (f"app=shop&trace_id={A}&project_id={{project_id}}&experiment_id=7", (1, 1)),
    "none of both": (f"app=shop&trace_id={B}", (2, 2)),
    "another app": ("app=desk", (2, 2)),
    "no such project": ("project_id=00000000-0000-0000-0000-000000000001", (2, 2)),
    "one is empty": (f"trace_id={A}&app=&experiment_id=&project_id=", (1, 1)),
}


@pytest.mark.parametrize("name", FILTERS)
def test_what_meets_all_filters_is_gone(alice: Caller, charlie: Caller, project_id: str, name: str) -> None:
    query, expected = FILTERS[name]
    fill(charlie, A, pat_app="shop", pat_project_name="North", pat_experiment_id="7")

    answer = alice.call("DELETE", f"/v1/otel/spans?{query.format(project_id=project_id)}")
    assert answer.status_code == 200
    assert answer.json() == {"n_spans": 2 - expected[0], "n_logs": 2 - expected[1], "done": True}
    assert left(alice) == expected
    assert left(charlie) == (1, 1)


def test_strangers_and_readers_delete_nothing(alice: Caller, bob: Caller, charlie: Caller, project_id: str) -> None:
    assert_problem(bob.call("DELETE", f"/v1/otel/spans?trace_id={A}"), "read_only_key")
    for query in (f"trace_id={A}", f"project_id={project_id}"):
        assert charlie.call("DELETE", f"/v1/otel/spans?{query}").json() == {"n_spans": 0, "n_logs": 0, "done": True}
    assert left(alice) == (2, 2)


@pytest.mark.parametrize("query", ["", "?app=", "?app=&project_id=&experiment_id=&trace_id="])
def test_without_a_filter_it_is_refused(alice: Caller, project_id: str, query: str) -> None:
    assert_problem(alice.call("DELETE", f"/v1/otel/spans{query}"), "filter_required")
    assert left(alice) == (2, 2)


BAD = {
    "unknown": ("service_name=shop", "/service_name"),
    "twice": ("app=shop&app=desk", "/app"),
    "no trace": ("trace_id=ab", "/trace_id"),
    "no project": ("project_id=North", "/project_id"),
    "no experiment": ("experiment_id=x", "/experiment_id"),
    "too large": (f"experiment_id={2**63}", "/experiment_id"),
    "nul": ("app=a%00b", "/app"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_deletes_nothing(alice: Caller, project_id: str, name: str) -> None:
    query, pointer = BAD[name]

    assert_problem(alice.call("DELETE", f"/v1/otel/spans?{query}"), "validation_failed", pointer)
    assert left(alice) == (2, 2)


def test_it_goes_by_portions_each_in_the_audit_log(
    alice: Caller, project_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        fill(alice, A, pat_app="shop")
    monkeypatch.setattr(deletion, "PORTION", 2)

    answer = alice.call("DELETE", "/v1/otel/spans?app=shop").json()
    assert answer == {"n_spans": 5, "n_logs": 5, "done": True}
    assert left(alice) == (1, 1)
    with account_scope(alice.account.pk):
        entries = AuditEntry.objects.filter(account=alice.account, action__in=["spans.deleted", "logs.deleted"])
        told = [(entry.action, entry.detail) for entry in entries.order_by("id")]
    portions = [{"n": n, "app": "shop"} for n in (2, 2, 1)]
    assert told == [("spans.deleted", one) for one in portions] + [("logs.deleted", one) for one in portions]


def test_it_ends_in_time_and_says_so(alice: Caller, project_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()

    def short(**wanted: Any) -> deletion.TelemetryDeletion:
        return deletion.delete_traces(**wanted, clock=lambda: float(next(ticks) * 15))

    monkeypatch.setattr("evalsvc.telemetry.api.spans.delete_traces", short)
    answers = [alice.call("DELETE", "/v1/otel/spans?app=shop").json() for _ in range(2)]
    assert answers[0] == {"n_spans": 1, "n_logs": 0, "done": False}
    assert left(alice)[0] == 1

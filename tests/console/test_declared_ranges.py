"""Scores made elsewhere with a range: every surface has the interval of GET /v1/history."""

from __future__ import annotations

from typing import Any

from evalsvc.reports.words import interval_text
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.factories import ok

NAMES = {"evaluator": "external:tone", "profile": ""}


def send(caller: Caller, *scores: float, value_range: list[float] | None, day: int = 1) -> None:
    row: dict[str, Any] = {"evaluator_id": "tone", "app": "shop"}
    row |= {"value_range": value_range, "created_at": f"2026-01-{day:02}T00:00:00Z"}
    ok(
        caller.post(
            "/v1/evaluations/batch",
            {"evaluations": [{**row, "score": score, "log_id": f"{day}-{i}"} for i, score in enumerate(scores)]},
        )
    )


def interval_of(caller: Caller) -> dict[str, Any]:
    answer = ok(caller.get("/v1/history?evaluator=external:tone"))
    return dict(answer["confidence_interval"])


def test_the_list_and_the_page_have_the_api_s_interval(alice: Caller, reader: Visitor) -> None:
    send(alice, *([3.0] * 40), value_range=[1, 5])
    found = interval_of(alice)
    ends = interval_text(found)

    assert 1 < found["lower"] < 3 < found["upper"] < 5
    assert ends in reader.text("histories")
    assert ends in reader.text("histories/one", **NAMES)


def test_parts_of_a_history_have_it_too(alice: Caller, reader: Visitor) -> None:
    send(alice, *([3.0] * 40), value_range=[1, 5])
    send(alice, *([2.0] * 40), value_range=[1, 5], day=20)

    text = reader.text("histories/one", **NAMES, **{"vs.before": "2026-01-10T00:00:00Z"})
    assert "Both sides need a confidence interval" not in text
    assert "no width" not in text


def test_a_gate_takes_the_declared_range(alice: Caller) -> None:
    send(alice, *([4.5] * 60), value_range=[1, 5])
    body = {"history": {"evaluator": "external:tone"}}
    gate = ok(alice.post("/v1/gates", body | {"rules": [{"metric": "score", "at_least": 2.0}]}))["gate"]
    refused = alice.post("/v1/gates", body | {"rules": [{"metric": "score", "at_least": 20}]})

    assert gate["outcome"] == "pass"
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/rules/0/at_least")


def test_a_gate_without_a_declared_range_stays_undecided(alice: Caller) -> None:
    send(alice, *([4.5] * 60), value_range=None)
    body = {"history": {"evaluator": "external:tone"}}
    gate = ok(alice.post("/v1/gates", body | {"rules": [{"metric": "score", "at_least": 2.0}]}))["gate"]

    assert gate["outcome"] == "undecided"

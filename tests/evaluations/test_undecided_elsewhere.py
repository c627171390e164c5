"""Scores made elsewhere that are undecided: through every door, neither a pass nor a fail, and counted apart."""

from __future__ import annotations

import uuid
from typing import Any

import orjson
import pytest

from evalsvc.evaluations.ingest.events import EvaluationEvent, read_event
from evalsvc.evaluations.ingest.rows import ClientScore
from evalsvc.evaluations.wire.request import fingerprint
from tests.conftest import Caller
from tests.factories import ok
from tests.telemetry.otlp import NOON, attribute, new_id, span, traces

BATCHES = {
    "/v1/evaluations/batch": ("evaluations", "score"),
    "/v1/evaluation-results/batch": ("evaluation_results", "score_raw"),
}
UNDECIDED = {"pass": None, "verdict": "undecided", "why": "language"}
HISTORY = "/v1/history?evaluator=external:tone"


def send(caller: Caller, path: str, *rows: dict[str, Any]) -> dict[str, Any]:
    """Send rows; `score` is named as the address expects it."""
    name, score = BATCHES[path]
    sent = [
        {"evaluator_id": "tone", "log_id": str(uuid.uuid4())}
        | {score if key == "score" else key: row[key] for key in row}
        for row in rows
    ]
    return dict(ok(caller.post(path, {name: sent})))


def send_mixed(caller: Caller, path: str = "/v1/evaluations/batch", n_undecided: int = 10) -> None:
    """Send 30 scores that are their verdict, 24 of them passes, and some that are undecided."""
    decided = [{"pass": i % 5 != 0} for i in range(30)]
    undecided = [{"score": 0.5, **UNDECIDED} for _ in range(n_undecided)]
    assert send(caller, path, *decided, *undecided)["errors"] == []


@pytest.mark.parametrize("path", BATCHES)
def test_a_batch_takes_them(alice: Caller, path: str) -> None:
    name, _ = BATCHES[path]
    with_reason, without = send(alice, path, {"score": 0.5, **UNDECIDED}, {"score": 0.4, "verdict": "undecided"})[name]

    read = [ok(alice.get(f"/v1/evaluations/{row['id']}"))["evaluation"] for row in (with_reason, without)]
    said = [(row["pass"], row["verdict"], row["why"], row["score"]) for row in read]
    assert said == [(None, "undecided", "language", 0.5), (None, "undecided", "unstated", 0.4)]
    decided = send(alice, path, {"score": 1, "pass": True, "verdict": "pass"}, {"score": 0, "pass": False})[name]
    assert [row["pass"] for row in decided] == [True, False]


@pytest.mark.parametrize("path", BATCHES)
@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"score": 0.5, "pass": True, "verdict": "undecided"}, "/pass"),
        ({"score": 0.5, "pass": True, "verdict": "fail"}, "/verdict"),
        ({"score": 0.5, "verdict": "pass"}, "/verdict"),
        ({"score": 0.5, "verdict": "perhaps"}, "/verdict"),
        ({"score": 0.5, "verdict": "undecided", "why": "because"}, "/why"),
        ({"score": 0.5, "verdict": "undecided", "why": ["language"]}, "/why"),
        ({"verdict": "undecided"}, "/score"),
        ({"verdict": "undecided", "text_output": "hm"}, "/score"),
    ],
)
def test_what_contradicts_itself_is_refused(alice: Caller, path: str, fields: dict[str, Any], pointer: str) -> None:
    name, score = BATCHES[path]
    (error,) = send(alice, path, fields)["errors"]
    assert error["pointer"] == f"/{name}/0{f'/{score}' if pointer == '/score' else pointer}"


def test_the_same_row_is_kept_once_whichever_release_it_came_from(alice: Caller) -> None:
    row = {"log_id": "one", "score": 0.5}
    assert send(alice, "/v1/evaluations/batch", row)["n_new"] == 1
    assert send(alice, "/v1/evaluations/batch", row | {"verdict": None, "why": None})["n_new"] == 0
    assert [send(alice, "/v1/evaluations/batch", row | UNDECIDED)["n_new"] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("path", BATCHES)
def test_a_verdict_that_says_what_pass_says_is_the_same_row(alice: Caller, path: str) -> None:
    """Earlier releases ignored both fields with a warning: such rows keep their identity, and any `why`."""
    row = {"log_id": "one", "score": 1, "pass": True}
    assert send(alice, path, row)["n_new"] == 1
    for why in ("it is polite", {"because": [1]}, "language", None):
        answer = send(alice, path, row | {"verdict": "pass", "why": why})
        assert (answer["n_new"], answer["errors"]) == (0, [])
        (warning,) = answer["warnings"]
        assert warning["pointer"] == f"/{BATCHES[path][0]}/0/why" and "was ignored" in warning["detail"]
    answer = send(alice, path, {"log_id": "two", "score": 0.5, **UNDECIDED})
    assert (answer["n_new"], answer.get("warnings", [])) == (1, [])


def test_an_event_is_known_by_what_earlier_releases_knew_it_by() -> None:
    """By all that it says where it names no span; its verdict is none of that."""
    attributes = {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.5}
    attributes["gen_ai.evaluation.score.label"] = "fair"
    record = dict.fromkeys(("trace_id", "span_id", "project_name", "app", "service_name", "experiment_id", "ended_at"))
    values = {
        "evaluator_id": "tone", "score": 0.5, "pass": None, "text_output": "fair", "explanation": None,
        "created_at": None, "trace_id": None, "span_id": None, "project_name": None, "app": None,
        "experiment_id": None,
    }  # fmt: skip
    identity = orjson.dumps(["gen_ai.evaluation.result", 0, None, *values.items()])

    score = read_event(7, 0, EvaluationEvent(record, attributes, None))

    assert isinstance(score, ClientScore) and score.fingerprint == fingerprint(7, identity)


@pytest.mark.parametrize("path", BATCHES)
def test_a_history_counts_them_apart(alice: Caller, path: str) -> None:
    send_mixed(alice, path)

    said = ok(alice.get(f"{HISTORY}&limit=40"))
    found = said["confidence_interval"]

    assert (said["pass_rate"], said["n_undecided"], said["pass_rate_bounds"]) == (0.8, 10, [0.6, 0.85])
    assert (found["of"], found["n"], found["n_undecided"], found["rows"]["n_undecided"]) == ("pass", 30, 10, 10)
    assert [point["verdict"] for point in said["points"]].count("undecided") == 10
    # Scores without any verdict are not undecided.
    send(alice, path, *({"evaluator_id": "mood", "score": 0.5} for _ in range(5)))
    moods = ok(alice.get("/v1/history?evaluator=external:mood"))
    assert (moods["n_undecided"], {point["verdict"] for point in moods["points"]}) == (0, {None})


def read_counts(caller: Caller, query: str = "") -> tuple[object, ...]:
    """Return what a history says it is of, of how many, and how many are undecided."""
    said = ok(caller.get(f"{HISTORY}&limit=100{query}"))
    found = said["confidence_interval"]
    assert said["n_undecided"] == found["n_undecided"]
    return found["of"], found["n"], found["n_undecided"]


@pytest.mark.parametrize("query", ["", "&since=2020-01-01T00:00:00Z"])
def test_only_what_is_sent_as_undecided_is_undecided(alice: Caller, query: str) -> None:
    path = "/v1/evaluations/batch"
    send(alice, path, *({"score": 0.5, **UNDECIDED} for _ in range(30)))
    assert read_counts(alice, query) == ("score", 30, 30)
    assert read_counts(alice, f"{query}&of=pass") == ("pass", 0, 30)
    # Read again, these are merged into what is remembered.
    send(alice, path, *({"score": 0.25} for _ in range(60)), {"score": 1, "pass": True})
    assert read_counts(alice, query) == ("score", 91, 30)
    assert read_counts(alice, f"{query}&of=pass") == ("pass", 1, 30)


@pytest.mark.parametrize("n_undecided", [29, 31])
def test_the_headline_stays_a_pass_rate_however_many_are_undecided(alice: Caller, n_undecided: int) -> None:
    send_mixed(alice, n_undecided=n_undecided)
    assert read_counts(alice) == ("pass", 30, n_undecided)


def test_a_gate_does_not_pass_where_many_are_undecided(alice: Caller) -> None:
    send_mixed(alice)
    body = {"history": {"evaluator": "external:tone"}, "rules": [{"metric": "pass", "at_least": 0.2}]}
    (rule,) = ok(alice.post("/v1/gates", body))["gate"]["rules"]
    assert (rule["rows"]["n_undecided"], rule["rows"]["n_missing"]) == (10, 0)
    assert (rule["outcome"], rule["reason"]) == ("undecided", "much_undecided")


def test_an_event_of_a_span_says_it_by_its_label(alice: Caller) -> None:
    """With a score it is undecided; without one the label is a text, as any other."""
    trace_id = new_id()
    labels = [("a", 0.5, "Undecided"), ("b", None, "undecided"), ("c", 1.0, "pass")]
    events = [
        {
            "timeUnixNano": str(NOON),
            "name": "gen_ai.evaluation.result",
            "attributes": [
                attribute(f"gen_ai.evaluation.{key}", value)
                for key, value in (("name", name), ("score.value", score), ("score.label", label))
                if value is not None
            ],
        }
        for name, score, label in labels
    ]
    assert alice.post("/v1/traces", traces(span(trace_id, events=events))).json() == {}

    filters = [{"field": "trace_id", "value": trace_id}]
    rows = ok(alice.post("/v1/evaluations/search", {"filters": filters}))["evaluations"]
    said = {row["evaluator_id"]: (row["score"], row["pass"], row["verdict"], row["why"]) for row in rows}
    assert said == {
        "external:a": (0.5, None, "undecided", "unstated"),
        "external:b": (None, None, None, None),
        "external:c": (1.0, True, "pass", None),
    }

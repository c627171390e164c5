"""POST /v1/datasets/spans: stored spans that match a filter, as examples of a dataset."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsvc.rules import examples
from tests.caller import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.rules.shapes import RULES, answered, send
from tests.telemetry.otlp import NOON, SECOND, new_id

PATH = "/v1/datasets/spans"


def add(caller: Caller, name: str = "traffic", **body: Any) -> Any:
    return ok(caller.post(PATH, {"dataset_name": name} | body))


def rows(caller: Caller, answer: Any) -> list[Any]:
    content = b"".join(caller.get(f"/v1/datasets/{answer['dataset_id']}/jsonl").streaming_content)
    return [json.loads(line) for line in content.splitlines()]


def at(second: int) -> dict[str, Any]:
    """The times of a span that began so many seconds after noon."""
    begin = NOON + second * SECOND
    return {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + SECOND)}


def test_a_span_becomes_an_example_with_its_origin(alice: Caller) -> None:
    sent = answered("Ada.", input="Who?", kind="LLM", llm__model_name="small-1", **at(0))
    send(alice, sent, answered("step"))
    answer = add(alice, filter={"kind": "llm"})
    (row,) = rows(alice, answer)

    assert (answer["n_added"], answer["n_unchanged"], answer["n_left_out"], answer["created"]) == (1, 0, {}, True)
    assert (answer["version"]["n_examples"], answer["n_read"], answer["next_cursor"]) == (1, 2, None)
    assert (row["id"], row["input"]) == (f"{sent['traceId']}-{sent['spanId']}", "Who?")
    assert {**row["metadata"], "started_at": None} == {
        "evaluated_model_output": "Ada.",
        "model": "small-1",
        "trace_id": sent["traceId"],
        "span_id": sent["spanId"],
        "span_name": "answer",
        "service_name": "shop",
        "started_at": None,
    }


def test_a_span_is_added_once(alice: Caller) -> None:
    send(alice, answered("a"), answered("b"))
    first = add(alice)
    again = add(alice)
    assert (again["n_added"], again["n_unchanged"], again["created"]) == (0, 2, False)
    send(alice, answered("c"))
    later = ok(alice.post(PATH, {"dataset_id": first["dataset_id"]}))
    assert (later["n_added"], later["n_unchanged"], later["version"]["number"]) == (1, 2, 2)
    assert {row["metadata"]["evaluated_model_output"] for row in rows(alice, later)} == {"a", "b", "c"}


def test_spans_without_a_sample_are_counted_as_a_preview_does(alice: Caller) -> None:
    send(
        alice,
        answered("Ada."),
        answered(None),
        answered(None, gen_ai__input__messages="{broken"),
        answered("Bo.", pages=7),
    )
    parts: dict[str, Any] = {"mapping": {"contexts": "/attributes/pages"}}
    preview = ok(alice.post(f"{RULES}/preview", parts))["spans"]
    answer = add(alice, **parts)
    reasons = {row["span_id"]: row["reason"] for row in preview if row["reason"]}

    assert answer["n_left_out"] == {"no_output": 1, "unreadable": 1, "invalid": 1}
    # Evaluators read a number as a text; the contexts of an example are a list.
    left_out = {row["span_id"]: row["reason"] for row in answer["left_out"]}
    assert {span_id: reason for span_id, reason in left_out.items() if reason != "invalid"} == reasons
    assert all(row["detail"] for row in answer["left_out"])
    assert [row["metadata"]["evaluated_model_output"] for row in rows(alice, answer)] == ["Ada."]


def test_a_mapping_says_what_an_example_has(alice: Caller) -> None:
    send(alice, answered("Ada.", question="Who was first?", answer="Lovelace", docs="A page."))
    mapping = {
        "input": "/attributes/question",
        "gold_answer": "/attributes/answer",
        "contexts": "/attributes/docs",
        "system_prompt": "/name",
    }
    (row,) = rows(alice, add(alice, mapping=mapping))
    assert (row["input"], row["expected"], row["contexts"]) == ("Who was first?", "Lovelace", ["A page."])
    assert row["metadata"]["system_prompt"] == "answer"


def test_an_output_alone_is_an_example(alice: Caller) -> None:
    send(alice, answered("Ada."))
    (row,) = rows(alice, add(alice, mapping={"preset": "none", "output": "/content/output"}))
    assert (row["input"], row["metadata"]["evaluated_model_output"]) == ("", "Ada.")


def test_the_newest_come_first_and_the_next_call_goes_on(alice: Caller) -> None:
    send(alice, *(answered(f"a{i}", **at(i)) for i in range(5)))
    first = add(alice, limit=2, since="2020-01-01T00:00:00Z")
    assert [row["metadata"]["evaluated_model_output"] for row in rows(alice, first)] == ["a4", "a3"]
    second = add(alice, limit=2, cursor=first["next_cursor"])
    assert (second["n_added"], second["version"]["n_examples"]) == (2, 4)
    third = add(alice, limit=2, cursor=second["next_cursor"])
    assert (third["n_added"], third["next_cursor"]) == (1, None)


def test_paging_goes_on_within_one_instant(alice: Caller) -> None:
    send(alice, *(answered(f"a{i}", **at(0)) for i in range(5)))
    answer, n_added = add(alice, limit=2), []
    while answer["next_cursor"]:
        n_added.append(answer["n_added"])
        answer = add(alice, limit=2, cursor=answer["next_cursor"])
    assert (n_added, answer["n_added"], answer["version"]["n_examples"]) == ([2, 2], 1, 5)


def test_a_page_without_new_spans_goes_on_too(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    send(alice, *(answered(f"a{i}", **at(0)) for i in range(5)))
    add(alice, limit=5)
    monkeypatch.setattr(examples, "MAX_READ_SPANS", 2)
    answer, n_unchanged = add(alice), 0
    while answer["next_cursor"]:
        n_unchanged += answer["n_unchanged"]
        answer = add(alice, cursor=answer["next_cursor"])
    assert n_unchanged + answer["n_unchanged"] == 5


def test_a_cursor_is_of_its_account(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        send(caller, *(answered(f"a{i}") for i in range(2)))
    cursor = add(alice, limit=1)["next_cursor"]
    assert_problem(charlie.post(PATH, {"dataset_name": "a", "cursor": cursor}), "validation_failed", "/cursor")


def test_what_one_call_reads_is_limited(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "MAX_READ_SPANS", 3)
    send(alice, *(answered(f"a{i}", **at(i)) for i in range(4)))
    wanted = {"text": "a0"}
    empty = alice.post(PATH, {"dataset_name": "old", "filter": wanted})
    assert empty.json()["errors"] == [{"pointer": "", "detail": "No spans match."}]
    send(alice, answered("b a0", **at(9)))
    first = add(alice, filter=wanted)
    assert (first["n_added"], first["n_read"]) == (1, 3)
    rest = add(alice, filter=wanted, cursor=first["next_cursor"])
    assert (rest["n_added"], rest["next_cursor"]) == (1, None)


def test_a_range_of_time(alice: Caller) -> None:
    send(alice, *(answered(f"a{i}", **at(i)) for i in range(4)))
    moments = [
        ok(alice.post(f"{RULES}/preview", {"filter": {"text": f"a{i}"}}))["spans"][0]["started_at"] for i in (1, 3)
    ]
    answer = add(alice, since=moments[0], until=moments[1])
    assert {row["metadata"]["evaluated_model_output"] for row in rows(alice, answer)} == {"a1", "a2"}


def test_sampling_draws_whole_traces_and_the_same_again(alice: Caller) -> None:
    traces = [new_id() for _ in range(30)]
    send(alice, *(answered("x", trace_id=trace) for trace in traces for _ in range(2)))
    answer = add(alice, "half", sampling={"rate": 0.5})
    drawn = [row["metadata"]["trace_id"] for row in rows(alice, answer)]

    assert 2 <= len(set(drawn)) <= 28
    assert all(drawn.count(trace) == 2 for trace in drawn)
    assert add(alice, "half", sampling={"rate": 0.5})["n_added"] == 0
    assert {row["metadata"]["trace_id"] for row in rows(alice, add(alice, "other", sampling={"rate": 0.5}))} == set(
        drawn
    )


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "/dataset_name"),
    ({"dataset_name": "a", "dataset_id": "00000000-0000-0000-0000-000000000000"}, "/dataset_id"),
    ({"dataset_name": " "}, "/dataset_name"),
    ({"dataset_id": "x"}, "/dataset_id"),
    ({"dataset_name": "a", "filter": {"kind": "judge"}}, "/filter/kind"),
    ({"dataset_name": "a", "mapping": {"input": "x"}}, "/mapping/input"),
    ({"dataset_name": "a", "sampling": {"rate": 0}}, "/sampling/rate"),
    ({"dataset_name": "a", "limit": 501}, "/limit"),
    ({"dataset_name": "a", "cursor": "x"}, "/cursor"),
    ({"dataset_name": "a", "since": "2026-01-01T00:00:00"}, "/since"),
    ({"dataset_name": "a", "since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "/until"),
]


@pytest.mark.parametrize(("body", "pointer"), REFUSED)
def test_what_is_refused_stores_nothing(alice: Caller, body: dict[str, Any], pointer: str) -> None:
    send(alice, answered("Ada."))
    errors = assert_problem(alice.post(PATH, body), "validation_failed")["errors"]
    assert [error["pointer"] for error in errors] == [pointer]
    assert ok(alice.get("/v1/datasets"))["datasets"] == []


def test_a_new_dataset_is_not_empty(alice: Caller) -> None:
    send(alice, answered(None))
    (error,) = assert_problem(alice.post(PATH, {"dataset_name": "a"}), "validation_failed")["errors"]
    assert error["detail"] == "No span can be added: 1 no_output. The newest: The span has no output."


def test_others(alice: Caller, bob: Caller, charlie: Caller) -> None:
    send(alice, answered("Ada."))
    answer = add(alice)
    assert_problem(bob.post(PATH, {"dataset_name": "b"}), "read_only_key")
    assert_problem(charlie.post(PATH, {"dataset_id": answer["dataset_id"]}), "not_found")
    (error,) = assert_problem(charlie.post(PATH, {"dataset_name": "traffic"}), "validation_failed")["errors"]
    assert error["detail"] == "No spans match."

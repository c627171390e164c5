"""POST /v1/datasets/conversations: sessions and traces, sent by OTLP, as examples of a dataset."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from evalsvc.datasets import conversations, recorded
from evalsvc.telemetry.models import Span
from tests.conftest import Caller
from tests.datasets.shapes import body_of, refusals
from tests.experiments.shapes import posted
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import SECOND, new_id, traces
from tests.telemetry.traced import Recorder, build_message, called, returned, user

PATH = "/v1/datasets/conversations"
FIRST = [user("Where is order 7?"), called("c1", "find", id=7), returned("c1", "sent"), build_message("It is sent.")]
REFUND = [*FIRST, user("Refund it."), called("c2", "refund", id=7), returned("c2", "ok")]
SYSTEM = json.dumps([{"type": "text", "content": "Be brief."}])
STRICT = {"evaluator": "trajectory", "criteria": "patronus:trajectory-strict"}
CALLS = [{"name": "find", "args": {"id": 7}}, {"name": "refund", "args": {"id": 7}}]


def store(caller: Caller, recorder: Recorder, service: str = "shop") -> None:
    for sent in recorder.spans:
        assert caller.post("/v1/traces", traces(sent, service=service)).json() == {}


def record(caller: Caller, session: str | None = "s1", *, service: str = "shop") -> Recorder:
    """Two turns with a call each, as two spans of a model in one trace."""
    recorder = Recorder(session)
    agent = recorder.run_agent("clerk", seconds=10)
    more = {"gen_ai.system_instructions": SYSTEM}
    recorder.chat(FIRST[:3], FIRST[3], parent=agent, **more)
    recorder.chat(REFUND, build_message("Done."), parent=agent, **more)
    store(caller, recorder, service)
    return recorder


def add(caller: Caller, /, name: str = "talks", **body: Any) -> Any:
    return posted(caller, PATH, {"dataset_name": name} | body)


def rows(caller: Caller, answer: Any) -> list[Any]:
    content = body_of(caller.get(f"/v1/datasets/{answer['dataset_id']}/jsonl"))
    return [json.loads(line) for line in content.splitlines()]


def test_a_session_becomes_what_was_asked_and_what_was_said(alice: Caller) -> None:
    recorder = record(alice)
    answer = add(alice, session_ids=["s1"])
    (row,) = rows(alice, answer)

    assert (answer["added"], answer["created"], answer["version"]["n_examples"]) == (["s1"], True, 1)
    asked = row["input"]["messages"]
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert asked[-1]["content"] == "Refund it."
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}
    assert asked[2] == {"role": "assistant", "content": None, "tool_calls": [call]}
    metadata = row["metadata"]
    output = metadata.pop("evaluated_model_output")
    assert [message["role"] for message in output["messages"]] == [message["role"] for message in asked[1:]] + [
        "assistant",
        "tool",
        "assistant",
    ]
    assert (output["system"], output["messages"][-1]["content"]) == ("Be brief.", "Done.")
    assert metadata == {
        "session_id": "s1",
        "trace_id": recorder.trace_id,
        "service_name": "shop",
        "agent": "clerk",
        "started_at": "2026-02-02T02:40:00+00:00",
        "ended_at": "2026-02-02T02:40:10+00:00",
        "n_spans": 3,
    }


def test_the_texts_of_the_user_are_turns(alice: Caller) -> None:
    record(alice)
    (row,) = rows(alice, add(alice, session_ids=["s1"], input="turns"))
    assert row["input"] == {"turns": ["Where is order 7?", "Refund it."]}


def test_a_recorded_conversation_is_evaluated(alice: Caller) -> None:
    record(alice)
    (row,) = rows(alice, add(alice, session_ids=["s1"]))
    body = {"evaluators": [STRICT], "conversation": row["metadata"]["evaluated_model_output"], "reference": CALLS}
    (result,) = posted(alice, "/v1/evaluate", body)["results"]
    assert result["evaluation_result"]["pass"] is True
    assert result["evaluation_result"]["evaluated_model_output"] == "Done."


def push(caller: Caller, dataset_id: str, metric: dict[str, Any], answer: Callable[[Any], Any]) -> dict[str, Any]:
    """Answer all examples of a dataset in an experiment; return the metric."""
    plan = {"dataset_id": dataset_id, "metrics": [{"name": "calls", **STRICT, **metric}], "start": True}
    body = {"name": new_id(), "plan": plan, "configs": [{"name": "mine", "kind": "push"}]}
    made = posted(caller, "/v1/experiments", body)["experiment"]
    unit = posted(caller, f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/lease", {})["unit"]
    outputs = [{"pos": example["pos"], "output": answer(example)} for example in unit["examples"]]
    path = f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs"
    posted(caller, path, {"token": unit["token"], "outputs": outputs})
    (config,) = caller.get(f"/v1/experiments/{made['id']}/live").json()["configs"]
    found: dict[str, Any] = config["metrics"]["calls"]
    return found


def expect(caller: Caller, answer: Any, expected: Any) -> None:
    """Write what is expected of each example: a next version of the dataset."""
    examples = [{**row, "expected": expected} for row in rows(caller, answer)]
    posted(caller, f"/v1/datasets/{answer['dataset_id']}/versions", {"examples": examples})


def test_an_agent_that_is_asked_again_is_scored_with_what_was_said_before(alice: Caller) -> None:
    for session in ("s1", "s2"):
        record(alice, session)
    answer = add(alice, session_ids=["s1", "s2"])
    expect(alice, answer, {"tool_calls": CALLS})
    call = {"id": "n1", "type": "function", "function": {"name": "refund", "arguments": '{"id": 7}'}}
    replied = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "n1", "content": "ok"},
        {"role": "assistant", "content": "Refunded."},
    ]
    assert push(alice, answer["dataset_id"], {}, lambda _: replied)["value"] == 1.0


def test_recorded_conversations_are_scored_in_an_experiment(alice: Caller) -> None:
    record(alice)
    answer = add(alice, session_ids=["s1"])
    expect(alice, answer, {"tool_calls": CALLS[:1]})
    pointed = {"sample": {"conversation": "/metadata/evaluated_model_output"}}
    assert push(alice, answer["dataset_id"], pointed, lambda _: "recorded")["value"] == 0.0
    said = lambda example: example["metadata"]["evaluated_model_output"]  # noqa: E731
    assert push(alice, answer["dataset_id"], {}, said)["value"] == 0.0
    expect(alice, answer, {"tool_calls": CALLS})
    assert push(alice, answer["dataset_id"], pointed, lambda _: "recorded")["value"] == 1.0
    assert push(alice, answer["dataset_id"], {}, said)["value"] == 1.0


def test_a_conversation_is_added_once(alice: Caller) -> None:
    record(alice)
    first = add(alice, session_ids=["s1"])
    again = add(alice, session_ids=["s1"])
    assert (again["unchanged"], again["added"], again["created"]) == (["s1"], [], False)
    record(alice, "s2")
    more = add(alice, session_ids=["s1", "s2"])
    by_id = posted(alice, PATH, {"dataset_id": first["dataset_id"], "filters": []})

    assert (more["unchanged"], more["added"], more["version"]["number"]) == (["s1"], ["s2"], 2)
    assert sorted(by_id["unchanged"]) == ["s1", "s2"] and by_id["created"] is False
    assert [row["id"] for row in rows(alice, more)] == ["s1", "s2"]


def test_a_session_that_went_on_is_said_and_replaced_if_asked(alice: Caller) -> None:
    recorder = record(alice)
    answer = add(alice, session_ids=["s1"])
    expect(alice, answer, {"tool_calls": CALLS})
    recorder.begin_trace()
    agent = recorder.run_agent("clerk", seconds=10)
    recorder.chat([*REFUND, build_message("Done."), user("Thanks.")], build_message("Welcome."), parent=agent)
    store(alice, recorder)

    said = add(alice, session_ids=["s1"])
    assert (said["grown"], said["replaced"], said["created"]) == (["s1"], [], False)
    replaced = add(alice, session_ids=["s1"], replace=True)
    assert (replaced["grown"], replaced["replaced"], replaced["version"]["number"]) == (["s1"], ["s1"], 3)
    (row,) = rows(alice, replaced)
    assert (row["input"]["messages"][-1]["content"], row["expected"]) == ("Thanks.", {"tool_calls": CALLS})
    assert add(alice, session_ids=["s1"])["unchanged"] == ["s1"]


def test_conversations_are_found_by_a_filter(alice: Caller) -> None:
    record(alice, "s1")
    record(alice, "s2", service="bank")
    alone = record(alice, None)
    of_shop = [{"field": "service_name", "op": "eq", "value": "shop"}]

    found = add(alice, filters=of_shop)
    assert sorted(found["added"]) == sorted(["s1", alone.trace_id])
    row = next(row for row in rows(alice, found) if row["id"] == alone.trace_id)
    assert "session_id" not in row["metadata"] and row["input"]["messages"][-1]["content"] == "Refund it."
    assert len(add(alice, "one", filters=[], limit=1)["added"]) == 1
    problem = assert_problem(
        alice.post(PATH, {"dataset_name": "x", "filters": [{"field": "nothing"}]}), "validation_failed"
    )
    assert problem["errors"][0]["pointer"] == "/filters/0/field"
    none = alice.post(PATH, {"dataset_name": "x", "filters": [{"field": "app", "op": "eq", "value": "none"}]})
    assert refusals(none) == {"/filters": "No conversations match."}


def test_a_trace_is_added_by_its_id(alice: Caller) -> None:
    recorder = record(alice)
    answer = add(alice, trace_ids=[recorder.trace_id.upper()])
    assert answer["added"] == [recorder.trace_id]
    assert add(alice, trace_ids=[recorder.trace_id, new_id()])["n_left_out"] == {"not_found": 1}


def test_a_session_that_is_going_on_is_left_out_unless_asked_for(alice: Caller) -> None:
    recorder = record(alice)
    now = time.time_ns()
    recorder.chat([*REFUND, build_message("Done."), user("Thanks.")], build_message("Welcome."))
    recorder.spans[-1] |= {"startTimeUnixNano": str(now - SECOND), "endTimeUnixNano": str(now)}
    store(alice, recorder)

    refused = alice.post(PATH, {"dataset_name": "talks", "session_ids": ["s1"]})
    assert list(refusals(refused)) == ["/session_ids"] and "1 open" in refusals(refused)["/session_ids"]
    record(alice, "s2")
    answer = add(alice, session_ids=["s1", "s2"])
    assert (answer["added"], answer["n_left_out"]) == (["s2"], {"open": 1})
    assert [(left["id"], left["reason"]) for left in answer["left_out"]] == [("s1", "open")]
    assert add(alice, session_ids=["s1"], include_open=True)["added"] == ["s1"]


def test_what_cannot_be_an_example_is_left_out_with_a_reason(alice: Caller) -> None:
    record(alice, "good")
    silent = Recorder("silent")
    silent.run_tool("c1", "find", silent.run_agent("clerk"), arguments='{"id": 7}')
    store(alice, silent)
    empty = Recorder("empty")
    empty.add("work")
    store(alice, empty)
    broken = Recorder("broken")
    broken.write("chat", {"gen_ai.input.messages": '[{"role": "user"'})
    store(alice, broken)
    alone = Recorder("alone")
    alone.chat([], build_message("Hello?"))
    store(alice, alone)
    long = Recorder("long")
    for i in range(31):
        long.begin_trace()
        long.chat([user(f"question {i}")], build_message(f"answer {i}"))
    store(alice, long)
    ids = ["good", "silent", "empty", "broken", "alone", "long", "nowhere"]
    answer = add(alice, session_ids=ids, input="turns")

    assert answer["added"] == ["good"]
    assert {left["id"]: left["reason"] for left in answer["left_out"]} == {
        "silent": "not_captured",
        "empty": "unreadable",
        "broken": "unreadable",
        "alone": "no_question",
        "long": "too_large",
        "nowhere": "not_found",
    }
    # As messages, 31 turns are not too many.
    assert add(alice, "other", session_ids=["long"])["added"] == ["long"]


def test_large_sessions_are_left_out_or_wait_for_the_next_call(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    for session in ("s1", "s2", "s3"):
        record(alice, session)
    monkeypatch.setattr(conversations, "MAX_READ_BYTES", 1)
    assert add(alice, session_ids=["s1", "s2", "s3"])["n_left_out"] == {"not_read": 2}
    assert add(alice, session_ids=["s1", "s2", "s3"])["added"] == ["s2"]
    assert add(alice, session_ids=["s1", "s2", "s3"])["added"] == ["s3"]
    monkeypatch.setattr(recorded, "MAX_ROW_BYTES", recorded.LONGEST_ANNOTATIONS + 100)
    assert "too_large" in refusals(alice.post(PATH, {"dataset_name": "x", "session_ids": ["s1"]}))["/session_ids"]


def test_an_example_stays_when_its_spans_are_gone(alice: Caller) -> None:
    record(alice)
    answer = add(alice, session_ids=["s1"])
    Span.objects.using("system").filter(account_id=alice.account.pk).delete()

    assert add(alice, session_ids=["s1"])["unchanged"] == ["s1"]
    assert len(rows(alice, answer)) == 1


def test_an_example_of_the_same_id_is_not_replaced(alice: Caller) -> None:
    record(alice)
    posted(alice, "/v1/datasets", {"dataset_name": "talks", "examples": [{"id": "s1", "input": "mine"}]})
    answer = add(alice, session_ids=["s1"], replace=True)
    assert (answer["n_left_out"], answer["created"]) == ({"id_taken": 1}, False)


def test_strangers_and_readers(alice: Caller, bob: Caller, charlie: Caller) -> None:
    recorder = record(alice)
    answer = add(alice, session_ids=["s1"])

    assert_problem(bob.post(PATH, {"dataset_name": "talks", "session_ids": ["s1"]}), "read_only_key")
    sources: list[dict[str, Any]] = [{"session_ids": ["s1"]}, {"trace_ids": [recorder.trace_id]}, {"filters": []}]
    for source in sources:
        stranger = charlie.post(PATH, {"dataset_name": "talks", **source})
        missing = "No conversations match." if "filters" in source else "1 not_found"
        assert missing in next(iter(refusals(stranger).values()))
    assert_problem(charlie.post(PATH, {"dataset_id": answer["dataset_id"], "filters": []}), "not_found")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"session_ids": ["s1"]}, "/dataset_name"),
        ({"dataset_name": "a", "dataset_id": "00000000-0000-0000-0000-000000000000", "filters": []}, "/dataset_id"),
        ({"dataset_name": "a"}, "/session_ids"),
        ({"dataset_name": "a", "session_ids": ["s1"], "filters": []}, "/filters"),
        ({"dataset_name": "a", "session_ids": []}, "/session_ids"),
        ({"dataset_name": "a", "session_ids": ["s" * 256]}, "/session_ids/0"),
        ({"dataset_name": "a", "session_ids": ["\0"]}, "/session_ids/0"),
        ({"dataset_name": "a", "trace_ids": ["x"]}, "/trace_ids/0"),
        ({"dataset_name": "a", "filters": [], "limit": 501}, "/limit"),
        ({"dataset_name": "a", "filters": [], "input": "text"}, "/input"),
        ({"dataset_name": "a\u200bb", "filters": []}, "/dataset_name"),
        ({"dataset_name": "a", "filters": [], "session": "s1"}, "/session"),
    ],
)
def test_a_bad_request_is_refused_with_a_pointer(alice: Caller, body: Any, pointer: str) -> None:
    problem = assert_problem(alice.post(PATH, body), "validation_failed")
    assert [error["pointer"] for error in problem["errors"]] == [pointer]

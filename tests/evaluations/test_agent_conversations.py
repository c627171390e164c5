"""What agent frameworks return is judged as it is, by a call and as the output of an experiment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.evaluators.conversation_forms import RECORDINGS, read_recording
from tests.experiments.conftest import by_name, live, make_dataset, make_experiment
from tests.experiments.pushing import PUSH, Runner

EXPECTED = [
    {"name": "find_order", "args": {"id": 8}},
    {"name": "find_order", "args": {"id": 7}},
    {"name": "refund", "args": {"id": 7}},
]
METRICS = ("unordered", "in_order", "f1", "redundancy")


def judging(metric: str) -> dict[str, Any]:
    return {"evaluator": "trajectory", "profile_inline": {"metric": metric}}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_judged_without_an_adapter(alice: Caller, name: str) -> None:
    body = {"conversation": read_recording(name), "reference": EXPECTED, "evaluators": list(map(judging, METRICS))}
    answer = alice.post("/v1/evaluate", body).json()
    assert [result["evaluation_result"]["score_raw"] for result in answer["results"]] == [1, 1, 1, 1]
    assert "warnings" not in answer or not answer["warnings"]


def test_a_result_without_its_call_is_of_the_wrong_type(alice: Caller) -> None:
    messages = read_recording("pydantic_ai/all_messages_json.json")
    del messages[5]
    answer = alice.post("/v1/evaluate", {"conversation": messages, "reference": [], "evaluators": [judging("strict")]})
    (result,) = answer.json()["results"]
    assert result["error_code"] == "wrong_type"
    assert "Message 5 is the result of the call 'c3'" in result["error_message"]
    assert [warning["pointer"] for warning in answer.json()["warnings"]] == ["/conversation/5"]


def test_recordings_are_outputs_of_an_experiment(alice: Caller) -> None:
    logs = [log for name in RECORDINGS if isinstance(log := read_recording(name), list)]
    rows = [{"id": f"{i}", "input": "?", "expected": {"tool_calls": EXPECTED}} for i in range(len(logs))]
    metrics = [{"name": "calls", "evaluator": "trajectory", "criteria": "patronus:trajectory-in-order"}]
    experiment = make_experiment(alice, make_dataset(alice, rows), [PUSH], metrics=metrics)
    Runner(alice, experiment).run(lambda example: {"messages": logs[example["pos"]]})
    calls = by_name(live(alice, experiment["id"]))["mine"]["metrics"]["calls"]
    assert (calls["value"], calls["n"]) == (1.0, len(logs))

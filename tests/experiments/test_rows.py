"""The columns of a row, as templates of OpenAI's graders name them: read from the example's input."""

from __future__ import annotations

from typing import Any

from tests.caller import Caller
from tests.factories import make_profile, ok

ROWS = [
    {"input": {"category": "a", "reference": "x", "x": {"y": [1, 7]}}, "expected": "gold", "output": "a"},
    {"input": {"category": "b", "reference": "x", "x": {"y": [1, 8]}}, "expected": "gold", "output": "a"},
    {"input": {"reference": "x"}, "expected": "gold", "output": "a"},
]


def scores(caller: Caller, reference: str, output: str = "{{sample.output_text}}", **metric: Any) -> list[Any]:
    profile = make_profile(caller, "custom", type="string_check", operation="eq", input=output, reference=reference)
    metrics = [{"name": "same", "evaluator": "custom", "criteria": profile["name"]} | metric]
    answer = ok(caller.post("/v1/score/batch", {"metrics": metrics, "rows": ROWS}))
    found = [row["scores"]["same"] for row in answer["results"]]
    return [score["value"] if score["error_code"] is None else score["error_code"] for score in found]


def test_columns_of_the_input_are_named_as_such(alice: Caller) -> None:
    assert scores(alice, "{{item.category}}") == [1.0, 0.0, "missing_input"]
    assert scores(alice, "7", "{{ item.x.y[1] }}") == [1.0, 0.0, "missing_input"]


def test_names_of_inputs_go_on_being_these(alice: Caller) -> None:
    assert scores(alice, "gold", "{{item.reference}}") == [1.0, 1.0, 1.0]


def test_a_pointer_makes_every_name_a_column(alice: Caller) -> None:
    assert scores(alice, "x", "{{item.reference}}", sample={"item": "/input"}) == [1.0, 1.0, 1.0]


def test_a_pointer_to_nothing_is_refused(alice: Caller) -> None:
    answer = alice.post(
        "/v1/score/batch",
        {"metrics": [{"name": "m", "evaluator": "exact-match", "sample": {"item": "/input/nothing"}}], "rows": ROWS},
    )
    assert answer.status_code == 422

"""Thinking before an output is no part of what is judged, inline and by workers; it is kept as it was sent."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from evalsvc.evaluations.workers.lane import work_off
from tests.conftest import Caller
from tests.factories import ok

THOUGHT = "<think>Is it no? Mail jo@example.com first.</think>\n\nyes"


def verdict(caller: Caller, evaluator: str, **fields: Any) -> dict[str, Any]:
    body = {"evaluators": [{"evaluator": evaluator}], "app": "shop", **fields}
    found: dict[str, Any] = ok(caller.post("/v1/evaluate", body))["results"][0]["evaluation_result"]
    return found


def test_the_answer_is_judged_and_the_output_kept(alice: Caller) -> None:
    found = verdict(alice, "exact-match", output=THOUGHT, label="yes")

    assert (found["pass"], found["evaluated_model_output"]) == (True, THOUGHT)


def test_it_is_judged_where_the_caller_says_so(alice: Caller) -> None:
    assert verdict(alice, "exact-match", output=THOUGHT, label="yes", strip_thinking=False)["pass"] is False
    assert verdict(alice, "pii", output=THOUGHT, strip_thinking=False)["pass"] is False
    assert verdict(alice, "pii", output=THOUGHT)["pass"] is True


@pytest.mark.parametrize(
    ("output", "gold", "passes"),
    [
        ("<think>a</think>b", "b", True),
        ("[THINK]a[/THINK] b", "b", True),
        ("<think>never closed yes", "yes", False),
        ("<think>only this</think>", "", False),
        ("Write <think>x</think> in the template.", "Write <think>x</think> in the template.", True),
        ("", "", True),
    ],
)
def test_only_closed_blocks_before_an_answer_are_left_out(alice: Caller, output: str, gold: str, passes: bool) -> None:
    assert verdict(alice, "exact-match", output=output, label=gold)["pass"] is passes


def test_positions_are_in_the_output_as_it_was_sent(alice: Caller) -> None:
    output = "<think>Somebody asks.</think>\nWrite to jo@example.com now. "
    found = verdict(alice, "pii", output=output)

    (start, end), *_ = found["additional_info"]["positions"]
    assert output[start:end] == "jo@example.com"


@pytest.mark.parametrize("strips", [True, False])
@override_settings(INLINE_LANE="worker")
def test_workers_judge_the_same(alice: Caller, strips: bool) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}], "app": "shop", "output": THOUGHT, "label": "yes"}
    made = ok(alice.post("/v1/evaluate", body if strips else body | {"strip_thinking": False}, Prefer="wait=0"))
    assert made["results"][0]["status"] == "pending"
    assert len(work_off(account_id=alice.account.pk, request_id=int(made["id"]), lane="cpu", expected_attempts=0)) == 1

    found = ok(alice.get(f"/v1/evaluate/{made['id']}"))["results"][0]["evaluation_result"]

    assert (found["pass"], found["evaluated_model_output"]) == (strips, THOUGHT)

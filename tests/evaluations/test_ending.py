"""How outputs of POST /v1/evaluate end: kept, counted, shown, and by the rule of experiments a failure."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.factories import ok

LONG = "a" * 51


def evaluate(caller: Caller, evaluator: str = "exact-match", **fields: Any) -> dict[str, Any]:
    body = {"evaluators": [{"evaluator": evaluator}], "app": "shop", "output": "Paris", "label": "Paris", **fields}
    found: dict[str, Any] = ok(caller.post("/v1/evaluate", body))["results"][0]["evaluation_result"]
    return found


@pytest.mark.parametrize(
    ("fields", "ending", "passes"),
    [
        ({}, "stop", True),
        ({"finish_reason": "end_turn"}, "stop", True),
        ({"finish_reason": "MAX_TOKENS"}, "length", False),
        ({"finish_reason": "SAFETY"}, "content_filter", False),
        ({"finish_reason": "refusal", "output": None, "input": "Where?"}, "refusal", False),
        ({"finish_reason": "tool_calls"}, "tool_calls", True),
        ({"output": [{"role": "assistant", "content": "Pa", "stop_reason": "max_tokens"}]}, "length", False),
        ({"output": "<think>Paris"}, "thinking_only", False),
        ({"output": "<think>Paris", "strip_thinking": False}, "stop", False),
        ({"output": " ", "label": " "}, "empty", True),
    ],
)
def test_the_ending_is_kept_and_decides(alice: Caller, fields: dict[str, Any], ending: str, passes: bool) -> None:
    found = evaluate(alice, **fields)

    assert (found["ending"], found["pass"]) == (ending, passes)
    stored = ok(alice.get(f"/v1/evaluations/{found['id']}"))["evaluation"]
    assert (stored["ending"], stored["pass"], stored["score"]) == (ending, passes, float(passes))
    assert ok(alice.get(f"/v1/evaluation-results/{found['id']}"))["evaluation_result"]["ending"] == ending


def test_a_cut_answer_has_the_worst_score_and_says_why(alice: Caller) -> None:
    found = evaluate(alice, "levenshtein", finish_reason="length")

    assert (found["score_raw"], found["explanation"]) == (0.0, "The answer was cut off at its token limit.")
    assert found["additional_info"]["extra"] == {"ending": "length"}


def test_what_reads_no_output_is_scored(alice: Caller) -> None:
    fields = {"task_context": ["d1"], "gold_context": ["d1"], "input": "Where?", "finish_reason": "length"}

    assert evaluate(alice, "mrr", **fields)["pass"] is not False


def test_judges_are_not_asked_for_a_cut_answer(alice: Caller) -> None:
    found = evaluate(alice, "hallucination", input="Where?", task_context=["In Paris."], finish_reason="length")

    assert found["pass"] is False


def test_endings_are_found_and_counted(alice: Caller) -> None:
    for reason in ("stop", "stop", "length", None):
        evaluate(alice, finish_reason=reason)

    filters = [{"field": "ending", "operation": "eq", "value": "length"}]
    found = ok(alice.post("/v1/evaluations/search", {"filters": filters}))["evaluations"]
    assert [(row["ending"], row["pass"]) for row in found] == [("length", False)]
    every = ok(alice.post("/v1/evaluations/search", {"filters": []}))["evaluations"]
    assert sorted(row["ending"] for row in every) == ["length", "stop", "stop", "stop"]
    history = ok(alice.get("/v1/history?evaluator=exact-match"))
    assert (history["endings"], history["pass_rate"]) == ({"stop": 3, "length": 1}, 0.75)
    assert "truncated" in history["confidence_interval"]["warnings"]


def test_few_cut_answers_do_not_warn(alice: Caller) -> None:
    samples = [{"output": "Paris"}] * 98 + [{"output": "Pa", "finish_reason": "length"}] * 2
    shared = {"evaluators": [{"evaluator": "exact-match"}], "label": "Paris", "app": "shop"}
    ok(alice.post("/v1/evaluate/batch", {**shared, "samples": samples}))

    history = ok(alice.get("/v1/history?evaluator=exact-match"))
    assert history["endings"] == {"stop": 98, "length": 2}
    assert "truncated" not in history["confidence_interval"]["warnings"]


def test_a_long_reason_is_refused(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}], "output": "a", "label": "a", "finish_reason": LONG}
    answer = alice.post("/v1/evaluate", body)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/finish_reason")

"""Conversations through POST /v1/evaluate: what is judged, answered, stored and refused."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.wire.inputs import sample_from_row
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

SEARCH = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "capital"}'}}
MESSAGES = [
    {"role": "system", "content": "Answer in a word."},
    {"role": "user", "content": "Capital of France?"},
    {"role": "assistant", "content": None, "tool_calls": [SEARCH]},
    {"role": "tool", "tool_call_id": "c1", "content": "Paris is the capital."},
    {"role": "assistant", "content": "Paris"},
]
REFERENCE = {"tool_calls": [{"name": "search", "args": {"q": "capital"}}]}
STRICT = {"evaluator": "trajectory", "criteria": "patronus:trajectory-strict", "explain_strategy": "always"}
EXACT = {"evaluator": "exact-match", "criteria": "patronus:exact-match"}


def evaluate(caller: Caller, *evaluators: dict[str, Any], **body: Any) -> list[dict[str, Any]]:
    answer = caller.post("/v1/evaluate", {"evaluators": list(evaluators), **body})
    assert answer.status_code == 200, answer.json()
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def refuse(caller: Caller, **body: Any) -> list[str]:
    """The pointers of a refused call, which stores nothing."""
    answer = caller.post("/v1/evaluate", {"evaluators": [STRICT], "app": "shop", **body})
    problem = assert_problem(answer, "validation_failed")
    assert not EvaluationRequest.objects.using("system").filter(account_id=caller.account.pk).exists()
    return [error["pointer"] for error in problem["errors"]]


def test_calls_of_tools_are_compared(alice: Caller) -> None:
    (right,) = evaluate(alice, STRICT, conversation=MESSAGES, reference=REFERENCE)
    (wrong,) = evaluate(alice, STRICT, conversation=MESSAGES, reference=[{"name": "search", "args": {"q": "x"}}])
    verdict = right["evaluation_result"]
    assert (verdict["score_raw"], verdict["pass"]) == (1.0, True)
    assert verdict["additional_info"]["extra"] == {"metric": "strict", "n_calls": 1, "n_expected": 1}
    assert wrong["evaluation_result"]["pass"] is False
    assert wrong["evaluation_result"]["explanation"].startswith("Message 2 calls search(")


def test_the_answer_repeats_what_was_sent(alice: Caller) -> None:
    (result,) = evaluate(alice, STRICT, conversation=MESSAGES, reference=REFERENCE)
    verdict = result["evaluation_result"]
    assert (verdict["conversation"], verdict["reference"]) == (MESSAGES, REFERENCE)
    assert verdict["evaluated_model_output"] == "Paris"
    (plain,) = evaluate(alice, EXACT, output="Paris", gold_answer="Paris")
    assert not {"conversation", "reference"} & plain["evaluation_result"].keys()


def test_evaluators_of_single_answers_read_the_last_one(alice: Caller) -> None:
    (result,) = evaluate(alice, EXACT, conversation=MESSAGES, gold_answer="Paris")
    verdict = result["evaluation_result"]
    assert verdict["pass"] is True
    assert verdict["evaluated_model_input"] == "Capital of France?"
    assert verdict["evaluated_model_retrieved_context"] == [{"id": "c1", "text": "Paris is the capital."}]
    assert verdict["evaluated_model_system_prompt"] == "Answer in a word."


def test_a_field_that_was_sent_wins(alice: Caller) -> None:
    (result,) = evaluate(alice, EXACT, conversation=MESSAGES, task_output="Rome", gold_answer="Rome")
    assert result["evaluation_result"]["pass"] is True


def test_a_conversation_that_ends_in_a_call_has_no_answer_to_judge(alice: Caller) -> None:
    results = evaluate(alice, EXACT, STRICT, conversation=MESSAGES[:3], reference=REFERENCE, gold_answer="Paris")
    assert (results[0]["status"], results[0]["error_code"]) == ("validation_error", "not_applicable")
    assert results[1]["evaluation_result"]["pass"] is True


@pytest.mark.parametrize("sent", ["Capital of France?", MESSAGES[:2]], ids=["text", "messages"])
def test_an_output_of_messages_is_a_conversation(alice: Caller, sent: object) -> None:
    results = evaluate(
        alice, EXACT, STRICT, task_input=sent, task_output=MESSAGES[2:], gold_answer="Paris", reference=REFERENCE
    )
    assert [result["evaluation_result"]["pass"] for result in results] == [True, True]
    assert results[0]["evaluation_result"]["evaluated_model_output"] == MESSAGES[2:]


def test_blocks_of_an_output_are_judged_whole(alice: Caller) -> None:
    blocks = [{"type": "text", "text": "Par"}, {"type": "text", "text": "is"}]
    (result,) = evaluate(alice, EXACT, task_output=blocks, gold_answer="Paris")
    assert result["evaluation_result"]["pass"] is True


def test_undefined_shares_are_not_applicable(alice: Caller) -> None:
    recall = {"evaluator": "trajectory", "criteria": "patronus:trajectory-recall"}
    (result,) = evaluate(alice, recall, conversation=MESSAGES, reference={"tool_calls": []})
    assert (result["status"], result["error_code"]) == ("validation_error", "not_applicable")


def test_a_conversation_is_needed(alice: Caller) -> None:
    (result,) = evaluate(alice, STRICT, output="Paris", reference=REFERENCE)
    assert result["error_code"] == "missing_input"
    assert "`conversation`" in result["error_message"]


@pytest.mark.parametrize(
    ("body", "pointer", "words"),
    [
        ({"conversation": MESSAGES[3:], "reference": []}, "/conversation/0", "'c1'"),
        ({"conversation": {"messages": [*MESSAGES, MESSAGES[2]]}, "reference": []}, "/conversation/messages/5", "'c1'"),
        ({"conversation": MESSAGES, "reference": "search"}, "/reference", "list of calls"),
        ({"task_output": MESSAGES[3:], "reference": []}, "/task_output", "'c1'"),
    ],
)
def test_what_cannot_be_read_is_of_the_wrong_type(alice: Caller, body: Any, pointer: str, words: str) -> None:
    answer = alice.post("/v1/evaluate", {"evaluators": [STRICT], **body}).json()
    assert answer["results"][0]["error_code"] == "wrong_type"
    assert words in answer["results"][0]["error_message"]
    assert [warning["pointer"] for warning in answer["warnings"]] == [pointer]


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def calling(args: object) -> list[dict[str, Any]]:
    return [{"role": "assistant", "calls": [{"id": "c1", "name": "f", "args": args}]}]


@pytest.mark.parametrize(
    ("conversation", "reference", "pointer"),
    [
        ([{"role": "user", "content": "x"}] * 501, None, "/conversation"),
        ([{"role": "assistant", "calls": [{"name": "f"}] * 1_001}], None, "/conversation"),
        (calling({"a": "x" * 70_000}), None, "/conversation/0"),
        (calling(nested(33)), None, "/conversation/0"),
        ({"messages": [], "final_state": nested(33)}, None, "/conversation/final_state"),
        ({"messages": [], "tools": [{"name": "f"}] * 129}, None, "/conversation/tools"),
        (
            {"messages": [], "tools": [{"name": "f", "parameters": {"title": "x" * 270_000}}]},
            None,
            "/conversation/tools",
        ),
        (MESSAGES, [{"name": "f"}] * 201, "/reference"),
        (MESSAGES, {"tool_calls": [{"name": "f", "args": nested(40)}]}, "/reference/tool_calls/0"),
        ([{"role": "user", "content": "x" * 480_000}], None, ""),
    ],
    ids=[
        "messages",
        "calls",
        "bytes",
        "depth",
        "state",
        "tools",
        "schemas",
        "expected",
        "deep reference",
        "characters",
    ],
)
def test_limits_are_refused_with_a_pointer(alice: Caller, conversation: Any, reference: Any, pointer: str) -> None:
    assert refuse(alice, conversation=conversation, reference=reference) == [pointer]


def test_an_output_of_too_many_messages_is_refused_where_it_was_sent(alice: Caller) -> None:
    assert refuse(alice, task_output=[{"role": "user", "content": "x"}] * 501) == ["/task_output"]


def test_long_conversations_within_the_limit_count_once(alice: Caller) -> None:
    conversation = [{"role": "user", "content": "x" * 200_000}, {"role": "assistant", "content": "y" * 200_000}]
    loop = {"evaluator": "trajectory", "criteria": "patronus:trajectory-loop"}
    body = {"evaluators": [loop], "conversation": conversation}
    assert alice.post("/v1/evaluate", body, Prefer="respond-async").status_code == 202


HOSTILE = {
    "numbers": calling('{"a": 1e400, "b": ' + "9" * 400 + "}"),
    "not a number": calling('{"a": NaN, "b": Infinity}'),
    "nul in arguments": calling('{"a": "\\u0000"}'),
    "half a pair": calling('{"a": "\\ud800"}'),
    "depth in arguments": calling("[" * 5_000),
    "objects": calling('{"a":' * 3_000 + "1" + "}" * 3_000),
    "twice": calling('{"a": 1, "a": 2}'),
}


@pytest.mark.parametrize("conversation", HOSTILE.values(), ids=HOSTILE)
def test_arguments_that_are_no_json_object_are_a_different_call(alice: Caller, conversation: Any) -> None:
    (result,) = evaluate(alice, STRICT, conversation=conversation, reference=[{"name": "f"}], app="shop")
    assert result["evaluation_result"]["pass"] is False
    stored = alice.get(f"/v1/evaluations/{result['evaluation_id']}")
    assert stored.status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        b'{"messages": [], "final_state": NaN}',
        b'[{"role": "user", "content": "a\\u0000b"}]',
        b'{"messages": [], "final_state": 1' + b"0" * 400 + b"}",
    ],
    ids=["not a number", "nul", "number"],
)
def test_what_is_no_json_or_cannot_be_stored_is_refused(alice: Caller, text: bytes) -> None:
    body = (
        b'{"evaluators": [{"evaluator": "trajectory", "criteria": "patronus:trajectory-loop"}], "conversation": '
        + text
        + b"}"
    )
    answer = alice.post("/v1/evaluate", raw=body)
    assert 400 <= answer.status_code < 500


def test_workers_and_searches_read_the_same_conversation(alice: Caller) -> None:
    for sent in (
        {"conversation": MESSAGES},
        {"task_output": MESSAGES[1:]},
        {"task_input": MESSAGES[:2], "task_output": MESSAGES[2:]},
    ):
        (result,) = evaluate(alice, STRICT, **sent, reference=REFERENCE, app="shop")
        row = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk).latest("id")
        sample = sample_from_row(row)
        assert sample.conversation is not None
        assert [message.text for message in sample.conversation.messages if message.role == "user"] == [
            "Capital of France?"
        ]
        assert len(sample.conversation.messages) == 4
        assert (sample.input, sample.output) == ("Capital of France?", "Paris")
        assert result["evaluation_result"]["pass"] is True


def test_a_profile_of_the_account_names_the_metric(alice: Caller) -> None:
    inline = {"metric": "final_state", "pass_threshold": 1, "state": "equal"}
    evaluator = {"evaluator": "trajectory", "profile_inline": inline}
    conversation = {"messages": MESSAGES, "final_state": {"asked": 1}}
    (result,) = evaluate(alice, evaluator, conversation=conversation, reference={"final_state": {"asked": 1}})
    assert result["evaluation_result"]["pass"] is True

"""Conversations judged turn by turn, or as one text, through POST /v1/evaluate."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.factories import make_profile
from tests.rest.shapes import assert_problem

FIND = {"id": "c1", "type": "function", "function": {"name": "find_order", "arguments": '{"id": 7}'}}
PAY = {"id": "c2", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
ORDER = "Order 7 was sent to Oslo on Monday."


def say(*texts: str) -> list[dict[str, Any]]:
    """Messages of the user and the assistant in turn."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def call(tool: dict[str, Any], result: str | None = None) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [tool]}]
    return messages if result is None else [*messages, {"role": "tool", "tool_call_id": tool["id"], "content": result}]


def evaluate(caller: Caller, evaluator: str, unit: str | None = "turn", **body: Any) -> dict[str, Any]:
    settings = body.pop("settings", {}) | ({} if unit is None else {"unit": unit})
    asked = {"evaluator": evaluator, "profile_inline": settings, "explain_strategy": "always"}
    answer = caller.post("/v1/evaluate", {"evaluators": [asked], **body})
    assert answer.status_code == 200, answer.json()
    (result,) = answer.json()["results"]
    return dict(result)


def verdict(result: dict[str, Any]) -> dict[str, Any]:
    assert result["status"] == "success", (result["error_code"], result["error_message"])
    return dict(result["evaluation_result"])


def extra(result: dict[str, Any]) -> dict[str, Any]:
    return dict((verdict(result)["additional_info"] or {}).get("extra") or {})


def turns(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(turn["message"], turn["score"], turn["pass"]) for turn in extra(result)["turns"]]


QUIZ = say("Capital of France?", "Paris", "Of Italy?", "Milan", "Of Spain?", "Madrid")


def test_each_turn_is_compared_with_the_answer_of_the_same_turn(alice: Caller) -> None:
    reference = say("Capital of France?", "Paris", "Of Italy?", "Rome", "Of Spain?", "Madrid")
    result = evaluate(alice, "exact-match", conversation=QUIZ, reference=reference)
    assert turns(result) == [(1, 1.0, True), (3, 0.0, False), (5, 1.0, True)]
    assert (verdict(result)["score_raw"], verdict(result)["pass"]) == (pytest.approx(2 / 3), False)
    assert {name: extra(result)[name] for name in ("unit", "n_turns", "n_judged")} == {
        "unit": "turn", "n_turns": 3, "n_judged": 3,
    }  # fmt: skip
    assert verdict(result)["explanation"].startswith(
        "Of 3 judged turns, 2 pass. The lowest score is 0, of message 3. The output first differs"
    )


def test_a_conversation_passes_where_all_its_turns_do(alice: Caller) -> None:
    result = evaluate(alice, "exact-match", conversation=QUIZ, reference=QUIZ)
    assert (verdict(result)["score_raw"], verdict(result)["pass"]) == (1.0, True)


def test_a_gold_answer_that_was_sent_counts_for_each_turn(alice: Caller) -> None:
    result = evaluate(alice, "exact-match", conversation=QUIZ, gold_answer="Milan")
    assert [score for _, score, _ in turns(result)] == [0.0, 1.0, 0.0]


def test_a_turn_that_cannot_be_judged_is_named_and_left_out(alice: Caller) -> None:
    conversation = [*QUIZ, *say("Pay."), *call(PAY), *say("Hello?")]
    result = evaluate(alice, "exact-match", conversation=conversation, gold_answer="Paris")
    assert turns(result)[3:] == [(7, None, None), (8, None, None)]
    assert [turn.get("reason") for turn in extra(result)["turns"][3:]] == [
        "It ends in a call of a tool.", "The assistant does not answer.",
    ]  # fmt: skip
    assert (extra(result)["n_turns"], extra(result)["n_judged"]) == (5, 3)
    assert verdict(result)["score_raw"] == pytest.approx(1 / 3)
    assert "Message 7 is not judged: It ends in a call of a tool." in verdict(result)["explanation"]


def test_a_turn_without_an_expected_answer_is_left_out(alice: Caller) -> None:
    result = evaluate(alice, "exact-match", conversation=QUIZ, reference=QUIZ[:4])
    assert turns(result) == [(1, 1.0, True), (3, 1.0, True), (5, None, None)]


@pytest.mark.parametrize("conversation", [[*say("Pay."), *call(PAY)], say("Hello?"), say()])
def test_without_a_turn_to_judge_nothing_applies(alice: Caller, conversation: Any) -> None:
    conversation = conversation or [{"role": "assistant", "content": "Welcome."}]
    result = evaluate(alice, "exact-match", conversation=conversation, gold_answer="x")
    assert (result["status"], result["error_code"]) == ("validation_error", "not_applicable")


def test_an_output_beside_the_conversation_answers_its_last_message(alice: Caller) -> None:
    conversation = say("Capital of France?", "Paris", "Of Italy?")
    result = evaluate(alice, "exact-match", conversation=conversation, task_output="Rome", gold_answer="Rome")
    assert turns(result) == [(1, 0.0, False), (2, 1.0, True)]


def test_without_a_conversation_an_input_is_missing(alice: Caller) -> None:
    result = evaluate(alice, "exact-match", task_output="Paris", gold_answer="Paris")
    assert (result["error_code"], result["error_message"]) == (
        "missing_input", "Evaluator 'exact-match-2026-11-28' needs `conversation`.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("evaluator", "body"),
    [
        ("exact-match", {"gold_answer": "Paris"}),
        ("exact-match", {"reference": QUIZ[:2]}),
        ("retrieval-hallucination", {}),
        ("pii", {}),
    ],
)
@pytest.mark.parametrize("answer", ["Paris", "Order 7 was sent to Oslo on Monday.", "Mail jo@example.com."])
def test_one_turn_has_the_value_of_the_last_answer(
    alice: Caller, evaluator: str, body: dict[str, Any], answer: str
) -> None:
    conversation = [*say("Where is order 7?"), *call(FIND, ORDER), {"role": "assistant", "content": answer}]
    last, turn = (evaluate(alice, evaluator, unit, conversation=conversation, **body) for unit in (None, "turn"))
    raw = [extra(result).get("raw_score", verdict(result)["score_raw"]) for result in (last, turn)]
    assert raw[0] == raw[1]
    assert verdict(last)["pass"] == verdict(turn)["pass"]


# Results of tools so far


LOOKED_UP = [
    *say("Look up order 7."), *call(FIND, ORDER), {"role": "assistant", "content": "Order 7 was sent on Monday."},
    *say("Thanks!", "You are welcome.", "And where to?", "Order 7 was sent to Oslo."),
]  # fmt: skip


def test_a_claim_is_supported_by_a_result_two_turns_earlier(alice: Caller) -> None:
    result = evaluate(alice, "retrieval-hallucination", conversation=LOOKED_UP)
    assert [(message, passed) for message, _, passed in turns(result)] == [(3, True), (5, None), (7, True)]  # courtesy
    assert verdict(result)["pass"] is True
    assert extra(result)["threshold"] is not None
    wrong = [*LOOKED_UP[:-1], {"role": "assistant", "content": "Order 7 was sent to Madrid."}]
    assert turns(evaluate(alice, "retrieval-hallucination", conversation=wrong))[2][2] is False


def test_a_result_of_a_later_turn_supports_nothing(alice: Caller) -> None:
    early = [*say("Where is order 7?", "Order 7 was sent to Oslo on Monday."), *LOOKED_UP]
    result = evaluate(alice, "retrieval-hallucination", conversation=early)
    assert extra(result)["turns"][0] == {
        "message": 1, "score": None, "pass": None, "reason": "No tool has returned anything yet.",
    }  # fmt: skip
    assert extra(result)["n_judged"] == 3
    lookup = [*say("Look up 8."), *call(PAY, "Order 8 is lost."), {"role": "assistant", "content": "It is lost."}]
    result = evaluate(alice, "retrieval-hallucination", conversation=[*lookup, *early])
    assert [passed for _, _, passed in turns(result)][1] is False


def test_contexts_that_were_sent_count_for_each_turn(alice: Caller) -> None:
    conversation = say("Where is order 7?", "Order 7 was sent to Oslo.", "When?", "Order 7 was sent on Monday.")
    result = evaluate(alice, "retrieval-hallucination", conversation=conversation, task_context=[ORDER])
    assert [passed for _, _, passed in turns(result)] == [True, True]


def test_without_any_result_contexts_are_missing(alice: Caller) -> None:
    result = evaluate(alice, "retrieval-hallucination", conversation=QUIZ)
    assert result["error_code"] == "missing_input"


# Errors are never scores


def test_a_text_that_was_not_captured_is_an_error(alice: Caller) -> None:
    conversation = [*QUIZ[:2], *say("Of Italy?"), {"role": "assistant", "content": "", "missing": True}, *QUIZ[4:]]
    result = evaluate(alice, "exact-match", conversation=conversation, gold_answer="Paris")
    assert (result["status"], result["error_code"]) == ("validation_error", "missing_input")
    assert result["error_message"].startswith("Message 3: ")


def test_thinking_before_an_answer_is_no_part_of_it(alice: Caller) -> None:
    conversation = say("Capital of France?", "<think>Hm.</think>Paris", "Of Italy?", "<think>Rome?</think>Rome")
    result = evaluate(alice, "exact-match", conversation=conversation, reference=say("?", "Paris", "?", "Rome"))
    assert [score for _, score, _ in turns(result)] == [1.0, 1.0]


# The whole conversation


def test_all_that_the_assistant_says_is_one_text(alice: Caller) -> None:
    conversation = say("Mail me at jo@example.com.", "I mail bo@example.com.", "And the phone?", "Ask al@example.com.")
    result = evaluate(alice, "pii", "conversation", conversation=conversation)
    assert extra(result)["unit"] == "conversation"
    text = "I mail bo@example.com.\n\nAsk al@example.com."
    found = [text[entity["start"] : entity["end"]] for entity in extra(result)["entities"]]
    assert found == ["bo@example.com", "al@example.com"]
    by_turn = evaluate(alice, "pii", conversation=say("jo@example.com", "Fine.", "?", "Ask al@example.com."))
    assert [passed for _, _, passed in turns(by_turn)] == [True, False]


def test_a_conversation_in_which_nothing_is_said_has_no_text(alice: Caller) -> None:
    result = evaluate(alice, "pii", "conversation", conversation=[*say("Pay."), *call(PAY)])
    assert result["error_code"] == "not_applicable"


@pytest.mark.parametrize(
    ("family", "config"),
    [
        ("exact-match", {"unit": "conversation"}),
        ("retrieval-hallucination", {"unit": "conversation"}),
        ("metrics", {"metric": "ndcg", "unit": "turn"}),
        ("judge-pairwise", {"unit": "turn"}),
        ("judge-conversation", {"unit": "turn"}),
        ("trajectory", {"metric": "strict", "unit": "turn"}),
        ("retrieval-context-relevance", {"unit": "turn"}),
        ("judge", {"pass_criteria": "The MODEL OUTPUT is polite.", "unit": "message"}),
        ("custom", {"type": "regex", "pattern": "x", "unit": "turn"}),
    ],
)
def test_a_unit_that_a_family_cannot_judge_is_refused(alice: Caller, family: str, config: dict[str, Any]) -> None:
    body = {"evaluator_family": family, "name": "by-unit", "config": config}
    problem = assert_problem(alice.post("/v1/evaluator-criteria", body), "validation_failed")
    assert [error["pointer"] for error in problem["errors"]] == ["/config/unit"]
    assert alice.get("/v1/evaluator-criteria?name=by-unit").json() == {"evaluator_criteria": []}


def test_a_profile_with_a_unit_is_stored(alice: Caller) -> None:
    made = make_profile(alice, "exact-match", unit="turn")
    asked = {"evaluator": "exact-match", "criteria": made["name"]}
    answer = alice.post("/v1/evaluate", {"evaluators": [asked], "conversation": QUIZ, "gold_answer": "Paris"}).json()
    assert answer["results"][0]["evaluation_result"]["score_raw"] == pytest.approx(1 / 3)

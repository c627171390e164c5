"""Criteria in plain words about each turn of a conversation: one question a turn, and costs that are summed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evaluators.conversations.turns import MAX_JUDGED_TURNS
from tests.conftest import Caller, new_caller
from tests.judges.asking import PRICES
from tests.judges.conftest import made
from tests.judges.endpoint.replies import Reply, completion, reply
from tests.judges.endpoint.server import Endpoint, running_endpoint
from tests.judges.working import results, work

CRITERIA = "The MODEL OUTPUT is polite."


def play(body: Mapping[str, Any], n: int) -> Reply:
    """Call the answer of a turn impolite that has the word fool, and fail to call one that has the word broken."""
    text = " ".join(str(message["content"]) for message in body["messages"])
    if "broken" in text:
        return reply(completion("no JSON"))
    is_met = "fool" not in text
    checks = [{"id": "polite", "met": is_met, "quote": ""}]
    return reply(completion(json.dumps({"reasoning": "Because.", "checks": checks, "score": float(is_met)})))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint({"turns": play}) as running:
        yield running


@pytest.fixture
def caller(endpoint: Endpoint) -> Caller:
    found: Caller = new_caller(name="turns")
    endpoint.sent["turns"].clear()
    given = {"key": "sk-12ab34cd56efwxyz", "model": "m", **PRICES, "timeout_seconds": 30}
    made(found, base_url=endpoint.base_url("turns"), **given)
    return found


def judge(caller: Caller, answers: list[str], unit: str = "turn") -> dict[str, Any]:
    conversation = [
        message
        for at, answer in enumerate(answers)
        for message in ({"role": "user", "content": f"Question {at}?"}, {"role": "assistant", "content": answer})
    ]
    settings = {"pass_criteria": CRITERIA, "unit": unit}
    asked = {"evaluator": "judge", "explain_strategy": "always", "profile_inline": settings}
    answer = caller.post("/v1/evaluate", {"evaluators": [asked], "conversation": conversation}, prefer="respond-async")
    assert answer.status_code in (200, 202), answer.content
    request_id = int(answer.json()["id"])
    work(caller, request_id)
    (result,) = results(caller, request_id)
    return dict(result)


def test_each_turn_is_a_question_and_costs_are_summed(caller: Caller, endpoint: Endpoint) -> None:
    result = judge(caller, ["Gladly.", "You fool.", "Of course.", "With pleasure.", "Bye."])
    extra = result["evaluation_result"]["additional_info"]["extra"]
    assert [(turn["message"], turn["score"], turn["pass"]) for turn in extra["turns"]] == [
        (1, 1.0, True), (3, 0.0, False), (5, 1.0, True), (7, 1.0, True), (9, 1.0, True),
    ]  # fmt: skip
    assert extra["raw_score"] == pytest.approx(0.8)
    assert result["evaluation_result"]["pass"] is False
    alone = judge(caller, ["Good morning."])["evaluation_result"]["additional_info"]["extra"]["judge"]
    assert extra["judge"]["calls"] == 5 * alone["calls"] == 5
    assert extra["judge"]["cost"] == pytest.approx(5 * alone["cost"])
    assert extra["judge"]["input_tokens"] == 5 * alone["input_tokens"]
    assert (extra["judge"]["models"], extra["judge"]["connection"]) == (alone["models"], alone["connection"])
    assert len(endpoint.sent["turns"]) == 6
    assert "of message 3. Because." in result["evaluation_result"]["explanation"]


def test_an_error_in_one_turn_is_an_error_and_what_was_asked_is_paid(caller: Caller) -> None:
    result = judge(caller, ["Gladly.", "Something broken.", "Of course."])
    assert (result["status"], result["error_code"]) == ("error", "bad_output")
    assert result["error_message"].startswith("Message 3: ")
    assert result["evaluation_result"] is None or result["evaluation_result"]["score_raw"] is None


def test_a_conversation_as_one_text_is_one_question(caller: Caller, endpoint: Endpoint) -> None:
    result = judge(caller, ["Gladly.", "You fool."], "conversation")
    assert result["evaluation_result"]["pass"] is False
    (sent,) = endpoint.sent["turns"]
    text = str(sent["messages"][-1]["content"])
    assert "Gladly.\\n\\nYou fool." in text
    assert "Question 0?\\n\\nQuestion 1?" in text


def test_a_judge_is_asked_about_so_many_turns_and_no_more(caller: Caller, endpoint: Endpoint) -> None:
    result = judge(caller, ["Gladly."] * (MAX_JUDGED_TURNS + 1))
    assert (result["status"], result["error_code"]) == ("validation_error", "input_too_long")
    assert (
        f"at most {MAX_JUDGED_TURNS} turns of a conversation; this one has {MAX_JUDGED_TURNS + 1}."
        in (result["error_message"])
    )
    assert not endpoint.sent["turns"]

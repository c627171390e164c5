"""Judges of conversations, through the API, the worker's code and an endpoint that answers by script."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.conftest import Caller, new_caller
from tests.judges.asking import PRICES
from tests.judges.conftest import made
from tests.judges.endpoint.replies import Reply, completion, reply
from tests.judges.endpoint.server import Endpoint, running_endpoint
from tests.judges.working import results, work

ANSWERS: dict[str, list[Any]] = defaultdict(list)
"""By model: what the judge answers to each call, the last one again and again."""


def play(body: Mapping[str, Any], n: int) -> Reply:
    answers = ANSWERS[body["model"]]
    answer = answers.pop(0) if len(answers) > 1 else answers[0]
    return reply(completion(answer if isinstance(answer, str) else json.dumps(answer)))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint({"conversations": play}) as running:
        yield running


class Scripted:
    """An account with a judge that answers by script, and the questions that it was sent."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.caller: Caller = new_caller(name="conversations")
        self.sent = endpoint.sent["conversations"]
        self.sent.clear()
        given = {"key": "sk-12ab34cd56efwxyz", "model": "m", **PRICES, "timeout_seconds": 30}
        made(self.caller, base_url=endpoint.base_url("conversations"), **given)

    def evaluate(
        self, evaluator: str, *answers: Any, conversation: Any, reference: Any = None, **settings: Any
    ) -> dict[str, Any]:
        """Have a conversation judged by what a model of this test answers; return the result."""
        model = f"m-{uuid.uuid4().hex}"
        ANSWERS[model] = list(answers)
        body = {
            "evaluators": [
                {
                    "evaluator": evaluator,
                    "explain_strategy": "always",
                    "profile_inline": {"model": model, **settings},
                }
            ],
            "conversation": conversation,
            **({} if reference is None else {"reference": reference}),
        }
        return finish(self.caller, body)


def finish(caller: Caller, body: dict[str, Any]) -> dict[str, Any]:
    """Send a request and have it worked off; return its result."""
    answer = caller.post("/v1/evaluate", body, prefer="respond-async")
    assert answer.status_code in (200, 202), answer.content
    request_id = int(answer.json()["id"])
    work(caller, request_id)
    (result,) = results(caller, request_id)
    return result


@pytest.fixture
def scripted(endpoint: Endpoint) -> Scripted:
    return Scripted(endpoint)


def build_answer(**answer: Any) -> dict[str, Any]:
    return {"reasoning": "Because.", **answer}


def score(result: dict[str, Any]) -> float:
    assert result["status"] == "success", (result["error_code"], result["error_message"])
    value: float = result["evaluation_result"]["score_raw"]
    return value


def extra(result: dict[str, Any]) -> dict[str, Any]:
    score(result)
    found: dict[str, Any] = result["evaluation_result"]["additional_info"]["extra"]
    return found


def explanation(result: dict[str, Any]) -> str:
    score(result)
    text: str = result["evaluation_result"]["explanation"]
    return text


def read_part(question: Mapping[str, Any], name: str) -> Any:
    """What the judge was shown under a name."""
    lines = str(question["messages"][-1]["content"]).split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith(f"BEGIN {name} "))
    return json.loads(lines[start + 1])


CALL = {"id": "c1", "type": "function", "function": {"name": "find_order", "arguments": '{"id": 7}'}}
REFUND = {"id": "c2", "type": "function", "function": {"name": "refund", "arguments": '{"id": 7}'}}
SHOP = [
    {"role": "system", "content": "You help customers of a shop."},
    {"role": "user", "content": "My order 7 is broken, and I live in Oslo. Refund it, please."},
    {"role": "assistant", "content": None, "tool_calls": [CALL, REFUND]},
    {"role": "tool", "tool_call_id": "c1", "content": "order 7 was sent"},
    {"role": "tool", "tool_call_id": "c2", "content": "refunded 19.50"},
    {"role": "assistant", "content": "Your order 7 is refunded."},
    {"role": "user", "content": "How is the weather today?"},
    {"role": "assistant", "content": "It is sunny, you fool. Where do you live?"},
]
TOOLS = [{"name": "find_order", "parameters": {"type": "object"}}, {"name": "refund"}, {"name": "weather"}]


# The right value


def goal(*, reached: bool = True, message: int = 4, quote: str = "refunded 19.50", **more: Any) -> dict[str, Any]:
    return build_answer(**more, message=message, quote=quote, reached=reached)


@pytest.mark.parametrize(("reached", "value"), [(True, 1.0), (False, 0.0)])
def test_a_goal_is_reached_or_not(scripted: Scripted, reached: bool, value: float) -> None:
    answer = goal(reached=reached)
    result = scripted.evaluate("goal-accuracy", answer, conversation=SHOP, reference={"goal": "Order 7 is refunded."})
    assert (score(result), result["evaluation_result"]["pass"]) == (value, reached)
    assert extra(result)["goal_inferred"] is False
    assert extra(result)["message"] == 4
    assert explanation(result) == f"The goal is{'' if reached else ' not'} reached, by message 4. Because."
    assert read_part(scripted.sent[-1], "GOAL") == "Order 7 is refunded."


def test_a_goal_that_is_inferred_says_so(scripted: Scripted) -> None:
    answer = goal(goal="A refund of order 7.", goal_message=1)
    result = scripted.evaluate("goal-accuracy", answer, conversation=SHOP)
    assert score(result) == 1.0
    assert (extra(result)["goal_inferred"], extra(result)["goal"]) == (True, "A refund of order 7.")
    assert explanation(result).startswith("The goal is inferred from message 1.")
    assert not any("GOAL" in line for line in scripted.sent[-1]["messages"][-1]["content"].split("\n")[:1])


def test_the_final_state_can_show_that_a_goal_is_reached(scripted: Scripted) -> None:
    conversation = {"messages": SHOP, "final_state": {"orders": {"7": "refunded"}}}
    answer = goal(message=5, quote='"orders": {"7": "refunded"}')
    result = scripted.evaluate("goal-accuracy", answer, conversation=conversation, reference={"goal": "A refund."})
    assert score(result) == 1.0
    assert json.loads(read_part(scripted.sent[-1], "FINAL STATE")) == {"orders": {"7": "refunded"}}


def turn(message: int, on_topic: bool, answer: int, quote: str, answered: bool) -> dict[str, Any]:
    return {"message": message, "on_topic": on_topic, "answer": answer, "quote": quote, "answered": answered}


ON = turn(1, True, 5, "Your order 7 is refunded.", True)
OFF = turn(6, False, 7, "It is sunny, you fool.", True)
DECLINED = turn(6, False, 7, "It is sunny, you fool.", False)
MISSED = turn(1, True, 5, "Your order 7 is refunded.", False)


@pytest.mark.parametrize(
    ("turns", "settings", "value"),
    [
        ([ON, OFF], {}, 2 / 3),
        ([ON, DECLINED], {}, 1.0),
        ([ON, OFF], {"topic_score": "precision"}, 0.5),
    ],
)
def test_topics_are_kept(scripted: Scripted, turns: list[Any], settings: dict[str, Any], value: float) -> None:
    reference = {"topics": ["orders and refunds"]}
    result = scripted.evaluate(
        "topic-adherence", build_answer(turns=turns), conversation=SHOP, reference=reference, **settings
    )
    assert score(result) == pytest.approx(value, abs=1e-12)
    assert result["evaluation_result"]["pass"] is (value == 1.0)
    assert [row["message"] for row in extra(result)["turns"]] == [1, 6]


def test_topics_name_the_turns_and_all_scores(scripted: Scripted) -> None:
    result = scripted.evaluate(
        "topic-adherence",
        build_answer(turns=[MISSED, OFF]),
        conversation=SHOP,
        reference={"topics": ["orders", "refunds"]},
    )
    found = extra(result)
    assert (found["f1"], found["precision"], found["recall"]) == (0.0, 0.0, 0.0)
    assert found["turns"][0]["answered"] is False
    assert explanation(result) == (
        "0 of 2 turns keep to the topics; on a topic and not answered: message 1; off the topics and answered: "
        "message 6. Because."
    )


def test_topics_of_nothing_are_not_applicable(scripted: Scripted) -> None:
    turns = [turn(1, False, 5, "Your order 7 is refunded.", False), DECLINED]
    result = scripted.evaluate(
        "topic-adherence", build_answer(turns=turns), conversation=SHOP, reference={"topics": ["fish"]}
    )
    assert (result["status"], result["error_code"]) == ("validation_error", "not_applicable")
    assert result["error_info"]["judge"]["calls"] == 1


def in_role(message: int, quote: str, holds: bool) -> dict[str, Any]:
    return {"message": message, "quote": quote, "in_role": holds}


POLITE = {"role": "A polite assistant of a shop."}
KIND = in_role(5, "Your order 7 is refunded.", True)
RUDE = in_role(7, "It is sunny, you fool.", False)


def test_a_role_is_kept_in_a_share_of_the_messages(scripted: Scripted) -> None:
    result = scripted.evaluate(
        "role-adherence", build_answer(messages=[KIND, RUDE]), conversation=SHOP, reference=POLITE
    )
    assert (score(result), result["evaluation_result"]["pass"]) == (0.5, False)
    assert explanation(result) == "1 of 2 messages of the assistant keep to the role, but not message 7. Because."
    assert extra(result)["messages"] == [
        {"message": 5, "in_role": True, "quote_found": True},
        {"message": 7, "in_role": False, "quote_found": True},
    ]
    assert read_part(scripted.sent[-1], "TO DECIDE") == ["5", "7"]


def test_two_remarks_on_one_message_count_once(scripted: Scripted) -> None:
    """A known framework counts remarks instead of messages, and says .5 here."""
    messages = [{"role": "user", "content": "Hello there, you."}] * 4
    texts = ["Good day to you.", "Shut up, you fool.", "As you like it.", "At your service, madam."]
    conversation = [
        part
        for user, text in zip(messages, texts, strict=True)
        for part in (user, {"role": "assistant", "content": text})
    ]
    remarks = [in_role(at, text, True) for at, text in zip((1, 5, 7), (texts[0], *texts[2:]), strict=True)]
    remarks += [in_role(3, "Shut up, you fool.", False), in_role(3, "Shut up, you", False)]
    result = scripted.evaluate(
        "role-adherence", build_answer(messages=remarks), conversation=conversation, reference=POLITE
    )
    assert score(result) == 0.75
    assert extra(result)["messages"][1] == {
        "message": 3,
        "n_verdicts": 2,
        "in_role": False,
        "quote_found": True,
    }


def fact(message: int, text: str, quote: str, broken_by: int = -1, **more: Any) -> dict[str, Any]:
    kept = broken_by == -1
    return {
        "message": message,
        "is_fact": True,
        "fact": text,
        "quote": quote,
        "broken_by": broken_by,
        "kept": kept,
        **more,
    }


NO_FACT = fact(6, "", "", is_fact=False)
ORDER = fact(1, "Order 7 is broken.", "My order 7 is broken")
HOME = fact(1, "The user lives in Oslo.", "I live in Oslo", 7)


def test_facts_are_kept_or_asked_for_again(scripted: Scripted) -> None:
    result = scripted.evaluate("knowledge-retention", build_answer(facts=[ORDER, HOME, NO_FACT]), conversation=SHOP)
    assert score(result) == 0.5
    assert explanation(result) == (
        "1 of 2 facts are kept: message 7 asks for or contradicts what message 1 says. Because."
    )
    assert extra(result)["facts"][1] == {
        "message": 1,
        "fact": "The user lives in Oslo.",
        "broken_by": 7,
        "kept": False,
        "quote_found": True,
    }


def test_a_fact_that_is_listed_twice_counts_once(scripted: Scripted) -> None:
    again = fact(1, "Home is Oslo.", "and I live in Oslo.")
    result = scripted.evaluate(
        "knowledge-retention", build_answer(facts=[ORDER, HOME, again, NO_FACT]), conversation=SHOP
    )
    assert score(result) == 0.5


def test_what_nothing_follows_cannot_be_forgotten(scripted: Scripted) -> None:
    conversation = [*SHOP, {"role": "user", "content": "My cat is called Tom."}]
    result = scripted.evaluate(
        "knowledge-retention", build_answer(facts=[ORDER, HOME, NO_FACT]), conversation=conversation
    )
    assert (score(result), extra(result)["left_out"]) == (0.5, [8])


def intention(message: int, text: str, passage: str, answer: int, quote: str, **more: Any) -> dict[str, Any]:
    return {
        "message": message,
        "is_intention": True,
        "intention": text,
        "passage": passage,
        "answer": answer,
        "quote": quote,
        "met": answer != -1,
        **more,
    }


REFUNDED = intention(1, "A refund.", "Refund it, please.", 5, "Your order 7 is refunded.")
WEATHER = intention(6, "The weather.", "How is the weather today?", 7, "It is sunny, you fool.")
UNMET = intention(6, "The weather.", "How is the weather today?", -1, "")


@pytest.mark.parametrize(("found", "value"), [([REFUNDED, WEATHER], 1.0), ([REFUNDED, UNMET], 0.5)])
def test_intentions_are_met(scripted: Scripted, found: list[Any], value: float) -> None:
    result = scripted.evaluate("conversation-completeness", build_answer(intentions=found), conversation=SHOP)
    assert score(result) == value
    if value < 1:
        assert explanation(result) == "1 of 2 intentions are met, but not message 6. Because."


def called(message: int, call: int, quote: str, right: bool) -> dict[str, Any]:
    return {"message": message, "call": call, "quote": quote, "right": right}


FIND = called(2, 1, "My order 7 is broken", True)
PAY = called(2, 2, "Refund it, please.", True)
SILENT = called(7, 0, "How is the weather today?", False)
WITH_TOOLS = {"messages": SHOP, "tools": TOOLS}


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ([FIND, PAY, {**SILENT, "right": True}], 1.0),
        ([FIND, FIND, PAY, {**FIND, "right": False}, SILENT], 1 / 3),
    ],
)
def test_each_of_parallel_calls_is_judged(scripted: Scripted, calls: list[Any], value: float) -> None:
    result = scripted.evaluate("tool-choice", build_answer(calls=calls), conversation=WITH_TOOLS)
    assert score(result) == pytest.approx(value, abs=1e-12)
    assert read_part(scripted.sent[-1], "TO DECIDE") == ["2.1", "2.2", "7"]


def test_a_wrong_call_is_named(scripted: Scripted) -> None:
    result = scripted.evaluate(
        "tool-choice", build_answer(calls=[FIND, {**PAY, "right": False}, SILENT]), conversation=WITH_TOOLS
    )
    assert explanation(result) == (
        "1 of 2 calls are right, but not 2.2; no call where one was needed: message 7. Because."
    )
    assert extra(result)["calls"][1] == {
        "message": 2,
        "call": 2,
        "name": "refund",
        "right": False,
        "quote_found": True,
    }


# What a judge may get wrong

BAD = {
    "a message left out": build_answer(messages=[KIND]),
    "an empty list": build_answer(messages=[]),
    "a message that is not there": build_answer(messages=[KIND, RUDE, in_role(70, "It is sunny, you fool.", True)]),
    "a message of the user": build_answer(messages=[KIND, RUDE, in_role(6, "How is the weather", True)]),
    "half an entry": build_answer(messages=[KIND, {"message": 7, "in_role": True}]),
    "a truth in words": build_answer(messages=[KIND, {**RUDE, "in_role": "mostly"}]),
    "no list": build_answer(messages=KIND),
    "no verdict": build_answer(),
    "prose": "I think that the assistant is polite in most of its messages.",
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
def test_an_answer_that_leaves_something_open_is_no_score(scripted: Scripted, answer: Any) -> None:
    result = scripted.evaluate("role-adherence", answer, conversation=SHOP, reference=POLITE)
    assert (result["status"], result["error_code"], result["evaluation_result"]) == ("error", "bad_output", None)
    assert result["error_info"]["judge"]["calls"] >= 2
    assert result["error_info"]["judge"]["cost"] > 0
    assert "Oslo" not in result["error_message"]


def test_what_is_left_out_is_asked_for_once_more(scripted: Scripted) -> None:
    result = scripted.evaluate(
        "role-adherence",
        build_answer(messages=[KIND]),
        build_answer(messages=[KIND, RUDE]),
        conversation=SHOP,
        reference=POLITE,
    )
    assert score(result) == 0.5
    assert (extra(result)["judge"]["calls"], extra(result)["judge"]["repaired"]) == (2, True)
    assert "has no entry for 7" in scripted.sent[-1]["messages"][-1]["content"]


def test_an_invented_quote_does_not_pass(scripted: Scripted) -> None:
    answer = build_answer(messages=[KIND, in_role(7, "I am at your service.", True)])
    result = scripted.evaluate("role-adherence", answer, conversation=SHOP, reference=POLITE)
    assert (score(result), extra(result)["n_overruled"]) == (0.5, 1)
    assert extra(result)["messages"][1]["overruled"] is True


def test_an_unfounded_refusal_counts_as_an_answer(scripted: Scripted) -> None:
    answer = build_answer(turns=[ON, {**DECLINED, "quote": "I cannot talk about that."}])
    result = scripted.evaluate("topic-adherence", answer, conversation=SHOP, reference={"topics": ["orders"]})
    assert score(result) == pytest.approx(2 / 3)


def test_a_tiny_quote_does_not_pass(scripted: Scripted) -> None:
    answer = goal(reached=True, quote="refun")
    result = scripted.evaluate("goal-accuracy", answer, conversation=SHOP, reference={"goal": "A refund."})
    assert (score(result), extra(result)["overruled"]) == (0.0, True)


def test_failed_calls_and_other_languages(scripted: Scripted) -> None:
    conversation = {
        "messages": [
            {"role": "user", "text": "注文7を返金してください。"},
            {"role": "assistant", "calls": [{"id": "a", "name": "refund", "args": {"id": 7}}]},
            {"role": "tool", "call_id": "a", "text": "時間切れ", "error": True},
            {"role": "assistant", "calls": [{"id": "b", "name": "refund", "args": {"id": 7}}]},
            {"role": "tool", "call_id": "b", "text": "返金しました"},
            {"role": "assistant", "text": "返金しました。"},
        ],
        "tools": [{"name": "refund"}],
    }
    calls = [called(1, 1, "注文7を返金", True), called(3, 1, "時間切れ", True)]
    assert score(scripted.evaluate("tool-choice", build_answer(calls=calls), conversation=conversation)) == 1.0
    assert "2 error of 1.1: 時間切れ" in read_part(scripted.sent[-1], "CONVERSATION")
    answer = goal(message=4, quote="返金しました", goal="Refund of order 7.", goal_message=0)
    assert score(scripted.evaluate("goal-accuracy", answer, conversation=conversation)) == 1.0


# What is missing, and whom it asks


@pytest.mark.parametrize(
    ("evaluator", "reference", "word"),
    [
        ("topic-adherence", None, "`reference`"),
        ("role-adherence", {"goal": "x"}, "`role`"),
    ],
)
def test_what_was_not_sent_is_missing(scripted: Scripted, evaluator: str, reference: Any, word: str) -> None:
    result = scripted.evaluate(evaluator, build_answer(), conversation=SHOP, reference=reference)
    assert (result["status"], result["error_code"]) == ("validation_error", "missing_input")
    assert word in result["error_message"]
    assert scripted.sent == []


@pytest.mark.parametrize("evaluator", ["goal-accuracy", "conversation-completeness"])
def test_a_conversation_is_needed(scripted: Scripted, evaluator: str) -> None:
    model = {"evaluator": evaluator}
    answer = scripted.caller.post("/v1/evaluate", {"evaluators": [model], "task_output": "Done."}).json()
    assert answer["results"][0]["error_code"] == "missing_input"
    assert "`conversation`" in answer["results"][0]["error_message"]


def test_another_account_s_connection_is_not_asked(scripted: Scripted, charlie: Caller) -> None:
    name = scripted.caller.get("/v1/connections").json()["connections"][0]["name"]
    for connection in ({}, {"connection": name}):
        evaluator = {"evaluator": "goal-accuracy", "profile_inline": connection}
        result = finish(charlie, {"evaluators": [evaluator], "conversation": SHOP})
        assert result["error_code"] == "not_configured"
    assert scripted.sent == []

"""The Responses API: requests under its names, and its answers, endings, errors and usage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.calls.loop import run
from evalsvc.judges.selectors import connection_facts
from evaluators.base import CannotScore
from evaluators.gateway import Weights
from tests.judges.asking import GOOD, PRICES, SCHEMA, Judge, question, usage
from tests.judges.providers import Endpoint
from tests.judges.webhook_server import Server

TEXT = json.dumps(GOOD)
USAGE = {
    "input_tokens": 120,
    "output_tokens": 400,
    "output_tokens_details": {"reasoning_tokens": 380},
    "total_tokens": 520,
}


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "status": "completed", "content": list(parts)}


def response(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    base = {"id": "resp_1", "object": "response", "status": "completed", "model": "m-2", "error": None}
    return {**base, "output": list(output), "usage": USAGE, **fields}


WRITTEN = message({"type": "output_text", "text": TEXT, "annotations": []})
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I compare the two."}]}


@pytest.fixture
def judge(server: Server) -> Judge:
    return Endpoint(server).judge(protocol="responses", **PRICES)


def sent(server: Server, n: int = -1) -> dict[str, Any]:
    path, _, content = server.seen[n]
    assert path == "/v1/responses"
    body: dict[str, Any] = json.loads(content)
    return body


def test_a_judge_asks_and_reads(server: Server, judge: Judge) -> None:
    server.says(response(THOUGHT, WRITTEN))

    answer = judge.ask(model="m", asked=question("x"), reasoning_effort="low", seed=7)

    assert answer.data == GOOD
    body = sent(server)
    assert [item["role"] for item in body["input"]] == ["system", "user"] and "messages" not in body
    schema = {"type": "json_schema", "name": "test_1", "strict": True, "schema": SCHEMA}
    assert body["text"] == {"format": schema}
    assert (body["reasoning"], body["max_output_tokens"], body["store"]) == ({"effort": "low"}, 1024, False)
    assert not {"seed", "max_tokens", "response_format", "reasoning_effort"} & set(body)


def test_usage_is_charged(server: Server, judge: Judge) -> None:
    server.says(response(THOUGHT, WRITTEN))

    provenance = judge.ask(model="m").provenance

    assert (provenance["calls"], provenance["input_tokens"], provenance["output_tokens"]) == (1, 120, 400)
    assert provenance["cost"] == pytest.approx((120 * 1 + 400 * 2) / 1e6)
    assert "usage_estimated" not in provenance and provenance["model"] == "m-2"
    shown = judge.caller.get(f"/v1/connections/{judge.connection['id']}").json()["connection"]
    assert shown["spent_today"] == pytest.approx(provenance["cost"])


def test_extra_body_is_merged(server: Server, judge: Judge) -> None:
    extra = {"reasoning": {"summary": "auto", "effort": "high"}, "text": {"verbosity": "low"}, "store": True}
    judge.caller.patch(f"/v1/connections/{judge.connection['id']}", {"extra_body": extra})
    server.says(response(WRITTEN))

    judge.ask(model="m", reasoning_effort="low")

    body = sent(server)
    assert body["reasoning"] == {"summary": "auto", "effort": "low"} and body["store"] is True
    assert (body["text"]["verbosity"], body["text"]["format"]["type"]) == ("low", "json_schema")


def test_an_answer_that_was_cut_is_asked_again_with_more(server: Server, judge: Judge) -> None:
    cut = response(THOUGHT, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    server.says(cut, response(WRITTEN))

    assert judge.ask(model="m").data == GOOD
    assert sent(server, 0)["max_output_tokens"] < sent(server, 1)["max_output_tokens"]


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (response(message({"type": "refusal", "refusal": "I cannot."})), "refused", "refused"),
        (response(WRITTEN, status="incomplete", incomplete_details={"reason": "content_filter"}), "refused", "refused"),
        (
            response(status="failed", error={"code": "server_error", "message": "The model had an error."}),
            "connection",
            "The model had an error.",
        ),
        (response(), "bad_output", "wrote nothing"),
        (response(THOUGHT), "bad_output", "wrote nothing"),
    ],
)
def test_what_is_no_answer_is_named(
    server: Server, judge: Judge, answer: dict[str, Any], code: str, words: str
) -> None:
    server.says(answer)

    with pytest.raises(CannotScore) as caught:
        judge.ask(model="m")

    assert caught.value.code == code and words in caught.value.detail
    assert usage(caught.value)["mode"] != "tool"


def test_a_refused_parameter_is_left_out(server: Server, judge: Judge) -> None:
    def refuse(handler: Any) -> None:
        error = {
            "message": "Unsupported parameter: 'temperature' is not supported with this model.",
            "type": "invalid_request_error",
            "param": "temperature",
            "code": None,
        }
        handler.reply(400, json.dumps({"error": error}).encode())

    server.says(refuse, response(WRITTEN))

    assert judge.ask(model="m", temperature=0).data == GOOD
    assert ("temperature" in sent(server, 0), "temperature" in sent(server, 1)) == (True, False)


def test_a_tool_is_asked_for_and_read(server: Server, judge: Judge) -> None:
    def refuse(handler: Any) -> None:
        error = {"message": "text.format json_schema is not supported", "code": "unsupported_value"}
        handler.reply(400, json.dumps({"error": error}).encode())

    call = {"type": "function_call", "name": "answer", "arguments": TEXT, "call_id": "c1"}
    server.says(refuse, refuse, response(call))

    assert judge.ask(model="m").data == GOOD
    body = sent(server)
    assert body["tools"] == [
        {"type": "function", "name": "answer", "description": "Give your answer.", "parameters": SCHEMA}
    ]
    assert body["tool_choice"] == {"type": "function", "name": "answer"}


def test_probabilities_are_read(server: Server, judge: Judge) -> None:
    tokens = [
        '{"',
        "reasoning",
        '":"',
        "Because",
        '.","',
        "score",
        '":',
        "1.0",
        ',"',
        "verdict",
        '":"',
        "correct",
        '"}',
    ]
    logprobs = [
        {"token": token, "logprob": -0.1, "top_logprobs": [{"token": token, "logprob": -0.1}]} for token in tokens
    ]
    part = {"type": "output_text", "text": "".join(tokens), "logprobs": logprobs}
    server.says(response(message(part)))

    answer = judge.ask(model="m", asked=question(weighed=Weights("verdict", ("correct", "incorrect"))))

    assert sent(server)["include"] == ["message.output_text.logprobs"] and sent(server)["top_logprobs"] == 5
    assert answer.chances is not None and answer.chances["correct"] > 0.9


def test_images_and_the_conversation_go_along(server: Server, judge: Judge) -> None:
    server.says(response(WRITTEN))
    image: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]},
        {"role": "assistant", "content": "A cat."},
    ]
    facts = connection_facts(account_id=judge.caller.account.pk, ref=judge.connection["id"])

    completion = run(complete_within_limits(facts, messages=messages, parameters={"max_tokens": 20, "stop": "."}))

    assert (completion.text, completion.finish_reason) == (TEXT, "stop")
    body = sent(server)
    parts = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": image["image_url"]["url"]},
    ]
    assert body["input"] == [{"role": "user", "content": parts}, {"role": "assistant", "content": "A cat."}]
    assert body["max_output_tokens"] == 20 and "stop" not in body

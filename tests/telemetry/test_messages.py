"""Messages in the attributes of spans: they stay readable however long they are, and name their conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators.conversations.reader import read_conversation
from tests.conftest import Caller
from tests.telemetry.otlp import attribute, new_id, span, traces

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"


def store(caller: Caller, attributes: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Send a span; return it as it is stored."""
    trace_id = new_id()
    answer = caller.post("/v1/traces", traces(span(trace_id, attributes=attributes, **fields)))
    assert (answer.status_code, answer.json()) == (200, {})
    (stored,) = caller.get(f"/v1/traces/{trace_id}").json()["spans"]
    return dict(stored)


def build_messages(texts: list[str]) -> list[dict[str, Any]]:
    """Messages of a user and an assistant in turn, as OpenTelemetry has them."""
    roles = ("user", "assistant")
    return [
        {"role": roles[i % 2], "parts": [{"type": "text", "content": text}]} for i, text in enumerate(texts)
    ]  # fmt: skip


def structure(value: Any) -> dict[str, Any]:
    """A value as OTLP has structured attributes."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": structure(part)} for key, part in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [structure(part) for part in value]}}
    return {"stringValue": value}


def flatten(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as OpenInference has them."""
    return [
        attribute(f"llm.input_messages.{i}.message.{name}", value)
        for i, message in enumerate(messages)
        for name, value in (("role", message["role"]), ("content", message["parts"][0]["content"]))
    ]


def test_a_megabyte_of_messages_is_kept_whole(alice: Caller) -> None:
    sent = json.dumps(build_messages(["é" + "x" * 99_999] * 10 + ["short"] * 100), ensure_ascii=False)
    stored = store(alice, [attribute(INPUT, sent), attribute("other", "y" * 70_000)])["span_attributes"]

    assert len(sent) > 1_000_000
    assert stored[INPUT] == sent
    assert len(stored["other"]) == 65_536


@pytest.mark.parametrize("form", ["json", "structured", "flattened", "value"])
def test_a_conversation_within_the_limits_is_kept_whole(alice: Caller, form: str) -> None:
    messages = build_messages(["x" * 800] * 499 + ["y" * 70_000])
    attributes = {
        "json": [attribute(INPUT, json.dumps(messages))],
        "structured": [attribute(INPUT, structure(messages))],
        "flattened": flatten(messages),
        "value": [attribute("input.value", json.dumps({"messages": messages}))],
    }[form]
    stored = store(alice, [*attributes, attribute("after", "here")])["span_attributes"]
    kept = json.loads(stored["input.value"]) if form == "value" else stored

    assert stored["after"] == "here"
    conversation = read_conversation(kept)
    assert [len(message.text) for message in conversation.messages] == [800] * 499 + [70_000]


def test_the_texts_of_longer_messages_are_cut_and_marked(alice: Caller) -> None:
    sent = json.dumps(build_messages(["x" * 2_500_000, "short", "y" * 30_000]))
    kept = store(alice, [attribute(INPUT, sent)])["span_attributes"][INPUT]

    texts = [message["parts"][0]["content"] for message in json.loads(kept)]
    assert texts[0].endswith("x… [2500000 characters]")
    assert len(texts[0]) == 65_536
    assert texts[1:] == ["short", "y" * 30_000]


def test_the_first_of_too_many_messages_are_left_out(alice: Caller) -> None:
    sent = json.dumps(build_messages([f"number {i}" for i in range(40_000)]))
    kept = json.loads(store(alice, [attribute(INPUT, sent)])["span_attributes"][INPUT])

    assert kept[0] == {"role": "system", "content": f"[{40_001 - len(kept)} messages were left out]"}
    assert kept[-1]["parts"][0]["content"] == "number 39999"
    assert len(json.dumps(kept)) > 1_900_000


BROKEN = {
    "no json": '[{"role": "user", "content": "' + "x" * 2_500_000,
    "deep": "[" * 1_100_000 + "]" * 1_100_000,
    "half a pair": json.dumps(build_messages(["\ud83d" + "x" * 2_500_000])),
    "no messages": json.dumps({"a": [1.5] * 600_000}),
    "numbers": "[" + "1," * 1_200_000 + "1]",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("attribute_name", [INPUT, "input.value"])
def test_what_is_too_long_and_no_message_is_cut(alice: Caller, name: str, attribute_name: str) -> None:
    kept = store(alice, [attribute(attribute_name, BROKEN[name])])["span_attributes"][attribute_name]

    assert len(kept) <= 2_097_152
    assert kept.endswith("characters]") or "were left out" in kept[:100]


def test_deep_messages_do_not_end_the_process(alice: Caller) -> None:
    sent = json.dumps([{"role": "user", "content": "x" * 2_500_000}])[:-1] + "," + "[" * 900 + "]" * 900 + "]"
    kept = store(alice, [attribute(INPUT, sent)])["span_attributes"][INPUT]

    assert "[nested too deeply]" in kept
    json.loads(kept)


def test_texts_that_are_no_messages_have_the_limits_of_others(alice: Caller) -> None:
    attributes = [
        attribute("input.value", json.dumps({"documents": "x" * 70_000})),
        attribute("llm.other", "x" * 70_000),
    ]
    stored = store(alice, attributes)["span_attributes"]

    assert {len(text) for text in stored.values()} == {65_536}


def test_many_parts_of_messages_end_somewhere(alice: Caller) -> None:
    attributes = [attribute(f"llm.tools.{i}", "x") for i in range(60_000)]
    stored = store(alice, attributes)["span_attributes"]

    assert 50_000 <= len(stored) <= 50_300
    assert stored["…"] == "[more attributes were left out]"


def test_messages_of_an_event_are_kept(alice: Caller) -> None:
    sent = json.dumps(build_messages(["x" * 300_000]))
    event = {
        "timeUnixNano": "1",
        "name": "gen_ai.client.inference.operation.details",
        "attributes": [attribute(INPUT, sent)],
    }
    assert store(alice, [], events=[event])["events"][0]["attributes"][INPUT] == sent


IDS: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "OpenTelemetry": ([attribute("gen_ai.conversation.id", "c1"), attribute("session.id", "s1")], "c1"),
    "OpenInference": ([attribute("session.id", "s1")], "s1"),
    "Langfuse": ([attribute("langfuse.session.id", "s2")], "s2"),
    "metadata": ([attribute("metadata", '{"thread_id": "t1", "a": [1]}')], "t1"),
    "structured metadata": ([attribute("metadata", structure({"thread_id": "t1"}))], "t1"),
    "flat metadata": ([attribute("langfuse.trace.metadata.thread_id", "t2")], "t2"),
    "number": ([attribute("session.id", 7)], "7"),
    "broken metadata": ([attribute("metadata", '{"thread_id": ')], None),
    "metadata of another kind": ([attribute("metadata", '["thread_id"]')], None),
    "empty": ([attribute("gen_ai.conversation.id", ""), attribute("session.id", "s1")], "s1"),
    "too long": ([attribute("session.id", "s" * 256)], None),
    "boolean": ([attribute("session.id", True)], None),
    "nul": ([attribute("session.id", "a\0b")], "a\ufffdb"),
    "none": ([attribute("other", "x")], None),
}  # fmt: skip


@pytest.mark.parametrize("name", IDS)
def test_spans_name_their_conversation(alice: Caller, name: str) -> None:
    attributes, expected = IDS[name]
    stored = store(alice, attributes)

    assert stored["conversation_id"] == expected
    if expected:
        query = {"filters": [{"field": "conversation_id", "op": "eq", "value": expected}]}
        (found,) = alice.post("/v1/otel/spans/search", query).json()["spans"]
        assert found["span_id"] == stored["span_id"]


def test_a_span_that_ends_later_brings_its_conversation(alice: Caller) -> None:
    first = span(new_id())
    alice.post("/v1/traces", traces(first))
    alice.post("/v1/traces", traces({**first, "attributes": [attribute("session.id", "s1")]}))

    (stored,) = alice.get(f"/v1/traces/{first['traceId']}").json()["spans"]
    assert stored["conversation_id"] == "s1"

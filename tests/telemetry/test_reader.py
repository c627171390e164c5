"""One reader of spans: input, output, contexts, calls, model, tokens, cost and ids in each convention."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsvc.telemetry.attributes import find_kind
from evalsvc.telemetry.reader import read_span
from tests.conftest import Caller
from tests.factories import ok
from tests.telemetry.otlp import attribute, log, logs, new_id

WEATHER = '{"city": "Bern"}'


def openinference() -> dict[str, Any]:
    return {
        "openinference.span.kind": "LLM",
        "input.value": '{"messages": []}',
        "output.value": '{"id": "chatcmpl-1"}',
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be brief.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Where is order 7?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "It is sent.",
        "llm.model_name": "small-1",
        "llm.system": "openai",
        "llm.token_count.prompt": 12,
        "llm.token_count.completion": 3,
        "llm.cost.total": 0.25,
        "session.id": "s1",
        "user.id": "u1",
    }


def otel() -> dict[str, Any]:
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Where is order 7?"}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "It is sent."}], "finish_reason": "stop"}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.response.model": "small-1",
        "gen_ai.system_instructions": '[{"type": "text", "content": "Be brief."}]',
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(said),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cost": 0.25,
        "gen_ai.conversation.id": "s1",
        "enduser.id": "u1",
    }


def openllmetry() -> dict[str, Any]:
    return {
        "llm.request.type": "chat",
        "gen_ai.system": "openai",
        "gen_ai.request.model": "small-1",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "Where is order 7?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "It is sent.",
        "gen_ai.usage.prompt_tokens": 12,
        "gen_ai.usage.completion_tokens": 3,
        "gen_ai.usage.cost": 0.25,
        "traceloop.association.properties.session_id": "s1",
        "traceloop.association.properties.user_id": "u1",
    }


def ai_sdk() -> dict[str, Any]:
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Where is order 7?"}]},
    ]
    return {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.provider": "openai",
        "ai.model.id": "small-1",
        "ai.prompt.messages": json.dumps(asked),
        "ai.response.text": "It is sent.",
        "ai.usage.inputTokens": 12,
        "ai.usage.outputTokens": 3,
        "operation.cost": 0.25,
        "ai.telemetry.metadata.sessionId": "s1",
        "ai.telemetry.metadata.userId": "u1",
    }


def pydantic_ai() -> dict[str, Any]:
    """A request to a model, as version 1 of its instrumentation writes it."""
    log = [
        {"content": "Be brief.", "role": "system", "event.name": "gen_ai.system.message"},
        {"content": "Where is order 7?", "role": "user", "event.name": "gen_ai.user.message"},
        {"index": 0, "message": {"role": "assistant", "content": "It is sent."}, "event.name": "gen_ai.choice"},
    ]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "openai",
        "gen_ai.request.model": "small-1",
        "events": json.dumps(log),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "operation.cost": 0.25,
        "session.id": "s1",
        "user.id": "u1",
    }


def logfire() -> dict[str, Any]:
    """A call of a model, as logfire's own instrumentations write it."""
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is order 7?"}]
    return {
        "request_data": json.dumps({"messages": asked, "model": "small-1"}),
        "response_data": json.dumps({"message": {"role": "assistant", "content": "It is sent."}}),
        "gen_ai.system": "openai",
        "gen_ai.response.model": "small-1",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "operation.cost": 0.25,
        "session.id": "s1",
        "user.id": "u1",
    }


@pytest.mark.parametrize("convention", [openinference, otel, openllmetry, ai_sdk, pydantic_ai, logfire])
def test_a_call_of_a_model_reads_the_same_in_each_convention(convention: Any) -> None:
    content = read_span(convention())

    assert (content.kind, content.input, content.output) == ("llm", "Where is order 7?", "It is sent.")
    assert (content.system, content.model, content.provider) == ("Be brief.", "small-1", "openai")
    assert content.tokens == {"input_tokens": 12, "output_tokens": 3}
    assert (content.cost, content.session_id, content.user_id) == (0.25, "s1", "u1")
    assert [message["role"] for message in content.messages] == ["user", "assistant"]
    assert (content.tool_calls, content.contexts, content.unreadable) == ((), (), None)


ANSWERS_WITH_CALLS = {
    "openinference": {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Weather in Bern?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": WEATHER,
    },
    "otel": {
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Weather in Bern?"}]}]',
        "gen_ai.output.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Bern"}}],
                }
            ]
        ),
    },
    "openllmetry": {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Weather in Bern?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "weather",
        "gen_ai.completion.0.tool_calls.0.arguments": WEATHER,
    },
    "ai sdk 4": {
        "ai.prompt": '{"prompt": "Weather in Bern?"}',
        "ai.response.toolCalls": '[{"toolCallId": "c1", "toolName": "weather", "args": {"city": "Bern"}}]',
    },
    "ai sdk 5": {
        "ai.prompt.messages": '[{"role": "user", "content": "Weather in Bern?"}]',
        "ai.response.toolCalls": '[{"toolCallId": "c1", "toolName": "weather", "input": {"city": "Bern"}}]',
    },
    "ai sdk 3": {
        "ai.prompt": '{"prompt": "Weather in Bern?"}',
        "ai.result.toolCalls": '[{"toolCallId": "c1", "toolName": "weather", "args": {"city": "Bern"}}]',
    },
}


@pytest.mark.parametrize("convention", ANSWERS_WITH_CALLS)
def test_calls_of_tools(convention: str) -> None:
    content = read_span(ANSWERS_WITH_CALLS[convention])

    assert content.tool_calls == ({"id": "c1", "name": "weather", "arguments": WEATHER},)
    assert (content.input, content.output) == ("Weather in Bern?", None)


def test_results_of_tools_of_the_ai_sdk_belong_to_their_calls() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Weather in Bern?"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Bern"}}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "weather",
                    "output": {"type": "json", "value": {"sky": "clear"}},
                }
            ],
        },
    ]
    content = read_span({"ai.prompt.messages": json.dumps(messages), "ai.response.text": "Clear."})

    assert content.messages[2] == {
        "role": "tool",
        "tool_call_id": "c1",
        "name": "weather",
        "content": '{"sky": "clear"}',
    }
    assert content.output == "Clear."


def test_a_run_of_pydantic_ai_ends_in_its_result() -> None:
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": "Weather in Bern?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": WEATHER}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "weather", "result": "clear"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "Clear."}]},
    ]
    content = read_span({"pydantic_ai.all_messages": json.dumps(messages), "final_result": "Clear."})
    without = read_span({"final_result": '{"sky": "clear", "degrees": 3}'})

    assert (content.input, content.output) == ("Weather in Bern?", "Clear.")
    assert [message["role"] for message in content.messages] == ["user", "assistant", "tool", "assistant"]
    assert without.output == '{"sky": "clear", "degrees": 3}'


def test_messages_in_events_of_a_span() -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "Where is order 7?", "role": "user"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": '{"content": "It is sent."}'}},
    ]
    content = read_span({"gen_ai.operation.name": "chat"}, events)
    logged = read_span(
        {"gen_ai.operation.name": "chat"},
        logs=[
            ({"event.name": "gen_ai.user.message"}, {"content": "Where is order 7?"}),
            ({"event.name": "gen_ai.choice"}, {"index": 0, "message": {"content": "It is sent."}}),
        ],
    )

    assert (content.input, content.output) == ("Where is order 7?", "It is sent.")
    assert (logged.input, logged.output) == ("Where is order 7?", "It is sent.")


def test_messages_in_an_event_whose_name_is_a_field_of_the_log(alice: Caller) -> None:
    """As opentelemetry-instrumentation-openai-v2 2.4b0 sends them, and genai-openai 1.3b0 with EVENT_ONLY."""
    asked = {"kvlistValue": {"values": [attribute("content", "Where is order 7?")]}}
    said = {"kvlistValue": {"values": [attribute("role", "assistant"), attribute("content", "It is sent.")]}}
    choice = {"kvlistValue": {"values": [attribute("index", 0), {"key": "message", "value": said}]}}
    ids = {"traceId": new_id(), "spanId": new_id(8)}
    records = [
        log(**ids, eventName="gen_ai.user.message", body=asked),
        log(**ids, eventName="gen_ai.choice", body=choice),
    ]
    ok(alice.post("/v1/logs", raw=json.dumps(logs(*records))))
    stored = ok(alice.get(f"/v1/traces/{ids['traceId']}"))["logs"]
    content = read_span(
        {"gen_ai.operation.name": "chat"}, logs=[(record["log_attributes"], record["body"]) for record in stored]
    )

    assert (content.input, content.output) == ("Where is order 7?", "It is sent.")


def test_a_function_that_patronus_traces_has_its_texts_in_a_log() -> None:
    body = {"function.name": "ask", "function.arguments": {"question": "Who?"}, "function.output": "Ada."}
    content = read_span({}, logs=[({"pat.log.type": "trace"}, body)])

    assert (content.input, content.output) == ("Who?", "Ada.")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Who?", "Who?"),
        ('{"question": "Who?"}', "Who?"),
        ('{"args": ["Who?"], "kwargs": {}}', "Who?"),
        ('{"inputs": {"question": "Who?"}, "tags": ["a"]}', "Who?"),
        ('{"question": "Who?", "k": 3}', '{"question": "Who?", "k": 3}'),
        ('"Who?"', "Who?"),
        ("{broken", "{broken"),
        (["Who?"], "Who?"),
        (7, "7"),
    ],
)
def test_the_only_text_in_a_value_is_its_text(value: Any, text: str) -> None:
    assert read_span({"traceloop.entity.input": value}).input == text


def test_contexts_are_the_documents_of_a_retriever() -> None:
    numbered = {
        "openinference.span.kind": "RETRIEVER",
        "retrieval.documents.1.document.content": "second",
        "retrieval.documents.0.document.content": "first",
        "retrieval.documents.0.document.score": 0.5,
        "retrieval.documents.10.document.content": "last",
    }
    listed = {"gen_ai.retrieval.documents": '[{"id": "a", "content": "first"}, {"id": "b", "score": 1.0}]'}
    events = [{"name": "db.query.result", "attributes": {"db.query.result.document": "first"}}]

    assert read_span(numbered).contexts == ("first", "second", "last")
    assert read_span(listed).contexts == ("first",)
    assert read_span({}, events).contexts == ("first",)


def test_a_tool_has_its_arguments_and_its_result() -> None:
    otel = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
    texts = {"gen_ai.tool.call.arguments": '{"city": "Bern", "days": 2}', "gen_ai.tool.call.result": "clear"}
    content = read_span(otel | texts)

    assert (content.kind, content.input, content.output) == ("tool", '{"city": "Bern", "days": 2}', "clear")
    assert content.tool_calls == ({"name": "weather", "arguments": '{"city": "Bern", "days": 2}'},)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"openinference.span.kind": "AGENT"}, "agent"),
        ({"gen_ai.operation.name": "invoke_agent"}, "agent"),
        ({"traceloop.span.kind": "workflow"}, "chain"),
        ({"ai.operationId": "ai.streamText"}, "chain"),
        ({"ai.operationId": "ai.streamText.doStream"}, "llm"),
        ({"ai.operationId": "ai.toolCall"}, "tool"),
        ({"gen_ai.operation.name": "agent_step"}, "chain"),
        ({"pat.span.type": "eval"}, "evaluator"),
        ({"openinference.span.kind": 7}, ""),
        ({}, ""),
    ],
)
def test_kinds(attributes: dict[str, Any], kind: str) -> None:
    assert find_kind(attributes) == kind


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.input.messages": "{broken"},
        {"gen_ai.input.messages": '[{"role": "nobody"}]'},
        {"gen_ai.output.messages": 7},
        {"ai.prompt.messages": '[7, null, {"role": "user", "content": [null, {"type": "tool-call"}]}]'},
        {"ai.prompt.messages": '[{"role": "user", "content": "x"'},
        {"ai.prompt": 7, "ai.response.toolCalls": '[null, {"toolName": 7}]'},
        {"pydantic_ai.all_messages": "[{"},
        {"all_messages_events": '[{"role": "user", "content": {"a": [[[]]]}}]'},
        {"llm.input_messages.0.message.role": ["a"], "llm.input_messages.0.message.content": {"b": None}},
        {"gen_ai.prompt.0.role": None, "gen_ai.prompt.0.tool_calls.0.name": 3},
        {"retrieval.documents.0.document.content": {"a": 1}, "gen_ai.retrieval.documents": "[["},
        {"input.value": "[" * 5000, "output.value": '{"a": ' * 3000},
        [1, 2],
        None,
        "text",
    ],
)
def test_nothing_raises(attributes: Any) -> None:
    read_span(attributes, [None, 7, {"name": None}, {"name": "gen_ai.choice", "attributes": None}], name="x")


def test_messages_that_cannot_be_read_say_why() -> None:
    content = read_span({"gen_ai.input.messages": "{broken", "output.value": "It is sent."})

    assert content.unreadable is not None and "gen_ai.input.messages" in content.unreadable
    assert content.output == "It is sent."

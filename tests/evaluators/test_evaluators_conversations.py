"""Conversations of six formats read as one normal form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from evaluators.base import Field, Passage
from evaluators.conversations.reader import read_conversation, read_reference
from evaluators.conversations.transcript import Unreadable
from evaluators.messages import Call
from evaluators.samples import build_sample
from tests.evaluators.conversation_forms import VECTORS, build_expected, normal

TEXTS = (
    "Where are orders 7 and 8?",
    "I look.",
    "Order 7 is on its way; there is no order 8.",
    "Refund 7, please.",
    "Done.",
)
SYSTEM = "You are a shop's agent."
FOUND = '{"id": 7, "state": "sent"}'


@pytest.mark.parametrize("vector", VECTORS["formats"], ids=lambda vector: vector["format"])
def test_the_vectors_are_read_as_they_say(vector: dict[str, Any]) -> None:
    conversation = read_conversation(vector["wire"])
    assert normal(conversation) == build_expected(tells_errors=vector["says_errors"])


RESPONSES = {
    "instructions": SYSTEM,
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": TEXTS[0]}]},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TEXTS[1]}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find_order", "arguments": '{"id": 7}'},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "find_order", "arguments": '{"id": 8}'},
        {"type": "function_call_output", "call_id": "c1", "output": FOUND},
        {"type": "function_call_output", "call_id": "c2", "output": "not found"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TEXTS[2]}]},
        {"role": "user", "content": TEXTS[3]},
    ],
    "output": [
        {"type": "function_call", "id": "fc_3", "call_id": "c3", "name": "refund", "arguments": '{"id": 7}'},
        {"type": "function_call_output", "call_id": "c3", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TEXTS[4]}]},
    ],
}
LANGCHAIN = [
    {"type": "system", "data": {"content": SYSTEM}},
    {"type": "human", "content": TEXTS[0]},
    {
        "type": "ai",
        "data": {
            "content": [{"type": "text", "text": TEXTS[1]}, {"type": "tool_use", "id": "c1", "name": "find_order"}],
            "tool_calls": [
                {"id": "c1", "name": "find_order", "args": {"id": 7}, "type": "tool_call"},
                {"id": "c2", "name": "find_order", "args": {"id": 8}, "type": "tool_call"},
            ],
        },
    },
    {"type": "tool", "content": FOUND, "tool_call_id": "c1", "status": "success"},
    {"type": "tool", "content": "not found", "tool_call_id": "c2", "status": "error"},
    {"type": "ai", "content": TEXTS[2]},
    {"type": "human", "content": TEXTS[3]},
    {"type": "ai", "content": "", "tool_calls": [{"id": "c3", "name": "refund", "args": {"id": 7}}]},
    {"type": "tool", "content": "ok", "tool_call_id": "c3"},
    {"type": "ai", "content": TEXTS[4]},
]


def build_message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def call(call_id: str, name: str, order: int) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": {"id": order}}


OTEL = {
    "gen_ai.system_instructions": json.dumps([text(SYSTEM)]),
    "gen_ai.input.messages": json.dumps(
        [
            build_message("user", text(TEXTS[0])),
            build_message(
                "assistant",
                {"type": "reasoning", "content": "hm"},
                text(TEXTS[1]),
                call("c1", "find_order", 7),
                call("c2", "find_order", 8),
            ),
            build_message("tool", {"type": "tool_call_response", "id": "c1", "response": {"id": 7, "state": "sent"}}),
            build_message("tool", {"type": "tool_call_response", "id": "c2", "result": "not found"}),
            build_message("assistant", text(TEXTS[2])),
            build_message("user", text(TEXTS[3])),
            build_message("assistant", call("c3", "refund", 7)),
            build_message("tool", {"type": "tool_call_response", "id": "c3", "response": "ok"}),
        ]
    ),
    "gen_ai.output.messages": json.dumps([{**build_message("assistant", text(TEXTS[4])), "finish_reason": "stop"}]),
    "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "refund", "parameters": {"type": "object"}}]),
}


@pytest.mark.parametrize(
    ("wire", "tells_errors"),
    [(RESPONSES, False), (LANGCHAIN, True), (OTEL, False)],
    ids=["responses", "langchain", "otel"],
)
def test_three_more_formats_give_the_same_form(wire: object, tells_errors: bool) -> None:
    assert normal(read_conversation(wire)) == build_expected(tells_errors=tells_errors)


def test_the_normal_form_is_a_format_too() -> None:
    wire = build_expected(tells_errors=True)
    assert normal(read_conversation(wire)) == wire


def test_tools_of_four_formats_are_read_alike() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    tools = [
        {"type": "function", "function": {"name": "a", "parameters": schema}},
        {"type": "function", "name": "b", "parameters": schema},
        {"name": "c", "input_schema": schema},
        json.dumps({"name": "d", "parameters": schema}),
        {"type": "web_search"},
    ]
    conversation = read_conversation({"messages": [], "tools": tools})
    assert [(tool.name, tool.parameters) for tool in conversation.tools or ()] == [(name, schema) for name in "abcd"]


def test_flattened_messages_are_sorted_by_number() -> None:
    wire = {f"llm.input_messages.{n}.message.role": "user" for n in range(12)}
    wire |= {f"llm.input_messages.{n}.message.content": str(n) for n in range(12)}
    assert [message.text for message in read_conversation(wire).messages] == [str(n) for n in range(12)]


@pytest.mark.parametrize(
    ("arguments", "args", "raw"),
    [
        ('{"a": 1}', {"a": 1}, None),
        ({"a": 1}, {"a": 1}, None),
        (None, {}, None),
        ("", {}, None),
        ('{"a": 1', None, '{"a": 1'),
        ('{"a": NaN}', None, '{"a": NaN}'),
        ('{"a": 1e999}', None, '{"a": 1e999}'),
        ('{"a": 1, "a": 2}', None, '{"a": 1, "a": 2}'),
        ("[1]", None, "[1]"),
        ([1], None, "[1]"),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_text(
    arguments: object, args: dict[str, Any] | None, raw: str | None
) -> None:
    message = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments}}]}
    assert read_conversation([message]).messages[0].calls == (Call("f", args, "c", raw),)


def test_an_absent_final_state_is_not_null() -> None:
    assert read_conversation({"messages": []}).final_state is UNSET
    assert read_conversation({"messages": [], "final_state": None}).final_state is None


def test_results_without_ids_belong_to_the_open_calls_of_their_tool() -> None:
    messages = [
        {"role": "assistant", "function_call": {"name": "a", "arguments": "{}"}},
        {"role": "function", "name": "a", "content": "1"},
    ]
    assert read_conversation(messages).messages[1].name == "a"


def calling(call_id: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": {"name": "f", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("wire", "pointer", "words"),
    [
        ([{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "c9", "content": "y"}], "/1", "'c9'"),
        ([calling("c1"), calling("c1")], "/1", "'c1'"),
        ({"messages": [{"role": "user", "content": "x"}, 5]}, "/messages/1", "Message 1 is no object."),
        ({"messages": [{"role": "judge", "content": "x"}]}, "/messages/0", "no role"),
        ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], "/0", "`name`"),
        ({"messages": 5}, "/messages", "list of messages"),
        ("a text", "", "list of messages"),
        ({"gen_ai.input.messages": "[{"}, "/gen_ai.input.messages", "no JSON"),
        ({"gen_ai.input.messages": '[{"role": "user", "parts": ["\\u0000"]}]'}, "/gen_ai.input.messages", "NUL"),
        ({"messages": [], "tools": {}}, "/tools", "list of tools"),
    ],
)
def test_what_is_no_conversation_is_refused_with_a_pointer(wire: object, pointer: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as refusal:
        read_conversation(wire)
    assert (refusal.value.pointer, refusal.value.is_too_large) == (pointer, False)


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def many_calls(n: int) -> dict[str, Any]:
    return {"role": "assistant", "calls": [{"id": str(i), "name": "f", "args": {}} for i in range(n)]}


@pytest.mark.parametrize(
    ("fits", "exceeds"),
    [
        ([{"role": "user", "content": "x"}] * 500, [{"role": "user", "content": "x"}] * 501),
        ([many_calls(1_000)], [many_calls(1_001)]),
        (
            [{"role": "assistant", "calls": [{"name": "f", "args": {"a": "x" * 65_500}}]}],
            [{"role": "assistant", "calls": [{"name": "f", "args": {"a": "x" * 65_536}}]}],
        ),
        (
            [{"role": "assistant", "calls": [{"name": "f", "args": nested(32)}]}],
            [{"role": "assistant", "calls": [{"name": "f", "args": nested(33)}]}],
        ),
        ({"messages": [], "final_state": nested(32)}, {"messages": [], "final_state": nested(33)}),
        ({"messages": [], "tools": [{"name": "f"}] * 128}, {"messages": [], "tools": [{"name": "f"}] * 129}),
        (
            {"messages": [], "tools": [{"name": "f", "parameters": {"title": "x" * 260_000}}]},
            {"messages": [], "tools": [{"name": "f", "parameters": {"title": "x" * 263_000}}]},
        ),
    ],
    ids=["messages", "calls", "bytes", "depth", "state", "tools", "schemas"],
)
def test_limits_are_the_documented_ones(fits: object, exceeds: object) -> None:
    read_conversation(fits)
    with pytest.raises(Unreadable) as refusal:
        read_conversation(exceeds)
    assert refusal.value.is_too_large


# References


def test_a_flat_list_of_calls_has_one_message_for_each() -> None:
    reference = read_reference([{"name": "a", "args": {"x": 1}}, {"function": {"name": "b", "arguments": "{}"}}])
    assert reference.calls == ((Call("a", {"x": 1}),), (Call("b", {}),))
    assert reference.is_flat


def test_lists_of_calls_and_messages_keep_their_messages() -> None:
    grouped = read_reference({"tool_calls": [[{"name": "a"}, {"name": "b"}], [{"name": "c"}]]})
    messages = read_reference(
        [
            {"role": "assistant", "calls": [{"name": "a"}, {"name": "b"}]},
            {"role": "assistant", "calls": [{"name": "c"}]},
            {"role": "assistant", "content": "Done."},
        ]
    )
    assert grouped.calls == messages.calls == ((Call("a", {}), Call("b", {})), (Call("c", {}),))
    assert not grouped.is_flat
    assert messages.text == "Done."


@pytest.mark.parametrize(
    ("wire", "pointer"),
    [
        ("a text", ""),
        ({"toolcalls": []}, ""),
        ({"tool_calls": {}}, "/tool_calls"),
        ({"tool_calls": [{"name": "a", "args": {"x": {"$one_of": 5}}}]}, "/tool_calls/0"),
        ({"tool_calls": [{"name": "a", "args": {"x": {"$approx": "5"}}}]}, "/tool_calls/0"),
        ({"tool_calls": [{"name": "a", "args": {"x": {"$approx": 5, "abs": -1}}}]}, "/tool_calls/0"),
        ({"tool_calls": [{"name": "a", "args": {"x": {"$regex": "("}}}]}, "/tool_calls/0"),
        ({"tool_calls": [{"name": "a", "args": {"x": {"$any": True, "y": 1}}}]}, "/tool_calls/0"),
        ({"final_state": {"x": {"$regex": 5}}}, "/final_state"),
        ({"tool_calls": [], "max_steps": -1}, "/max_steps"),
        ({"tool_calls": [], "max_steps": True}, "/max_steps"),
        ({"tool_calls": [], "goal": 5}, "/goal"),
        ({"tool_calls": [], "topics": "x"}, "/topics"),
        ({"forbidden": "pay"}, "/forbidden"),
    ],
)
def test_what_is_no_reference_is_refused_with_a_pointer(wire: object, pointer: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        read_reference(wire)
    assert (refusal.value.pointer, refusal.value.is_too_large) == (pointer, False)


def test_a_reference_has_at_most_200_calls() -> None:
    read_reference([{"name": "a"}] * 200)
    with pytest.raises(Unreadable) as refusal:
        read_reference([{"name": "a"}] * 201)
    assert refusal.value.is_too_large


# What evaluators of single answers read


def test_the_last_answer_and_question_and_the_results_stand_for_fields_that_were_not_sent() -> None:
    sample = build_sample({"conversation": LANGCHAIN, "reference": [{"role": "assistant", "content": "Done!"}]})
    assert (sample.input, sample.output, sample.gold) == (TEXTS[3], TEXTS[4], "Done!")
    assert sample.system_prompt == SYSTEM
    assert sample.contexts == (Passage(FOUND, "c1"), Passage("ok", "c3"))


def test_a_field_that_was_sent_wins() -> None:
    sent = {"input": "i", "output": "o", "contexts": ["c"], "golds": ["g"], "system_prompt": "s"}
    sample = build_sample({**sent, "conversation": LANGCHAIN, "reference": [{"role": "assistant", "content": "no"}]})
    assert (sample.input, sample.output, sample.gold_texts) == ("i", "o", ("g",))
    assert (sample.context_texts, sample.system_prompt) == (("c",), "s")


def test_a_conversation_that_ends_in_a_call_has_no_output() -> None:
    sample = build_sample({"conversation": [{"role": "user", "content": "x"}, calling("c1")]})
    assert sample.output is None
    assert sample.conversation is not None
    assert sample.conversation.ends_in_call


def test_a_question_that_is_not_answered_yet_is_not_the_input() -> None:
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "second"},
    ]
    sample = build_sample({"conversation": messages})
    assert (sample.input, sample.output) == ("first", "answer")


def test_more_results_than_contexts_are_not_read_as_contexts() -> None:
    results = [{"role": "tool", "call_id": str(i), "text": "r"} for i in range(51)]
    sample = build_sample({"conversation": [many_calls(51), *results]})
    assert sample.contexts is None
    assert "50 results" in sample.unread[Field.CONTEXT].why


ASKED = [{"role": "user", "content": "Capital?"}]
ANSWERED = [
    calling("c1"),
    {"role": "tool", "tool_call_id": "c1", "content": "r"},
    {"role": "assistant", "content": "Paris"},
]


@pytest.mark.parametrize(
    ("input", "output"),
    [("Capital?", ANSWERED), (ASKED, ANSWERED), (ASKED, [*ASKED, *ANSWERED]), ("Capital?", [*ASKED, *ANSWERED])],
    ids=["text", "messages", "repeated messages", "repeated text"],
)
def test_an_output_of_messages_is_a_conversation_after_the_input(input: object, output: object) -> None:
    sample = build_sample({"input": input, "output": output})
    assert sample.conversation == read_conversation([*ASKED, *ANSWERED])
    assert (sample.input, sample.output) == ("Capital?", "Paris")


def test_an_output_of_messages_that_is_no_conversation_is_of_the_wrong_type() -> None:
    sample = build_sample({"output": [{"role": "tool", "tool_call_id": "c9", "content": "r"}]})
    assert set(sample.unread) == {Field.OUTPUT, Field.CONVERSATION}


@pytest.mark.parametrize("name", ["input", "output", "system_prompt"])
def test_text_blocks_are_joined_whole(name: str) -> None:
    blocks = [
        {"type": "text", "text": "Paris "},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "is"},
    ]
    assert getattr(build_sample({name: blocks}), name) == "Paris is"

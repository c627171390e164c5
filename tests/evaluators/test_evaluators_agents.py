"""What agent frameworks and APIs write of one conversation, recorded from their packages, is read as one normal form.

The programs in `recorders` wrote the files; `test_evaluators_agents_peers.py` runs them again.
"""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.conversations.reader import is_message_log, read_conversation, read_reference
from evaluators.conversations.transcript import Unreadable
from evaluators.messages import Call
from tests.evaluators.conversation_forms import RECORDINGS, build_expected_of, normal, read_recording

AGENTS = [name for name in RECORDINGS if not name.startswith("providers/")]


@pytest.mark.parametrize("name", RECORDINGS)
def test_libraries_write_one_conversation(name: str) -> None:
    assert normal(read_conversation(read_recording(name))) == build_expected_of(name)


@pytest.mark.parametrize("name", AGENTS)
def test_their_lists_are_known_as_messages(name: str) -> None:
    assert is_message_log(read_recording(name))


@pytest.mark.parametrize("name", AGENTS)
def test_each_is_a_reference_too(name: str) -> None:
    first, second = read_reference(read_recording(name)).calls or ()
    assert first == (Call("find_order", {"id": 7}, "c1"), Call("find_order", {"id": 8}, "c2"))
    assert second == (Call("refund", {"id": 7}, "c3"),)


# pydantic-ai


def request(*parts: object, **more: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **more}


def response(*parts: object) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts)}


def part(kind: str, **fields: Any) -> dict[str, Any]:
    return {"part_kind": kind, **fields}


CALL = part("tool-call", tool_name="f", args='{"x": 1}', tool_call_id="c1")
ASKED = request(part("user-prompt", content="q"))


@pytest.mark.parametrize(
    ("fields", "text", "error"),
    [
        ({"content": "r", "outcome": "success"}, "r", False),
        ({"content": "r"}, "r", False),
        ({"content": {"a": 1}, "outcome": "success"}, '{"a": 1}', False),
        ({"content": "r", "outcome": "failed"}, "r", True),
        ({"content": "r", "outcome": "denied"}, "r", True),
        ({"content": [{"type": "missing", "loc": ["x"]}], "outcome": "retried"}, '[{"type": "missing", "loc": ["x"]}]', True),
        ({"content": "r", "part_kind": "retry-prompt"}, "r", True),
    ],
)  # fmt: skip
def test_results_of_pydantic_ai_tell_their_outcome(fields: dict[str, Any], text: str, error: bool) -> None:
    result = {**part("tool-return", tool_name="f", tool_call_id="c1"), **fields}
    read = read_conversation([ASKED, response(CALL), request(result)]).messages[-1]
    assert (read.role, read.text, read.error, read.name) == ("tool", text, error, "f")


def test_what_pydantic_ai_tells_the_model_is_no_turn() -> None:
    feedback = request(part("retry-prompt", content="No JSON.", tool_name=None), part("retry-feedback", content="No."))
    said = read_conversation([ASKED, response(part("text", content="a")), feedback]).messages
    assert [message.role for message in said] == ["user", "assistant"]


def test_prompts_of_pydantic_ai_may_have_parts_and_system_prompts() -> None:
    content = ["What is ", {"kind": "image-url", "url": "u"}, {"kind": "text-content", "content": "this?"}]
    system = part("system-prompt", content="Be brief.")
    conversation = read_conversation([request(system, part("user-prompt", content=content), instructions="In Dutch.")])
    assert conversation.system == "In Dutch.\nBe brief."
    assert [message.text for message in conversation.messages] == ["What is this?"]


# Haystack


def block(role: str, *content: object) -> dict[str, Any]:
    return {"role": role, "meta": {}, "name": None, "content": list(content)}


HAYSTACK_CALL = {"tool_name": "f", "arguments": {"x": 1}, "id": "c1", "extra": None}


def test_results_of_haystack_may_have_several_parts() -> None:
    result = {"result": [{"text": "a"}, {"image": {}}, {"text": "b"}], "origin": HAYSTACK_CALL, "error": False}
    messages = [block("assistant", {"tool_call": HAYSTACK_CALL}), block("tool", {"tool_call_result": result})]
    assert read_conversation(messages).messages[-1].text == "ab"


def test_calls_of_haystack_are_a_reference() -> None:
    assert read_reference([HAYSTACK_CALL]).calls == ((Call("f", {"x": 1}, "c1"),),)


# What is broken


@pytest.mark.parametrize(
    ("wire", "pointer", "words"),
    [
        ([ASKED, response(5)], "/1", "Message 1 has no list of `parts`"),
        ([ASKED, response({"content": "a"})], "/1", "`part_kind`"),
        ([{"kind": "response", "parts": "a"}], "/0", "`part_kind`"),
        ([ASKED, response(part("tool-call", args={}))], "/1", "`name`"),
        ([ASKED, request(part("tool-return", tool_name="f", tool_call_id="c9", content="r"))], "/1", "'c9'"),
        ([response(CALL), response(CALL)], "/1", "'c1'"),
        ([block("assistant", {"tool_call": 5})], "/0", "`name`"),
        ([block("user", {"text": "q"}), block("tool", {"tool_call_result": {"result": "r"}})], "/1", "a call"),
        ([{"type": "constructor", "kwargs": {"content": "x"}}], "/0", "no role"),
    ],
)
def test_what_is_broken_is_refused_with_its_index(wire: object, pointer: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as refusal:
        read_conversation(wire)
    assert refusal.value.pointer == pointer

"""Conversations and references in every accepted format, as the normal form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from msgspec import UNSET

from evaluators.checks.json_text import NotJson, is_deep, read_json
from evaluators.conversations.blocks import read_text
from evaluators.conversations.equality import find_bad_matcher
from evaluators.conversations.transcript import (
    RESULT_ITEMS,
    Transcript,
    Unreadable,
    enumerate_entries,
    is_entry,
    read_call,
)
from evaluators.messages import (
    MAX_DEPTH,
    MAX_REFERENCE_CALLS,
    MAX_SCHEMA_BYTES,
    MAX_TOOLS,
    Call,
    Conversation,
    Message,
    Reference,
    Tool,
)

OTEL_INPUT, OTEL_OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
OTEL_SYSTEM, OTEL_TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
_flat_key = re.compile(r"llm\.(input_messages|output_messages|tools)\.([0-9]{1,6})\.(?:message|tool)\.(.+)")
REFERENCE_KEYS = (
    *("tool_calls", "messages", "final_state", "goal", "topics", "role", "forbidden", "max_steps"),
)  # fmt: skip
Entries = Iterable[tuple[object, str]]


def is_message_log(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list of messages, of whatever format."""
    return isinstance(value, list | tuple) and bool(value) and all(map(is_entry, value))


def has_question(value: object, text: str) -> bool:
    """Return whether one of the user's messages is this text."""
    try:
        messages = read_conversation(value).messages
    except Unreadable:
        return False
    return any(message.role == "user" and message.text == text for message in messages)


def read_conversation(value: object, *, is_part: bool = False) -> Conversation:
    """Read a conversation: a list of messages, or an object that has one as an API or a span does.

    Formats: OpenAI's Chat Completions and Responses, content blocks with `tool_use`, LangChain, pydantic-ai, Haystack,
    the GenAI messages of OpenTelemetry, and OpenInference's flattened attributes. A part of a conversation may lack the
    calls whose results it has. Raises Unreadable.
    """
    if isinstance(value, list | tuple):
        return _build(enumerate_entries(value, ""), {}, is_part=is_part)
    if not isinstance(value, Mapping):
        raise Unreadable("A list of messages, or an object with `messages`, was expected.")
    if any(_flat_key.fullmatch(str(name)) for name in value):
        messages, tools = _unflatten(value)
        return _build(messages, {**value, "tools": tools or None}, is_part=is_part)
    if OTEL_INPUT in value or OTEL_OUTPUT in value:
        named = {"system": _parse(value, OTEL_SYSTEM), "tools": _parse(value, OTEL_TOOLS)}
        return _build(_read_otel(value), {**value, **named}, is_part=is_part)
    if "messages" in value:
        return _build(enumerate_entries(value["messages"], "/messages"), value, is_part=is_part)
    if isinstance(value.get("input"), list) or isinstance(value.get("output"), list):
        return _build(_read_responses(value), {**value, "system": value.get("instructions")}, is_part=is_part)
    raise Unreadable("A list of messages, or an object with `messages`, was expected.")


def _build(entries: Entries, about: Mapping[str, Any], *, is_part: bool = False) -> Conversation:
    transcript = Transcript(is_part=is_part)
    for index, (entry, pointer) in enumerate(entries):
        transcript.add(entry, pointer, index)
    system = [read_text(about.get("system")), *transcript.system]
    state, usage = about.get("final_state", UNSET), about.get("usage")
    if is_deep(state, MAX_DEPTH):
        raise Unreadable(f"A final state nests at most {MAX_DEPTH} levels deep.", "/final_state", is_too_large=True)
    return Conversation(
        tuple(transcript.messages),
        "\n".join(dict.fromkeys(filter(None, system))) or None,
        _read_tools(about.get("tools")),
        state,
        usage if isinstance(usage, Mapping) else None,
    )


def _parse(value: Mapping[str, Any], name: str) -> Any:
    """Return an attribute of a span, which is JSON or the text of JSON."""
    sent = value.get(name)
    if not isinstance(sent, str):
        return sent
    try:
        parsed = read_json(sent)
    except NotJson as exc:
        raise Unreadable(f"`{name}` is no JSON: {exc}.", f"/{name}") from None
    if any(map(_is_unstorable, _walk_texts(parsed))):
        raise Unreadable(f"`{name}` has a text with a NUL or half of a surrogate pair.", f"/{name}")
    return parsed


def _walk_texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            stack += [*part, *part.values()]
        elif isinstance(part, list):
            stack += part


def _is_unstorable(text: str) -> bool:
    # A body has none, but the JSON in one of its texts may.
    return "\0" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text))


def _read_otel(value: Mapping[str, Any]) -> Iterator[tuple[object, str]]:
    for name in (OTEL_INPUT, OTEL_OUTPUT):
        if value.get(name) is not None:
            yield from enumerate_entries(_parse(value, name), f"/{name}", is_text=isinstance(value[name], str))


def _read_responses(value: Mapping[str, Any]) -> Iterator[tuple[object, str]]:
    for name in ("input", "output"):
        sent = value.get(name)
        if isinstance(sent, str):
            yield {"role": "user" if name == "input" else "assistant", "content": sent}, f"/{name}"
        elif sent is not None:
            yield from enumerate_entries(sent, f"/{name}")


def _unflatten(value: Mapping[str, Any]) -> tuple[list[tuple[object, str]], list[object]]:
    """Return messages and tools of flattened attributes, in the order of their numbers."""
    groups: dict[tuple[str, int], dict[str, Any]] = {}
    for name, sent in value.items():
        if match := _flat_key.fullmatch(str(name)):
            place = groups.setdefault((match[1], int(match[2])), {})
            place[match[3]] = sent
    messages: list[tuple[object, str]] = [
        (_build_message(groups[key]), f"/llm.{key[0]}.{key[1]}") for key in sorted(groups) if key[0] != "tools"
    ]
    return messages, [groups[key].get("json_schema") for key in sorted(groups) if key[0] == "tools"]


def _build_message(attributes: Mapping[str, Any]) -> dict[str, Any]:
    calls: dict[int, dict[str, Any]] = {}
    blocks: dict[int, dict[str, Any]] = {}
    message: dict[str, Any] = {}
    for name, sent in attributes.items():
        match = re.fullmatch(r"(tool_calls|contents)\.([0-9]{1,6})\.(?:tool_call|message_content)\.(.+)", name)
        if match is None:
            message[name] = sent
        else:
            place = (calls if match[1] == "tool_calls" else blocks).setdefault(int(match[2]), {})
            place[match[3].removeprefix("function.")] = sent
    if calls:
        message["tool_calls"] = [calls[number] for number in sorted(calls)]
    if blocks:
        message.setdefault("content", [blocks[number] for number in sorted(blocks)])
    return message


def _read_tools(sent: object) -> tuple[Tool, ...] | None:
    if sent is None:
        return None
    if not isinstance(sent, list | tuple):
        raise Unreadable("A list of tools was expected.", "/tools")
    if len(sent) > MAX_TOOLS:
        raise Unreadable(f"At most {MAX_TOOLS} tools.", "/tools", is_too_large=True)
    tools = [tool for index, entry in enumerate(sent) if (tool := _read_tool(entry, f"/tools/{index}"))]
    if sum(len(json.dumps(tool.parameters)) for tool in tools) > MAX_SCHEMA_BYTES:
        detail = f"The schemas of all tools have at most {MAX_SCHEMA_BYTES} bytes."
        raise Unreadable(detail, "/tools", is_too_large=True)
    return tuple(tools)


def _read_tool(sent: object, pointer: str) -> Tool | None:
    """Read the definition of a tool, or the text of one; None for tools of a provider, which have no name."""
    if isinstance(sent, str):
        try:
            sent = read_json(sent)
        except NotJson as exc:
            raise Unreadable(f"A tool is no JSON: {exc}.", pointer) from None
    function = sent.get("function", sent) if isinstance(sent, Mapping) else None
    if not isinstance(function, Mapping):
        raise Unreadable("A tool is an object with a `name`.", pointer)
    name = function.get("name")
    schema = next((function[key] for key in ("parameters", "input_schema") if function.get(key) is not None), None)
    if schema is not None and not isinstance(schema, Mapping):
        raise Unreadable("The `parameters` of a tool are a JSON Schema.", pointer)
    if is_deep(schema, MAX_DEPTH):
        raise Unreadable(f"A tool's schema nests at most {MAX_DEPTH} levels deep.", pointer, is_too_large=True)
    return Tool(name, schema) if isinstance(name, str) and name else None


def read_reference(value: object) -> Reference:
    """Read a reference: the expected calls or messages, or an object with REFERENCE_KEYS. Raises Unreadable."""
    if isinstance(value, list | tuple):
        return _read_expected(value, "")
    if not isinstance(value, Mapping) or not any(name in value for name in REFERENCE_KEYS):
        raise Unreadable("A list of calls or messages, or an object with `tool_calls`, was expected.")
    state, steps = value.get("final_state", UNSET), value.get("max_steps")
    _refuse_bad_matchers(state, "/final_state")
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 0):
        raise Unreadable("`max_steps` is a whole number from 0.", "/max_steps")
    topics = value.get("topics") or ()
    if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) for topic in topics):
        raise Unreadable("`topics` is a list of texts.", "/topics")
    name = "messages" if value.get("tool_calls") is None else "tool_calls"
    expected = Reference() if value.get(name) is None else _read_expected(value[name], f"/{name}")
    return Reference(
        expected.calls,
        expected.is_flat,
        expected.text,
        state,
        _read_name(value, "goal"),
        tuple(topics),
        _read_name(value, "role"),
        _read_forbidden(value.get("forbidden")),
        steps,
        expected.answers,
    )


def _read_name(value: Mapping[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise Unreadable(f"`{name}` is a text.", f"/{name}")
    return text


def _read_expected(sent: object, pointer: str) -> Reference:
    """Read expected calls: a flat list of them, a list for each message, or messages."""
    if not isinstance(sent, list | tuple):
        raise Unreadable("A list of calls or messages was expected.", pointer)
    if all(map(_is_call, sent)):
        flat = tuple([(_read_expected_call(call, f"{pointer}/{i}"),) for i, call in enumerate(sent)])
        return Reference(_limit(flat, pointer))
    if all(isinstance(group, list) for group in sent):
        groups = [
            tuple([_read_expected_call(call, f"{pointer}/{i}/{k}") for k, call in enumerate(group)])
            for i, group in enumerate(sent)
        ]
        return Reference(_limit(tuple(filter(None, groups)), pointer), is_flat=False)
    conversation = _build(enumerate_entries(sent, pointer), {})
    for message in conversation.messages_with_calls:
        for call in message.calls:
            _refuse_bad_matchers(dict(call.args or {}), f"{pointer}/{message.index}")
    groups_of_calls = tuple([message.calls for message in conversation.messages_with_calls])
    return Reference(
        _limit(groups_of_calls, pointer),
        is_flat=False,
        text=_find_answer(conversation.messages),
        answers=tuple([_find_answer(conversation.messages[begin:end]) for begin, end in conversation.turns]),
    )


def _find_answer(messages: Sequence[Message]) -> str | None:
    texts = [message.text for message in messages if message.role == "assistant" and message.text]
    return texts[-1] if texts else None


def _is_call(sent: object) -> bool:
    if not isinstance(sent, Mapping) or {"role", "content"} & sent.keys() or sent.get("type") in RESULT_ITEMS:
        return False
    return "name" in sent or "tool_name" in sent or isinstance(sent.get("function"), Mapping)


def _read_expected_call(sent: object, pointer: str) -> Call:
    call = read_call(sent, "The reference", pointer)
    _refuse_bad_matchers(dict(call.args or {}), pointer)
    return call


def _limit(groups: tuple[tuple[Call, ...], ...], pointer: str) -> tuple[tuple[Call, ...], ...]:
    if sum(map(len, groups)) > MAX_REFERENCE_CALLS:
        raise Unreadable(f"At most {MAX_REFERENCE_CALLS} expected calls.", pointer, is_too_large=True)
    return groups


def _read_forbidden(sent: object) -> tuple[Call, ...]:
    """Read the calls that must not come: names of tools, or calls of which only the given arguments count."""
    if sent is None:
        return ()
    if not isinstance(sent, Sequence) or isinstance(sent, str):
        raise Unreadable("`forbidden` is a list of names or calls.", "/forbidden")
    entries = [{"name": entry} if isinstance(entry, str) else entry for entry in sent]
    calls = [_read_expected_call(entry, f"/forbidden/{i}") for i, entry in enumerate(entries)]
    return _limit((tuple(calls),), "/forbidden")[0]


def _refuse_bad_matchers(value: object, pointer: str) -> None:
    if is_deep(value, MAX_DEPTH):
        raise Unreadable(f"A reference nests at most {MAX_DEPTH} levels deep.", pointer, is_too_large=True)
    if bad := find_bad_matcher(value):
        raise Unreadable(bad, pointer)

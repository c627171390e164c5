"""The messages in the attributes of a span, in each of the ways in which senders write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.telemetry.otlp.messages import FLAT_PREFIXES, TRACELOOP_PREFIXES
from evalsvc.telemetry.sessions.dialects import (
    AI_SDK_NAMES,
    EVENT_LOGS,
    HISTORY,
    is_event_log,
    read_ai_sdk,
    read_event_log,
    read_events,
    split_history,
)
from evalsvc.telemetry.sessions.rows import MESSAGE_EVENT
from evaluators.checks.json_text import NotJson, read_json
from evaluators.conversations.reader import (
    OTEL_INPUT,
    OTEL_OUTPUT,
    OTEL_SYSTEM,
    OTEL_TOOLS,
    is_message_log,
    read_conversation,
)
from evaluators.conversations.transcript import Unreadable, is_entry
from evaluators.messages import Call, Conversation, Message

VALUES = (
    *(("input.value", "output.value"), ("langfuse.observation.input", "langfuse.observation.output")),
    *(("request_data", "response_data"), ("mlflow.spanInputs", "mlflow.spanOutputs")),
    *(("traceloop.entity.input", "traceloop.entity.output"), ("gen_ai.prompt", "gen_ai.completion")),
)
CALL_MEMBERS = ("id", "name", "arguments")
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpanMessages:
    """What a model was asked in a span, and what it said, as messages of the normal form."""

    inputs: Sequence[Message]
    outputs: Sequence[Message]
    system: str | None
    tools: Sequence[Document] | None


def read_messages(attributes: Mapping[str, Any], events: Sequence[Any]) -> SpanMessages | None:
    """Return the messages of a span, None without any. Raises Unreadable for those that are broken."""
    details = [event.get("attributes") for event in events if event.get("name") == MESSAGE_EVENT]
    for source in (attributes, *filter(None, details)):
        if OTEL_INPUT in source or OTEL_OUTPUT in source:
            named = {name: parse(source.get(name), name) for name in (OTEL_SYSTEM, OTEL_TOOLS)}
            sides = [
                {name: parse(source[name], name), **about} if source.get(name) is not None else None
                for name, about in ((OTEL_INPUT, named), (OTEL_OUTPUT, {}))
            ]
            return _build(*sides)
    if any(name.startswith(FLAT_PREFIXES[:2]) for name in attributes):
        tools = _select(attributes, FLAT_PREFIXES[2])
        return _build(_select(attributes, FLAT_PREFIXES[0]) | tools, _select(attributes, FLAT_PREFIXES[1]) or None)
    if any(name.startswith(TRACELOOP_PREFIXES[:2]) for name in attributes):
        prompts, completions, functions = (number_attributes(attributes, prefix) for prefix in TRACELOOP_PREFIXES)
        asked = [_build_numbered(entry, "user") for entry in prompts]
        said = [_build_numbered(entry, "assistant") for entry in completions[:1]]
        defined = [entry | {"parameters": _parse_text(entry.get("parameters"))} for entry in functions]
        return _build({"messages": asked, "tools": defined or None}, said)
    if (read := _read_dialects(attributes, events)) is not None:
        return _build({"messages": read[0]} if read[0] else None, read[1] or None)
    return next(filter(None, (_read_values(attributes, *names) for names in VALUES)), None)


def _read_dialects(attributes: Mapping[str, Any], events: Sequence[Any]) -> tuple[list[Any], list[Any]] | None:
    """Return the messages of a framework, those that went in and those that came out; None without any."""
    for name in AI_SDK_NAMES:
        if attributes.get(name) is not None:
            return read_ai_sdk(attributes, _parse_text(attributes[name]))
    if attributes.get(HISTORY) is not None and is_message_log(entries := parse(attributes[HISTORY], HISTORY)):
        return split_history(entries)
    for name in EVENT_LOGS:
        if is_event_log(entries := _parse_text(attributes.get(name))):
            return read_event_log(entries)
    return read_events(events)


def number_attributes(attributes: Mapping[str, Any], prefix: str) -> list[Document]:
    """Return what numbered attributes such as `gen_ai.prompt.0.role` say, by their numbers; others are left out."""
    entries: dict[int, Document] = {}
    for name, value in _select(attributes, prefix).items():
        number, _, member = name.removeprefix(prefix).partition(".")
        if number.isdecimal() and len(number) < 6 and member:
            entries.setdefault(int(number), {})[member] = value
    return [entries[number] for number in sorted(entries)]


def _build_numbered(entry: Document, role: str) -> Document:
    """Return a message of OpenLLMetry. Its content is a text, or the JSON of content blocks."""
    content = _parse_text(entry.get("content"))
    message = {
        "role": entry.get("role", role),
        "content": content if isinstance(content, list) else entry.get("content"),
    }
    if calls := number_attributes(entry, "tool_calls."):
        message["tool_calls"] = [{name: call[name] for name in CALL_MEMBERS if name in call} for call in calls]
    if entry.get("tool_call_id"):
        message["tool_call_id"] = entry["tool_call_id"]
    return message


def _select(attributes: Mapping[str, Any], prefix: str) -> Document:
    return {name: value for name, value in attributes.items() if name.startswith(prefix)}


def _build(inputs: Any, outputs: Any) -> SpanMessages:
    nothing = Conversation(())
    asked = read_conversation(inputs, is_part=True) if inputs else nothing
    said = read_conversation(outputs, is_part=True) if outputs else nothing
    tools = None
    if asked.tools is not None:
        tools = [{"name": tool.name, "parameters": tool.parameters} for tool in asked.tools]
    return SpanMessages(asked.messages, said.messages, asked.system, tools)


def _read_values(attributes: Mapping[str, Any], input_name: str, output_name: str) -> SpanMessages | None:
    sent = _parse_text(attributes.get(input_name))
    asked = find_log(sent)
    if asked is None:
        return None
    answered = _parse_text(attributes.get(output_name))
    said = [{"role": "assistant", "content": answered}] if isinstance(answered, str) else find_log(answered) or []
    if said[: len(asked)] == asked:
        # A graph returns its whole state.
        said = said[len(asked) :]
    tools = sent.get("tools") if isinstance(sent, dict) else None
    return _build({"messages": asked, "tools": tools if isinstance(tools, list) else None}, said)


def _parse_text(value: Any) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{", '"'):
        return value
    try:
        return parse(value, "")
    except Unreadable:
        return value


def find_log(value: Any) -> list[Any] | None:
    """Return the messages in the input or output of a span, None where there are none."""
    if is_message_log(value):
        return list(value)
    if not isinstance(value, dict):
        return None
    for name in ("messages", "input", "output"):
        held = value.get(name)
        if isinstance(held, list) and len(held) == 1 and isinstance(held[0], list):
            held = held[0]
        if is_message_log(held):
            return list(held)
    if isinstance(choices := value.get("choices"), list) and choices and isinstance(choices[0], dict):
        value = choices[0]
    value = value.get("message", value)
    return [value] if is_entry(value) else None


def parse(value: Any, name: str) -> Any:
    """Return an attribute that is JSON, or the text of JSON, without characters that cannot be stored."""
    if not isinstance(value, str):
        return value
    try:
        document = read_json(value)
    except NotJson as exc:
        raise Unreadable(f"`{name}` is no JSON: {exc}") from None
    return _clean(document) if "\\u0000" in value or "\\ud" in value.lower() else document


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_clean(name): _clean(part) for name, part in value.items()}
    return [_clean(part) for part in value] if isinstance(value, list) else value


def is_repeated(attributes: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Return whether a later span repeats what this one was asked, to the letter: it then need not be parsed."""
    asked, repeated = attributes.get(OTEL_INPUT), later.get(OTEL_INPUT)
    if not isinstance(asked, str) or not isinstance(repeated, str) or asked[-2:] != "}]":
        return False
    return repeated.startswith(asked[:-1]) and repeated[len(asked) - 1 : len(asked)] in (",", "]")


def write_message(message: Message) -> Document:
    """Return a message as JSON, as `read_conversation` reads it."""
    members: Document = {"role": message.role}
    if message.missing:
        members["missing"] = True
    elif message.text or not message.calls:
        members["content"] = message.text
    if message.calls:
        members["tool_calls"] = [_write_call(call) for call in message.calls]
    if message.role == "tool":
        members |= {"tool_call_id": message.call_id} if message.call_id else {}
        members |= {"name": message.name} if message.name else {}
        members |= {"error": True} if message.error else {}
    return members


def _write_call(call: Call) -> Document:
    named = {"id": call.id, "name": call.name} if call.id else {"name": call.name}
    return named | ({"raw": call.raw or ""} if call.args is None else {"arguments": write_json(call.args)})


def write_json(value: Any) -> str:
    """Return a value as JSON, as a text: a number may be larger than a column can store."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() or not any(map(_is_half, text)) else json.dumps(value)


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"

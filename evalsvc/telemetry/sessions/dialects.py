"""Messages of the Vercel AI SDK, pydantic-ai and events, as messages that `read_conversation` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from evalsvc.telemetry.attributes import find_text, find_value

HISTORY, EVENT_LOGS = "pydantic_ai.all_messages", ("all_messages_events", "events")
AI_SDK_NAMES = ("ai.prompt.messages", "ai.prompt")
TEXTS, CALLS = ("ai.response.text", "ai.result.text"), ("ai.response.toolCalls", "ai.result.toolCalls")
OBJECTS = ("ai.response.object", "ai.result.object")
CHOICE = "gen_ai.choice"
EVENTS = frozenset((*(f"gen_ai.{role}.message" for role in ("system", "user", "assistant", "tool")), CHOICE))
CONTENT_EVENTS = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}
Document = dict[str, Any]
Sides = tuple[list[Any], list[Any]]
"""The messages that a model was asked, and those that it answered."""


def read_ai_sdk(attributes: Mapping[str, Any], parsed: Any) -> Sides:
    """Return the messages of a span of the AI SDK. `parsed` is its prompt: messages, or an object that has them."""
    prompt = {"messages": parsed} if isinstance(parsed, list) else parsed if isinstance(parsed, dict) else {}
    asked = prompt.get("messages", prompt.get("prompt", parsed))
    entries = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    inputs = [message for entry in _list(entries) for message in _convert_ai_sdk(entry)]
    if isinstance(prompt.get("system"), str):
        inputs.insert(0, {"role": "system", "content": prompt["system"]})
    text = find_text(attributes, (*TEXTS, *OBJECTS))
    calls = [_convert_call(call) for call in _list(_load(find_value(attributes, CALLS))) if isinstance(call, dict)]
    if text is None and not calls:
        return inputs, []
    return inputs, [{"role": "assistant", "content": text or "", **({"tool_calls": calls} if calls else {})}]


def _convert_ai_sdk(entry: Any) -> Iterator[Any]:
    """Yield a message, and each result of a tool in it as a message."""
    parts = entry.get("content") if isinstance(entry, dict) else None
    if not isinstance(parts, list):
        yield entry
        return
    blocks = [part for part in parts if isinstance(part, dict)]
    calls = [_convert_call(part) for part in blocks if part.get("type") == "tool-call"]
    texts = [part.get("text", "") for part in blocks if part.get("type") == "text"]
    results = [part for part in blocks if part.get("type") == "tool-result"]
    if calls or texts or not results:
        message = {"role": entry.get("role"), "content": "".join(text for text in texts if isinstance(text, str))}
        yield message | ({"tool_calls": calls} if calls else {})
    for part in results:
        yield _convert_result(part)


def _convert_call(part: Document) -> Document:
    arguments = part.get("input", part.get("args"))
    return {"id": part.get("toolCallId"), "name": part.get("toolName"), "arguments": arguments}


def _convert_result(part: Document) -> Document:
    """Return a result. Version 5 wraps it in an object that says its type."""
    output = part.get("output", part.get("result"))
    wrapped = output if isinstance(output, dict) and "value" in output else {}
    kind = wrapped.get("type")
    return {
        "role": "tool",
        "tool_call_id": part.get("toolCallId"),
        "name": part.get("toolName"),
        "content": wrapped["value"] if kind is not None else output,
        "error": part.get("isError") is True or (isinstance(kind, str) and kind.startswith("error")),
    }


def split_history(messages: Sequence[Any]) -> Sides:
    """Return a history as two sides: a last message of the assistant is the answer."""
    is_answered = bool(messages) and isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant"
    return (list(messages[:-1]), list(messages[-1:])) if is_answered else (list(messages), [])


def is_event_log(entries: Any) -> TypeGuard[list[Document]]:
    """Return whether a value is a list of messages and choices."""
    return isinstance(entries, list) and bool(entries) and all(map(_is_event, entries))


def _is_event(entry: Any) -> bool:
    return isinstance(entry, dict) and (isinstance(entry.get("role"), str) or entry.get("event.name") == CHOICE)


def read_event_log(entries: Sequence[Any]) -> Sides:
    """Return the messages of pydantic-ai's instrumentation version 1: events as JSON in one attribute."""
    read = [_convert_event(str(entry.get("event.name", "")), entry) for entry in entries if isinstance(entry, dict)]
    asked = [message for is_answer, message in read if not is_answer]
    said = [message for is_answer, message in read if is_answer]
    return (asked, said) if said else split_history(asked)


def read_events(events: Sequence[Any]) -> Sides | None:
    """Return the messages in the events of a span, a message each (OpenTelemetry up to 1.36); None without any."""
    asked, said = list[Any](), list[Any]()
    for event in events:
        name, details = event.get("name"), event.get("attributes") or {}
        if name in EVENTS:
            body = _load(details.get("gen_ai.event.content"))
            is_answer, message = _convert_event(name, body if isinstance(body, dict) else details)
            (said if is_answer else asked).append(message)
        elif name in CONTENT_EVENTS:
            sent = _load(details.get(CONTENT_EVENTS[name]))
            role = "user" if name == "gen_ai.content.prompt" else "assistant"
            messages = sent if isinstance(sent, list) else [{"role": role, "content": sent}] if sent else []
            (asked if role == "user" else said).extend(messages)
    return (asked, said) if asked or said else None


def _convert_event(name: str, body: Mapping[str, Any]) -> tuple[bool, Document]:
    """Return whether an event is an answer, and its message."""
    if name == CHOICE:
        sent = _load(body.get("message", body.get("content")))
        return True, {"role": "assistant", **(sent if isinstance(sent, dict) else {"content": sent})}
    role = body.get("role") or name.removeprefix("gen_ai.").removesuffix(".message")
    message = {key: _load(body[key]) for key in ("content", "tool_calls", "name") if body.get(key) is not None}
    if role == "tool":
        message["tool_call_id"] = body.get("id", body.get("tool_call_id"))
    return False, {"role": role, "content": "", **message}


def _load(value: Any) -> Any:
    """Return JSON that came as a text; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

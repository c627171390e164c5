"""Requests in the protocol of a connection, and answers of the Responses API as chat completions.

Callers write chat parameters and read chat completions; here alone the protocols differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsvc.judges.connections.facts import RESPONSES, ConnectionFacts

LIMITS = ("max_tokens", "max_completion_tokens")
UNKNOWN_TO_RESPONSES = frozenset(("seed", "stop", "presence_penalty", "frequency_penalty", "logit_bias"))
"""Chat parameters that the Responses API does not have."""


def build_request(
    connection: ConnectionFacts,
    model: str,
    messages: Sequence[Mapping[str, object]],
    parameters: Mapping[str, object],
) -> tuple[str, dict[str, object]]:
    """Return the path and the body of a request.

    The connection's `extra_body` is under the parameters: where both set a field, the call's own value is sent, and
    objects are merged.
    """
    if connection.protocol == RESPONSES:
        asked = {**_to_responses(parameters), "input": [_to_input(message) for message in messages]}
        return "/responses", {"store": False, **_merge(connection.extra_body, asked), "model": model}
    return "/chat/completions", {**_merge(connection.extra_body, parameters), "model": model, "messages": messages}


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: {**under[name], **over[name]} for name in under if _is_object(under[name], over.get(name))}
    return {**under, **over, **both}


def _is_object(*values: object) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def _to_responses(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return chat parameters under the names of the Responses API."""
    body: dict[str, Any] = {}
    for name, value in parameters.items():
        if name in LIMITS:
            body["max_output_tokens"] = value
        elif name == "reasoning_effort":
            body["reasoning"] = {"effort": value}
        elif name == "response_format":
            body["text"] = {"format": _flatten(value, "json_schema")}
        elif name == "tools":
            body["tools"] = [_flatten(tool, "function") for tool in value]
        elif name == "tool_choice":
            body["tool_choice"] = _flatten(value, "function")
        elif name == "logprobs":
            body["include"] = ["message.output_text.logprobs"]
        elif name not in UNKNOWN_TO_RESPONSES:
            body[name] = value
    return body


def _flatten(value: Any, name: str) -> Any:
    """Return `{"type": …, name: {…}}` with the fields of the inner object beside the type."""
    if not isinstance(value, Mapping) or not isinstance(value.get(name), Mapping):
        return value
    return {"type": value.get("type", name), **value[name]}


def _to_input(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    return {**message, "content": [_to_part(part) for part in content] if isinstance(content, list) else content}


def _to_part(part: Mapping[str, Any]) -> dict[str, Any]:
    match part.get("type"):
        case "text":
            return {"type": "input_text", "text": part["text"]}
        case "image_url":
            return {"type": "input_image", "image_url": part["image_url"]["url"]}
        case _:
            return dict(part)


def to_chat_answer(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer of the Responses API as a chat completion; a chat completion as it is."""
    output = answer.get("output")
    if not isinstance(output, list) or "choices" in answer:
        return answer
    items = [item for item in output if isinstance(item, Mapping)]
    parts = [part for item in items if item.get("type") == "message" for part in _iter_parts(item)]
    calls = [{"id": item.get("call_id"), "function": item} for item in items if item.get("type") == "function_call"]
    message = {
        "content": parts,
        "reasoning_content": "\n".join(text for item in items for text in _iter_thoughts(item)),
        "tool_calls": calls,
    }
    logprobs = [entry for part in parts for entry in part.get("logprobs") or ()]
    choice = {"message": message, "finish_reason": _ending(answer, calls), "logprobs": {"content": logprobs}}
    return {"model": answer.get("model"), "choices": [choice], "usage": _to_chat_usage(answer.get("usage"))}


def _iter_parts(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"type": "output_text", "text": content}]
    yield from (part for part in parts if isinstance(part, Mapping))


def _iter_thoughts(item: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a reasoning item, of its summary or of its content."""
    if item.get("type") != "reasoning":
        return
    for name in ("summary", "content"):
        parts = item.get(name)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                yield part["text"]


def _ending(answer: Mapping[str, Any], calls: Sequence[object]) -> object:
    details = answer.get("incomplete_details")
    if answer.get("status") == "incomplete" and isinstance(details, Mapping):
        return details.get("reason")
    return "tool_calls" if calls else "stop"


def _to_chat_usage(usage: Any) -> Any:
    if not isinstance(usage, Mapping):
        return usage
    names = {
        "input_tokens": "prompt_tokens",
        "output_tokens": "completion_tokens",
        "output_tokens_details": "completion_tokens_details",
    }
    return {names.get(name, name): value for name, value in usage.items()}

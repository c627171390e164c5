"""One reader of spans: what went in and came out, in each of the conventions of `attributes`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsvc.telemetry.attributes import (
    ARGUMENTS,
    COSTS,
    INPUTS,
    MODELS,
    OUTPUTS,
    PROVIDERS,
    RESULTS,
    TOOL_NAMES,
    USERS,
    count_tokens,
    find_kind,
    find_number,
    find_text,
    find_value,
)
from evalsvc.telemetry.otlp.messages import find_conversation_id, find_thread_id
from evalsvc.telemetry.sessions.dialects import EVENTS
from evalsvc.telemetry.sessions.messages import (
    Document,
    SpanMessages,
    number_attributes,
    parse,
    read_messages,
    write_message,
)
from evaluators.conversations.transcript import Unreadable

DOCUMENT_PREFIXES = ("retrieval.documents.", "reranker.output_documents.")
DOCUMENT_LISTS = ("gen_ai.retrieval.documents",)
DOCUMENT_EVENTS = {"db.query.result": "db.query.result.document", "db.search.result": "db.search.result.entity"}
DOCUMENT_TEXTS = ("document.content", "content", "text", "page_content")
FAULTS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What senders can cause, who write anything: a page that shows a span must not fail for it."""
FUNCTION_ARGUMENTS, FUNCTION_OUTPUT = "function.arguments", "function.output"
"""What Patronus' `@traced` writes into a log of the span."""


@dataclass(frozen=True, slots=True)
class SpanContent:
    """What a span says. `unreadable` is the reason where its messages cannot be read; texts may still be there.

    `messages` are those that went in and came out, as `read_conversation` reads them. `tokens` has `input_tokens` and
    `output_tokens`, each where it is known; `cost` is in US dollars.
    """

    kind: str
    input: str | None = None
    output: str | None = None
    system: str | None = None
    contexts: Sequence[str] = ()
    messages: Sequence[Document] = ()
    tool_calls: Sequence[Document] = ()
    tools: Sequence[Document] | None = None
    model: str | None = None
    provider: str | None = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    cost: float | None = None
    session_id: str | None = None
    thread_id: str | None = None
    user_id: str | None = None
    unreadable: str | None = None


def read_span(
    attributes: Any, events: Any = (), *, name: str = "", logs: Sequence[tuple[Any, Any]] = ()
) -> SpanContent:
    """Read a span; what cannot be read is left out, and never raises.

    `name` names the tool of a call that does not say it. `logs` are the attributes and bodies of the logs of the span,
    in which some senders have the texts.
    """
    try:
        return _read_content(attributes, events, name, logs)
    except FAULTS as fault:
        return SpanContent("", unreadable=f"The span has an unknown form: {type(fault).__name__}.")


def _read_content(attributes: Any, events: Any, name: str, logs: Sequence[tuple[Any, Any]]) -> SpanContent:
    sent = attributes if isinstance(attributes, dict) else {}
    happened = [event for event in events if isinstance(event, dict)] if isinstance(events, list | tuple) else []
    happened += [event for details, body in logs if (event := _log_event(details, body)) is not None]
    messages, unreadable = _read_messages(sent, happened)
    kind = find_kind(sent) or ("llm" if messages is not None and find_text(sent, MODELS) else "")
    source = _with_logged(sent, logs)
    read_texts = _read_tool if kind == "tool" else _read_texts
    return SpanContent(
        kind=kind,
        **read_texts(source, messages, name),
        contexts=tuple(_list_contexts(sent, happened)),
        model=find_text(sent, MODELS),
        provider=find_text(sent, PROVIDERS),
        tokens=count_tokens(sent),
        cost=find_number(sent, COSTS),
        session_id=find_conversation_id(sent),
        thread_id=find_thread_id(sent),
        user_id=find_text(sent, USERS),
        unreadable=unreadable,
    )


def _read_messages(attributes: Document, events: Sequence[Document]) -> tuple[SpanMessages | None, str | None]:
    try:
        return read_messages(attributes, events), None
    except Unreadable as exc:
        return None, str(exc)
    except FAULTS:
        return None, "The messages have an unknown form."


def _read_texts(attributes: Document, messages: SpanMessages | None, name: str) -> Document:
    asked = messages.inputs if messages else ()
    said = messages.outputs if messages else ()
    question = next((message.text for message in reversed(asked) if message.role == "user" and message.text), None)
    answer = "\n".join(message.text for message in said if message.role == "assistant" and message.text) or None
    written = [write_message(message) for message in (*asked, *said)]
    calls = [call for message in written[len(asked) :] for call in message.get("tool_calls", ())]
    return {
        "input": question if question is not None else to_text(find_value(attributes, INPUTS)),
        "output": answer if answer is not None or calls else to_text(find_value(attributes, OUTPUTS)),
        "system": messages.system if messages else None,
        "messages": tuple(written),
        "tool_calls": tuple(calls),
        "tools": messages.tools if messages else None,
    }


def _read_tool(attributes: Document, messages: SpanMessages | None, name: str) -> Document:
    """Return the texts of a call of a tool: its arguments and its result."""
    arguments, result = to_text(find_value(attributes, ARGUMENTS)), to_text(find_value(attributes, RESULTS))
    call = {"name": find_text(attributes, TOOL_NAMES) or name, "arguments": arguments or "{}"}
    return {"input": arguments, "output": result, "tool_calls": (call,)}


def to_text(value: Any) -> str | None:
    """Return a value of a span as a text: one text in an object or in the arguments of a function is that text."""
    if value is None:
        return None
    parsed = value
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            parsed = parse(value, "")
        except Unreadable:
            return value
    inner = _unwrap(parsed)
    if isinstance(inner, str):
        return inner
    return value if isinstance(value, str) else json.dumps(parsed, ensure_ascii=False)


def _unwrap(value: Any) -> Any:
    """Return the only text within an object, such as `{"args": ["…"], "kwargs": {}}`."""
    for _ in range(4):
        if isinstance(value, dict):
            held = [part for name, part in value.items() if part not in (None, [], {}) and name != "tags"]
        elif isinstance(value, list):
            held = value
        else:
            return value
        if len(held) != 1:
            return None
        value = held[0]
    return None


def _with_logged(attributes: Document, logs: Sequence[tuple[Any, Any]]) -> Document:
    """Return the attributes, with what a log has of the arguments and the result of a traced function."""
    for _, body in logs:
        if isinstance(body, dict) and (FUNCTION_ARGUMENTS in body or FUNCTION_OUTPUT in body):
            texts = {"input.value": body.get(FUNCTION_ARGUMENTS), "output.value": body.get(FUNCTION_OUTPUT)}
            return {**{key: text for key, text in texts.items() if text is not None}, **attributes}
    return attributes


def _log_event(details: Any, body: Any) -> Document | None:
    """Return a log as the event that it is, None for others. OpenTelemetry has sent messages as logs."""
    named = details if isinstance(details, dict) else {}
    name = named.get("event.name")
    if name in EVENTS and isinstance(body, dict):
        return {"name": name, "attributes": body}
    return {"name": name, "attributes": named} if isinstance(name, str) and name.startswith("gen_ai.client.") else None


def _list_contexts(attributes: Document, events: Sequence[Document]) -> Iterator[str]:
    for prefix in DOCUMENT_PREFIXES:
        if any(name.startswith(prefix) for name in attributes):
            yield from _list_texts(number_attributes(attributes, prefix))
            return
    listed = find_value(attributes, DOCUMENT_LISTS)
    if isinstance(listed, str):
        try:
            listed = parse(listed, "")
        except Unreadable:
            listed = None
    if isinstance(listed, list):
        yield from _list_texts(listed)
        return
    for event in events:
        details = event.get("attributes")
        member = DOCUMENT_EVENTS.get(str(event.get("name")))
        if member and isinstance(details, dict) and (text := find_text(details, (member,))):
            yield text


def _list_texts(documents: Sequence[Any]) -> Iterator[str]:
    for document in documents:
        text = document if isinstance(document, str) else None
        if isinstance(document, dict):
            text = find_text(document, DOCUMENT_TEXTS)
        if text:
            yield text

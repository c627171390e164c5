"""Attributes of spans that hold the messages of a conversation, and how a long one is shortened.

Texts within it are cut, and not the whole: half a list of messages is no JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

VALUE_NAMES = frozenset(
    (
        *("input.value", "output.value", "langfuse.observation.input", "langfuse.observation.output"),
        *("request_data", "response_data", "ai.prompt", "gen_ai.prompt", "gen_ai.completion"),
    )
)
"""Any text, which may be the JSON of messages."""
NAMES = VALUE_NAMES.union(
    (
        *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"),
        *("ai.prompt.messages", "pydantic_ai.all_messages", "all_messages_events"),
    )
)
"""Those of OpenTelemetry and pydantic-ai are lists, or the JSON of lists."""
FLAT_PREFIXES = ("llm.input_messages.", "llm.output_messages.", "llm.tools.")
"""OpenInference has an attribute for each part of a message."""
TRACELOOP_PREFIXES = ("gen_ai.prompt.", "gen_ai.completion.", "llm.request.functions.")
"""OpenLLMetry has one too."""
THREAD_NAMES = ("metadata.thread_id", "langfuse.trace.metadata.thread_id", "langsmith.metadata.thread_id")
CONVERSATION_NAMES = (
    *("gen_ai.conversation.id", "session.id", "langfuse.session.id"),
    *("ai.telemetry.metadata.sessionId", "traceloop.association.properties.session_id"),
    *THREAD_NAMES,
)
MAX_ID = 255
CAPS = (65_536, 16_384, 4_096, 1_024, 256, 64)
"""Lengths to which the texts of messages are cut, the first that is short enough: equal texts are then cut alike."""
MAX_DEPTH = 64
_MARKS = frozenset(("role", "type", "message"))
_LISTS = ("messages", "input", "choices")


def find_conversation_id(attributes: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation or session that a span belongs to; None without one, or for a longer one."""
    for name in CONVERSATION_NAMES:
        if (found := _read_id(attributes.get(name))) is not None:
            return found
    return _find_in_metadata(attributes)


def find_thread_id(attributes: Mapping[str, Any]) -> str | None:
    """Return the id of the thread that a span belongs to, as LangGraph writes it; None without one."""
    found = next((id for name in THREAD_NAMES if (id := _read_id(attributes.get(name))) is not None), None)
    return found if found is not None else _find_in_metadata(attributes)


def _find_in_metadata(attributes: Mapping[str, Any]) -> str | None:
    metadata = attributes.get("metadata")
    if isinstance(metadata, str) and "thread_id" in metadata:
        try:
            metadata = orjson.loads(metadata)
        except orjson.JSONDecodeError:
            return None
    return _read_id(metadata.get("thread_id")) if isinstance(metadata, Mapping) else None


def _read_id(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).replace("\0", "\ufffd")
    return text if 1 <= len(text) <= MAX_ID else None


def is_message_json(text: str) -> bool:
    """Return whether a text is the JSON of messages, or of an object with a list of them."""
    if text.lstrip()[:1] not in ("[", "{") or ('"role"' not in text and '"type"' not in text):
        return False
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    if isinstance(document, dict):
        document = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), [document])
    return bool(document) and all(isinstance(entry, dict) and not _MARKS.isdisjoint(entry) for entry in document)


def shorten_messages(text: str, limit: int) -> str | None:
    """Return the JSON of messages in at most `limit` characters; None for a text that is none, or cannot be that short.

    The longest texts are cut and marked first. Where that is not enough, the first messages are left out, and a message
    says so.
    """
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    lengths = list(_list_lengths(document, 0))
    rest = len(text) - sum(lengths)
    cap = next((cap for cap in CAPS if rest + sum(min(length, cap) for length in lengths) <= limit), CAPS[-1])
    document = _cut_texts(document, cap, 0)
    shortened = orjson.dumps(document).decode()
    return shortened if len(shortened) <= limit else _drop_first(document, limit)


def _list_lengths(value: Any, depth: int) -> Iterator[int]:
    if isinstance(value, str):
        yield len(value)
    elif isinstance(value, dict | list) and depth < MAX_DEPTH:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _list_lengths(part, depth + 1)


def _cut_texts(value: Any, cap: int, depth: int) -> Any:
    if isinstance(value, str):
        return cut(value, cap)
    if not isinstance(value, dict | list):
        return value
    if depth >= MAX_DEPTH:
        return "[nested too deeply]"
    if isinstance(value, dict):
        return {name: _cut_texts(part, cap, depth + 1) for name, part in value.items()}
    return [_cut_texts(part, cap, depth + 1) for part in value]


def _drop_first(document: Any, limit: int) -> str | None:
    """Leave out the first entries of a list, or of the list of messages in an object."""
    if isinstance(document, dict):
        document = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
    if not isinstance(document, list):
        return None
    room, kept = limit - 100, len(document)
    while kept and (room := room - len(orjson.dumps(document[kept - 1]).decode()) - 1) >= 0:
        kept -= 1
    mark = {"role": "system", "content": f"[{kept} messages were left out]"}
    shortened = orjson.dumps([mark, *document[kept:]]).decode()
    return shortened if len(shortened) <= limit else None


def clean(text: str) -> str:
    """Replace NUL, which PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


def cut(text: str, limit: int) -> str:
    """Truncate a text to the limit, which includes a marker with the text's original length."""
    if len(text) <= limit:
        return clean(text)
    mark = f"… [{len(text)} characters]"
    return (clean(text[: max(0, limit - len(mark))]) + mark)[:limit]

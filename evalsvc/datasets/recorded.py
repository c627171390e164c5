"""Recorded conversations as examples: what a session was asked, to ask it again, and what was said, to judge it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalsvc.datasets.importers.json_text import encode_canonical
from evalsvc.datasets.importers.lines import MAX_ROW_BYTES
from evalsvc.datasets.importers.names import OUTPUT
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.problems import Invalid
from evalsvc.telemetry.sessions.history import UnreadableSession
from evalsvc.telemetry.sessions.recordings import Recording
from evalsvc.telemetry.sessions.selectors import Session
from evaluators.conversations.reader import read_conversation
from evaluators.conversations.transcript import Unreadable

MESSAGES, TURNS = INPUTS = ("messages", "turns")
"""The input of an example: all messages up to the last one of the user, or the texts of the user."""
MAX_TURNS = 30
LONGEST_ANNOTATIONS = 64 * 1024
"""Bytes of an example that are left for what people add to it."""
CONVERSATION = ("system", "messages", "tools", "usage")


class LeftOut(Exception):
    """A conversation that becomes no example: one of REASONS, and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


REASONS = {
    "not_found": "no span is stored",
    "open": "a span has ended within the last ten minutes",
    "not_captured": "the texts of the messages were not captured",
    "no_question": "no message is the user's",
    "unreadable": "it has no messages, or they cannot be read",
    "too_large": "it is larger than an example may be",
    "not_read": "the spans of those before it have the bytes that are read at once",
    "id_taken": "the dataset has another example of this id",
}
"""Why a conversation is left out."""


def build_record(account_id: int, recording: Recording, input: str) -> dict[str, Any]:
    """Return a recorded conversation as an example in the form of uploads. Raises LeftOut. Within the scope."""
    try:
        session = recording.read(account_id)
    except UnreadableSession as exc:
        raise LeftOut("unreadable", str(exc)) from None
    conversation = {name: session.conversation[name] for name in CONVERSATION if name in session.conversation}
    _check(conversation)
    record = {
        "id": recording.id,
        "input": {input: _list_turns(conversation) if input == TURNS else _list_questions(conversation)},
        "metadata": _describe(recording, session) | {OUTPUT: conversation},
    }
    _check_row(record)
    return record


def _check_row(record: Mapping[str, Any]) -> None:
    try:
        n_bytes = len(encode_canonical(record))
        if n_bytes > MAX_ROW_BYTES - LONGEST_ANNOTATIONS:
            raise LeftOut("too_large", f"It would be an example of {n_bytes} bytes.")
        list(read_examples([record]))
    except TypeError as exc:
        raise LeftOut("unreadable", f"It cannot be stored: {exc}.") from None
    except Invalid as exc:
        raise LeftOut("unreadable", exc.errors[0].detail) from None


def _check(conversation: Mapping[str, Any]) -> None:
    messages = conversation["messages"]
    if any(message.get("missing") for message in messages):
        raise LeftOut("not_captured", "The texts of its messages were not captured.")
    if not any(message["role"] == "user" for message in messages):
        raise LeftOut("no_question", "None of its messages is the user's.")
    try:
        read_conversation(conversation)
    except Unreadable as exc:
        raise LeftOut("too_large" if exc.is_too_large else "unreadable", str(exc)) from None


def _describe(recording: Recording, session: Session) -> dict[str, Any]:
    members = {
        "session_id": recording.id if recording.is_session else None,
        "trace_id": session.trace_id,
        "app": recording.app,
        "service_name": recording.service_name,
        "agent": session.conversation.get("agent"),
        "started_at": recording.started_at.isoformat(),
        "ended_at": recording.ended_at.isoformat(),
        "n_spans": recording.n_spans,
    }
    return {name: value for name, value in members.items() if value is not None}


def _list_turns(conversation: Mapping[str, Any]) -> list[str]:
    turns = [message.get("content", "") for message in conversation["messages"] if message["role"] == "user"]
    if len(turns) > MAX_TURNS:
        raise LeftOut("too_large", f"It has {len(turns)} turns, and {MAX_TURNS} are asked at most.")
    return turns


def _list_questions(conversation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages up to the last one of the user, in the form of Chat Completions."""
    messages = conversation["messages"]
    end = max(i for i, message in enumerate(messages) if message["role"] == "user")
    system = [{"role": "system", "content": conversation["system"]}] if conversation.get("system") else []
    return [*system, *_write_chat(messages[: end + 1])]


def _write_chat(messages: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        members = {"role": message["role"], "content": message.get("content")}
        if calls := message.get("tool_calls"):
            members["tool_calls"] = [_write_call(call) for call in calls]
        if "tool_call_id" in message:
            members["tool_call_id"] = message["tool_call_id"]
        yield members


def _write_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call.get("arguments", call.get("raw", ""))}
    return {"id": call.get("id", ""), "type": "function", "function": function}

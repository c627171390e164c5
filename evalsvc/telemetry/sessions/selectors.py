"""Reads: the conversation of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsvc.problems import NotFound
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.telemetry.attributes import count_tokens
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.selectors import TIMEOUT_SECONDS
from evalsvc.telemetry.sessions.calls import build_messages
from evalsvc.telemetry.sessions.history import History, UnreadableSession
from evalsvc.telemetry.sessions.messages import (
    Document,
    SpanMessages,
    is_repeated,
    read_messages,
    write_message,
)
from evalsvc.telemetry.sessions.rows import (
    FAILED,
    MODEL_KINDS,
    OTHER_KINDS,
    TOOL_KINDS,
    SpanRow,
    SpanTree,
    drop_outer,
    load_rows,
    load_trace,
    select_agent,
    select_session,
)
from evaluators.conversations.transcript import Unreadable

MAX_SPANS = 5_000
MAX_SESSION_BYTES = 64 * 1024 * 1024
"""Of the spans with messages: each repeats the conversation so far."""
TOO_LARGE = f"The spans of the session have more than {MAX_SESSION_BYTES} bytes."
MAX_REPEATED = 200_000
"""Messages that are read of all spans together."""
PORTION_BYTES = 4 * 1024 * 1024
"""Of the spans that are read at once."""


@dataclass(frozen=True, slots=True)
class Session:
    """The conversation of a session, as `read_conversation` reads it, and the trace in which it ended."""

    conversation: Document
    trace_id: str


def get_session(*, account_id: int, session_id: str, agent: str | None = None) -> Session:
    """Return the conversation of a session: that of its outermost agent, or of the agent with this name.

    Raises NotFound for missing and foreign alike, UnreadableSession, and Problem `search_too_slow`. Within the scope.
    """
    with in_time(TIMEOUT_SECONDS, what="Reading the session"):
        rows = _check(load_rows(account_id, session_id, MAX_SPANS + 1))
        tree = SpanTree(rows)
        session = _read_session(account_id, select_session(rows, tree, session_id), tree, agent)
    return Session({"session_id": session_id} | session.conversation, session.trace_id)


def get_trace_session(*, account_id: int, trace_id: str) -> Session:
    """Return the conversation in one trace, as `get_session` does; it has no session id."""
    with in_time(TIMEOUT_SECONDS, what="Reading the trace"):
        rows = _check(load_trace(account_id, trace_id, MAX_SPANS + 1))
        return _read_session(account_id, rows, SpanTree(rows), None)


def _check(rows: list[SpanRow]) -> list[SpanRow]:
    if not rows:
        raise NotFound
    if len(rows) > MAX_SPANS:
        raise UnreadableSession(f"The traces of the session have more than {MAX_SPANS} spans.")
    return rows


def _read_session(account_id: int, rows: Sequence[SpanRow], tree: SpanTree, agent: str | None) -> Session:
    for read, sources in (
        (_join_messages, [row for row in rows if row.has_messages]),
        (_join_messages, [row for row in rows if row.has_json and row.kind not in OTHER_KINDS]),
        (_build_from_tools, [row for row in rows if row.kind in MODEL_KINDS | TOOL_KINDS]),
    ):
        chosen = select_agent(sources, tree, agent)
        conversation = read(account_id, chosen, rows, tree) if chosen else {}
        if conversation.get("messages"):
            last = max(chosen, key=lambda row: row.order)
            name = next(iter(tree.get_agents(last)[-1:]), None)
            return Session(({} if name is None else {"agent": name}) | conversation, last.trace_id)
    whose = "The session" if agent is None else f"The agent {agent[:60]!r} of the session"
    raise UnreadableSession(f"{whose} has no messages and no calls of tools.")


def _join_messages(account_id: int, chosen: Sequence[SpanRow], rows: Sequence[SpanRow], tree: SpanTree) -> Document:
    """Return the conversation that the spans of an agent repeat."""
    spans = sorted(drop_outer(chosen, tree), key=lambda row: row.order, reverse=True)
    if sum(row.n_bytes for row in spans) > MAX_SESSION_BYTES:
        raise UnreadableSession(TOO_LARGE)
    history, usage = History(), Counter[str]()
    about: Document = {}
    later: Document = {}
    n_messages = 0
    for row, attributes, events in _load(account_id, spans):
        usage.update(count_tokens(attributes))
        if history.is_joined and is_repeated(attributes, later):
            continue
        if (read := _read(row, attributes, events)) is None:
            continue
        later = attributes
        n_messages += len(read.inputs) + len(read.outputs)
        if n_messages > MAX_REPEATED:
            raise UnreadableSession(f"The spans of the session repeat more than {MAX_REPEATED} messages.")
        history.add_earlier(read.inputs, read.outputs)
        for name, value in (("system", read.system), ("tools", read.tools)):
            if value is not None:
                about.setdefault(name, value)
    failed = {row.call_id for row in rows if row.status_code == FAILED and row.kind in TOOL_KINDS and row.call_id}
    messages = [
        write_message(replace(message, error=message.error or message.call_id in failed))
        for message in history.list_messages()
    ]
    if messages:
        messages[0]["at"] = min(row.started_at for row in spans).isoformat()
        messages[-1]["at"] = spans[0].ended_at.isoformat()
    return {**about, "messages": messages, **({"usage": dict(usage)} if usage else {})}


def _read(row: SpanRow, attributes: Document, events: Sequence[Any]) -> SpanMessages | None:
    try:
        return read_messages(attributes, events)
    except Unreadable as exc:
        raise UnreadableSession(f"The span {row.span_id} cannot be read: {exc}") from None


def _build_from_tools(account_id: int, chosen: Sequence[SpanRow], rows: Sequence[SpanRow], tree: SpanTree) -> Document:
    """Return the calls of an agent whose texts were not captured."""
    tools = [row for row in chosen if row.kind in TOOL_KINDS]
    if sum(row.n_bytes for row in tools) > MAX_SESSION_BYTES:
        raise UnreadableSession(TOO_LARGE)
    attributes = {row.id: attributes for row, attributes, _ in _load(account_id, tools)}
    return {"messages": build_messages(chosen, attributes)}


def _load(account_id: int, rows: Sequence[SpanRow]) -> Iterator[tuple[SpanRow, Document, Sequence[Any]]]:
    """Yield spans with their attributes and events, in portions."""
    begin = n_bytes = 0
    for end, row in enumerate(rows, 1):
        n_bytes += row.n_bytes
        if n_bytes >= PORTION_BYTES or end == len(rows):
            found = Span.objects.filter(account=account_id, id__in=[row.id for row in rows[begin:end]])
            texts = {id: (sent, events) for id, sent, events in found.values_list("id", "attributes", "events")}
            yield from ((row, *texts[row.id]) for row in rows[begin:end] if row.id in texts)
            begin, n_bytes = end, 0

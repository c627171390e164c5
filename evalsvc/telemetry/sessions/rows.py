"""The spans of a session as rows, without their texts: what each is, and in which agent it ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connections

from evalsvc.tenancy.scope import current_role

FAILED = 2
"""The status of a span that ended in an error."""
TOOL_KINDS = frozenset(("execute_tool", "tool"))
MODEL_KINDS = frozenset(("chat", "generate_content", "text_completion", "llm", "generation"))
OTHER_KINDS = TOOL_KINDS | {"retriever", "embedding", "embeddings", "reranker", "guardrail", "evaluator", "retrieval"}
"""Spans whose inputs and outputs are no messages of a conversation."""
MESSAGE_EVENT = "gen_ai.client.inference.operation.details"

# One call of a function reads all keys: PostgreSQL would unpack the attributes again for each operator.
SELECT = f"""
SELECT s.id, s.trace_id, s.span_id, s.parent_span_id, s.conversation_id, s.started_at, s.ended_at, s.status_code,
  s.n_bytes,
  coalesce(a."gen_ai.agent.name", a."agent.name", CASE WHEN a."langfuse.observation.type" = 'agent' THEN s.name END),
  lower(coalesce(a."gen_ai.operation.name", a."openinference.span.kind", a."langfuse.observation.type", '')),
  coalesce(a."gen_ai.tool.call.id", a."tool_call.id"),
  coalesce(a."gen_ai.tool.name", a."tool.name", s.name),
  coalesce(a."gen_ai.input.messages", a."gen_ai.output.messages", a."llm.input_messages.0.message.role",
    a."llm.output_messages.0.message.role", a."gen_ai.prompt.0.role", a."gen_ai.completion.0.role",
    a."ai.prompt.messages", a."ai.prompt", a."pydantic_ai.all_messages", a."all_messages_events") IS NOT NULL
    OR s.events @> '[{{"name": "{MESSAGE_EVENT}"}}]',
  left(ltrim(coalesce(a."input.value", a."langfuse.observation.input") #>> '{{}}'), 1) IN ('[', '{{')
FROM telemetry_span s CROSS JOIN LATERAL jsonb_to_record(s.attributes) AS a(
  "gen_ai.agent.name" text, "agent.name" text, "langfuse.observation.type" text, "gen_ai.operation.name" text,
  "openinference.span.kind" text, "gen_ai.tool.call.id" text, "tool_call.id" text, "gen_ai.tool.name" text,
  "tool.name" text, "gen_ai.input.messages" jsonb, "gen_ai.output.messages" jsonb,
  "llm.input_messages.0.message.role" jsonb, "llm.output_messages.0.message.role" jsonb, "input.value" jsonb,
  "gen_ai.prompt.0.role" jsonb, "gen_ai.completion.0.role" jsonb, "ai.prompt.messages" jsonb, "ai.prompt" jsonb,
  "pydantic_ai.all_messages" jsonb, "all_messages_events" jsonb, "langfuse.observation.input" jsonb)
WHERE s.account_id = %(account)s AND s.trace_id """  # noqa: S608  a name of ours
OF_SESSION = """IN (
  SELECT trace_id FROM telemetry_span WHERE account_id = %(account)s AND conversation_id = %(id)s)"""
OF_TRACE = "= %(id)s"
ORDER = " ORDER BY s.started_at, s.ended_at DESC, s.span_id LIMIT %(limit)s"


class SpanRow(NamedTuple):
    """A span without its attributes. `agent` and `kind` are what its attributes say; `has_json` may be messages."""

    id: int
    trace_id: str
    span_id: str
    parent_span_id: str | None
    conversation_id: str | None
    started_at: datetime
    ended_at: datetime
    status_code: int
    n_bytes: int
    agent: str | None
    kind: str
    call_id: str | None
    tool: str
    has_messages: bool
    has_json: bool | None

    @property
    def key(self) -> tuple[str, str]:
        """The trace and the span."""
        return self.trace_id, self.span_id

    @property
    def order(self) -> tuple[datetime, datetime, str]:
        """Sorts by the end."""
        return self.ended_at, self.started_at, self.span_id


def load_rows(account_id: int, session_id: str, limit: int) -> list[SpanRow]:
    """Return the spans of all traces that have one of this session, by their start. Within the account's scope."""
    return _load(OF_SESSION, {"account": account_id, "id": session_id, "limit": limit})


def load_trace(account_id: int, trace_id: str, limit: int) -> list[SpanRow]:
    """Return the spans of a trace, by their start. Within the account's scope."""
    return _load(OF_TRACE, {"account": account_id, "id": trace_id, "limit": limit})


def _load(of: str, values: Mapping[str, int | str]) -> list[SpanRow]:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SELECT + of + ORDER, values)
        return [SpanRow(*row) for row in cursor.fetchall()]


class SpanTree:
    """The spans of some traces by their parents; a cycle of parents ends where it begins."""

    def __init__(self, rows: Iterable[SpanRow]) -> None:
        self._rows = {row.key: row for row in rows}
        self._places: dict[tuple[str, str], tuple[tuple[str, ...], str | None]] = {}

    def list_ancestors(self, row: SpanRow) -> list[SpanRow]:
        """Return the spans that a span ran in, the nearest first."""
        chain, seen = [], {row.key}
        while (parent := self._get_parent(row)) is not None and parent.key not in seen:
            seen.add(parent.key)
            chain.append(parent)
            row = parent
        return chain

    def get_agents(self, row: SpanRow) -> tuple[str, ...]:
        """Return the names of the agents that a span ran in, the outermost first."""
        return self._place(row)[0]

    def get_session(self, row: SpanRow) -> str | None:
        """Return the session of a span, or of the nearest one around it that names any."""
        return self._place(row)[1]

    def _get_parent(self, row: SpanRow) -> SpanRow | None:
        return self._rows.get((row.trace_id, row.parent_span_id)) if row.parent_span_id else None

    def _place(self, row: SpanRow) -> tuple[tuple[str, ...], str | None]:
        chain, seen = [row], {row.key}
        while chain[-1].key not in self._places:
            parent = self._get_parent(chain[-1])
            if parent is None or parent.key in seen:
                break
            seen.add(parent.key)
            chain.append(parent)
        agents, session = self._places.get(chain[-1].key, ((), None))
        for span in reversed(chain):
            if span.agent and span.agent not in agents[-1:]:
                agents = (*agents, span.agent)
            session = span.conversation_id or session
            self._places[span.key] = agents, session
        return self._places[row.key]


def select_session(rows: Sequence[SpanRow], tree: SpanTree, session_id: str) -> list[SpanRow]:
    """Return the spans of one session: those in it, and those of traces that no other session has a part in."""
    sessions: dict[str, set[str]] = {}
    for row in rows:
        if row.conversation_id is not None:
            sessions.setdefault(row.trace_id, set()).add(row.conversation_id)
    return [row for row in rows if (tree.get_session(row) or _get_only(sessions[row.trace_id])) == session_id]


def _get_only(sessions: set[str]) -> str | None:
    return next(iter(sessions)) if len(sessions) == 1 else None


def select_agent(rows: Sequence[SpanRow], tree: SpanTree, agent: str | None) -> list[SpanRow]:
    """Return the spans of one agent; without a name those of the outermost that ended last.

    Of several agents at the same depth one has handed over to the next, which has read what was said before.
    """
    if agent is None:
        named = [row for row in rows if tree.get_agents(row)] or list(rows)
        depth = min((len(tree.get_agents(row)) for row in named), default=0)
        outermost = [row for row in named if len(tree.get_agents(row)) == depth]
        if not outermost:
            return []
        wanted = tree.get_agents(max(outermost, key=lambda row: row.order))[-1:]
    else:
        wanted = (agent,)
    return [row for row in rows if tree.get_agents(row)[-1:] == wanted]


def drop_outer(rows: Sequence[SpanRow], tree: SpanTree) -> list[SpanRow]:
    """Leave out the spans that contain another one: what an agent was asked is in what its model was asked."""
    outer = {ancestor.key for row in rows for ancestor in tree.list_ancestors(row)}
    return [row for row in rows if row.key not in outer]

"""How to request JSON from an endpoint: learned from the requests that it rejects, then cached.

From the strictest mode to the plainest: a JSON Schema that the endpoint enforces, JSON of any form, a forced tool call,
and instructions in the prompt. A mode or parameter that the endpoint rejects with an error is not sent any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

import orjson
from redis.exceptions import RedisError

from evalsvc.infra.cache import BoundedCache
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed, ErrorKind
from evalsvc.judges.ledger.client import ledger, ledger_key

REMEMBERED_SECONDS = 86_400
BELIEVED_SECONDS = 60.0
MAX_BELIEVED = 1000
TOOL_NAME = "answer"
_believed: BoundedCache[str, RequestDialect] = BoundedCache(MAX_BELIEVED, seconds=lambda: BELIEVED_SECONDS)
_about_mode = re.compile(r"response_?format|json_?(schema|object|mode)|structured|\btools?\b|tool_choice|function")
_not_a_name = re.compile(r"[^A-Za-z0-9_-]+")


class Mode(StrEnum):
    """How the format of the response is requested."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    TOOL = "tool"
    PLAIN = "plain"


LADDER = tuple(Mode)


@dataclass(frozen=True, slots=True)
class RequestDialect:
    """How to call one model of a connection. `limit` is the name of its token limit; empty: it accepts none."""

    mode: Mode = Mode.JSON_SCHEMA
    limit: str = "max_tokens"
    dropped: tuple[str, ...] = ()

    def plainer(self) -> RequestDialect | None:
        """Return the dialect with the next mode down; None at the end."""
        below = LADDER.index(self.mode) + 1
        return replace(self, mode=LADDER[below]) if below < len(LADDER) else None


async def recall_dialect(connection: ConnectionFacts, model: str) -> RequestDialect:
    """Return what is known of this model; the strictest where nothing is."""
    key = ledger_key(connection, model, "dialect")
    cached = _believed.get(key)
    if cached is not None:
        return cached
    try:
        reply = await ledger().ask("GET", key)
    except RedisError:
        old = _believed.find(key)
        return old.value if old else RequestDialect()
    dialect = _read(reply) if isinstance(reply, bytes) else RequestDialect()
    _believed.put(key, dialect)
    return dialect


def remember_dialect(connection: ConnectionFacts, model: str, dialect: RequestDialect) -> None:
    """Cache the dialect for a day, for all workers of this account."""
    key = ledger_key(connection, model, "dialect")
    _believed.put(key, dialect)
    ledger().tell("SET", key, orjson.dumps(asdict(dialect)), "EX", REMEMBERED_SECONDS)


def _read(stored: bytes) -> RequestDialect:
    try:
        fields = orjson.loads(stored)
        return RequestDialect(Mode(fields["mode"]), str(fields["limit"]), tuple(map(str, fields["dropped"])))
    except (ValueError, KeyError, TypeError):
        return RequestDialect()


def adapt_dialect(dialect: RequestDialect, failed: CallFailed, optional: Mapping[str, object]) -> RequestDialect | None:
    """Return another dialect for what was refused; None when it was not the manner that was refused, or none is left.

    `optional` are the parameters that were sent besides, by name. What the endpoint names is left out or renamed; when
    it names nothing that was sent, the mode is the first suspect.
    """
    if failed.kind is not ErrorKind.PARAMETER:
        return None
    error_text = f"{failed.provider_code or ''} {failed.detail}".lower()
    for name in optional:
        if re.search(rf"\b{re.escape(name)}\b", error_text) and name not in dialect.dropped:
            return replace(dialect, dropped=(*dialect.dropped, name))
    if dialect.limit and re.search(rf"\b{dialect.limit}\b", error_text) and not _about_mode.search(error_text):
        return replace(dialect, limit="max_completion_tokens" if dialect.limit == "max_tokens" else "")
    return dialect.plainer()


def build_parameters(
    dialect: RequestDialect,
    *,
    prompt_id: str,
    schema: Mapping[str, object],
    max_tokens: int,
    optional: Mapping[str, object],
) -> dict[str, object]:
    """Return the parameters of a call."""
    parameters: dict[str, object] = {name: value for name, value in optional.items() if name not in dialect.dropped}
    if dialect.limit:
        parameters[dialect.limit] = max_tokens
    name = _not_a_name.sub("_", prompt_id)[:64] or TOOL_NAME
    match dialect.mode:
        case Mode.JSON_SCHEMA:
            json_schema = {"name": name, "strict": True, "schema": schema}
            parameters["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        case Mode.JSON_OBJECT:
            parameters["response_format"] = {"type": "json_object"}
        case Mode.TOOL:
            function = {"name": TOOL_NAME, "description": "Give your answer.", "parameters": schema}
            parameters["tools"] = [{"type": "function", "function": function}]
            parameters["tool_choice"] = {"type": "function", "function": {"name": TOOL_NAME}}
    return parameters


def describe_schema(schema: Mapping[str, object]) -> str:
    """Return in words what form the answer has, for endpoints that do not enforce it."""
    schema_text = orjson.dumps(schema).decode()
    return (
        f"Answer with one JSON object and nothing else, not even a fence. It must fit this JSON Schema: {schema_text}"
    )

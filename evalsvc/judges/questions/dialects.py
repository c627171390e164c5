"""How to request JSON from an endpoint: learnt from the requests that it rejects, then kept with the connection.

From the strictest mode to the plainest: a JSON Schema that the endpoint enforces, JSON of any form, a forced tool call,
and instructions in the prompt. A mode or parameter that the endpoint rejects with an error is not sent any more.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, TypeAlias

import orjson

from evalsvc.infra.cache import BoundedCache
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.connections.learnt import keep_dialect
from evalsvc.judges.failures import CallFailed, ErrorKind

BELIEVED_SECONDS = 60.0
MAX_BELIEVED = 1000
DEFAULT_MAX_OUTPUT_TOKENS = 16_384
"""How far a limit grows where the connection does not say."""
GROWTH = 4
TOOL_NAME = "answer"
OLD_LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
LOGPROBS = ("logprobs", "top_logprobs")
Key: TypeAlias = tuple[uuid.UUID, int, str]
# What this process has learnt, until the connection's row is read again; and what refuses every mode.
_learnt: BoundedCache[Key, RequestDialect] = BoundedCache(MAX_BELIEVED, seconds=lambda: BELIEVED_SECONDS)
_refusals: BoundedCache[Key, CallFailed] = BoundedCache(MAX_BELIEVED, seconds=lambda: BELIEVED_SECONDS)
_about_mode = re.compile(
    r"response_?format|json_?(schema|object|mode)|structured|\btools?\b|tool_choice|function|grammar"
)
_about_system = re.compile(
    r"system (?:role|message|prompt)s?\b.{0,40}\bnot (?:be )?(?:support|allow|enabled)|\brole\b.{0,60}\bsystem\b"
    r"|\bsystem\b.{0,30}\brole\b|developer instruction|roles must alternate|messages\[0\]\.role"
)
_about_limit = re.compile(r"max[_ ](?:completion_|output_|new_)?tokens|maximum output|output token limit")
_too_large = re.compile(
    r"at most|too large|too high|exceed|greater than the max|maximum (?:value|allowed)|less than|<=|\brange\b"
)
_too_small = re.compile(r"must be greater|at least|too small|below|minimum")
_unknown_name = re.compile(r"unsupported parameter|not supported|unknown|unrecognized|instead|extra|unexpected")
_number = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+|(?<![\d.])\d+(?![\d.]*\d)")
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
    """How to call one model of a connection.

    `limit` is the name of its token limit; empty: it accepts none. `least` is the smallest limit that was found
    sufficient, 0 if every question's own is, and `most` the largest that it accepts, 0 if unknown. `usage` says how it
    reports usage; empty: it has not answered yet.
    """

    mode: Mode = Mode.JSON_SCHEMA
    limit: str = OLD_LIMIT
    dropped: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    takes_system: bool = True
    usage: str = ""

    def plainer(self) -> RequestDialect | None:
        """Return the dialect with the next mode down; None at the end."""
        below = LADDER.index(self.mode) + 1
        return replace(self, mode=LADDER[below]) if below < len(LADDER) else None


async def recall_dialect(connection: ConnectionFacts, model: str) -> RequestDialect:
    """Return what is known of this model; the strictest where nothing is."""
    return _learnt.get(_key(connection, model)) or _read(connection.dialects.get(model))


async def remember_dialect(connection: ConnectionFacts, model: str, dialect: RequestDialect) -> None:
    """Keep the dialect, for all workers of this account; calls that learn the same at the same time write it once."""
    if _learnt.get(_key(connection, model)) == dialect:
        return
    _learnt.put(_key(connection, model), dialect)
    await keep_dialect(connection, model, asdict(dialect))


def recall_refusal(connection: ConnectionFacts, model: str) -> CallFailed | None:
    """Return the failure of a model that has refused every mode within a minute, and never answered."""
    failed = _refusals.get(_key(connection, model))
    if failed is None:
        return None
    return CallFailed(failed.code, failed.detail, kind=failed.kind, provider_code=failed.provider_code)


def remember_refusal(connection: ConnectionFacts, model: str, failed: CallFailed) -> None:
    """Note that a model refuses every mode."""
    _refusals.put(_key(connection, model), failed)


def _key(connection: ConnectionFacts, model: str) -> Key:
    return connection.id, connection.epoch, model


def _read(kept: Mapping[str, Any] | None) -> RequestDialect:
    if kept is None:
        return RequestDialect()
    # Fields of another release are left out.
    known = {part.name: kept[part.name] for part in fields(RequestDialect) if part.name in kept}
    return RequestDialect(**{**known, "mode": Mode(kept["mode"]), "dropped": tuple(kept["dropped"])})


def adapt_dialect(
    dialect: RequestDialect, failed: CallFailed, optional: Mapping[str, object], *, limit: int = 0
) -> RequestDialect | None:
    """Return another dialect for what was refused; None when it was not the manner that was refused, or none is left.

    `optional` are the parameters that were sent besides, by name, and `limit` the token limit. What the endpoint names
    is left out or renamed; when it names nothing that was sent, the mode is the first suspect.
    """
    if failed.kind is not ErrorKind.PARAMETER:
        return None
    error_text = f"{failed.provider_code or ''} {failed.parameter or ''} {failed.detail}".lower()
    for name in optional:
        if name not in dialect.dropped and re.search(rf"\b{name.replace('_', '[_ .]?')}\b", error_text):
            names = LOGPROBS if name in LOGPROBS else (name,)
            return replace(dialect, dropped=(*dialect.dropped, *names))
    if dialect.takes_system and _about_system.search(error_text):
        return replace(dialect, takes_system=False)
    if dialect.limit and _about_limit.search(error_text) and not _about_mode.search(error_text):
        return _adapt_limit(dialect, error_text, limit)
    return dialect.plainer()


def _adapt_limit(dialect: RequestDialect, error_text: str, limit: int) -> RequestDialect:
    """Return the dialect with another value of the limit where that was refused, else with another name."""
    if limit and not _unknown_name.search(error_text):
        if _too_large.search(error_text):
            numbers = (int(number.replace(",", "")) for number in _number.findall(error_text))
            return replace(dialect, most=max((n for n in numbers if 16 <= n < limit), default=max(1, limit // 2)))
        if _too_small.search(error_text):
            return replace(dialect, least=limit * GROWTH)
    return replace(dialect, limit=NEW_LIMIT if dialect.limit == OLD_LIMIT else "")


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

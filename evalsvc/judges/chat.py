"""One call to an OpenAI-compatible endpoint: one attempt, one deadline, and every way to fail has a name."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import httpx2
import openai
import orjson
from openai import Omit, OpenAI, RequestOptions

from evalsvc.judges import failures
from evalsvc.judges.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.limits import feed_back_429
from evalsvc.judges.reading import billed_of, from_outbound, from_status, printable, text_of
from evalsvc.outbound.allowance import Allowance
from evalsvc.outbound.failures import OutboundFailed
from evalsvc.outbound.transport import http_client

__all__ = ["CallFailed", "Completion", "complete"]
MAX_BYTES = 4 * 1024 * 1024
RESERVED = frozenset(("model", "messages", "stream", "stream_options", "n"))
"""Parameters that a caller cannot set: one answer, at once, to what the other arguments say."""


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer. `cost` is None where prices are not known; `finish_reason` `length` says that `text` was cut."""

    text: str
    model: str
    finish_reason: str | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    latency_ms: float


def complete(
    connection: ConnectionFacts,
    *,
    messages: Sequence[Mapping[str, Any]],
    model: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    deadline_seconds: float | None = None,
) -> Completion:
    """Ask once and return the answer, or raise CallFailed.

    The deadline is the connection's timeout or `deadline_seconds`, whichever is sooner, and covers the whole call. The
    call is not counted here: `limits.take` comes before and `limits.settle` after (`calls.ask` does both); a 429 is
    told to all workers.
    """
    asked = model or connection.model
    if set(parameters or {}) & RESERVED:
        names = ", ".join(sorted(set(parameters or {}) & RESERVED))
        raise CallFailed(failures.NOT_CONFIGURED, f"The parameters {names} are not for callers to set.")
    body = {**(parameters or {}), "model": asked, "messages": messages}
    seconds = min(connection.timeout_seconds, deadline_seconds or connection.timeout_seconds)
    began = time.perf_counter()
    try:
        response = _post(connection, body, seconds=seconds)
        return _completion(connection, response, asked, began)
    except CallFailed as failed:
        failed.latency_ms = _ms_since(began)
        if failed.code == failures.RATE_LIMITED:
            failed.retry_after_seconds = feed_back_429(connection, asked, failed.retry_after_seconds)
        raise


def _post(connection: ConnectionFacts, body: Mapping[str, Any], *, seconds: float) -> httpx2.Response:
    client = _client(os.getpid(), connection.base_url, connection.key, tuple(connection.headers.items()))
    try:
        with Allowance(seconds=seconds, max_bytes=MAX_BYTES):
            # The client's own models cost more time than all the rest and know fewer endpoints than we meet.
            return client.post("/chat/completions", cast_to=httpx2.Response, body=body, options=_options(connection))
    except OutboundFailed as exc:
        raise from_outbound(exc) from None
    except openai.APIStatusError as exc:
        raise from_status(exc, secrets=(connection.key, *connection.headers.values())) from None
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, TypeError, ValueError) as exc:
        # TypeError and ValueError: a body that cannot be written as JSON.
        raise CallFailed(failures.BUG, f"The call could not be made: {type(exc).__name__}.") from None


def _options(connection: ConnectionFacts) -> RequestOptions:
    # Without a key there is nothing to authorise with, unless one of the headers does it.
    named = {name.lower() for name in connection.headers}
    return {} if connection.key or "authorization" in named else {"headers": {"Authorization": Omit()}}


@lru_cache(maxsize=256)
def _client(pid: int, base_url: str, key: str, headers: tuple[tuple[str, str], ...]) -> OpenAI:
    # The client would send the operator's own settings along, to whatever server an account names.
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        del os.environ[name]
    return OpenAI(
        api_key=key or "none",
        base_url=base_url,
        max_retries=0,
        timeout=None,
        http_client=http_client(),
        default_headers=dict(headers),
    )


def _completion(connection: ConnectionFacts, response: httpx2.Response, asked: str, began: float) -> Completion:
    try:
        answer = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        raise CallFailed(failures.BAD_OUTPUT, "The endpoint's answer is not JSON.") from None
    billed = billed_of(connection, answer)
    text, finish_reason = text_of(answer, billed)
    named = answer.get("model")
    return Completion(
        text=text,
        model=(printable(named, 200) if isinstance(named, str) else "") or asked,
        finish_reason=finish_reason,
        input_tokens=billed.input_tokens,
        output_tokens=billed.output_tokens,
        cost=billed.cost,
        latency_ms=_ms_since(began),
    )


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000

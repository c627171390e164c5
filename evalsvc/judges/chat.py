"""One call to an OpenAI-compatible endpoint: one attempt, one deadline, and every way to fail has a name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

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

__all__ = ["CallFailed", "Completion", "complete", "post"]
T = TypeVar("T")
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
    reads_tool: bool = False,
) -> Completion:
    """Ask once and return the answer, or raise CallFailed.

    The deadline is the connection's timeout or `deadline_seconds`, whichever is sooner, and covers the whole call. The
    call is not counted here: `limits.take` comes before and `limits.settle` after (`calls.ask` does both); a 429 is
    told to all workers. With `reads_tool` the arguments of a tool call are the answer, where the model called one.
    """
    asked = model or connection.model
    if set(parameters or {}) & RESERVED:
        names = ", ".join(sorted(set(parameters or {}) & RESERVED))
        raise CallFailed(failures.NOT_CONFIGURED, f"The parameters {names} are not for callers to set.")
    body = {**(parameters or {}), "model": asked, "messages": messages}
    seconds = min(connection.timeout_seconds, deadline_seconds or connection.timeout_seconds)
    return post(
        connection,
        "/chat/completions",
        body,
        limited_as=asked,
        seconds=seconds,
        read=lambda answer, ms: _completion(connection, answer, asked, ms, reads_tool=reads_tool),
    )


def post(
    connection: ConnectionFacts,
    path: str,
    body: Mapping[str, Any],
    *,
    limited_as: str,
    seconds: float,
    read: Callable[[Any, float], T],
) -> T:
    """Post JSON to a page of the endpoint once; return what `read` makes of the answer and the milliseconds it took.

    Raises CallFailed, as `read` may. A 429 stops all workers for what `limited_as` names, as a rule the model.
    """
    began = time.perf_counter()
    try:
        response = _post(connection, path, body, seconds=seconds)
        try:
            answer = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            raise CallFailed(failures.BAD_OUTPUT, "The endpoint's answer is not JSON.") from None
        return read(answer, _ms_since(began))
    except CallFailed as failed:
        failed.latency_ms = _ms_since(began)
        if failed.code == failures.RATE_LIMITED:
            failed.retry_after_seconds = feed_back_429(connection, limited_as, failed.retry_after_seconds)
        raise


def _post(connection: ConnectionFacts, path: str, body: Mapping[str, Any], *, seconds: float) -> httpx2.Response:
    client = _client(os.getpid(), connection.base_url, connection.key, tuple(connection.headers.items()))
    try:
        with Allowance(seconds=seconds, max_bytes=MAX_BYTES):
            # The client's own models cost more time than all the rest and know fewer endpoints than we meet.
            return client.post(path, cast_to=httpx2.Response, body=body, options=_options(connection))
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


def _completion(
    connection: ConnectionFacts, answer: Any, asked: str, latency_ms: float, *, reads_tool: bool
) -> Completion:
    billed = billed_of(connection, answer)
    text, finish_reason = text_of(answer, billed, reads_tool=reads_tool)
    named = answer.get("model")
    return Completion(
        text=text,
        model=(printable(named, 200) if isinstance(named, str) else "") or asked,
        finish_reason=finish_reason,
        input_tokens=billed.input_tokens,
        output_tokens=billed.output_tokens,
        cost=billed.cost,
        latency_ms=latency_ms,
    )


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000

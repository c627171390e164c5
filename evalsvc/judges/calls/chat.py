"""One call to an OpenAI-compatible endpoint: one attempt, one deadline, and every way to fail has a name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from evalsvc.judges import failures
from evalsvc.judges.calls.errors import printable, read_error_document
from evalsvc.judges.calls.estimates import ExpectedUsage, expected_usage
from evalsvc.judges.calls.protocols import build_request, to_chat_answer
from evalsvc.judges.calls.responses import find_error, read_document, read_logprobs, read_text, read_usage
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed, UnusableConnection
from evalsvc.judges.ledger.limits import feed_back_429

__all__ = ["CallFailed", "Completion", "complete", "post"]
T = TypeVar("T")


class Send(Protocol):
    """What sends; see `sending.send`."""

    async def __call__(
        self, connection: ConnectionFacts, path: str, body: Mapping[str, object], *, seconds: float
    ) -> bytes:
        """Return what is answered."""
        ...


_loaded: Send | None = None
RESERVED = frozenset(("model", "messages", "stream", "stream_options", "n"))
"""Parameters that a caller cannot set: one answer, at once, to what the other arguments say."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The model's response.

    `cost` is None if prices are unknown; `finish_reason` `length` means that `text` was truncated. `logprobs` is the
    endpoint's unmodified value. `is_estimated`: the endpoint reported no usage, so tokens and cost are estimates;
    `usage_form` says how it reports usage. `reasoning_tokens` are part of the output tokens. `thinking` is what the
    endpoint sent in a separate field. `tool_calls` are in the form of Chat Completions.
    """

    text: str
    model: str
    finish_reason: str | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    latency_ms: float
    is_estimated: bool = False
    logprobs: object = field(default=None, compare=False, repr=False)
    thinking: str = field(default="", repr=False)
    reasoning_tokens: int = 0
    tool_calls: tuple[Mapping[str, object], ...] = ()
    usage_form: str = field(default="", compare=False)


async def complete(
    connection: ConnectionFacts,
    *,
    messages: Sequence[Mapping[str, object]],
    model: str | None = None,
    parameters: Mapping[str, object] | None = None,
    deadline_seconds: float | None = None,
    reads_tool: bool = False,
) -> Completion:
    """Make one attempt and return the completion, or raise CallFailed.

    The deadline is the connection's timeout or `deadline_seconds`, whichever is sooner, and covers the complete call.
    The call is not counted here: callers run `limits.acquire_call` before and `limits.release_call` after
    (`counted.complete_within_limits` does both); a 429 is shared with all workers. With `reads_tool` the arguments of a
    tool call are the text, if the model made one; otherwise calls are an answer where the parameters have `tools`.
    """
    requested_model = model or connection.model
    require_answering(connection)
    if set(parameters or {}) & RESERVED:
        names = ", ".join(sorted(set(parameters or {}) & RESERVED))
        raise CallFailed(failures.NOT_CONFIGURED, f"The parameters {names} are not for callers to set.")
    path, body = build_request(connection, requested_model, messages, parameters or {})
    seconds = min(connection.timeout_seconds, deadline_seconds or connection.timeout_seconds)
    expected = expected_usage(messages, parameters)
    takes_calls = bool((parameters or {}).get("tools")) and not reads_tool
    try:
        return await post(
            connection,
            path,
            body,
            limited_as=requested_model,
            seconds=seconds,
            read=lambda answer, ms: _completion(
                connection,
                to_chat_answer(answer),
                requested_model,
                expected,
                ms,
                reads_tool=reads_tool,
                takes_calls=takes_calls,
            ),
        )
    except CallFailed as failed:
        charge_unread(connection, failed, expected)
        raise


def require_answering(connection: ConnectionFacts) -> None:
    """Raise UnusableConnection for a classifier."""
    if connection.is_classifier:
        raise UnusableConnection(f"The connection {connection.name} is to a classifier, which answers no questions.")


def charge_unread(connection: ConnectionFacts, failed: CallFailed, expected: ExpectedUsage) -> None:
    """Charge what was sent for an answer that cannot be read at all: the endpoint has worked, and may bill it."""
    if failed.code != failures.BAD_OUTPUT or failed.input_tokens:
        return
    failed.input_tokens, failed.is_estimated = expected.input_tokens, True
    failed.cost = connection.cost_of(input_tokens=expected.input_tokens, output_tokens=0)


def load() -> Send:
    """Import the library: a second and 35 MB, which a process that `make up` forks has already, and shares."""
    global _loaded
    from evalsvc.judges.calls.transport import send

    _loaded = send
    return send


async def post(
    connection: ConnectionFacts,
    path: str,
    body: Mapping[str, object],
    *,
    limited_as: str,
    seconds: float,
    read: Callable[[Mapping[str, object], float], T],
    list_name: str = "",
) -> T:
    """Post JSON to a page of the endpoint once; return what `read` makes of the answer and the milliseconds it took.

    With `list_name` an answer may be a list, which `read` finds under this name. Raises CallFailed, as `read` may. A
    429 stops all workers for what `limited_as` names, as a rule the model.
    """
    began = time.perf_counter()
    try:
        send = _loaded or await asyncio.to_thread(load)
        content = await send(connection, path, body, seconds=seconds)
        answer = read_document(content, list_name)
        error = find_error(answer)
        if error and (failed := read_error_document(error, secrets=connection.secrets)):
            raise failed
        return read(answer, _ms_since(began))
    except CallFailed as failed:
        failed.latency_ms = _ms_since(began)
        if failed.code == failures.RATE_LIMITED:
            failed.retry_after_seconds = await feed_back_429(connection, limited_as, failed.retry_after_seconds)
        raise


def _completion(
    connection: ConnectionFacts,
    answer: Mapping[str, object],
    asked: str,
    expected: ExpectedUsage,
    latency_ms: float,
    *,
    reads_tool: bool,
    takes_calls: bool,
) -> Completion:
    usage = read_usage(connection, answer, expected)
    read = read_text(answer, usage, reads_tool=reads_tool, takes_calls=takes_calls)
    reported_model = answer.get("model")
    return Completion(
        text=read.text,
        model=(printable(reported_model, 200) if isinstance(reported_model, str) else "") or asked,
        finish_reason=read.finish_reason,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        latency_ms=latency_ms,
        is_estimated=usage.is_estimated,
        logprobs=read_logprobs(answer),
        thinking=read.thinking,
        reasoning_tokens=usage.reasoning_tokens,
        tool_calls=read.tool_calls,
        usage_form=usage.form,
    )


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000

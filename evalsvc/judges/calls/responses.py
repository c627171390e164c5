"""Parse an endpoint's response: its text, its usage, and the failure that an error maps to."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from evalsvc.judges import failures
from evalsvc.judges.calls.estimates import ExpectedUsage, text_tokens
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.outbound.failures import OutboundFailed

if TYPE_CHECKING:
    import openai

# Out of money, and not out of breath: asking again later today does not help.
SPENT = frozenset(("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"))
# The endpoint will not answer this text; another one it may.
NOT_THIS_TEXT = frozenset(
    ("context_length_exceeded", "string_above_max_length", "content_policy_violation", "content_filter")
)
MAX_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """Usage of a call: as reported, else an estimate if one was passed, else zero."""

    input_tokens: int
    output_tokens: int
    cost: float | None
    is_estimated: bool = False


def read_usage(
    connection: ConnectionFacts, answer: Mapping[str, object], expected: ExpectedUsage | None = None
) -> ReportedUsage:
    """Return the usage of a response. It is read before anything else, since an unusable response is billed as well.

    A count that is missing or implausibly 0 is replaced by an estimate: an endpoint that reports nothing would never
    use up its budget.
    """
    usage = answer.get("usage")
    read = usage if isinstance(usage, dict) else {}
    input_tokens, output_tokens = _count(read.get("prompt_tokens")), _count(read.get("completion_tokens"))
    least_sent, least_written = (input_tokens, output_tokens) if expected is None else _estimate_usage(answer, expected)
    used = (input_tokens or least_sent, output_tokens or least_written)
    cost = connection.cost_of(input_tokens=used[0], output_tokens=used[1])
    return ReportedUsage(*used, cost, is_estimated=used != (input_tokens, output_tokens))


def _estimate_usage(answer: Mapping[str, object], expected: ExpectedUsage) -> tuple[int, int]:
    """Estimate what was sent and written; an answer that was cut off has as much as it may have."""
    choice = _first_choice(answer)
    if choice is None:
        return expected.input_tokens, 0
    if choice.get("finish_reason") == "length":
        return expected.input_tokens, expected.longest_answer
    message = choice.get("message")
    texts = [*_iter_output_texts(message)] if isinstance(message, dict) else []
    return expected.input_tokens, sum(text_tokens(text) + 1 for text in texts)


def _iter_output_texts(message: dict[str, Any]) -> Iterator[str]:
    texts = (*(message.get(name) for name in ("content", "refusal", "reasoning_content")), _tool_arguments(message))
    yield from (text for text in texts if isinstance(text, str) and text)


def _first_choice(answer: Mapping[str, object]) -> dict[str, Any] | None:
    choices = answer.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS else 0


def read_text(
    answer: Mapping[str, object], usage: ReportedUsage, *, reads_tool: bool = False
) -> tuple[str, str | None]:
    """Return the text and why it ends; raises CallFailed `refused` or `bad_output`, with what was used.

    With `reads_tool` the arguments of a tool call are the text, where the model called one.
    """
    choice = _first_choice(answer)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise _failure_after(failures.BAD_OUTPUT, "The endpoint's answer has no message.", usage)
    reason, text = choice.get("finish_reason"), message.get("content")
    if reads_tool:
        text = _tool_arguments(message) or text
    if message.get("refusal") or reason == "content_filter":
        raise _failure_after(failures.REFUSED, "The model refused to answer.", usage)
    if not isinstance(text, str) or not text.strip():
        cut = " before its token limit cut it off" if reason == "length" else ""
        failed = _failure_after(failures.BAD_OUTPUT, f"The model wrote nothing{cut}.", usage)
        failed.was_cut = reason == "length"
        raise failed
    return text, printable(reason, 50) if isinstance(reason, str) else None


def read_logprobs(answer: Mapping[str, object]) -> object:
    """Return the log probabilities of an answer's tokens as they came, if any did."""
    choice = _first_choice(answer)
    return None if choice is None else choice.get("logprobs")


def _tool_arguments(message: dict[str, Any]) -> str | None:
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls and isinstance(calls[0], dict) else {}
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments if isinstance(arguments, str) else None


def _failure_after(code: str, detail: str, usage: ReportedUsage) -> CallFailed:
    return CallFailed(
        code,
        detail,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        is_estimated=usage.is_estimated,
    )


def from_outbound(exc: OutboundFailed) -> CallFailed:
    """Name a call that brought no answer."""
    match exc.code:
        case OutboundFailed.TIMEOUT:
            return CallFailed(failures.TIMEOUT, exc.detail, is_transient=True)
        case OutboundFailed.CONNECTION:
            return CallFailed(failures.CONNECTION, exc.detail, is_transient=True)
        case OutboundFailed.TOO_LARGE | OutboundFailed.BAD_ANSWER:
            return CallFailed(failures.BAD_OUTPUT, exc.detail)
        case _:
            return CallFailed(failures.NOT_CONFIGURED, exc.detail)


def from_status(exc: openai.APIStatusError, *, secrets: Collection[str]) -> CallFailed:
    """Name an answer with an error status; of the endpoint's own words, none of the secrets is passed on."""
    status, provider_code = exc.status_code, _get_error_code(exc)
    if provider_code in SPENT or status == 402:
        detail = "The endpoint says that its own quota for this key is spent."
        return CallFailed(failures.BUDGET_EXHAUSTED, detail, status=status, provider_code=provider_code)
    if status == 429:
        detail = "The endpoint says that it is called too often."
        return CallFailed(
            failures.RATE_LIMITED,
            detail,
            is_transient=True,
            retry_after_seconds=parse_retry_after(exc.response.headers.get("retry-after")),
            status=status,
            provider_code=provider_code,
        )
    code, detail, is_transient = _classify_status(status, provider_code)
    return CallFailed(
        code, detail + _message(exc, secrets), is_transient=is_transient, status=status, provider_code=provider_code
    )


def _classify_status(status: int, said: str | None) -> tuple[str, str, bool]:
    if status in (408, 504):
        return failures.TIMEOUT, f"The endpoint ran out of time itself (HTTP {status}).", True
    if status in (409, 425) or status >= 500:
        return failures.CONNECTION, f"The endpoint is in trouble (HTTP {status}).", True
    if 300 <= status < 400:
        return failures.NOT_CONFIGURED, f"The endpoint redirects (HTTP {status}), which is not followed.", False
    if status in (401, 403):
        return failures.NOT_CONFIGURED, f"The endpoint does not accept the key (HTTP {status}).", False
    if status == 413 or said in NOT_THIS_TEXT:
        return failures.REFUSED, f"The endpoint does not take this text (HTTP {status}).", False
    return failures.NOT_CONFIGURED, f"The endpoint does not take this request (HTTP {status}).", False


def _get_error_code(exc: openai.APIStatusError) -> str | None:
    return printable(exc.code, 100) if exc.code else None


def _message(exc: openai.APIStatusError, secrets: Collection[str]) -> str:
    """Return the endpoint's own sentence, short; nothing of a 401, which likes to repeat the key in part."""
    body = exc.body if isinstance(exc.body, dict) else {}
    text = body.get("message")
    if exc.status_code in (401, 403) or not isinstance(text, str):
        return ""
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    text = printable(" ".join(text.split()), 300)
    return f" It says: {text}" if text else ""


def printable(text: str, length: int) -> str:
    """Return a stranger's short text without what cannot be shown or stored."""
    return "".join(char for char in text[: 2 * length] if char.isprintable())[:length]


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Read a Retry-After header, in seconds or as a date; None when it is missing or makes no sense."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None

"""Parse an endpoint's response: its text, its usage, and the failure that an error maps to."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from evalsvc.judges import failures
from evalsvc.judges.calls import endings
from evalsvc.judges.calls.endings import name_ending, read_message
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
FILTERED = frozenset(("content_policy_violation", "content_filter"))
UNKNOWN_STATUS = 502
_STATUS_OF = {
    **dict.fromkeys(SPENT, 402),
    **dict.fromkeys(NOT_THIS_TEXT, 400),
    **dict.fromkeys(("invalid_api_key", "authentication_error", "permission_error"), 401),
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", "rate_limited"), 429),
    **{"invalid_request_error": 400, "not_found_error": 404, "model_not_found": 404, "timeout": 504},
}
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
    if name_ending(choice.get("finish_reason")) == endings.LENGTH:
        return expected.input_tokens, expected.longest_answer
    message = choice.get("message")
    texts = [*_iter_output_texts(message)] if isinstance(message, dict) else []
    return expected.input_tokens, sum(text_tokens(text) + 1 for text in texts)


def _iter_output_texts(message: dict[str, Any]) -> Iterator[str]:
    text, thinking, _ = read_message(message)
    texts = (text, thinking, message.get("refusal"), _tool_arguments(message))
    yield from (text for text in texts if isinstance(text, str) and text)


def _first_choice(answer: Mapping[str, object]) -> dict[str, Any] | None:
    choices = answer.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS else 0


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The text of an answer, how it ends in the endpoint's own words, and the thinking that came in separate fields."""

    text: str
    finish_reason: str | None
    thinking: str = ""


def read_text(answer: Mapping[str, object], usage: ReportedUsage, *, reads_tool: bool = False) -> AnswerText:
    """Return the text and why it ends; raises CallFailed `refused` or `bad_output`, with what was used.

    With `reads_tool` the arguments of a tool call are the text, where the model called one.
    """
    choice = _first_choice(answer)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise _failure_after(failures.BAD_OUTPUT, "The endpoint's answer has no message.", usage)
    reason, (text, thinking, is_refusal) = choice.get("finish_reason"), read_message(message)
    if reads_tool:
        text = _tool_arguments(message) or text
    ending = name_ending(reason)
    if is_refusal or ending in (endings.CONTENT_FILTER, endings.REFUSAL):
        kind = ending if ending == endings.CONTENT_FILTER else endings.REFUSAL
        raise _failure_after(failures.REFUSED, "The model refused to answer.", usage, ending=kind)
    if not text.strip():
        raise _nothing_written(message, ending, thinking, usage)
    return AnswerText(text, printable(reason, 50) if isinstance(reason, str) else None, thinking)


def _nothing_written(message: Mapping[str, Any], ending: str, thinking: str, usage: ReportedUsage) -> CallFailed:
    """Return the failure of an answer without text, named by what it has instead."""
    if ending == endings.LENGTH:
        detail = "The model wrote nothing before its token limit cut it off."
    elif message.get("tool_calls"):
        ending, detail = endings.TOOL_CALLS, "The model called a tool and wrote nothing."
    elif thinking:
        ending, detail = endings.THINKING_ONLY, "The model wrote nothing after its thinking."
    else:
        ending, detail = endings.EMPTY, "The model wrote nothing."
    return _failure_after(failures.BAD_OUTPUT, detail, usage, ending=ending, thinking=thinking)


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


def _failure_after(
    code: str, detail: str, usage: ReportedUsage, *, ending: str = endings.ERROR, thinking: str = ""
) -> CallFailed:
    return CallFailed(
        code,
        detail,
        ending=ending,
        thinking=thinking,
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
    body = exc.body if isinstance(exc.body, dict) else {}
    retry_after = parse_retry_after(exc.response.headers.get("retry-after"))
    provider_code = printable(exc.code, 100) if exc.code else None
    return _name_error(exc.status_code, provider_code, body.get("message"), secrets, retry_after)


def find_error(answer: Mapping[str, object], *, secrets: Collection[str]) -> CallFailed | None:
    """Return the failure that an answer with status 200 reports in its body in place of a result; None if none.

    Routers answer 200 before they know how the provider behind them will. An error without a status may pass.
    """
    choice = _first_choice(answer)
    error = answer.get("error") if choice is None else choice.get("error")
    if answer.get("object") == "error" and not error:
        error = answer
    if not error or "results" in answer or (choice is not None and _has_text(choice)):
        return None
    fields = error if isinstance(error, dict) else {"message": error}
    codes = [fields.get(name) for name in ("code", "status", "status_code", "type")]
    words = [printable(code, 100) for code in codes if isinstance(code, str)]
    statuses = [status for code in codes if (status := _read_status(code))]
    status = next(iter(statuses), None) or next((_STATUS_OF[w] for w in words if w in _STATUS_OF), UNKNOWN_STATUS)
    return _name_error(status, next(iter(words), None), fields.get("message"), secrets, None)


def _has_text(choice: Mapping[str, Any]) -> bool:
    message = choice.get("message")
    return isinstance(message, dict) and bool(read_message(message)[0].strip())


def _read_status(code: object) -> int | None:
    if isinstance(code, str) and code.isascii() and code.isdecimal() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599 else None


def _name_error(
    status: int, provider_code: str | None, message: object, secrets: Collection[str], retry_after: float | None
) -> CallFailed:
    if provider_code in SPENT or status == 402:
        detail = "The endpoint says that its own quota for this key is spent."
        return CallFailed(failures.BUDGET_EXHAUSTED, detail, status=status, provider_code=provider_code)
    if status == 429:
        detail = "The endpoint says that it is called too often."
        return CallFailed(
            failures.RATE_LIMITED,
            detail,
            is_transient=True,
            retry_after_seconds=retry_after,
            status=status,
            provider_code=provider_code,
        )
    code, detail, is_transient = _classify_status(status, provider_code)
    ending = endings.CONTENT_FILTER if provider_code in FILTERED else endings.ERROR
    detail += _message(status, message, secrets)
    return CallFailed(
        code, detail, is_transient=is_transient, status=status, provider_code=provider_code, ending=ending
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


def _message(status: int, text: object, secrets: Collection[str]) -> str:
    """Return the endpoint's own sentence, short; nothing of a 401, which likes to repeat the key in part."""
    if status in (401, 403) or not isinstance(text, str):
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

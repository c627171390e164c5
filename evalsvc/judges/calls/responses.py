"""Parse an endpoint's response: its text, its usage, and the failure that an error maps to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.judges import failures
from evalsvc.judges.calls import endings
from evalsvc.judges.calls.endings import name_ending, read_message
from evalsvc.judges.calls.errors import printable, read_error_document
from evalsvc.judges.calls.estimates import ExpectedUsage, text_tokens
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.outbound.failures import OutboundFailed

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


def find_error(answer: Mapping[str, Any], *, secrets: Collection[str]) -> CallFailed | None:
    """Return the failure that an answer with status 200 reports in its body in place of a result; None if none.

    Routers answer 200 before they know how the provider behind them will.
    """
    if "results" in answer:
        return None
    choice = _first_choice(answer)
    if choice is None:
        is_error = bool(answer.get("error")) or answer.get("object") == "error"
        return read_error_document(answer, secrets=secrets) if is_error else None
    error = choice.get("error")
    return read_error_document({"error": error}, secrets=secrets) if error else None

"""Parse an endpoint's response: its text, its usage, and the failure that an error maps to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evalsvc.judges import failures
from evalsvc.judges.calls import endings
from evalsvc.judges.calls.endings import name_ending, read_message
from evalsvc.judges.calls.errors import BOM, printable, read_page
from evalsvc.judges.calls.estimates import ExpectedUsage, text_tokens
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.outbound.failures import OutboundFailed

MAX_TOKENS = 2**31 - 1
SENT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count", "inputTokens")
WRITTEN = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count", "outputTokens")
TOTAL = ("total_tokens", "totalTokenCount", "totalTokens")
DETAILS = ("completion_tokens_details", "output_tokens_details")
THOUGHT = ("reasoning_tokens", "thoughtsTokenCount")
FROM_CACHE = (
    *("cache_read_input_tokens", "cache_creation_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
)
"""What endpoints that do not write `prompt_tokens` leave out of the tokens sent."""
UNNAMED_ERRORS = ("errors", "detail", "message", "base_resp", "code")
"""Fields of an answer without a result that tell an error."""
REPORTED, HIDDEN, OTHER_NAMES, ESTIMATED = "reported", "hidden_thinking", "other_names", "estimated"
"""How an endpoint reports usage: as OpenAI does; with thinking only in the total; under other names; not at all."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """Usage of a call: as reported, else an estimate if one was passed, else zero.

    `reasoning_tokens` are those of the output that the model spent on thinking, as far as the endpoint tells.
    """

    input_tokens: int
    output_tokens: int
    cost: float | None
    is_estimated: bool = False
    reasoning_tokens: int = 0
    form: str = REPORTED


def read_usage(
    connection: ConnectionFacts, answer: Mapping[str, Any], expected: ExpectedUsage | None = None
) -> ReportedUsage:
    """Return the usage of a response. It is read before anything else, since an unusable response is billed as well.

    A count that is missing or implausibly 0 is replaced by an estimate: an endpoint that reports nothing would never
    use up its budget. A total above what was sent and written holds hidden thinking, which is billed as output.
    """
    usage = _find_usage(answer)
    sent, written, total = _count_first(usage, SENT), _count_first(usage, WRITTEN), _count_first(usage, TOTAL)
    if "prompt_tokens" not in usage:
        sent += sum(_count(usage.get(name)) for name in FROM_CACHE)
    hidden = max(0, total - sent - written) if sent else 0
    reasoning = _read_reasoning(usage) or hidden
    # Reasoning above what was written stands beside it, without a total.
    output = written + hidden if reasoning <= written + hidden else written + hidden + reasoning
    form = HIDDEN if hidden else REPORTED if "prompt_tokens" in usage else OTHER_NAMES
    used = (sent, output)
    if expected is not None and not (sent and output):
        least_sent, least_written = _estimate_usage(answer, expected)
        input_tokens = sent or (min(least_sent, total) if total else least_sent)
        used = (input_tokens, max(output or least_written, total - input_tokens))
    cost = connection.cost_of(input_tokens=used[0], output_tokens=used[1])
    is_estimated = used != (sent, output)
    return ReportedUsage(*used, cost, is_estimated, reasoning, ESTIMATED if is_estimated else form)


def _find_usage(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return where an answer tells its usage: Moonshot does in the choice, Ollama's own API at the top."""
    usage = answer.get("usage")
    if isinstance(usage, dict) and usage:
        return usage
    places = ((find_choice(answer) or {}).get("usage"), answer.get("usageMetadata"))
    return next((place for place in places if isinstance(place, dict) and place), answer)


def _count_first(usage: Mapping[str, Any], names: Sequence[str]) -> int:
    for name in names:
        if name in usage and (count := _count(usage[name])):
            return count
    return 0


def _read_reasoning(usage: Mapping[str, Any]) -> int:
    details = next((part for name in DETAILS if isinstance(part := usage.get(name), dict)), {})
    return _count_first(details, THOUGHT) or _count_first(usage, THOUGHT)


def _estimate_usage(answer: Mapping[str, Any], expected: ExpectedUsage) -> tuple[int, int]:
    """Estimate what was sent and written; an answer that was cut off has as much as it may have."""
    choice = find_choice(answer)
    if choice is None:
        return expected.input_tokens, 0
    if name_ending(choice.get("finish_reason")) == endings.LENGTH:
        return expected.input_tokens, expected.longest_answer
    return expected.input_tokens, sum(text_tokens(text) + 1 for text in _iter_output_texts(_message(choice)))


def _iter_output_texts(message: Mapping[str, Any]) -> Iterator[str]:
    text, thinking, _ = read_message(message)
    texts = (text, thinking, message.get("refusal"), _tool_arguments(message))
    yield from (text for text in texts if isinstance(text, str) and text)


def find_choice(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the choice of an answer, the first that has a text; None if there is none.

    The native answers of Anthropic and Ollama are read as chat completions.
    """
    choices = answer.get("choices")
    if isinstance(choices, list):
        if len(choices) == 1:
            return choices[0] if isinstance(choices[0], dict) else None
        found = [choice for choice in choices if isinstance(choice, dict)]
        return next(filter(_has_text, found), found[0] if found else None)
    message, content = answer.get("message"), answer.get("content")
    if isinstance(message, dict) and "content" in message:
        return {"message": message, "finish_reason": answer.get("done_reason")}
    if isinstance(content, list) and "stop_reason" in answer:
        tools = [part for part in content if isinstance(part, dict) and part.get("type") == "tool_use"]
        calls = [{"function": {"name": tool.get("name"), "arguments": tool.get("input")}} for tool in tools]
        return {"message": {"content": content, "tool_calls": calls}, "finish_reason": answer.get("stop_reason")}
    return None


def _message(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of a choice; some proxies send it as a stream's piece or as a bare text."""
    for name in ("message", "delta"):
        if isinstance(choice.get(name), dict):
            return choice[name]
    return {"content": choice["text"]} if isinstance(choice.get("text"), str) else {}


def _has_text(choice: Mapping[str, Any]) -> bool:
    return bool(read_message(_message(choice))[0].strip())


def _count(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS else 0


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The text of an answer, how it ends in the endpoint's own words, and the thinking that came in separate fields.

    `tool_calls` are in the form of Chat Completions.
    """

    text: str
    finish_reason: str | None
    thinking: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()


def read_text(
    answer: Mapping[str, Any], usage: ReportedUsage, *, reads_tool: bool = False, takes_calls: bool = False
) -> AnswerText:
    """Return the text and why it ends; raises CallFailed `refused` or `bad_output`, with what was used.

    With `reads_tool` the arguments of a tool call are the text, where the model called one. With `takes_calls` the
    calls are an answer themselves, with or without a text.
    """
    choice = find_choice(answer)
    message = _message(choice) if choice else {}
    reason = choice.get("finish_reason") if choice else None
    ending = name_ending(reason)
    if not message and ending != endings.CONTENT_FILTER:
        raise _failure_after(failures.BAD_OUTPUT, "The endpoint's answer has no message.", usage)
    text, thinking, is_refusal = read_message(message)
    if reads_tool:
        text = _tool_arguments(message) or text
    if is_refusal or ending in (endings.CONTENT_FILTER, endings.REFUSAL):
        kind = ending if ending == endings.CONTENT_FILTER else endings.REFUSAL
        raise _failure_after(failures.REFUSED, "The model refused to answer.", usage, ending=kind)
    calls = tuple(_iter_calls(message)) if takes_calls else ()
    if calls and ending != endings.LENGTH:
        return AnswerText(text, _print_reason(reason) or endings.TOOL_CALLS, thinking, calls)
    if not text.strip() and ending != endings.LENGTH and _is_object(thinking):
        # A server that takes a whole answer for thinking, because its model did not think.
        text, thinking = thinking, ""
    if not text.strip():
        raise _nothing_written(message, ending, thinking, usage)
    return AnswerText(text, _print_reason(reason), thinking)


def _print_reason(reason: object) -> str | None:
    return printable(reason, 50) if isinstance(reason, str) else None


def _is_object(text: str) -> bool:
    """Return whether a text is one JSON object and nothing else."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


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


def read_logprobs(answer: Mapping[str, Any]) -> object:
    """Return the log probabilities of an answer's tokens as they came, if any did."""
    choice = find_choice(answer)
    return None if choice is None else choice.get("logprobs")


def _tool_arguments(message: Mapping[str, Any]) -> str:
    """Return the arguments of the tools that a model called, each once: several are more than one answer."""
    calls = message.get("tool_calls")
    called = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions = [call.get("function", call) for call in called] or [message.get("function_call")]
    arguments = [function.get("arguments") for function in functions if isinstance(function, dict)]
    texts = (orjson.dumps(part).decode() if isinstance(part, dict) else part for part in arguments)
    return "\n".join(dict.fromkeys(text for text in texts if isinstance(text, str)))


def _iter_calls(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the calls of tools in the form of Chat Completions, where arguments are JSON in a text."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
        called = {"name": function["name"], "arguments": text}
        yield {"id": str(call.get("id") or ""), "type": "function", "function": called}


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
        reasoning_tokens=usage.reasoning_tokens,
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


def find_error(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the part of an answer with status 200 that reports an error in place of a result; None if none does.

    Routers answer 200 before they know how the provider behind them will.
    """
    if "results" in answer:
        return None
    choice, error = find_choice(answer), answer.get("error")
    if choice is not None:
        error = choice.get("error") or (error if error and not _has_text(choice) else None)
        return {"error": error} if error else None
    if error or answer.get("object") == "error":
        return answer
    named = {name: answer[name] for name in UNNAMED_ERRORS if answer.get(name)}
    return named if set(named) - {"code"} else None


def read_document(content: bytes, list_name: str = "") -> dict[str, Any]:
    """Return the JSON object of an answer. Raises CallFailed `bad_output`, which says what is there instead.

    With `list_name` a list is taken as well, as an object that has it under this name.
    A byte order mark, numbers that are not finite and bytes that are no text are taken: some servers write them.
    """
    try:
        document = orjson.loads(content.removeprefix(BOM))
    except orjson.JSONDecodeError:
        document = _read_loosely(content)
    if list_name and isinstance(document, list):
        return {list_name: document}
    if not isinstance(document, dict):
        raise CallFailed(failures.BAD_OUTPUT, "The endpoint's answer is not a JSON object.")
    return document


def _read_loosely(content: bytes) -> object:
    if page := read_page(content):
        raise CallFailed(failures.BAD_OUTPUT, f"The endpoint answered with {page}, not with JSON.")
    try:
        return json.loads(content.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        raise CallFailed(failures.BAD_OUTPUT, "The endpoint's answer is not JSON.") from None

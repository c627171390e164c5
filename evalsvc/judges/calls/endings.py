"""How a model's answer ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from evalsvc.thoughts import split_thinking

STOP, LENGTH, CONTENT_FILTER, REFUSAL = "stop", "length", "content_filter", "refusal"
TOOL_CALLS, THINKING_ONLY, EMPTY, ERROR = "tool_calls", "thinking_only", "empty", "error"
ENDINGS = (STOP, LENGTH, CONTENT_FILTER, REFUSAL, TOOL_CALLS, THINKING_ONLY, EMPTY, ERROR)
"""Each output has one of these."""
FAILURES = {
    LENGTH: "The answer was cut off at its token limit.",
    THINKING_ONLY: "The model wrote nothing after its thinking.",
    CONTENT_FILTER: "A content filter ended the answer.",
    REFUSAL: "The model refused to answer.",
}
"""Endings after which there is no answer, whatever text there is, and why."""
MAX_TRUNCATED = 0.02
"""Share of answers that were cut off at their token limit, above which there is a warning."""
TRUNCATED = "truncated"
REASONS = ("finish_reason", "stop_reason", "done_reason")
_NAMES = {
    **{ending: ending for ending in ENDINGS},
    **dict.fromkeys(("max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"), LENGTH),
    **dict.fromkeys(
        ("safety", "recitation", "blocklist", "prohibited_content", "spii", "guardrail_intervened"), CONTENT_FILTER
    ),
    **dict.fromkeys(("content_filtered", "image_safety"), CONTENT_FILTER),
    **dict.fromkeys(("refused",), REFUSAL),
    **dict.fromkeys(("tool_use", "tool_call", "function_call"), TOOL_CALLS),
}


def name_ending(reason: object) -> str:
    """Return the ending that an endpoint's finish reason stands for; `stop` for one that is unknown or missing."""
    # Google's compatible page writes `content_filter: PROHIBITED_CONTENT`.
    return _NAMES.get(reason.partition(":")[0].strip().lower(), STOP) if isinstance(reason, str) else STOP


def find_reason(output: object) -> str | None:
    """Return the finish reason within an output: of a chat completion, of a message, or of the last of several."""
    if isinstance(output, list):
        return find_reason(output[-1]) if output and isinstance(output[-1], Mapping) else None
    if not isinstance(output, Mapping):
        return None
    if isinstance(choices := output.get("choices"), list) and choices:
        message = choices[0].get("message") if isinstance(choices[0], Mapping) else None
        is_refusal = isinstance(message, Mapping) and bool(message.get("refusal"))
        return REFUSAL if is_refusal else find_reason(choices[0])
    if not {"role", "content", "message"} & output.keys():
        return None  # an answer that is JSON of its own
    return next((reason for name in REASONS if isinstance(reason := output.get(name), str)), None)


@dataclass(frozen=True, slots=True)
class ClosedAnswer:
    """An answer without its thinking, and how it ended. The text is null where there is none."""

    text: str | None
    thinking: str
    ending: str


def close_text(text: str | None, reason: object = None, *, thinking: str = "", strips_thinking: bool) -> ClosedAnswer:
    """Return the answer in a text, by the finish reason that came with it and the thinking that came beside it."""
    answer, inner = split_thinking(text) if text is not None and strips_thinking else (text, "")
    thoughts, ending = "\n".join(filter(None, (thinking, inner))), name_ending(reason)
    if ending == STOP and not (answer and answer.strip()):
        ending = THINKING_ONLY if thoughts else EMPTY
    return ClosedAnswer(answer, thoughts, ending)


def is_truncated(endings: Mapping[str, int]) -> bool:
    """Return whether more of the answers were cut off than there may be without a warning."""
    return endings.get(LENGTH, 0) > MAX_TRUNCATED * sum(endings.values())


def describe_endings(endings: Mapping[str, int]) -> str:
    """Return the counts of all endings but `stop` in words, such as `3 length, 1 refusal`."""
    return ", ".join(f"{n} {ending}" for ending, n in endings.items() if ending != STOP)


def read_message(message: Mapping[str, Any]) -> tuple[str, str, bool]:
    """Return the text of a chat message, the thinking in its own fields or parts, and whether it is a refusal."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts: list[str] = []
    thoughts = [message.get(name) for name in ("reasoning_content", "reasoning", "thinking")]
    is_refusal = bool(message.get("refusal"))
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            kind = part.get("type")
            is_refusal = is_refusal or kind == "refusal"
            if kind in ("thinking", "reasoning"):
                thoughts.append(_join(part.get("thinking") or part.get("text") or part.get("summary")))
            elif kind in ("text", "output_text"):
                texts.append(_join(part.get("text")))
            elif kind is None:
                # Some proxies parse the JSON that a model wrote.
                texts.append(_join(part["text"]) if "text" in part else orjson.dumps(part).decode())
    # Some endpoints send the same thinking under two names.
    distinct = dict.fromkeys(thought for thought in map(_join, thoughts) if thought)
    return "".join(texts), "\n".join(distinct), is_refusal


def _join(value: Any) -> str:
    """Return a text that comes as it is, as `{"value": …}` or `{"text": …}`, or as a list of these."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _join(value.get("text") or value.get("value"))
    return "".join(map(_join, value)) if isinstance(value, list) else ""

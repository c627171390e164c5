"""How a model's answer ends, and where its thinking ends and the answer begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

STOP, LENGTH, CONTENT_FILTER, REFUSAL = "stop", "length", "content_filter", "refusal"
TOOL_CALLS, THINKING_ONLY, EMPTY, ERROR = "tool_calls", "thinking_only", "empty", "error"
ENDINGS = (STOP, LENGTH, CONTENT_FILTER, REFUSAL, TOOL_CALLS, THINKING_ONLY, EMPTY, ERROR)
"""Each output has one of these."""
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
_block = re.compile(
    r"\s*(?:<(?P<tag>think|thinking|reasoning|thought)>|(?P<square>\[THINK\])|(?P<kimi>◁think▷))", re.IGNORECASE
)
# The chat templates of some models open the block themselves, so that the answer holds only its end.
_bare_end = re.compile(r"(?<![`'\"])</think>(?![`'\"])", re.IGNORECASE)


def name_ending(reason: object) -> str:
    """Return the ending that an endpoint's finish reason stands for; `stop` for one that is unknown or missing."""
    # Google's compatible page writes `content_filter: PROHIBITED_CONTENT`.
    return _NAMES.get(reason.partition(":")[0].strip().lower(), STOP) if isinstance(reason, str) else STOP


def split_thinking(text: str) -> tuple[str, str]:
    """Return the answer and the thinking before it, without their marks.

    Thinking is what stands in closed blocks at the beginning, such as `<think>…</think>`, or before a `</think>` that
    nothing opens. Marks within an answer are part of the answer. A text that opens a block and never closes it holds
    no answer.
    """
    rest = text
    parts: list[str] = []
    while match := _block.match(rest):
        found = _find_end(rest, match)
        if found is None:
            return "", "\n".join((*parts, rest[match.end() :].strip()))
        parts.append(rest[match.end() : found[0]].strip())
        rest = rest[found[1] :]
    if not parts and "</" in rest and rest.lstrip()[:1] not in ("{", "[") and (end := _bare_end.search(rest)):
        before = rest[: end.start()]
        if "<think>" not in before.lower():
            parts, rest = [before.strip()], rest[end.end() :]
    return (rest.strip(), "\n".join(parts)) if parts else (text, "")


def _find_end(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    """Return where the block ends: at the first closing mark that leaves none open, else at the last."""
    mark = opening[0].strip()
    closing = f"{mark[0]}/{mark[1:]}"
    n_open, end = 0, None
    for match in re.finditer(f"{re.escape(mark)}|{re.escape(closing)}", text, re.IGNORECASE):
        if match[0].lower() == mark.lower():
            n_open += 1
            continue
        n_open -= 1
        end = match.span()
        if n_open <= 0:
            break
    return end


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

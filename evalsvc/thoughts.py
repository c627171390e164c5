"""Where the thinking of a model ends and its answer begins. The client has this module too: it imports no package."""

from __future__ import annotations

import re

_block = re.compile(
    r"\s*(?:<(?P<tag>think|thinking|reasoning|thought)>|(?P<square>\[THINK\])|(?P<kimi>◁think▷))", re.IGNORECASE
)
# The chat templates of some models open the block themselves, so that the answer holds only its end.
_bare_end = re.compile(r"(?<![`'\"])</think>(?![`'\"])", re.IGNORECASE)


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

"""How a config's answer ends: what is thinking, what was cut, and what of it is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evalsvc.experiments.definition.kinds import FINISH_REASON, THINKING
from evalsvc.judges.calls.endings import (
    CONTENT_FILTER,
    EMPTY,
    LENGTH,
    REFUSAL,
    STOP,
    THINKING_ONLY,
    name_ending,
    split_thinking,
)
from evalsvc.judges.failures import BAD_OUTPUT, REFUSED

FAILURES = {
    LENGTH: (BAD_OUTPUT, "The answer was cut off at its token limit."),
    THINKING_ONLY: (BAD_OUTPUT, "The model wrote nothing after its thinking."),
    CONTENT_FILTER: (REFUSED, "A content filter ended the answer."),
    REFUSAL: (REFUSED, "The model refused to answer."),
}
"""Endings after which there is no answer, whatever text there is: what failed, and why."""


def close_answer(
    components: Mapping[str, Any], *, strips_thinking: bool, finish_reason: str | None = None
) -> dict[str, Any]:
    """Return the columns that the end of an answer decides: its components without thinking, its ending, its failure.

    The finish reason is that of the component of this name, unless it is passed. Stripped thinking is kept as a
    component. The ending is None for a stop.
    """
    kept = dict(components)
    answer, ending = kept.get(OUTPUT), name_ending(finish_reason or kept.get(FINISH_REASON))
    if isinstance(answer, str) and strips_thinking:
        answer, thinking = split_thinking(answer)
        if thinking or answer != kept[OUTPUT]:
            kept |= {OUTPUT: answer, THINKING: "\n".join(filter(None, (_text(kept.get(THINKING)), thinking)))}
    if ending == STOP and (answer is None or (isinstance(answer, str) and not answer.strip())):
        ending = THINKING_ONLY if kept.get(THINKING) else EMPTY
    columns: dict[str, Any] = {"output": kept, "ending": None if ending == STOP else ending}
    if ending in FAILURES:
        error_type, message = FAILURES[ending]
        columns |= {"status": "error", "error_type": error_type, "error_message": message}
    return columns


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

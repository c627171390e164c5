"""How a config's answer ends: what is thinking, what was cut, and what of it is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evalsvc.experiments.definition.kinds import FINISH_REASON, THINKING
from evalsvc.judges.calls.endings import CONTENT_FILTER, FAILURES, REFUSAL, STOP, close_text, find_reason, name_ending
from evalsvc.judges.failures import BAD_OUTPUT, REFUSED


def close_answer(
    components: Mapping[str, Any], *, strips_thinking: bool, finish_reason: str | None = None
) -> dict[str, Any]:
    """Return the columns that the end of an answer decides: its components without thinking, its ending, its failure.

    The finish reason is what is passed, else the component of this name, else that within the answer. Stripped
    thinking is kept as a component. The ending is None for a stop.
    """
    kept = dict(components)
    answer, reason = kept.get(OUTPUT), finish_reason or kept.get(FINISH_REASON)
    reason = reason or find_reason(answer)
    if answer is None or isinstance(answer, str):
        beside = kept.get(THINKING)
        thinking = beside if isinstance(beside, str) else ""
        closed = close_text(answer, reason, thinking=thinking, strips_thinking=strips_thinking)
        ending = closed.ending
        if closed.text != answer:
            kept |= {OUTPUT: closed.text, THINKING: closed.thinking}
    else:
        ending = name_ending(reason)
    columns: dict[str, Any] = {"output": kept, "ending": None if ending == STOP else ending}
    if ending in FAILURES:
        error_type = REFUSED if ending in (CONTENT_FILTER, REFUSAL) else BAD_OUTPUT
        columns |= {"status": "error", "error_type": error_type, "error_message": FAILURES[ending]}
    return columns

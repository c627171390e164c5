"""The calls of tools of a session whose texts were not captured, from the spans of the tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from evalsvc.telemetry.attributes import ARGUMENTS, RESULTS, find_value
from evalsvc.telemetry.sessions.messages import Document, parse, write_json
from evalsvc.telemetry.sessions.rows import FAILED, MODEL_KINDS, TOOL_KINDS, SpanRow
from evaluators.conversations.blocks import read_result
from evaluators.conversations.transcript import Unreadable

MISSING = {"missing": True}


@dataclass(slots=True)
class _Step:
    """A message of the assistant, and the results of its calls."""

    ends_at: datetime
    is_of_model: bool
    calls: list[Document] = field(default_factory=list)
    results: list[Document] = field(default_factory=list)


def build_messages(rows: Sequence[SpanRow], attributes: Mapping[int, Mapping[str, Any]]) -> list[Document]:
    """Return messages without texts: in each trace one of the user, a step for each span of a model, and its calls.

    Without spans of models, calls that overlap in time belong to one step.
    """
    messages: list[Document] = []
    used: set[str] = set()
    for trace_id in dict.fromkeys(row.trace_id for row in rows):
        steps: list[_Step] = []
        for row in rows:
            if row.trace_id != trace_id:
                continue
            if row.kind in MODEL_KINDS:
                steps.append(_Step(row.ended_at, is_of_model=True))
            elif row.kind in TOOL_KINDS:
                if not steps or (not steps[-1].is_of_model and row.started_at >= steps[-1].ends_at):
                    steps.append(_Step(row.ended_at, is_of_model=False))
                _add_call(steps[-1], row, attributes.get(row.id, {}), used)
        messages.append({"role": "user", **MISSING})
        for step in steps:
            calls = {"tool_calls": step.calls} if step.calls else {}
            messages += [{"role": "assistant", **MISSING, **calls, "at": step.ends_at.isoformat()}, *step.results]
    return messages


def _add_call(step: _Step, row: SpanRow, attributes: Mapping[str, Any], used: set[str]) -> None:
    id = row.call_id if row.call_id and row.call_id not in used else f"{row.trace_id}-{row.span_id}"
    used.add(id)
    arguments, result = find_value(attributes, ARGUMENTS), find_value(attributes, RESULTS)
    # Unknown arguments are equal to none.
    known = {"raw": ""} if arguments is None else {"arguments": _read_arguments(arguments)}
    step.calls.append({"id": id, "name": row.tool, **known})
    step.results.append(
        {
            "role": "tool",
            "tool_call_id": id,
            **(MISSING if result is None else {"content": read_result(result)}),
            **({"error": True} if row.status_code == FAILED else {}),
            "at": row.ended_at.isoformat(),
        }
    )
    step.ends_at = max(step.ends_at, row.ended_at)


def _read_arguments(arguments: Any) -> str:
    if not isinstance(arguments, str):
        return write_json(arguments)
    try:
        return write_json(parse(arguments, ""))
    except Unreadable:
        return arguments

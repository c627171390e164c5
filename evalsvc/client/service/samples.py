"""Samples as the wire has them, and in requests of a size that the service takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from evalsvc.client.service.evaluators import build_evaluator_entry, normalise_evaluators
from evalsvc.client.shapes import find_finish_reason, read_body
from evalsvc.client.values import to_wire

FINISH_REASON = "finish_reason"
MOST_SAMPLES, MOST_BYTES = 1000, 3_000_000
"""Of a request; the service takes 4 MiB."""
NAMES = {
    "input": "evaluated_model_input",
    "output": "evaluated_model_output",
    "contexts": "evaluated_model_retrieved_context",
    "gold": "evaluated_model_gold_answer",
    "golds": "evaluated_model_gold_answers",
    "system_prompt": "evaluated_model_system_prompt",
    "gold_contexts": "evaluated_model_gold_context",
    "top_k_contexts": "evaluated_model_top_k_context",
    "project": "project_name",
    "strategy": "confidence_interval_strategy",
    "interval": "confidence_interval_strategy",
}
"""The client's words, and the wire's; others go along as they are."""


def build_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a sample or a batch under their API names, without those that are None."""
    body = {NAMES.get(name, name): value for name, value in fields.items() if value is not None}
    if (output := fields.get("output")) is not None:
        body["evaluated_model_output"] = to_output(output)
        if (reason := find_finish_reason(output)) is not None:
            body.setdefault(FINISH_REASON, reason)
    if "evaluators" in body:
        evaluators = normalise_evaluators(body["evaluators"])  # type: ignore[arg-type]
        body["evaluators"] = [build_evaluator_entry(evaluator) for evaluator in evaluators]
    return {name: _to_list(value) for name, value in body.items()}


def build_row(row: Mapping[str, object]) -> object:
    """Return a row of a batch, with the finish reason that its output tells of."""
    reason = find_finish_reason(row.get("output"))
    return to_wire(row if reason is None else {FINISH_REASON: reason, **row})


def to_output(value: object) -> object:
    """Return the text of a framework's object, or of a chat completion as JSON; other JSON as it is."""
    is_json = value is None or isinstance(value, str | bool | int | float | Mapping | list | tuple)
    return read_body(value) if is_json else read_body(to_wire(value))


def _to_list(value: object) -> object:
    return [*value] if isinstance(value, Sequence) and not isinstance(value, str | bytes) else value


def split_samples(samples: Sequence[Mapping[str, object]]) -> Iterator[list[str]]:
    """Yield the samples as JSON, as many at a time as one request takes."""
    part, size = list[str](), 0
    for sample in samples:
        text = json.dumps(build_fields(sample), allow_nan=False)
        if part and (len(part) >= MOST_SAMPLES or size + len(text) > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part


def build_body(shared: Mapping[str, object], samples: Sequence[str]) -> bytes:
    """Write a request."""
    head = json.dumps(build_fields(shared), allow_nan=False)[:-1]
    separator = ", " if len(head) > 1 else ""
    return f'{head}{separator}"samples": [{",".join(samples)}]}}'.encode()

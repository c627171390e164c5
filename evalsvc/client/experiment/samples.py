"""Several samples of one example, merged into one row and one request body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any

from evalsvc.client.results.rows import Row, RowSample
from evalsvc.client.service.bodies import BadOutputBody

SUMMED_FIELDS = ("latency_ms", "cost", "input_tokens", "output_tokens")
REFUSED_FIELDS = ("latency_ms", "trace_id", "span_id")


def merge_samples(samples: Sequence[Row]) -> Row:
    """Merge the samples of an example into one row.

    It has the first successful answer, and the total cost, tokens and latency of all samples.
    """
    if len(samples) == 1:
        return samples[0]
    row = copy(_select_sample(samples))
    for name in SUMMED_FIELDS:
        values = [value for sample in samples if (value := getattr(sample, name)) is not None]
        setattr(row, name, sum(values) if values else None)
    row.trace_id, row.span_id = samples[0].trace_id, samples[0].span_id
    row.samples = [
        RowSample(**{attribute.name: getattr(sample, attribute.name) for attribute in fields(RowSample)})
        for sample in samples
    ]
    # Errors of the caller's scorers, from any of the samples.
    row.scores = {name: score for sample in samples for name, score in sample.scores.items()}
    return row


def _select_sample(samples: Sequence[Any]) -> Any:
    return next((sample for sample in samples if sample.status == "ok"), samples[0])


def build_sampled_body(pos: int, bodies: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return what is posted of an example: one answer, or all its samples."""
    return {"pos": pos, **bodies[0]} if len(bodies) == 1 else {"pos": pos, "samples": list(bodies)}


def build_refused_body(body: Mapping[str, Any], message: str) -> dict[str, object]:
    """Return what is posted in place of a body that the service has refused: an error, of each of its samples."""
    error = {"type": "bad_output", "message": message}
    parts = [
        {name: part[name] for name in REFUSED_FIELDS if name in part} | {"error": error}
        for part in body.get("samples") or [body]
    ]
    return build_sampled_body(body["pos"], parts)


def mark_bad_outputs(rows: Iterable[Row], told: Iterable[BadOutputBody]) -> None:
    """Note in the rows which outputs the service has recorded as errors."""
    by_pos = {row.pos: row for row in rows}
    for output in told:
        if (row := by_pos.get(output["pos"])) is None:
            continue
        index = output.get("sample")
        target: Row | RowSample = row if index is None or row.samples is None else row.samples[index]
        target.status, target.error_type, target.error_message = "error", "bad_output", output["message"]
        if row.samples is not None:
            sample = _select_sample(row.samples)
            for name in ("status", "output", "error_type", "error_message"):
                setattr(row, name, getattr(sample, name))

"""Scores in spans and logs: the event `gen_ai.evaluation.result` of OpenTelemetry's conventions, kept as external."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
import orjson

from evalsvc.accounts.models import Account
from evalsvc.evaluations.ingest.rows import (
    MAX_ROWS,
    ClientScore,
    ScoreRow,
    evaluation_columns,
    placement_request,
    request_columns,
    row_errors,
)
from evalsvc.evaluations.ingest.scores import keep_scores
from evalsvc.evaluations.wire.inputs import (
    InputSpellings,
    build_extras,
    fields_in,
    hash_sample,
    input_columns,
    size_errors,
)
from evalsvc.evaluations.wire.request import fingerprint
from evalsvc.rest.bodies.names import find_valid_app
from evalsvc.telemetry.attributes import EVALUATION_EVENT, PASS_LABELS
from evalsvc.telemetry.contents import read_contents
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.otlp.records import RecordBatch
from evalsvc.telemetry.reader import SpanContent
from evaluators.samples import build_sample

NOT_KEPT = "evaluation was not kept"
_NAME = EVALUATION_EVENT.encode()
MAX_EVENTS = 10_000
Document = dict[str, Any]
Key = tuple[str | None, str | None]


class SentScore(ScoreRow, kw_only=True):
    """What an event says."""

    score: float | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EvaluationEvent:
    """An event with the span or log that it came in, as a row of the telemetry tables."""

    record: Document
    attributes: Document
    time: str | None

    @property
    def span_key(self) -> Key:
        """The ids of the span that was evaluated."""
        return self.record["trace_id"], self.record["span_id"]


def keep_evaluation_events(*, account: Account, batch: RecordBatch, **_: object) -> None:
    """Keep the scores of stored spans and logs, each once; what is no score is counted in the batch's warnings."""
    # A batch without such an event costs a search of its bytes.
    records = [orjson.loads(row) for row in batch.rows if _NAME in row]
    events = list(islice(iterate_events(records), MAX_EVENTS + 1))
    if not events:
        return
    if len(events) > MAX_EVENTS:
        batch.warnings[f"or more {NOT_KEPT}: beyond the first {MAX_EVENTS} of a request"] += 1
    contents = _load_contents(account, events)
    scores: list[ClientScore] = []
    for event in events[:MAX_EVENTS]:
        score = read_event(account.pk, len(scores), event, contents.get(event.span_key))
        if isinstance(score, ClientScore):
            scores.append(score)
        elif score is not None:
            batch.warnings[score] += 1
    for begin in range(0, len(scores), MAX_ROWS):
        kept = keep_scores(account=account, scores=scores[begin : begin + MAX_ROWS])
        batch.warnings.update(Counter(f"{NOT_KEPT}: {error.detail}" for error in kept.errors))


def iterate_events(records: Iterable[Document]) -> Iterator[EvaluationEvent]:
    """Yield the evaluations among the events of spans, and among logs."""
    for record in records:
        for event in record.get("events") or ():
            if event["name"] == EVALUATION_EVENT:
                yield EvaluationEvent(record, event["attributes"], event["timestamp"])
        if "severity_number" in record and record["attributes"].get("event.name") == EVALUATION_EVENT:
            yield EvaluationEvent(record, record["attributes"], record["occurred_at"])


def _load_contents(account: Account, events: Sequence[EvaluationEvent]) -> dict[Key, SpanContent]:
    """Return what the evaluated spans say, of those that are stored: a log may come before its span."""
    wanted = {event.span_key for event in events}
    trace_ids, span_ids = ({key[place] for key in wanted if key[place]} for place in (0, 1))
    rows = Span.objects.filter(account=account, trace_id__in=trace_ids, span_id__in=span_ids)
    spans = [span for span in rows if (span.trace_id, span.span_id) in wanted]
    contents = zip(spans, read_contents(account.pk, spans), strict=True)
    return {(span.trace_id, span.span_id): content for span, content in contents}


def read_event(
    account_id: int, index: int, event: EvaluationEvent, content: SpanContent | None
) -> ClientScore | str | None:
    """Return an evaluation's score, or why it is none; None for one that failed: an error is never a score."""
    record, attributes = event.record, event.attributes
    if attributes.get("error.type") is not None:
        return None
    label = attributes.get("gen_ai.evaluation.score.label")
    values: Document = {
        "evaluator_id": attributes.get("gen_ai.evaluation.name"),
        "score": attributes.get("gen_ai.evaluation.score.value"),
        "pass": PASS_LABELS.get(label.lower()) if isinstance(label, str) else None,
        "text_output": label,
        "explanation": attributes.get("gen_ai.evaluation.explanation"),
        "created_at": event.time,
        "trace_id": record["trace_id"],
        "span_id": record["span_id"],
        "project_name": record["project_name"],
        "app": find_valid_app(record["app"], record["service_name"]),
        "experiment_id": record["experiment_id"],
    }
    if (response_id := attributes.get("gen_ai.response.id")) is not None:
        values["metadata"] = {"response_id": response_id}
    try:
        row = msgspec.convert({name: value for name, value in values.items() if value is not None}, SentScore)
    except msgspec.ValidationError as exc:
        return f"{NOT_KEPT}: {exc}"
    for error in row_errors(row, row.score):
        return f"{NOT_KEPT}: {error.pointer}: {error.detail}"
    return ClientScore(
        index=index,
        fingerprint=fingerprint(account_id, orjson.dumps([EVALUATION_EVENT, *values.items()])),
        placement=placement_request(row),
        request=request_columns(row, record.get("log_id")) | _build_texts(content),
        evaluation=evaluation_columns(row, score=row.score, name=None, metadata=row.metadata),
    )


def _build_texts(content: SpanContent | None) -> Document:
    """Return the columns with what was evaluated; none of it where that is more than a call may send."""
    if content is None:
        return {}
    inputs = InputSpellings(
        input=content.input,
        output=content.output,
        contexts=list(content.contexts) or None,
        system_prompt=content.system,
        evaluated_model_name=content.model,
        evaluated_model_provider=content.provider,
    )
    fields = fields_in(inputs)
    sample = build_sample(fields)
    if size_errors(inputs, sample):
        return {}
    columns = input_columns(sample) | {"extras": build_extras(inputs, fields, sample)}
    sample_hash = hash_sample(sample)
    return columns if sample_hash is None else columns | {"sample_hash": sample_hash}

"""Scores in spans and logs: the event `gen_ai.evaluation.result` of OpenTelemetry's conventions, kept as external."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
import orjson
from django.db import DataError, IntegrityError, transaction

from evalsvc.accounts.models import Account
from evalsvc.evaluations.ingest.rows import (
    MAX_ROWS,
    ClientScore,
    PlacementRequest,
    ScoreRow,
    evaluation_columns,
    placement_request,
    request_columns,
    row_errors,
)
from evalsvc.evaluations.ingest.scores import MAX_PLACEMENTS, keep_scores
from evalsvc.evaluations.verdicts import UNDECIDED
from evalsvc.evaluations.wire.inputs import (
    InputSpellings,
    build_extras,
    fields_in,
    hash_sample,
    input_columns,
    size_errors,
)
from evalsvc.evaluations.wire.request import fingerprint
from evalsvc.rest.bodies.names import find_valid_app, first_invisible_char
from evalsvc.telemetry.attributes import EVALUATION_EVENT, PASS_LABELS
from evalsvc.telemetry.contents import read_contents
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.otlp.records import RecordBatch
from evalsvc.telemetry.otlp.values import moment
from evalsvc.telemetry.reader import SpanContent
from evalsvc.tenancy.scope import current_role
from evaluators.samples import build_sample

NOT_KEPT = "evaluation was not kept"
_NAME = EVALUATION_EVENT.encode()
MAX_EVENTS = 10_000
MAX_TEXT_BYTES = 16_000_000
"""Of spans that are read for the evaluations of one request, and of texts that are stored with these."""
MAX_PROJECT = 50
HASH = "sample_hash"
IDENTIFYING = ("trace_id", "span_id", "evaluator_id", "metadata")
NO_TIME = orjson.loads(orjson.dumps(moment(0)))
log = logging.getLogger(__name__)
Document = dict[str, Any]
Key = tuple[str | None, str | None]


class SentScore(ScoreRow, kw_only=True):
    """What an event says."""

    score: float | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EvaluationEvent:
    """An event with the span or log that it came in, as a row of the telemetry tables.

    `twin` numbers the events of a span that have the same evaluator and time.
    """

    record: Document
    attributes: Document
    time: str | None
    twin: int = 0

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
    texts = {key: _build_texts(content) for key, content in _load_contents(account, events).items()}
    sizes, n_left = {key: len(orjson.dumps(columns)) for key, columns in texts.items()}, MAX_TEXT_BYTES
    scores: list[ClientScore] = []
    for event in events[:MAX_EVENTS]:
        score = read_event(account.pk, len(scores), event)
        if isinstance(score, ClientScore):
            columns = texts.get(event.span_key, {})
            n_left -= sizes.get(event.span_key, 0)
            # Each score has a copy. Those beyond the limit only know which sample they are of.
            score.request.update(columns if n_left >= 0 else {name: columns[name] for name in columns if name == HASH})
            scores.append(score)
        elif score is not None:
            batch.warnings[score] += 1
    for chunk in _cut_chunks(scores):
        batch.warnings.update(_keep_chunk(account, chunk))


def _keep_chunk(account: Account, chunk: Sequence[ClientScore]) -> Counter[str]:
    """Keep scores; return why some are not kept. Only a database that does not answer fails the export."""
    try:
        with transaction.atomic(using=current_role()):
            kept = keep_scores(account=account, scores=chunk)
    except (DataError, IntegrityError):
        log.exception("evaluations of spans not kept")
        return Counter({f"{NOT_KEPT}: the database refuses what came with it": len(chunk)})
    return Counter(f"{NOT_KEPT}: {error.detail}" for error in kept.errors)


def _cut_chunks(scores: Sequence[ClientScore]) -> Iterator[list[ClientScore]]:
    """Yield parts with as many rows and places as one batch may have."""
    chunk, placements = list[ClientScore](), set[PlacementRequest]()
    for score in scores:
        if len(chunk) == MAX_ROWS or len(placements | {score.placement}) > MAX_PLACEMENTS:
            yield chunk
            chunk, placements = [], set()
        chunk.append(score)
        placements.add(score.placement)
    if chunk:
        yield chunk


def iterate_events(records: Iterable[Document]) -> Iterator[EvaluationEvent]:
    """Yield the evaluations among the events of spans, and among logs."""
    for record in records:
        seen: Counter[tuple[object, object]] = Counter()
        for event in record.get("events") or ():
            if event["name"] == EVALUATION_EVENT:
                time = None if event["timestamp"] == NO_TIME else event["timestamp"]
                twins = (str(event["attributes"].get("gen_ai.evaluation.name")), time)
                yield EvaluationEvent(record, event["attributes"], time, seen[twins])
                seen[twins] += 1
        if "severity_number" in record and record["attributes"].get("event.name") == EVALUATION_EVENT:
            yield EvaluationEvent(record, record["attributes"], record["occurred_at"])


def _load_contents(account: Account, events: Sequence[EvaluationEvent]) -> dict[Key, SpanContent]:
    """Return what the evaluated spans say, of those that are stored: a log may come before its span.

    Of spans that are too much together only the first are read.
    """
    wanted = {event.span_key for event in events}
    trace_ids, span_ids = ({key[place] for key in wanted if key[place]} for place in (0, 1))
    rows = Span.objects.filter(account=account, trace_id__in=trace_ids, span_id__in=span_ids).order_by("id")
    ids, n_bytes = list[int](), 0
    for id, trace_id, span_id, size in rows.values_list("id", "trace_id", "span_id", "n_bytes"):
        if (trace_id, span_id) in wanted and n_bytes + size <= MAX_TEXT_BYTES:
            n_bytes += size
            ids.append(id)
    spans = list(Span.objects.filter(account=account, id__in=ids))
    contents = zip(spans, read_contents(account.pk, spans), strict=True)
    return {(span.trace_id, span.span_id): content for span, content in contents}


def read_event(account_id: int, index: int, event: EvaluationEvent) -> ClientScore | str | None:
    """Return an evaluation's score, or why it is none; None for one that failed: an error is never a score.

    An evaluator that says something else of a span at the same time, as in a later version of it, says it again: the
    first counts.
    """
    record, attributes = event.record, event.attributes
    if attributes.get("error.type") is not None:
        return None
    label, score = (attributes.get(f"gen_ai.evaluation.score.{name}") for name in ("label", "value"))
    verdict = label.lower() if isinstance(label, str) else None
    values: Document = {
        "evaluator_id": attributes.get("gen_ai.evaluation.name"),
        "score": score,
        "pass": PASS_LABELS.get(verdict) if verdict is not None else None,
        "text_output": label if isinstance(label, str) else None,
        "explanation": attributes.get("gen_ai.evaluation.explanation"),
        "created_at": event.time or record.get("ended_at"),
        "trace_id": record["trace_id"],
        "span_id": record["span_id"],
        "project_name": _clean_project(record["project_name"]),
        "app": find_valid_app(record["app"], record["service_name"]),
        "experiment_id": record["experiment_id"],
    }
    if (response_id := attributes.get("gen_ai.response.id")) is not None:
        values["metadata"] = {"response_id": response_id}
    # Without a score it is a text like any other. What an evaluation is known by has never had it.
    sent = values | {"verdict": UNDECIDED if verdict == UNDECIDED and score is not None else None}
    try:
        row = msgspec.convert({name: value for name, value in sent.items() if value is not None}, SentScore)
    except msgspec.ValidationError as exc:
        return f"{NOT_KEPT}: {exc}"
    for error in row_errors(row, row.score):
        return f"{NOT_KEPT}: {error.pointer}: {error.detail}"
    identity = [EVALUATION_EVENT, event.twin, event.time, *_identify(values)]
    return ClientScore(
        index=index,
        fingerprint=fingerprint(account_id, orjson.dumps(identity)),
        placement=placement_request(row),
        request=request_columns(row, record.get("log_id")),
        evaluation=evaluation_columns(row, score=row.score, name=None, metadata=row.metadata),
    )


def _identify(values: Document) -> Iterable[tuple[str, Any]]:
    """Return by what an evaluation is known again: of its span by evaluator and time, else by all that it says."""
    return values.items() if values["span_id"] is None else [(name, values.get(name)) for name in IDENTIFYING]


def _clean_project(name: str | None) -> str | None:
    """Return the name of a project, without one that no project can have."""
    return name if name and len(name) <= MAX_PROJECT and first_invisible_char(name) is None else None


def _build_texts(content: SpanContent) -> Document:
    """Return the columns with what was evaluated; none of it where that is more than a call may send."""
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
    return columns if sample_hash is None else columns | {HASH: sample_hash}

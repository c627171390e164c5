"""Langfuse: scores, the traces and observations that they are of, and dataset items.

The API and the pages write names like `traceId`, the scheduled export to a bucket writes `trace_id`.
"""

from __future__ import annotations

import json

from evalsvc.cli.imports.files.intake import FileShape, FoundScore, Intake, Source
from evalsvc.cli.imports.files.records import FileRecord
from evalsvc.cli.imports.files.values import (
    InvalidRecord,
    Values,
    as_text,
    field_text,
    parse_if_json,
    pick,
    read_flag,
    read_moment,
    read_name,
    read_number,
    read_object,
)

TYPES = ("NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION")
TRACE, OBSERVATION = ("traceId", "trace_id"), ("observationId", "observation_id")
KEPT = {
    "score_source": ("source",),
    "session_id": ("sessionId", "session_id"),
    "dataset_run_id": ("datasetRunId", "dataset_run_id"),
    "trace_name": ("traceName", "trace_name"),
    "environment": ("environment",),
    "author": ("authorUserName", "authorUserId", "author_user_id"),
    "config_id": ("configId", "config_id"),
    "queue_id": ("queueId", "queue_id"),
}
"""What the metadata of an evaluation keeps of a score, under which name."""
ORIGIN = {
    "source_trace_id": ("sourceTraceId", "source_trace_id"),
    "source_observation_id": ("sourceObservationId", "source_observation_id"),
}
"""What the metadata of an example keeps of an item."""


def take_score(record: FileRecord, intake: Intake) -> None:
    """Take one score in."""
    _add_score(_plain(record), record, intake)


def _add_score(values: Values, record: FileRecord, intake: Intake) -> None:
    id = read_name(values, "id")
    trace_id, observation_id = _subject(values)
    subject = read_object(values, "subject")
    score, passed, text = _verdict(values)
    refs = [f"observation:{observation_id}"] if observation_id else []
    # The client of Langfuse 5 reads no traces: their texts are those of the root observation.
    refs += [f"trace:{trace_id}", f"root:{trace_id}"] if trace_id else []
    intake.add_score(
        FoundScore(
            key=id,
            evaluator=read_name(values, "name"),
            score=score,
            passed=passed,
            text=text,
            explanation=field_text(values, "comment"),
            created_at=read_moment(values, "timestamp", "createdAt", "created_at"),
            trace_id=trace_id,
            span_id=observation_id,
            metadata={
                "score_id": id,
                **{name: field_text(values, *names) for name, names in KEPT.items()},
                **(
                    {f"{subject['kind']}_id": subject.get("id")}
                    if subject.get("kind") in ("session", "experiment")
                    else {}
                ),
                "metadata": read_object(values, "metadata"),
            },
            refs=refs,
        ),
        record,
    )


def _subject(values: Values) -> tuple[str | None, str | None]:
    """Return the trace and the observation of a score; version 3 of the API nests them in one object."""
    subject = read_object(values, "subject")
    kind, id = subject.get("kind"), as_text(subject.get("id"))
    if kind == "observation":
        return field_text(subject, *TRACE), id
    return (id, None) if kind == "trace" else (field_text(values, *TRACE), field_text(values, *OBSERVATION))


def _verdict(values: Values) -> tuple[float | None, bool | None, str | None]:
    """Return a score, whether it is a pass, and its text, according to its type."""
    name, type_name = pick(values, "dataType", "data_type")
    if type_name == "NUMERIC":
        return read_number(values, "value"), None, None
    if type_name == "BOOLEAN":
        passed = read_flag(values, "value", "stringValue", "string_value")
        return None if passed is None else float(passed), passed, None
    if type_name in TYPES:
        return _number_of_category(values) if type_name == "CATEGORICAL" else None, None, _label(values)
    raise InvalidRecord(name, f"The type {type_name!r} is not known. Known are {', '.join(TYPES)}.")


def _label(values: Values) -> str | None:
    value = values.get("value")
    # In the third version of the API the value is the label; in CSV a number is a text, too.
    text = value if isinstance(value, str) and not ({"stringValue", "string_value"} & values.keys()) else None
    return field_text(values, "stringValue", "string_value") or text or None


def _number_of_category(values: Values) -> float | None:
    """Return the number that a config assigns to a category. Without a config Langfuse writes 0, which is ignored."""
    has_number = not isinstance(values.get("value"), str) or {"stringValue", "string_value"} & values.keys()
    return read_number(values, "value") if has_number and pick(values, "configId", "config_id")[1] else None


def take_trace(record: FileRecord, intake: Intake) -> None:
    """Take the texts of a trace in, and the scores that the API shows in it."""
    values = _plain(record)
    id = read_name(values, "id")
    intake.add_texts(f"trace:{id}", _texts(values), record)
    for score in _nested(values.get("scores")):
        _add_score({"traceId": id, **score}, record, intake)


def _nested(scores: object) -> list[Values]:
    return [score for score in scores if isinstance(score, dict)] if isinstance(scores, list) else []


def take_observation(record: FileRecord, intake: Intake) -> None:
    """Take the texts of an observation in."""
    values = _plain(record)
    texts = _texts(values)
    intake.add_texts(f"observation:{read_name(values, 'id')}", texts, record)
    trace_id = field_text(values, *TRACE)
    if trace_id and pick(values, "parentObservationId", "parent_observation_id")[1] is None:
        intake.add_texts(f"root:{trace_id}", texts, record, is_first_enough=True)


def _texts(values: Values) -> dict[str, object]:
    return {
        "evaluated_model_input": field_text(values, "input"),
        "evaluated_model_output": field_text(values, "output"),
        "evaluated_model_name": field_text(values, "providedModelName", "provided_model_name", "model"),
    }


def take_dataset_item(record: FileRecord, intake: Intake) -> None:
    """Take an item of a dataset in. What is archived is not run by Langfuse, and is left there."""
    values = _plain(record)
    id = read_name(values, "id")
    if pick(values, "status")[1] == "ARCHIVED":
        intake.beside["archived items"] += 1
        return
    example = {
        "id": id,
        "input": pick(values, "input")[1],
        "expected": pick(values, "expectedOutput", "expected_output")[1],
        "metadata": {
            **read_object(values, "metadata"),
            **{name: text for name, names in ORIGIN.items() if (text := field_text(values, *names))},
        },
    }
    intake.add_example(field_text(values, "datasetName", "dataset_name"), example, record)


def _plain(record: FileRecord) -> Values:
    """Return a record's values. The CSV of the pages has JSON in each cell, also a text with its quotes."""
    values = record.values
    if not (record.is_csv and str(values.get("id"))[:1] == '"'):
        return {name: parse_if_json(str(cell)) for name, cell in values.items()} if record.is_csv else values
    return {name: _json(str(cell)) for name, cell in values.items()}


def _json(cell: str) -> object:
    try:
        return json.loads(cell, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return cell


def _is_score(record: FileRecord) -> bool:
    return {"id", "name"} <= record.values.keys() and bool({"dataType", "data_type"} & record.values.keys())


def _is_item(record: FileRecord) -> bool:
    return {"id", "input"} <= record.values.keys() and bool(
        {"expectedOutput", "expected_output"} & record.values.keys()
    )


def _is_observation(record: FileRecord) -> bool:
    return {"id", "input"} <= record.values.keys() and bool({"startTime", "start_time"} & record.values.keys())


def _is_trace(record: FileRecord) -> bool:
    return {"id", "input", "timestamp"} <= record.values.keys()


LANGFUSE = Source(
    name="langfuse",
    title="Langfuse",
    shapes=(
        FileShape("scores", _is_score, take_score),
        FileShape("dataset items", _is_item, take_dataset_item),
        FileShape("observations", _is_observation, take_observation),
        FileShape("traces", _is_trace, take_trace),
    ),
    fields={
        "evaluator_id": ("name",),
        "score_raw": ("value",),
        "text_output": ("stringValue", "string_value", "value"),
        "explanation": ("comment",),
        "created_at": ("timestamp",),
        "log_id": ("id",),
        "trace_id": TRACE,
        "span_id": OBSERVATION,
        "evaluation_metadata": ("metadata",),
        "evaluated_model_input": ("input",),
        "evaluated_model_output": ("output",),
        "expected": ("expectedOutput", "expected_output"),
    },
)

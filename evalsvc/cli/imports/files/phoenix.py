"""Arize Phoenix: annotations, evaluations, the spans that they are of, experiments with their runs, and datasets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from evalsvc.cli.imports.files.intake import FileShape, FoundScore, Intake, Source
from evalsvc.cli.imports.files.records import FileRecord
from evalsvc.cli.imports.files.values import (
    InvalidRecord,
    Values,
    as_text,
    digest,
    field_text,
    name_of_file,
    parse_if_json,
    parse_literal,
    pick,
    read_moment,
    read_name,
    read_number,
    read_object,
)

KINDS = ("LLM", "CODE", "HUMAN")
SPAN, TRACE = ("span_id", "context.span_id"), ("trace_id", "context.trace_id")
NAME = ("annotation_name", "name")
POSITION = ("document_position", "position")
PARTS = ("score", "label", "explanation")
RAN = "_execution_details"
EVALUATED = {
    "evaluated_model_input": ("input", "attributes.input.value", "question", "query"),
    "evaluated_model_output": ("output", "attributes.output.value", "response", "answer"),
    "evaluated_model_gold_answer": ("expected", "expected_output", "reference"),
}
"""Columns of a frame that phoenix-evals has evaluated: its evaluators name them as they like."""
_wide = re.compile(r"(?:eval\.(?P<span>.+)\.|annotation_(?P<run>.+)_)(?:score|label|explanation)")


def take_annotation(record: FileRecord, intake: Intake) -> None:
    """Take an annotation of a span, a document, a trace or a session in, as the API or its data frame has it."""
    values = {**record.values, **_result(record.values)}
    name, kind = pick(values, "annotator_kind")
    if kind is not None and kind not in KINDS:
        raise InvalidRecord(name, f"The kind {kind!r} is not known. Known are {', '.join(KINDS)}.")
    id = field_text(values, "id")
    evaluator = read_name(values, *NAME)
    subject = _subject(values)
    # The client's data frame has the span as its index, which pandas writes into no record of JSON.
    if not subject and id and "result.score" in values:
        intake.unjoined["annotations without their span: write the frame with reset_index()"] += 1
    elif not subject:
        raise InvalidRecord("span_id", "An annotation is of a span, a trace or a session, and none is named.")
    key = id or ":".join([*subject.values(), evaluator, field_text(values, "identifier") or ""])
    _add(values, FoundScore(key=key, evaluator=evaluator, metadata={"annotation_id": id, **subject}), record, intake)


def _result(values: Values) -> Values:
    """Return an annotation's result: the API has it in an object, the data frame in columns."""
    flat = {name: values[f"result.{name}"] for name in PARTS if f"result.{name}" in values}
    return {**flat, **read_object(values, "result")}


def _subject(values: Values) -> dict[str, str]:
    """Return what an annotation is of."""
    names = {"span_id": SPAN, "trace_id": TRACE, "session_id": ("session_id",), "document_position": POSITION}
    subject = {name: text for name, spellings in names.items() if (text := field_text(values, *spellings))}
    return subject if subject.keys() - {"document_position"} else {}


def take_evaluation(record: FileRecord, intake: Intake) -> None:
    """Take a row of a frame of evaluations in, which is named as its file is."""
    values, evaluator = record.values, name_of_file(record.place)
    subject = _subject(values)
    if not subject:
        raise InvalidRecord("span_id", "An evaluation is of a span, a trace or a session, and none is named.")
    key = ":".join([*subject.values(), evaluator])
    _add(values, FoundScore(key=key, evaluator=evaluator, metadata=subject), record, intake)


def take_evaluated(record: FileRecord, intake: Intake) -> None:
    """Take a row of `evaluate_dataframe` in: each evaluator has a column with its score, and one with how it ran."""
    values = record.values
    subject = _subject(values)
    texts = {field: as_text(pick(values, *names)[1]) for field, names in EVALUATED.items()}
    documents = list(_documents(values, intake))
    place = subject.get("span_id") or f"{digest(texts)}:{intake.number}"
    for column in filter(lambda column: column.endswith(RAN), values):
        name = column.removesuffix(RAN)
        parts, ran = read_object(values, f"{name}_score"), read_object(values, column)
        score = FoundScore(
            key=f"{place}:{name}",
            evaluator=name,
            texts={**texts, **({"evaluated_model_retrieved_context": documents} if documents else {})},
            metadata={**subject, "status": ran.get("status"), "exceptions": ran.get("exceptions")},
        )
        about = {"annotator_kind": as_text(parts.get("kind")), "metadata": parts.get("metadata")}
        _add({**parts, **subject, **about}, score, record, intake)


def _add(values: Values, score: FoundScore, record: FileRecord, intake: Intake) -> None:
    """Set a score from the fields of an annotation, and add it to the intake."""
    score.score = read_number(values, "score")
    score.text = field_text(values, "label")
    score.explanation = field_text(values, "explanation")
    score.created_at = score.created_at or read_moment(values, "created_at", "start_time")
    score.span_id = score.span_id or field_text(values, *SPAN)
    score.trace_id = score.trace_id or field_text(values, *TRACE)
    beside = {name: field_text(values, name) for name in ("annotator_kind", "identifier", "source", "user_id", "error")}
    score.metadata = {**score.metadata, **beside, "metadata": read_object(values, "metadata")}
    score.refs = [f"span:{score.span_id}"] if score.span_id and not score.texts else []
    intake.add_score(score, record)


def take_span(record: FileRecord, intake: Intake) -> None:
    """Add the texts of a span, and the evaluations in its columns."""
    values = {**record.values, **read_object(record.values, "context")}
    if pick(values, *SPAN)[1] is None:
        raise InvalidRecord(
            "span_id", "It is missing: where it is the index of a data frame, call reset_index() first."
        )
    id = read_name(values, *SPAN)
    texts = {
        "evaluated_model_input": as_text(_attribute(values, "input.value")),
        "evaluated_model_output": as_text(_attribute(values, "output.value")),
        "evaluated_model_name": as_text(_attribute(values, "llm.model_name")),
        "evaluated_model_retrieved_context": list(_documents(values, intake)),
        # Annotations name their span alone.
        "trace_id": field_text(values, *TRACE),
    }
    intake.add_texts(f"span:{id}", texts, record)
    place = {"span_id": id, "trace_id": field_text(values, *TRACE)}
    for name, parts in _parse_wide_columns(values).items():
        annotation = {**parts, **place, "start_time": values.get("start_time")}
        _add(annotation, FoundScore(key=f"{id}:{name}", evaluator=name, metadata=place), record, intake)


def _parse_wide_columns(values: Values) -> dict[str, dict[str, object]]:
    """Return the evaluations in columns such as `eval.Toxicity.score`, by name."""
    evaluations: dict[str, dict[str, object]] = {}
    for column, value in values.items():
        if match := _wide.fullmatch(column):
            name = match["span"] or match["run"]
            evaluations.setdefault(name, {})[re.split(r"[._]", column)[-1]] = value
    return evaluations


def _attribute(values: Values, path: str) -> object:
    """Return an attribute of a span: a column, a key of the attributes, or deep within them."""
    column = values.get(f"attributes.{path}")
    if column is not None and column != "":
        return column
    attributes = read_object(values, "attributes")
    if path in attributes:
        return attributes[path]
    value: object = attributes
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _documents(values: Values, intake: Intake) -> Iterator[str]:
    """Yield the texts of what a span retrieved."""
    documents = _attribute(values, "retrieval.documents")
    if isinstance(documents, str):
        documents = parse_literal(documents)
        intake.unjoined["spans with retrieved documents that stayed one text"] += isinstance(documents, str)
    if documents is None:
        documents = list(_iter_numbered_documents(values))
    for document in documents if isinstance(documents, list) else [documents]:
        if text := _content(document):
            yield text


def _iter_numbered_documents(values: Values) -> Iterator[object]:
    for i in count():
        text = _attribute(values, f"retrieval.documents.{i}.document.content")
        if text is None:
            return
        yield text


def _content(document: object) -> str | None:
    if not isinstance(document, dict):
        return as_text(document)
    inner = document.get("document")
    return as_text(document.get("document.content") or (inner.get("content") if isinstance(inner, dict) else None))


def take_run(record: FileRecord, intake: Intake) -> None:
    """Take the annotations of a run of an experiment in, with the run's texts."""
    values = record.values
    example_id = read_name(values, "example_id")
    run = ":".join([example_id, field_text(values, "repetition_number") or "", read_moment(values, "start_time") or ""])
    texts = {
        "evaluated_model_input": field_text(values, "input"),
        "evaluated_model_output": field_text(values, "output"),
        "evaluated_model_gold_answer": field_text(values, "reference_output"),
    }
    about = {"example_id": example_id, "experiment": name_of_file(record.place)}
    for annotation in _annotations(values):
        name = read_name(annotation, "name")
        score = FoundScore(
            key=f"{run}:{name}",
            evaluator=name,
            sample_id=example_id,
            trace_id=field_text(values, "trace_id"),
            created_at=read_moment(annotation, "end_time") or read_moment(values, "end_time"),
            texts=texts,
            metadata={**about, "repetition_number": field_text(values, "repetition_number")},
        )
        _add({key: value for key, value in annotation.items() if key != "trace_id"}, score, record, intake)


def _annotations(values: Values) -> list[Values]:
    """Return the annotations of a run: a list in JSON, columns such as `annotation_exact_score` in CSV."""
    run_annotations = values.get("annotations")
    if isinstance(run_annotations, list):
        return [annotation for annotation in run_annotations if isinstance(annotation, dict)]
    return [
        {
            "name": name,
            **parts,
            **{
                end: values.get(f"annotation_{name}_{end}")
                for end in ("annotator_kind", "error", "end_time", "metadata")
            },
        }
        for name, parts in _parse_wide_columns(values).items()
    ]


def take_example(record: FileRecord, intake: Intake) -> None:
    """Take an example of a dataset in."""
    values = record.values
    splits = values.get("splits")
    example = {
        "id": read_name(values, "id", "node_id", "example_id"),
        "input": _part(values, "input"),
        "expected": _part(values, "output"),
        "metadata": {
            **read_object({"metadata": _part(values, "metadata")}, "metadata"),
            **({"splits": parse_if_json(splits) if isinstance(splits, str) else splits} if splits else {}),
        },
    }
    intake.add_example(field_text(record.about, "name"), example, record)


def _part(values: Values, name: str) -> object:
    """Return a part of an example: an object in JSON, columns such as `input.question` in CSV."""
    document = values.get(name)
    if document is not None and document != "":
        return parse_if_json(document) if isinstance(document, str) else document or None
    start = f"{name}."
    return {
        column.removeprefix(start): parse_if_json(value) if isinstance(value, str) else value
        for column, value in values.items()
        if column.startswith(start) and value != ""
    } or None


def _is_run(record: FileRecord) -> bool:
    return {"example_id", "repetition_number", "output"} <= record.values.keys()


def _is_annotation(record: FileRecord) -> bool:
    return "annotator_kind" in record.values and any(name in record.values for name in NAME)


def _is_span(record: FileRecord) -> bool:
    return {"span_kind", "start_time"} <= record.values.keys()


def _is_evaluated(record: FileRecord) -> bool:
    return any(f"{name.removesuffix(RAN)}_score" in record.values for name in record.values if name.endswith(RAN))


def _is_evaluation(record: FileRecord) -> bool:
    keys = record.values.keys()
    return bool(keys & {*SPAN, *TRACE}) and bool(keys & set(PARTS))


def _is_example(record: FileRecord) -> bool:
    keys = record.values.keys()
    return bool(keys & {"node_id", "example_id", "id"}) and all(
        any(key == part or key.startswith(f"{part}.") for key in keys) for part in ("input", "output")
    )


PHOENIX = Source(
    name="phoenix",
    title="Arize Phoenix",
    shapes=(
        FileShape("experiment runs", _is_run, take_run),
        FileShape("annotations", _is_annotation, take_annotation),
        FileShape("results of evaluate_dataframe", _is_evaluated, take_evaluated),
        FileShape("spans", _is_span, take_span),
        FileShape("evaluations", _is_evaluation, take_evaluation),
        FileShape("dataset examples", _is_example, take_example),
    ),
    fields={
        "evaluator_id": NAME,
        "score_raw": ("score", "result.score"),
        "text_output": ("label", "result.label"),
        "explanation": ("explanation", "result.explanation"),
        "log_id": ("id",),
        "trace_id": TRACE,
        "span_id": SPAN,
        "dataset_sample_id": ("example_id",),
        "evaluation_metadata": ("metadata",),
        "evaluated_model_input": ("input", "attributes.input.value", "attributes"),
        "evaluated_model_output": ("output", "attributes.output.value", "attributes"),
        "evaluated_model_gold_answer": ("reference_output",),
        "evaluated_model_retrieved_context": ("attributes.retrieval.documents", "attributes"),
        "expected": ("output",),
    },
)

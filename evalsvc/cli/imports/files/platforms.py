"""Results of evaluation platforms: LangSmith, Braintrust, MLflow, Opik, spans of OpenTelemetry, and any other table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from evalsvc.cli.imports.files.intake import FoundScore, Intake
from evalsvc.cli.imports.files.records import FileRecord
from evalsvc.cli.imports.files.values import (
    InvalidRecord,
    Values,
    as_text,
    field_text,
    parse_literal,
    pick,
    read_moment,
    read_name,
    read_number,
    read_object,
)
from evalsvc.cli.imports.files.verdicts import (
    FoundVerdict,
    add_verdict,
    build_texts,
    find_objects,
    find_place,
    read_passages,
    read_verdict,
)
from evalsvc.telemetry.attributes import EVALUATION_EVENT, PASS_LABELS

_mlflow_column = re.compile(r"(.+)/(?:value|score)")


def take_langsmith_row(record: FileRecord, intake: Intake) -> None:
    """Take a row of LangSmith's results in, as its data frame has them."""
    values = record.values
    texts = build_texts(**{name: _part(values, start) for name, start in LANGSMITH.items()})
    place = field_text(values, "id") or find_place(texts, intake)
    for column in filter(lambda column: column.startswith("feedback."), values):
        name = column.removeprefix("feedback.")
        score = FoundScore(
            key=f"{place}:{name}",
            evaluator=name,
            sample_id=field_text(values, "example_id"),
            texts=texts,
            metadata={"run_id": field_text(values, "id"), "error": field_text(values, "error")},
        )
        add_verdict(score, read_verdict(column, values[column]), record, intake)


LANGSMITH = {"input": "inputs", "output": "outputs", "gold": "reference"}


def _part(values: Values, start: str) -> object:
    """Return what stands in columns such as `inputs.question`, or in one column."""
    parts = {name.removeprefix(f"{start}."): value for name, value in values.items() if name.startswith(f"{start}.")}
    return {name: value for name, value in parts.items() if value not in (None, "")} or values.get(start)


def take_langsmith_result(record: FileRecord, intake: Intake) -> None:
    """Take a result of LangSmith in: a run, its example, and what the evaluators said."""
    run, example = read_object(record.values, "run"), read_object(record.values, "example")
    texts = build_texts(input=run.get("inputs"), output=run.get("outputs"), gold=example.get("outputs"))
    run_id = read_name(run, "id")
    for found in find_objects(read_object(record.values, "evaluation_results").get("results")):
        name = read_name(found, "key")
        value = found.get("score") if found.get("score") is not None else found.get("value")
        score = FoundScore(
            key=f"{run_id}:{name}",
            evaluator=name,
            explanation=field_text(found, "comment"),
            created_at=read_moment(run, "end_time", "start_time"),
            trace_id=field_text(run, "trace_id"),
            sample_id=field_text(example, "id"),
            texts=texts,
            metadata={"run_id": run_id, "error": run.get("error"), "extra": found.get("extra")},
        )
        add_verdict(score, read_verdict("score", value), record, intake)


def take_langsmith_example(record: FileRecord, intake: Intake) -> None:
    """Take an example of a dataset of LangSmith in."""
    values = record.values
    metadata = read_object(values, "metadata")
    parts = {"input": values.get("inputs"), "expected": values.get("outputs"), "metadata": metadata}
    intake.add_example(None, {"id": read_name(values, "id"), **parts}, record)


def take_braintrust(record: FileRecord, intake: Intake) -> None:
    """Take a row of an experiment of Braintrust in. Spans below the root have no scores of the experiment's own."""
    values = record.values
    if values.get("span_id") and values.get("root_span_id") not in (None, values.get("span_id")):
        intake.beside["spans below the root"] += 1
        return
    texts = build_texts(input=values.get("input"), output=values.get("output"), gold=values.get("expected"))
    place = field_text(values, "id") or find_place(texts, intake)
    metadata = read_object(values, "metadata")
    for name, value in _braintrust_scores(values).items():
        score = FoundScore(
            key=f"{place}:{name}",
            evaluator=name,
            created_at=read_moment(values, "created"),
            texts=texts,
            metadata={"metadata": metadata, "tags": values.get("tags"), "error": field_text(values, "error")},
        )
        add_verdict(score, read_verdict(f"scores.{name}", value), record, intake)
    # A scorer that broke has no score, and is named here alone.
    errors = metadata.get("scorer_errors")
    for name in errors if isinstance(errors, dict) else ():
        score = FoundScore(key=f"{place}:{name}", evaluator=str(name), texts=texts)
        add_verdict(score, FoundVerdict(), record, intake)


def _braintrust_scores(values: Values) -> dict[str, object]:
    scores = read_object(values, "scores") if values.get("scores") else {}
    columns = {name.removeprefix("scores."): value for name, value in values.items() if name.startswith("scores.")}
    return {**scores, **columns}


def take_mlflow(record: FileRecord, intake: Intake) -> None:
    """Take a row of an evaluation table or a trace of MLflow in."""
    values = record.values
    assessments = find_objects(values.get("assessments"))
    expected = {
        name: read_object(found, "expectation").get("value")
        for name, found in _iterate_named(assessments)
        if found.get("expectation")
    }
    gold = (
        next(iter(expected.values()), None)
        or pick(values, "expectations", "targets", "target", "truth", "ground_truth")[1]
    )
    texts = build_texts(
        input=pick(values, "request", "inputs", "input", "question")[1],
        output=pick(values, "response", "outputs", "output", "predictions", "prediction")[1],
        gold=gold,
        contexts=pick(values, "retrieved_context", "contexts", "context")[1],
    )
    trace_id = field_text(values, "trace_id")
    place = trace_id or find_place(texts, intake)
    judged = dict(_iterate_feedback(assessments)) or dict(_iterate_columns(values, expected))
    for name, found in judged.items():
        source = read_object(found, "source")
        score = FoundScore(
            key=field_text(found, "assessment_id") or f"{place}:{name}",
            evaluator=name,
            explanation=field_text(found, "rationale"),
            created_at=read_moment(found, "create_time"),
            trace_id=trace_id,
            texts=texts,
            metadata={"score_source": source or None, "error": found.get("error"), "metadata": found.get("metadata")},
        )
        add_verdict(
            score, FoundVerdict() if found.get("error") else _grade_mlflow(name, found.get("value")), record, intake
        )


def _grade_mlflow(name: str, value: object) -> FoundVerdict:
    """Return a verdict; the judges of MLflow say yes or no."""
    if isinstance(value, str) and value.lower() in ("yes", "no"):
        return FoundVerdict(float(value.lower() == "yes"), value.lower() == "yes", value)
    return read_verdict(name, value)


def _iterate_named(assessments: list[Values]) -> Iterator[tuple[str, Values]]:
    for found in assessments:
        if name := field_text(found, "assessment_name", "name"):
            yield name, found


def _iterate_feedback(assessments: list[Values]) -> Iterator[tuple[str, Values]]:
    for name, found in _iterate_named(assessments):
        feedback = read_object(found, "feedback")
        if found.get("feedback") is not None:
            yield name, {**found, "value": feedback.get("value"), "error": feedback.get("error") or found.get("error")}


def _iterate_columns(values: Values, expected: Mapping[str, object]) -> Iterator[tuple[str, Values]]:
    for column, value in values.items():
        match = _mlflow_column.fullmatch(column)
        if match and match[1] not in expected:
            yield match[1], {"value": value, "rationale": values.get(f"{match[1]}/justification")}


def take_opik_result(record: FileRecord, intake: Intake) -> None:
    """Take a result of Opik's `evaluate` in."""
    case = read_object(record.values, "test_case")
    item = read_object(case, "dataset_item_content")
    texts = build_texts(
        input=pick(item, "input", "question", "user_input")[1] or item,
        output=case.get("task_output"),
        gold=pick(item, "expected_output", "expected", "reference", "answer")[1],
    )
    trace_id = field_text(case, "trace_id")
    place = f"{trace_id or find_place(texts, intake)}:{record.values.get('trial_id')}"
    for found in find_objects(record.values.get("score_results")):
        _add_opik(found, FoundScore(
            key=f"{place}:{found.get('name')}", evaluator=read_name(found, "name"), texts=texts, trace_id=trace_id,
            sample_id=field_text(case, "dataset_item_id"), metadata={"metadata": found.get("metadata")},
        ), record, intake)  # fmt: skip


def _add_opik(found: Values, score: FoundScore, record: FileRecord, intake: Intake) -> None:
    score.explanation = field_text(found, "reason")
    has_failed = found.get("scoring_failed") is True
    category = field_text(found, "category_name", "categoryName")
    verdict = FoundVerdict() if has_failed else FoundVerdict(read_number(found, "value"), text=category)
    add_verdict(score, verdict, record, intake)


def take_opik_trace(record: FileRecord, intake: Intake) -> None:
    """Take the feedback scores of a trace of Opik in, as its API answers it or `opik export` writes it."""
    trace = read_object(record.values, "trace") or dict(record.values)
    texts = build_texts(input=trace.get("input"), output=trace.get("output"))
    trace_id = read_name(trace, "id")
    for found in find_objects(pick(trace, "feedback_scores", "feedbackScores")[1]):
        _add_opik(found, FoundScore(
            key=f"{trace_id}:{found.get('name')}", evaluator=read_name(found, "name"), texts=texts, trace_id=trace_id,
            created_at=read_moment(trace, "start_time", "startTime"), metadata={"score_source": found.get("source")},
        ), record, intake)  # fmt: skip


def take_otlp(record: FileRecord, intake: Intake) -> None:
    """Take the evaluations of spans in: events `gen_ai.evaluation.result` of OTLP as JSON."""
    for span, event in _iterate_events(record.values):
        names = _attributes(event)
        about = _attributes(span)
        evaluator = read_name(names, "gen_ai.evaluation.name")
        label = field_text(names, "gen_ai.evaluation.score.label")
        passed = PASS_LABELS.get((label or "").lower())
        is_undecided = (label or "").lower() == "undecided"
        verdict = FoundVerdict(read_number(names, "gen_ai.evaluation.score.value"), passed, label, is_undecided)
        nanoseconds = int(str(event.get("timeUnixNano") or 0))
        score = FoundScore(
            key=f"{span.get('traceId')}:{span.get('spanId')}:{evaluator}:{nanoseconds}",
            evaluator=evaluator,
            explanation=field_text(names, "gen_ai.evaluation.explanation"),
            created_at=read_moment({"timeUnixNano": nanoseconds // 1_000_000}, "timeUnixNano") if nanoseconds else None,
            trace_id=field_text(span, "traceId"),
            span_id=field_text(span, "spanId"),
            texts=build_texts(
                input=pick(about, "input.value", "gen_ai.input.messages")[1],
                output=pick(about, "output.value", "gen_ai.output.messages")[1],
                model=pick(about, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name")[1],
            ),
        )
        if names.get("error.type") is not None:
            verdict = FoundVerdict()
        add_verdict(score, verdict, record, intake)


def _iterate_events(values: Values) -> Iterator[tuple[Values, Values]]:
    for resource in find_objects(values.get("resourceSpans")):
        for scope in find_objects(resource.get("scopeSpans")):
            for span in find_objects(scope.get("spans")):
                for event in find_objects(span.get("events")):
                    if event.get("name") == EVALUATION_EVENT:
                        yield span, event


def _attributes(values: Values) -> dict[str, object]:
    found: dict[str, object] = {}
    for attribute in find_objects(values.get("attributes")):
        value = read_object(attribute, "value")
        found[str(attribute.get("key"))] = next(iter(value.values()), None)
    return found


def take_columns(record: FileRecord, intake: Intake) -> None:
    """Take a row in by the columns that the caller has named."""
    values, columns = record.values, intake.belongs.columns
    for column in (*columns.fields.values(), *columns.scores.values()):
        if column not in values:
            raise InvalidRecord(column, f"There is no such column; there are {', '.join(list(values)[:12])}.")
    named = {field: values[column] for field, column in columns.fields.items()}
    texts = build_texts(**{field: named.get(field) for field in ("input", "output", "gold", "contexts", "model")})
    texts["evaluated_model_retrieved_context"] = read_passages(named.get("contexts"))
    id = as_text(named.get("id"))
    for name, column in columns.scores.items():
        score = FoundScore(
            key=f"{id or find_place(texts, intake)}:{name}",
            evaluator=name,
            explanation=as_text(named.get("explanation")),
            created_at=read_moment({"created_at": named.get("created_at")}, "created_at"),
            sample_id=id,
            texts=texts,
        )
        add_verdict(score, read_verdict(column, values[column]), record, intake)


def is_braintrust(record: FileRecord) -> bool:
    values = record.values
    has_scores = isinstance(parse_literal(str(values.get("scores") or "")), dict) or isinstance(
        values.get("scores"), dict
    )
    return "input" in values and (has_scores or any(name.startswith("scores.") for name in values))


def is_mlflow(record: FileRecord) -> bool:
    return "assessments" in record.values or any(map(_mlflow_column.fullmatch, record.values))


def is_langsmith_row(record: FileRecord) -> bool:
    return "id" in record.values and any(name.startswith("feedback.") for name in record.values)


def is_opik_trace(record: FileRecord) -> bool:
    trace = (
        read_object(record.values, "trace") if "trace" in record.values and "spans" in record.values else record.values
    )
    return bool({"feedback_scores", "feedbackScores"} & trace.keys())

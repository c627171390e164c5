"""OpenAI Evals: the log that `oaieval` writes, the output items of the Evals API, and the samples of an eval."""

from __future__ import annotations

from evalsvc.cli.imports.files.intake import FileShape, FoundScore, Intake, Source
from evalsvc.cli.imports.files.records import FileRecord
from evalsvc.cli.imports.files.values import (
    InvalidRecord,
    Values,
    as_text,
    field_text,
    pick,
    read_flag,
    read_moment,
    read_name,
    read_number,
    read_object,
)

ITEM = "eval.run.output_item"
SPEC = "the spec"


def take_event(record: FileRecord, intake: Intake) -> None:
    """Take a line of a log in: its spec, an event, or its report at the end."""
    values = record.values
    if "spec" in values:
        spec = read_object(values, "spec")
        for name in ("eval_name", "run_id"):
            if not field_text(spec, name):
                raise InvalidRecord(f"spec.{name}", "It is missing, or empty.")
        intake.memory[SPEC] = spec
    elif "final_report" in values:
        intake.beside["reports"] += 1
    else:
        _take_event(values, record, intake)


def _take_event(values: Values, record: FileRecord, intake: Intake) -> None:
    type_name = read_name(values, "type")
    data = read_object(values, "data")
    sample = f"{read_name(values, 'run_id')}:{field_text(values, 'sample_id')}"
    if type_name == "sampling":
        intake.add_texts(sample, _sampled(data), record, is_first_enough=True)
    elif type_name == "match":
        correct = read_flag(data, "correct")
        score = _score(values, sample, "match", intake)
        score.score, score.passed = None if correct is None else float(correct), correct
        score.texts = _matched(data)
        intake.add_score(score, record)
    elif type_name == "metrics":
        _take_metrics(values, data, sample, record, intake)
    else:
        intake.beside[f"{type_name} events"] += 1


def _score(values: Values, sample: str, criteria: str, intake: Intake) -> FoundScore:
    """Return a score of an event without its verdict."""
    spec = intake.memory.get(SPEC)
    if not isinstance(spec, dict):
        raise InvalidRecord("run_id", "No spec stands before the event: the log lacks its first line.")
    run_id = read_name(values, "run_id")
    about = {"run_id": run_id, "event_id": read_name(values, "event_id"), "eval_name": field_text(spec, "eval_name")}
    return FoundScore(
        key=f"{run_id}:{about['event_id']}:{criteria}",
        evaluator=read_name(spec, "base_eval", "eval_name"),
        criteria=criteria,
        created_at=read_moment(values, "created_at"),
        sample_id=field_text(values, "sample_id"),
        metadata={**about, "completion_fns": spec.get("completion_fns"), "split": spec.get("split")},
        refs=[sample],
    )


def _take_metrics(values: Values, data: Values, sample: str, record: FileRecord, intake: Intake) -> None:
    """Take each metric of an event in: a number, true or false, or a word such as a grader's choice."""
    beside = {name: value for name, value in data.items() if isinstance(value, dict | list)}
    for name, value in data.items():
        if name in beside:
            continue
        score = _score(values, sample, name, intake)
        if isinstance(value, bool):
            score.score, score.passed = float(value), value
        elif isinstance(value, str):
            score.text = value or None
        else:
            score.score = read_number(data, name)
        score.metadata = {**score.metadata, **beside}
        intake.add_score(score, record)


def _sampled(data: Values) -> dict[str, object]:
    sampled = data.get("sampled")
    if isinstance(sampled, list) and len(sampled) == 1:
        sampled = sampled[0]
    return {"evaluated_model_input": field_text(data, "prompt"), "evaluated_model_output": as_text(sampled)}


def _matched(data: Values) -> dict[str, object]:
    """Return the texts of a match event; the input is in the sampling event."""
    expected = data.get("expected")
    golds = [text for answer in expected if (text := as_text(answer))] if isinstance(expected, list) else None
    texts = {
        "evaluated_model_output": as_text(pick(data, "sampled", "picked")[1]),
        "evaluated_model_gold_answer": None if golds else as_text(expected),
        "evaluated_model_gold_answers": golds,
    }
    return {name: value for name, value in texts.items() if value}


def take_output_item(record: FileRecord, intake: Intake) -> None:
    """Take the results of an output item in, each grader's."""
    values = record.values
    if values.get("object") != ITEM:
        raise InvalidRecord("object", f"{ITEM!r} is expected, and {values.get('object')!r} is found.")
    id = read_name(values, "id")
    about = {
        "output_item_id": id,
        **{name: field_text(values, name) for name in ("run_id", "eval_id", "status")},
        "datasource_item": read_object(values, "datasource_item"),
    }
    results = values.get("results")
    if not isinstance(results, list):
        raise InvalidRecord("results", "A list of results is expected.")
    for i, result in enumerate(results):
        if not isinstance(result, dict):
            raise InvalidRecord(f"results.{i}", "An object is expected.")
        _take_result(i, result, about, record, intake)


def _take_result(i: int, result: Values, about: Values, record: FileRecord, intake: Intake) -> None:
    try:
        name, number, passed = read_name(result, "name"), read_number(result, "score"), read_flag(result, "passed")
    except InvalidRecord as exc:
        raise InvalidRecord(f"results.{i}.{exc.field}", exc.reason) from None
    score = FoundScore(
        key=f"{about['output_item_id']}:{i}:{name}",
        evaluator=name,
        score=number,
        # A failed grader reports `passed: false` without a score: that is not a verdict, and must not count as 0.
        passed=None if number is None else passed,
        created_at=read_moment(record.values, "created_at"),
        sample_id=field_text(record.values, "datasource_item_id"),
        metadata={**about, "grader_type": field_text(result, "type")},
        texts=_item_texts(record.values),
    )
    intake.add_score(score, record)


def _item_texts(values: Values) -> dict[str, object]:
    """Return the messages of an item: one is its text, several are JSON."""
    sample = read_object(values, "sample")
    return {
        "evaluated_model_input": _messages(sample.get("input")),
        "evaluated_model_output": _messages(sample.get("output")),
        "evaluated_model_name": field_text(sample, "model"),
    }


def _messages(messages: object) -> str | None:
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], dict):
        return as_text(messages[0].get("content"))
    return as_text(messages) if messages else None


def take_sample(record: FileRecord, intake: Intake) -> None:
    """Take a sample of an eval in, as an example of a dataset."""
    values = record.values
    metadata = {
        name: value for name, value in values.items() if name not in ("id", "input", "messages", "item", "ideal")
    }
    item = read_object(values, "item") or None
    example = {
        "id": field_text(values, "id"),
        "input": pick(values, "input", "messages")[1] or item,
        "expected": pick(values, "ideal")[1],
        "metadata": metadata,
    }
    intake.add_example(None, example, record)


def _is_log(record: FileRecord) -> bool:
    return "spec" in record.values or {"run_id", "event_id", "type"} <= record.values.keys()


def _is_item(record: FileRecord) -> bool:
    return record.values.get("object") == ITEM


def _is_sample(record: FileRecord) -> bool:
    keys = record.values.keys()
    return "item" in keys or ("ideal" in keys and bool(keys & {"input", "messages"}))


OPENAI_EVALS = Source(
    name="openai-evals",
    title="OpenAI Evals",
    shapes=(
        FileShape("logs of oaieval", _is_log, take_event),
        FileShape("output items of the Evals API", _is_item, take_output_item),
        FileShape("samples", _is_sample, take_sample),
    ),
    fields={
        "evaluator_id": ("base_eval", "name"),
        "score_raw": ("data", "results"),
        "text_output": ("data", "results"),
        "dataset_sample_id": ("sample_id", "datasource_item_id"),
        "log_id": ("event_id", "id"),
        "evaluation_metadata": ("data", "datasource_item"),
        "evaluated_model_input": ("data", "sample"),
        "evaluated_model_output": ("data", "sample"),
        "evaluated_model_gold_answer": ("data",),
        "evaluated_model_gold_answers": ("data",),
        "expected": ("ideal",),
    },
)

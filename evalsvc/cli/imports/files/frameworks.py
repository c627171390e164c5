"""Results of evaluation frameworks, each recognised by what its records hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from evalsvc.cli.imports.files.intake import FileShape, FoundScore, Intake, Source
from evalsvc.cli.imports.files.platforms import (
    is_braintrust,
    is_langsmith_row,
    is_mlflow,
    is_opik_trace,
    take_braintrust,
    take_columns,
    take_langsmith_example,
    take_langsmith_result,
    take_langsmith_row,
    take_mlflow,
    take_opik_result,
    take_opik_trace,
    take_otlp,
)
from evalsvc.cli.imports.files.records import FileRecord
from evalsvc.cli.imports.files.values import (
    Values,
    field_text,
    name_of_file,
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
    read_text,
    read_verdict,
)

INSPECT_GRADES = {
    "C": FoundVerdict(1.0, True),
    "I": FoundVerdict(0.0, False),
    "P": FoundVerdict(0.5),
    "N": FoundVerdict(0.0, False),
}
"""Correct, incorrect, partly, no answer: what its own metrics count them as."""
CRASHED = "Custom function threw error"
"""How promptfoo begins the reason of an assertion that broke, which it scores 0."""
RAGAS = {
    "input": "user_input", "output": "response", "gold": "reference", "contexts": "retrieved_contexts",
}  # fmt: skip
RAGAS_FIELDS = frozenset(
    {*RAGAS.values(), "reference_contexts", "retrieved_context_ids", "reference_context_ids", "multi_responses",
     "reference_tool_calls", "reference_topics", "rubrics", "persona_name", "query_style", "query_length"}
)  # fmt: skip


def take_inspect(record: FileRecord, intake: Intake) -> None:
    """Take the scores of a sample of Inspect in. What a scorer has not scored is NaN there."""
    values = record.values
    run = read_object(record.about, "eval")
    output = read_object(values, "output")
    texts = build_texts(
        input=values.get("input"),
        output=field_text(output, "completion") or _find_completion(output),
        gold=values.get("target"),
        model=run.get("model"),
    )
    sample_id = read_name(values, "id")
    place = field_text(values, "uuid") or f"{run.get('eval_id')}:{sample_id}:{values.get('epoch')}"
    if values.get("error"):
        intake.beside["samples with an error"] += 1
    for name, found in read_object(values, "scores").items():
        score = found if isinstance(found, dict) else {"value": found}
        value = score.get("value")
        # A scorer may score several things at once.
        parts = value if isinstance(value, dict) else {"": value}
        for part, number in parts.items():
            evaluator = f"{name}.{part}" if part else name
            metadata = {"task": run.get("task"), "run_id": run.get("run_id"), "epoch": values.get("epoch")}
            grade = INSPECT_GRADES.get(number) if isinstance(number, str) else None
            add_verdict(
                FoundScore(
                    key=f"{place}:{evaluator}",
                    evaluator=evaluator,
                    explanation=field_text(score, "explanation"),
                    created_at=read_moment(values, "completed_at") or read_moment(run, "created"),
                    sample_id=sample_id,
                    texts=texts,
                    metadata={**metadata, "answer": score.get("answer"), "metadata": score.get("metadata")},
                ),
                grade or read_verdict(f"scores.{name}", number),
                record,
                intake,
            )


def _find_completion(output: Values) -> str | None:
    choices = find_objects(output.get("choices"))
    return read_text(read_object(choices[0], "message").get("content")) if choices else None


def take_promptfoo(record: FileRecord, intake: Intake) -> None:
    """Take a result of promptfoo in: the whole, and each assertion by its metric or its type."""
    values = record.values
    grading = read_object(values, "gradingResult")
    provider, response = read_object(values, "provider"), read_object(values, "response")
    texts = build_texts(
        input=read_object(values, "prompt").get("raw"),
        output=response.get("output"),
        model=provider.get("label") or provider.get("id"),
    )
    place = field_text(values, "id") or find_place(texts, intake)
    metadata = {
        "vars": values.get("vars"),
        "test_index": values.get("testIdx"),
        "prompt_index": values.get("promptIdx"),
    }
    parts = find_objects(grading.get("componentResults"))
    has_crashed = [str(part.get("reason") or "").startswith(CRASHED) for part in parts]
    for i, (part, crashed) in enumerate(zip(parts, has_crashed, strict=True)):
        assertion = read_object(part, "assertion")
        score = FoundScore(
            key=f"{place}:{i}",
            evaluator=field_text(assertion, "metric", "type") or "assertion",
            explanation=field_text(part, "reason"),
            texts=texts,
            metadata={**metadata, "type": assertion.get("type"), "crashed": crashed or None},
        )
        add_verdict(score, FoundVerdict() if crashed else _read_pass(part, "pass"), record, intake)
    is_error = any(has_crashed) or values.get("failureReason") == 2 or (bool(values.get("error")) and not grading)
    score = FoundScore(
        key=place,
        evaluator="promptfoo",
        explanation=field_text(grading, "reason"),
        texts=texts,
        metadata={**metadata, "error": values.get("error") if is_error else None},
    )
    add_verdict(score, FoundVerdict() if is_error else _read_pass(values, "success"), record, intake)


def _read_pass(values: Values, name: str) -> FoundVerdict:
    number, passed = read_number(values, "score"), values.get(name)
    return FoundVerdict(number, passed if isinstance(passed, bool) and number is not None else None)


def take_promptfoo_row(record: FileRecord, intake: Intake) -> None:
    """Take a row of promptfoo's CSV in: its columns repeat for each prompt, and are numbered here."""
    values = record.values
    outputs = [column for column in values if column.startswith("[")]
    variables = {name: value for name, value in values.items() if name not in outputs}
    for i, column in enumerate(outputs):
        end = f".{i}" if i else ""
        texts = build_texts(input=column.partition("] ")[2], output=values[column], model=column[1:].partition("]")[0])
        place = find_place({**texts, "i": i}, intake)
        reason = field_text(values, f"Grader Reason{end}")
        crashed = (reason or "").startswith(CRASHED) or values.get(f"Status{end}") == "ERROR"
        passed = {"PASS": True, "FAIL": False}.get(str(values.get(f"Status{end}")))
        named = {
            name.removeprefix("Metric: ").removesuffix(end): value
            for name, value in variables.items()
            if name.startswith("Metric: ") and re.sub(r".*?(\.[0-9]+)?$", r"\1", name) == end
        }
        for name, value in {"promptfoo": values.get(f"Score{end}"), **named}.items():
            verdict = read_verdict(name, value)
            # Which of the assertions broke the file does not say: what may be its 0 is no score.
            if crashed and (name == "promptfoo" or not verdict.score):
                verdict = FoundVerdict()
            elif name == "promptfoo":
                verdict = replace(verdict, passed=passed)
            score = FoundScore(key=f"{place}:{name}", evaluator=name, explanation=reason, texts=texts)
            add_verdict(score, verdict, record, intake)


def take_lm_eval(record: FileRecord, intake: Intake) -> None:
    """Take the metrics of a sample of lm-eval in."""
    values = record.values
    task = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT.*$", "", name_of_file(record.place))
    arguments = read_object(values, "arguments")
    first = next(iter(arguments.values()), None)
    prompt = first.get("arg_0") if isinstance(first, dict) else first
    answers = values.get("filtered_resps")
    texts = build_texts(
        input=prompt,
        output=answers[0] if isinstance(answers, list) and len(answers) == 1 else answers,
        gold=values.get("target"),
    )
    rule = field_text(values, "filter")
    metrics = values.get("metrics")
    for name in metrics if isinstance(metrics, list) else []:
        score = FoundScore(
            key=f"{find_place(texts, intake)}:{rule}:{name}",
            evaluator=str(name),
            criteria=task if rule in (None, "none") else f"{task}:{rule}",
            sample_id=field_text(values, "doc_id"),
            texts=texts,
            metadata={"task": task, "filter": rule, "doc_hash": values.get("doc_hash")},
        )
        add_verdict(score, read_verdict(str(name), values.get(str(name))), record, intake)


def take_ragas(record: FileRecord, intake: Intake) -> None:
    """Take a row of ragas in: columns that are none of its dataset's are metrics."""
    values = {name: value for name, value in record.values.items() if name and not name.startswith("Unnamed:")}
    texts = build_texts(**{field: values.get(column) for field, column in RAGAS.items()})
    verdicts = {name: read_verdict(name, values[name]) for name in values.keys() - RAGAS_FIELDS}
    numbers = {name: verdict for name, verdict in verdicts.items() if verdict.text is None}
    labels = {name: verdict.text for name, verdict in verdicts.items() if verdict.text is not None}
    if not numbers:
        _add_example(texts, {"metadata": labels or None}, record, intake)
    for name in (name for name in values if name in numbers):
        score = FoundScore(key=f"{find_place(texts, intake)}:{name}", evaluator=name, texts=texts, metadata=labels)
        add_verdict(score, numbers[name], record, intake)


def _add_example(texts: Mapping[str, object], more: Values, record: FileRecord, intake: Intake) -> None:
    names = {
        "input": "evaluated_model_input",
        "expected": "evaluated_model_gold_answer",
        "contexts": "evaluated_model_retrieved_context",
    }
    intake.add_example(None, {**{name: texts.get(field) for name, field in names.items()}, **more}, record)


def take_deepeval(record: FileRecord, intake: Intake) -> None:
    """Take the metrics of a test of deepeval in."""
    values = record.values
    texts = _deepeval_texts(values)
    place = find_place(texts, intake)
    for i, metric in enumerate(find_objects(pick(values, "metricsData", "metrics_data")[1])):
        error = field_text(metric, "error")
        score = FoundScore(
            key=f"{place}:{i}",
            evaluator=read_name(metric, "name"),
            explanation=field_text(metric, "reason"),
            sample_id=field_text(values, "name"),
            texts=texts,
            metadata={
                "threshold": metric.get("threshold"),
                "model": pick(metric, "evaluationModel", "evaluation_model")[1],
                "error": error,
            },
        )
        add_verdict(score, FoundVerdict() if error else _read_pass(metric, "success"), record, intake)


def _deepeval_texts(values: Values) -> dict[str, object]:
    contexts = pick(values, "retrievalContext", "retrieval_context", "context")[1]
    # Its CSV and its JSON lines join a list by bars.
    passages = contexts.split("|") if isinstance(contexts, str) and contexts[:1] != "[" else contexts
    return build_texts(
        input=values.get("input"),
        output=pick(values, "actualOutput", "actual_output")[1],
        gold=pick(values, "expectedOutput", "expected_output")[1],
        contexts=passages,
    )


def take_golden(record: FileRecord, intake: Intake) -> None:
    """Take a golden of deepeval in, as an example of a dataset."""
    metadata = read_object(record.values, "additional_metadata")
    source = record.values.get("source_file")
    more = {"metadata": {**metadata, **({"source_file": source} if source else {})}}
    _add_example(_deepeval_texts(record.values), more, record, intake)


def hold(*names: str) -> Callable[[FileRecord], bool]:
    """Return a function that tells whether a record has all of these fields."""
    return lambda record: set(names) <= record.values.keys()


def _is_deepeval(record: FileRecord) -> bool:
    return bool({"metricsData", "metrics_data"} & record.values.keys())


def _is_golden(record: FileRecord) -> bool:
    names = record.values.keys()
    return {"input", "expected_output"} <= names and bool(
        names & {"source_file", "additional_metadata", "retrieval_context"}
    )


SHAPES = (
    FileShape("samples of Inspect", hold("epoch", "target"), take_inspect, "inspect"),
    FileShape("results of promptfoo", hold("promptIdx", "testIdx"), take_promptfoo, "promptfoo"),
    FileShape("a table of promptfoo", hold("Status", "Score", "Grader Reason"), take_promptfoo_row, "promptfoo"),
    FileShape("samples of lm-eval", hold("doc_id", "filtered_resps"), take_lm_eval, "lm-eval"),
    FileShape("results of LangSmith", hold("run", "evaluation_results"), take_langsmith_result, "langsmith"),
    FileShape("a table of LangSmith", is_langsmith_row, take_langsmith_row, "langsmith"),
    FileShape("examples of LangSmith", hold("dataset_id", "inputs", "outputs"), take_langsmith_example, "langsmith"),
    FileShape("results of deepeval", _is_deepeval, take_deepeval, "deepeval"),
    FileShape("goldens of deepeval", _is_golden, take_golden, "deepeval"),
    FileShape("results of Opik", hold("test_case", "score_results"), take_opik_result, "opik"),
    FileShape("traces of Opik", is_opik_trace, take_opik_trace, "opik"),
    FileShape("a dataset or results of ragas", hold("user_input"), take_ragas, "ragas"),
    FileShape("a table of MLflow", is_mlflow, take_mlflow, "mlflow"),
    FileShape("results of Braintrust", is_braintrust, take_braintrust, "braintrust"),
    FileShape("spans of OTLP", hold("resourceSpans"), take_otlp, "otlp"),
)
SCORES = Source(
    name="scores",
    title="an evaluation framework",
    shapes=SHAPES,
    fields={},
    lists=("data", "examples", "results", "samples", "test_results", "testResults", "testCases"),
)
COLUMNS = replace(SCORES, shapes=(FileShape("a table", lambda record: True, take_columns, "table"),))
"""Where the caller names the columns."""

"""Rows of other tools: RAGAS, DeepEval, LM-Eval, promptfoo and Inspect. Their outputs go to the metadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalsvc.datasets.importers.formats.record import DocumentShape, RowFormat, read_list, read_object, rebuild
from evalsvc.datasets.importers.lines import Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

OUTPUT = "evaluated_model_output"
GOLD_CONTEXTS = "gold_contexts"
FINISH_REASON = "finish_reason"
DEEPEVAL = {
    "expected": ("expected_output", "expectedOutput"),
    "contexts": ("retrieval_context", "retrievalContext"),
    OUTPUT: ("actual_output", "actualOutput"),
    GOLD_CONTEXTS: ("context",),
}


def first(record: Record, names: Iterable[str]) -> Any:
    """Return the first value that is there."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def is_ragas(record: Record) -> bool:
    """Return whether a row is a sample of RAGAS."""
    return "user_input" in record and bool({"response", "reference", "retrieved_contexts"} & record.keys())


def convert_ragas(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read the reference as the expected answer, and the response as an output that is there already."""
    used = ("user_input", "reference", "response", "retrieved_contexts", "reference_contexts")
    fields = {
        "input": record.get("user_input"),
        "expected": record.get("reference"),
        "contexts": record.get("retrieved_contexts"),
    }
    metadata = {OUTPUT: record.get("response"), GOLD_CONTEXTS: record.get("reference_contexts")}
    return rebuild(record, used, fields, metadata)


def is_deepeval(record: Record) -> bool:
    """Return whether a row is a test case or a golden of DeepEval."""
    return "input" in record and bool({*DEEPEVAL[OUTPUT], *DEEPEVAL["contexts"]} & record.keys())


def convert_deepeval(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read `retrieval_context` as contexts, and `context`, the ideal one, as gold contexts."""
    values = {field: first(record, names) for field, names in DEEPEVAL.items()}
    used = [name for names in DEEPEVAL.values() for name in names]
    fields = {"expected": values["expected"], "contexts": values["contexts"]}
    return rebuild(record, used, fields, {OUTPUT: values[OUTPUT], GOLD_CONTEXTS: values[GOLD_CONTEXTS]})


def is_lm_eval(record: Record) -> bool:
    """Return whether a row is a sample that lm-evaluation-harness logs."""
    return {"doc_id", "doc", "target"} <= record.keys() and bool({"resps", "filtered_resps"} & record.keys())


def convert_lm_eval(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read the prompt, the target and the filtered response. A file has a row for each filter of a document."""
    name, filter_name = str(record["doc_id"]), record.get("filter")
    if filter_name not in (None, "none"):
        name = f"{name}:{filter_name}"
    fields = {"id": name, "input": find_prompt(record), "expected": record["target"]}
    responses = first(record, ("filtered_resps", "resps"))
    used = ("doc_id", "target", "arguments", "resps", "filtered_resps")
    output = read_response(responses)
    if isinstance(output, int) and is_text_target(record["target"]):
        output = find_continuation(record, output)
    metadata = {OUTPUT: str(output) if isinstance(output, int) else output, "doc_id": record["doc_id"]}
    return rebuild(record, used, fields, metadata)


def find_prompt(record: Record) -> object:
    """Return the first argument of the first request; else the whole document."""
    arguments = record.get("arguments")
    request = first(arguments, ("gen_args_0",)) if isinstance(arguments, dict) else arguments
    while isinstance(request, list) and request:
        request = request[0]
    prompt = request.get("arg_0") if isinstance(request, dict) else request
    return prompt if isinstance(prompt, str) else record["doc"]


def is_text_target(target: object) -> bool:
    """Return whether a target names a choice by its text, and not by its index."""
    return isinstance(target, str) and not target.strip().isdecimal()


def find_continuation(record: Record, index: int) -> object:
    """Return the text whose likelihood was asked for: the second argument of a request."""
    arguments = record.get("arguments")
    request = arguments.get(f"gen_args_{index}") if isinstance(arguments, dict) else None
    if isinstance(arguments, list) and index < len(arguments):
        request = arguments[index]
    text = request.get("arg_1") if isinstance(request, dict) else request[-1] if isinstance(request, list) else None
    return text.strip() if isinstance(text, str) else None


def read_response(responses: object) -> object:
    """Return a generated text; of likelihoods, the index of the highest, which is what the target is an index of."""
    if not isinstance(responses, list) or not responses:
        return responses
    likelihoods = [read_likelihood(response) for response in responses]
    if None not in likelihoods:
        return max(range(len(responses)), key=lambda i: likelihoods[i] or 0.0) if len(responses) > 1 else None
    while isinstance(responses, list) and responses:
        responses = responses[0]
    return responses


def read_likelihood(response: object) -> float | None:
    """Return the log-likelihood of a pair (log-likelihood, is greedy), which may stand in a list of one."""
    if isinstance(response, list) and len(response) == 1:
        response = response[0]
    if not isinstance(response, list) or len(response) != 2 or str(response[1]) not in ("True", "False"):
        return None
    try:
        return float(response[0])
    except (ValueError, TypeError):
        return None


def is_promptfoo(record: Record) -> bool:
    """Return whether a row is a result of promptfoo."""
    return {"prompt", "success"} <= record.keys() and isinstance(record["prompt"], dict)


def convert_promptfoo(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read the rendered prompt, the output, and what `equals` asserts. The verdict goes to the metadata."""
    test, response, provider = (record.get(name) for name in ("testCase", "response", "provider"))
    checks = [read_object(check) for check in read_list(read_object(test).get("assert"))]
    is_refusal = bool(read_object(response).get("isRefusal"))
    golds = [check.get("value") for check in checks if check.get("type") == "equals"]
    fields = {
        "id": find_result_id(record),
        "input": record["prompt"].get("raw"),
        "expected": golds[0] if len(golds) == 1 else golds or None,
    }
    metadata = {
        OUTPUT: response.get("output") if isinstance(response, dict) else response,
        FINISH_REASON: "refusal" if is_refusal else read_object(response).get("finishReason"),
        "meta_evaluated_model_name": provider.get("id") if isinstance(provider, dict) else provider,
        "variables": record.get("vars"),
        "prompt_label": record["prompt"].get("label"),
        **{name: record.get(name) for name in ("success", "score", "error", "namedScores", "latencyMs", "cost")},
    }
    return rebuild({}, (), fields, metadata)


def find_result_id(record: Record) -> object:
    """Return the number of the test, which is the same in each run, with that of a further prompt or provider."""
    test, prompt = record.get("testIdx"), record.get("promptIdx")
    if type(test) is not int:
        return record.get("id")
    return f"{test}:{prompt}" if prompt else str(test)


def is_inspect(record: Record) -> bool:
    """Return whether a row is a sample of a log of Inspect."""
    return {"id", "epoch", "input", "target"} <= record.keys()


def convert_inspect(location: SourceLocation, record: Record, refusals: Refusals) -> Record:
    """Read a sample and its output. Of several epochs, those after the first have the epoch in the id."""
    epoch, scores = record["epoch"], record.get("scores")
    fields = {
        "id": str(record["id"]) if epoch == 1 else f"{record['id']}:{epoch}",
        "input": record["input"],
        "expected": record["target"] or None,
    }
    values = {name: read_object(score).get("value") for name, score in read_object(scores).items()} or None
    output = record.get("output")
    metadata = {OUTPUT: read_completion(output), FINISH_REASON: read_stop_reason(output)}
    metadata |= {"epoch": epoch, "scores": values}
    kept = {name: record[name] for name in ("metadata", "choices") if record.get(name) is not None}
    return rebuild(kept, (), fields, metadata)


def read_stop_reason(output: object) -> object:
    """Return why a model stopped."""
    choices = read_list(read_object(output).get("choices"))
    return read_object(choices[0]).get("stop_reason") if choices else None


def read_completion(output: object) -> object:
    """Return the text of a model's output."""
    if not isinstance(output, dict):
        return output
    choices = [read_object(choice) for choice in read_list(output.get("choices"))]
    message = read_object(choices[0].get("message")) if choices else {}
    content = message.get("content", output.get("completion"))
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content


RESULT_FORMATS = (
    RowFormat("ragas", "RAGAS", is_ragas, convert_ragas),
    RowFormat(
        *("deepeval", "DeepEval", is_deepeval, convert_deepeval),
        documents=(
            DocumentShape("testRunData/testCases/*", rb'\{\s*"testRunData"\s*:'),
            DocumentShape("testCases/*", rb'\{[^{}\[\]]*"testCases"\s*:\s*\['),
        ),
    ),
    RowFormat("lm_eval", "LM-Eval", is_lm_eval, convert_lm_eval),
    RowFormat(
        *("promptfoo", "promptfoo", is_promptfoo, convert_promptfoo),
        documents=(
            DocumentShape(
                "results/results/*", rb'\{\s*("evalId"[^{}]*"results"\s*:\s*\{|"results"\s*:\s*\{\s*"version")'
            ),
        ),
    ),
    RowFormat(
        "inspect",
        "Inspect",
        is_inspect,
        convert_inspect,
        documents=(DocumentShape("samples/*", rb'\{\s*"version"[^{}]*"eval"\s*:\s*\{'),),
    ),
)

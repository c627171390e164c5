"""Runs and output items as clients read them. Every key is always there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.datasets.models import Example
from evalsvc.experiments.definition.fields.mapper import CHOICES
from evalsvc.experiments.definition.messages import show_messages
from evalsvc.experiments.definition.templates import UnknownField
from evalsvc.experiments.models import Config, Output, Score
from evalsvc.experiments.runner.generate import messages_for
from evalsvc.openai_evals.api.base import to_seconds
from evalsvc.openai_evals.criteria import read_settings
from evalsvc.openai_evals.models import EvalRun
from evalsvc.openai_evals.prompts import asks_model
from evalsvc.openai_evals.results import (
    Item,
    build_pass_rate,
    compare_with_earlier,
    count_by_criterion,
    load_outputs,
    load_scores,
    read_asked_usage,
    read_usage,
    summarize_run,
)
from evalsvc.openai_evals.selectors import EVAL, ITEM, RUN, get_run_config, get_status
from evaluators.base import CannotScore, Sample
from evaluators.checks.graders import ANSWER_TOKENS, model_grader
from evaluators.samples import build_sample, is_choice_list

NO_USAGE = {"total_tokens": 0, "completion_tokens": 0, "prompt_tokens": 0, "cached_tokens": 0}
ASKING = ("score_model", "label_model")


def run_out(run: EvalRun, report_url: str, compares: bool) -> dict[str, Any]:
    """Return a run. `versus` is null where it does not compare: in lists."""
    config = get_run_config(run)
    status = get_status(config)
    summary = summarize_run(run, config)
    counts = summary.counts
    versus = compare_with_earlier(run, config, summary.statuses) if compares else None
    return {
        "id": f"{RUN}{run.pk}",
        "object": "eval.run",
        "eval_id": f"{EVAL}{run.eval_id}",
        "created_at": to_seconds(run.created_at),
        "status": status,
        "model": run.data_source.get("model") or "" if asks_model(run.data_source) else "",
        "name": run.name,
        "metadata": run.metadata or {},
        "report_url": report_url,
        "data_source": run.data_source,
        "error": {"code": str(config.stop_reason), "message": "The run has stopped."} if status == "failed" else None,
        "result_counts": {
            "total": counts.total,
            "passed": counts.passed,
            "failed": counts.failed,
            "errored": counts.errored,
        },
        "per_model_usage": [_usage_out(*row) for row in _read_usages(config)],
        "per_testing_criteria_results": _criteria_out(run, config),
        "evalsvc": {
            "experiment_id": str(run.experiment_id),
            "config_id": str(config.pk),
            "pass_rate": summary.pass_rate,
            "versus": versus and {**versus, "run_id": f"{RUN}{versus['run_id']}"},
        },
    }


def _read_usages(config: Config) -> list[tuple[str, int, int, int]]:
    """Return one row for each model, whether it was asked or has graded."""
    usages: dict[str, tuple[int, int, int]] = {}
    asked = read_asked_usage(config) if config.kind == Config.Kind.CHAT else []
    for model, *numbers in [*asked, *read_usage(config)]:
        before = usages.get(model, (0, 0, 0))
        usages[model] = (before[0] + numbers[0], before[1] + numbers[1], before[2] + numbers[2])
    return [(model, *numbers) for model, numbers in usages.items()]


def _usage_out(model: str, n: int, n_in: int, n_out: int) -> dict[str, Any]:
    usage = {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out, "cached_tokens": 0}
    return {"model_name": model, "invocation_count": n, **usage}


def _criteria_out(run: EvalRun, config: Config) -> list[dict[str, Any]]:
    counts_by_criterion = zip(run.eval.criteria, count_by_criterion(run, config), strict=True)
    return [
        {
            "testing_criteria": criterion["id"],
            "passed": counts.passed,
            "failed": counts.failed,
            "errored": counts.errored,
            "evalsvc": {"pass_rate": build_pass_rate(counts)},
        }
        for criterion, counts in counts_by_criterion
        if counts.total
    ]


def items_out(run: EvalRun, config: Config, items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return output items, with the rows and the results of all criteria."""
    outputs = load_outputs(config, items)
    scores = load_scores(config, outputs)
    examples = Example.objects.in_bulk([output.example_id for output in outputs.values()])
    return [_item_out(run, config, item, outputs[item.output_id], examples, scores) for item in items]


def _item_out(
    run: EvalRun,
    config: Config,
    item: Item,
    output: Output,
    examples: Mapping[int, Example],
    scores: Mapping[tuple[int, str], Score],
) -> dict[str, Any]:
    components = output.output or {}
    item_sample = build_sample(
        {
            "item": examples[output.example_id].input,
            "output": components.get("output"),
            CHOICES: components.get(CHOICES),
        }
    )
    results = [
        _result_out(criterion, scores[output.pos, metric["name"]], item_sample)
        for criterion, metric in zip(run.eval.criteria, run.eval.metrics, strict=True)
    ]
    return {
        "id": f"{ITEM}{output.pk}",
        "object": "eval.run.output_item",
        "created_at": to_seconds(output.created_at),
        "run_id": f"{RUN}{run.pk}",
        "eval_id": f"{EVAL}{run.eval_id}",
        "status": item.status,
        "datasource_item_id": item.position,
        "datasource_item": examples[output.example_id].input,
        "results": results,
        "sample": _sample_out(config, output, examples[output.example_id]),
    }


def _result_out(criterion: Mapping[str, Any], score: Score, sample: Sample) -> dict[str, Any]:
    is_error = score.error_code is not None
    extra = score.extra or {}
    return {
        "name": criterion["id"],
        "type": criterion["type"],
        "score": None if is_error else extra.get("score", score.value),
        "passed": None if is_error else score.passed,
        "sample": _grading_out(criterion, score, sample) if criterion["type"] in ASKING else None,
        "evalsvc": {"explanation": score.explanation, "error": _error_out(score.error_code, score.error_message)},
    }


def _grading_out(criterion: Mapping[str, Any], score: Score, sample: Sample) -> dict[str, Any]:
    """Return what a model that grades was asked, and its answer in the form in which programs parse it."""
    extra = score.extra or {}
    judge = extra.get("judge") or {}
    said: Mapping[str, Any] = next(iter(extra.get("answers") or ()), {})
    steps = [{"description": said.get("reasoning") or score.explanation or "", "conclusion": score.explanation or ""}]
    answer = json.dumps({"steps": steps, "result": said.get("label", extra.get("score", score.value))})
    n_in, n_out = (int(judge.get(name) or 0) for name in ("input_tokens", "output_tokens"))
    settings = read_settings(criterion)
    sampling = settings.get("sampling_params") or {}
    longest = next((sampling[name] for name in ANSWER_TOKENS if name in sampling), None)
    return {
        "input": _list_grader_messages(settings, sample),
        "output": [] if score.error_code else [{"role": "assistant", "content": answer}],
        "finish_reason": "stop",
        "model": judge.get("model") or next(iter(judge.get("models") or ()), ""),
        "usage": NO_USAGE | {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out},
        "error": _error_out(score.error_code, score.error_message),
        "temperature": sampling.get("temperature"),
        "max_completion_tokens": longest,
        **dict.fromkeys(("top_p", "seed")),
    }


def _list_grader_messages(settings: Mapping[str, Any], sample: Sample) -> list[dict[str, str]]:
    try:
        return [{"role": role, "content": text} for role, text in model_grader(settings, sample).messages]
    except CannotScore:
        return []


def _error_out(code: str | None, message: str | None) -> dict[str, Any] | None:
    return None if code is None else {"code": code, "message": message or ""}


def _sample_out(config: Config, output: Output, example: Example) -> dict[str, Any]:
    components, parameters = output.output or {}, config.parameters
    text, tool_calls = components.get("output"), _find_tool_calls(components)
    n_in, n_out = output.input_tokens or 0, output.output_tokens or 0
    return {
        "input": _list_messages(config, example),
        "output": [] if text is None else [{"role": "assistant", "content": text, **tool_calls}],
        "finish_reason": components.get("finish_reason") or ("tool_calls" if tool_calls else "stop"),
        "model": components.get("model") or "",
        "usage": NO_USAGE | {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out},
        "error": _error_out(output.error_type, output.error_message),
        **{name: parameters.get(name) for name in ("temperature", "top_p", "seed", "max_completion_tokens")},
    }


def _find_tool_calls(components: Mapping[str, Any]) -> dict[str, Any]:
    """Return the member with the tools that a model called, which the clients keep; nothing where it called none."""
    choices = components.get(CHOICES)
    calls = choices[0]["message"].get("tool_calls") if is_choice_list(choices) else None
    return {"tool_calls": calls} if calls else {}


def _list_messages(config: Config, example: Example) -> list[dict[str, str]]:
    """Return what the model was asked, filled in; nothing where the sample was sent or a column is missing."""
    if config.kind != Config.Kind.CHAT:
        return []
    try:
        return show_messages(messages_for(config.parameters, {"input": example.input}))
    except UnknownField:
        return []

"""A new experiment by form: the same body as `POST /v1/experiments`, previewed with its cost, refused at the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.experiments.form_fields import (
    CHAT,
    MOST_BLOCKS,
    budget_fields,
    build_group,
    config_fields,
    errors_at_fields,
    field_source,
    groups_of_fields,
    metric_fields,
    plan_fields,
)
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import read_fields
from evalsvc.console.parts.forms.json_fields import read_json_object
from evalsvc.experiments.parser import PlannedExperiment, preview_experiment, read_experiment
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.services import create_experiment
from evalsvc.rest.problems import FieldError, Invalid, Problem

NUMBERS = ("limit", "n_samples", "confirm", "seed", "level", "num_shards", "epsilon")
MIND = {
    "no_max_tokens": "A config has no maximum output tokens, so its cost has no upper bound.",
    "conversation_not_estimated": "The cost of conversations is not estimated: each turn sends the turns before it.",
}
BUDGET = ("queries", "cost", "seconds")


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_experiment(request: PageRequest) -> HttpResponse:
    """Show the form of a new experiment, preview the experiment, or create it."""
    data = read_fields(request)
    n_configs, n_metrics = _count(data, "n_configs", 1), _count(data, "n_metrics", 1)
    if "add_config" in data or "add_metric" in data:
        n_configs = min(MOST_BLOCKS, n_configs + ("add_config" in data))
        n_metrics = min(MOST_BLOCKS, n_metrics + ("add_metric" in data))
        return _form(request, data, n_configs, n_metrics)
    if request.method != "POST":
        start = {"dataset": request.GET.get("dataset", "")} if request.GET.get("dataset") else {}
        return _form(request, start and {**start, "start": "on"}, n_configs, n_metrics)
    try:
        body = build_experiment_body(data, n_configs, n_metrics)
        plan = read_experiment(account=request.visitor.account, epoch=None, sent=body)
        if "preview" in data:
            preview = preview_experiment(account=request.visitor.account, planned=plan)
            return _form(request, data, n_configs, n_metrics, preview=preview, body=body)
        return _create_experiment(request, plan)
    except Problem as problem:
        errors = errors_at_fields(problem.errors) or {"": problem.detail}
        return _form(request, data, n_configs, n_metrics, errors=errors)


def _create_experiment(request: PageRequest, planned: PlannedExperiment) -> HttpResponse:
    visitor, body = request.visitor, planned.body
    start = bool(body["plan"]["start"])
    experiment = create_experiment(
        account=visitor.account,
        name=body["name"],
        plan=planned.spec,
        candidates=planned.candidates,
        start=start,
        actor=visitor.actor,
    )
    if start:
        enqueue_after_commit()
    messages.success(request, f"{experiment.name} {'runs' if start else 'is a draft; start it when it is ready'}.")
    return redirect(page_address("console_experiment", experiment.pk))


def _form(
    request: PageRequest,
    sent: Mapping[str, str],
    n_configs: int,
    n_metrics: int,
    *,
    errors: Mapping[str, str] | None = None,
    preview: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
) -> HttpResponse:
    source, field_errors = field_source(request.visitor.account), errors or {}
    context = {
        "plan": build_group("Plan", [*plan_fields(source), *budget_fields()], sent, field_errors, prefix="plan"),
        "metrics": groups_of_fields("m", "Metric", n_metrics, metric_fields, source, sent, field_errors),
        "configs": groups_of_fields("c", "Config", n_configs, config_fields, source, sent, field_errors),
        "n_configs": n_configs,
        "n_metrics": n_metrics,
        "refused": field_errors.get("", ""),
        "n_errors": len(field_errors),
        "preview": preview,
        "mind": [MIND.get(warning, warning) for warning in preview["warnings"]] if preview else [],
        "has_datasets": bool(source.datasets),
        "has_connections": bool(source.connections),
        "call": ApiCall("POST", "/v1/experiments", body=body or {"name": "…", "plan": {}, "configs": []}),
    }
    return render(request, "console/experiments/new.html", context, status=422 if errors else 200)


def build_experiment_body(sent: Mapping[str, str], n_configs: int, n_metrics: int) -> dict[str, Any]:
    """Return the API's request body.

    Raises Invalid, with the API's pointers, for invalid numbers and invalid JSON.
    """
    budget = {name: _number(sent, f"budget_{name}", f"/plan/budget/{name}") for name in BUDGET}
    plan: dict[str, Any] = {
        "dataset_id": sent.get("dataset", ""),
        "dataset_version": _number(sent, "version", "/plan/dataset_version"),
        "metrics": [metric for i in range(n_metrics) if (metric := _metric(sent, i))],
        "policy": sent.get("policy", ""),
        "baseline": sent.get("baseline", "").strip() or None,
        "budget": {name: value for name, value in budget.items() if value is not None},
        "start": bool(sent.get("start")),
    }
    numbers = {name: _number(sent, name, f"/plan/{name}") for name in NUMBERS}
    plan |= {name: value for name, value in numbers.items() if value is not None}
    plan |= {"promote": True} if sent.get("promote") == "yes" else {}
    configs = [config for i in range(n_configs) if (config := _config(sent, i))]
    if missing := _missing(plan["metrics"], configs):
        raise Invalid(*missing)
    return {"name": sent.get("name", "").strip(), "plan": plan, "configs": configs}


def _missing(metrics: Sequence[object], configs: Sequence[object]) -> list[FieldError]:
    """Return the errors of a form without a metric or without a config, in the form's terms."""
    requirements = (
        (metrics, "/plan/metrics", "Choose an evaluator, or a field of each output."),
        (configs, "/configs", "Fill in at least one config: for a chat config, a connection and a prompt."),
    )
    return [FieldError(pointer, words) for values, pointer, words in requirements if not values]


def _metric(sent: Mapping[str, str], i: int) -> dict[str, Any] | None:
    values = {name: sent.get(f"m{i}-{name}", "").strip() for name in ("name", "evaluator", "criteria", "source")}
    if not values["evaluator"] and not values["source"]:
        return None
    metric: dict[str, Any] = {name: value for name, value in values.items() if value}
    metric.setdefault("name", values["source"] or values["evaluator"])
    if trials := _trials(sent, i):
        # Of trials 1 is best, and the API takes no other word about it.
        return {**metric, "trials": trials} | ({"higher_is_better": False} if sent.get(f"m{i}-better") == "low" else {})
    return {**metric, "higher_is_better": sent.get(f"m{i}-better") != "low"}


def _trials(sent: Mapping[str, str], i: int) -> dict[str, Any] | None:
    """Return how the samples of an example count as trials, as a metric of the API says it."""
    k = _number(sent, f"m{i}-k", f"/plan/metrics/{i}/trials/k")
    if not (of := sent.get(f"m{i}-trials", "")):
        if k is not None:
            raise Invalid(FieldError(f"/plan/metrics/{i}/trials", "Choose pass^k or pass@k, or leave k empty."))
        return None
    return {"of": of, "lost": sent.get(f"m{i}-lost") or "failed"} | ({} if k is None else {"k": k})


def _config(sent: Mapping[str, str], i: int) -> dict[str, Any] | None:
    at, kind = f"c{i}-", sent.get(f"c{i}-kind", "")
    if not any(value.strip() for name, value in sent.items() if name.startswith(at) and name != f"{at}kind"):
        return None
    parameters: dict[str, Any] = {}
    if kind == "chat":
        parameters = {name: value for name in CHAT if (value := sent.get(f"{at}{name}", "").strip())}
        for name in ("temperature", "max_tokens"):
            if name in parameters:
                parameters[name] = _number(sent, f"{at}{name}", f"/configs/{i}/parameters/{name}")
    parameters |= read_json_object(sent.get(f"{at}parameters", ""), f"/configs/{i}/parameters")
    config: dict[str, Any] = {"kind": kind, "parameters": parameters}
    if name := sent.get(f"{at}name", "").strip():
        config["name"] = name
    if search := read_json_object(sent.get(f"{at}search", ""), f"/configs/{i}/search"):
        config["search"] = search
    return config


def _number(sent: Mapping[str, str], name: str, pointer: str) -> int | float | None:
    text = sent.get(name, "").strip()
    if not text:
        return None
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        raise Invalid(FieldError(pointer, "Enter a number.")) from None


def _count(sent: Mapping[str, str], name: str, default: int) -> int:
    text = sent.get(name, "")
    return min(MOST_BLOCKS, max(1, int(text))) if text.isdecimal() and len(text) < 4 else default

"""What people do to an experiment: start it; stop, resume, delete configs; clone one with changes; delete it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.accounts.views import validate_strict
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.confirmation import is_confirmed
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.forms.json_fields import format_json, read_json_object
from evalsvc.experiments.bodies.plans import CloneIn
from evalsvc.experiments.decisions.control import ACTIONS, RESUME, clone, control
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.selectors import get_config, get_plan, list_configs
from evalsvc.experiments.services import delete_experiment, start_experiment
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import NotFound, Problem

DONE_WORDS = {"stop": "Stopped", "resume": "Resumed", "delete": "Deleted"}


@require_POST
@console_page(role=EDITOR)
def act(request: PageRequest, id: int) -> HttpResponse:
    """Perform the action of the pressed button on one config, on the selected configs, or on all."""
    plan = get_plan(account=request.visitor.account, id=id)
    if request.POST.get("ticked") == "delete" and not is_confirmed(request, plan.experiment.name):
        return _confirm_many(request, plan)
    try:
        messages.success(request, _perform_action(request, plan))
    except NotFound:
        raise
    except Problem as problem:
        messages.error(request, problem.detail)
    return redirect(_back(request, plan))


def _perform_action(request: PageRequest, plan: ExperimentPlan) -> str:
    visitor = request.visitor
    if "start" in request.POST:
        start_experiment(account=visitor.account, plan=plan, actor=visitor.actor)
        enqueue_after_commit()
        return "The experiment runs."
    name, ids = _parse_action(request)
    if ids is not None and not ids:
        return "Nothing was done: select a config first."
    effect = control(
        account=visitor.account, experiment_id=plan.pk, action=ACTIONS[name], config_ids=ids, actor=visitor.actor
    )
    if ACTIONS[name] is RESUME:
        enqueue_after_commit()
    n, flying = len(effect.op.changed_ids), effect.op.n_in_flight
    target = effect.configs[0].name if len(effect.configs) == 1 else f"{n} config{'' if n == 1 else 's'}"
    return f"{DONE_WORDS[name]} {target}." + (f" {flying} outputs in progress will be kept." if flying else "")


def _parse_action(request: PageRequest) -> tuple[str, list[int] | None]:
    """Return the act, and whom it is about: None for all."""
    for name in ("stop", "resume"):
        if (target := request.POST.get(name)) is not None:
            return name, None if target == "all" else _ids([target])
    name = request.POST.get("ticked", "")
    if name not in DONE_WORDS:
        raise NotFound
    return name, _ids(request.POST.getlist("config"))


def _ids(texts: Sequence[str]) -> list[int]:
    if not all(is_bigint(text) for text in texts):
        raise NotFound
    return [int(text) for text in texts]


def _back(request: PageRequest, plan: ExperimentPlan) -> str:
    """Lead back to the same view of the board, at the config that the act was about."""
    address = page_address("console_experiment", plan.pk)
    query = request.GET.urlencode()
    place = request.POST.get("stop") or request.POST.get("resume") or ""
    return f"{address}{f'?{query}' if query else ''}{f'#config-{place}' if place.isdecimal() else ''}"


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR)
def delete_config(request: PageRequest, id: int, config_id: int) -> HttpResponse:
    """Delete a config once its name has been typed."""
    visitor = request.visitor
    plan = get_plan(account=visitor.account, id=id)
    config = get_config(account=visitor.account, experiment_id=id, id=config_id)
    if request.method == "POST" and is_confirmed(request, config.name):
        control(
            account=visitor.account,
            experiment_id=id,
            action=ACTIONS["delete"],
            config_ids=[config.pk],
            actor=visitor.actor,
        )
        messages.success(request, f"{config.name} is deleted.")
        return redirect(page_address("console_experiment", id))
    detail = "It is stopped and hidden, and cannot be restored. Its cost and evidence are kept."
    return _confirm(request, plan, config.name, f"Delete {config.name}", detail)


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR)
def delete_all(request: PageRequest, id: int) -> HttpResponse:
    """Delete an experiment once its name has been typed."""
    visitor = request.visitor
    plan = get_plan(account=visitor.account, id=id)
    name = plan.experiment.name
    if request.method == "POST" and is_confirmed(request, name):
        delete_experiment(account=visitor.account, experiment=plan.experiment, actor=visitor.actor)
        messages.success(request, f"{name} is deleted.")
        return redirect(page_address("console_experiments"))
    detail = "Its configs, outputs, scores and decisions are deleted. Scores promoted to a history stay."
    return _confirm(request, plan, name, f"Delete {name}", detail)


def _confirm_many(request: PageRequest, plan: ExperimentPlan) -> HttpResponse:
    """Require confirmation by the experiment's name before several configs are deleted."""
    ids = _ids(request.POST.getlist("config"))
    configs = [row for row in list_configs(account=request.visitor.account, experiment_id=plan.pk) if row.pk in ids]
    if not configs:
        messages.error(request, "Nothing was done: select a config first.")
        return redirect(page_address("console_experiment", plan.pk))
    names = ", ".join(config.name for config in configs)
    detail = f"{names}: they are stopped and hidden, and cannot be restored. Cost and evidence are kept."
    title = f"Delete {len(configs)} config{'' if len(configs) == 1 else 's'}"
    return _confirm(request, plan, plan.experiment.name, title, detail, configs=configs)


def _confirm(
    request: PageRequest, plan: ExperimentPlan, name: str, title: str, detail: str, configs: Sequence[Config] = ()
) -> HttpResponse:
    is_wrong = "confirm" in request.POST
    field = FormField(
        "confirm", f"Type {name} to confirm", is_required=True, error="The name does not match." if is_wrong else ""
    )
    action = page_address("console_experiment_act", plan.pk) if configs else request.path
    context = {"plan": plan, "title": title, "detail": detail, "field": field, "configs": configs, "action": action}
    return render(request, "console/experiments/delete.html", context, status=422 if is_wrong else 200)


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def clone_config(request: PageRequest, id: int, config_id: int) -> HttpResponse:
    """Clone a config under a new name with changed parameters."""
    visitor = request.visitor
    plan = get_plan(account=visitor.account, id=id)
    config = get_config(account=visitor.account, experiment_id=id, id=config_id)
    data = {"name": request.POST.get("name", ""), "parameters": request.POST.get("parameters", "")}
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            parameters = read_json_object(data["parameters"], "/parameters")
            changes = changed_parameters(config.parameters, parameters)
            body = validate_strict(CloneIn(data={"name": data["name"].strip() or None, "changes": changes}))
            new_config = clone(account=visitor.account, config=config, actor=visitor.actor, **body)
        except Problem as problem:
            errors = _map_errors(problem)
        else:
            enqueue_after_commit()
            messages.success(request, f"{new_config.name} was made from {config.name}.")
            return redirect(f"{page_address('console_experiment', id)}#config-{new_config.pk}")
    context = {
        "plan": plan,
        "config": config,
        "fields": _clone_fields(config, data if errors else {}, errors),
        "refused": errors.get("", ""),
    }
    return render(request, "console/experiments/clone.html", context, status=422 if errors else 200)


def _clone_fields(config: Config, sent: Mapping[str, str], errors: Mapping[str, str]) -> list[FormField]:
    return [
        FormField(
            "name",
            "Name",
            value=sent.get("name", ""),
            error=errors.get("name", ""),
            help="Default: the name of the config with a number.",
        ),
        FormField(
            "parameters",
            "Parameters",
            "textarea",
            value=sent.get("parameters", format_json(config.parameters)),
            rows=16,
            error=errors.get("parameters", ""),
            help="JSON, as `parameters` in the API. Only differences from the config count as changes.",
        ),
    ]


def _map_errors(problem: Problem) -> dict[str, str]:
    """Put what was refused at the field that it is about."""
    errors: dict[str, str] = {}
    for error in problem.errors:
        path = error.pointer.removeprefix("/changes").removeprefix("/parameters").removeprefix("/")
        name = "name" if path == "name" else "parameters"
        text = f"{path}: {error.detail}" if path and name == "parameters" else error.detail
        errors[name] = f"{errors[name]} {text}" if name in errors else text
    return errors or {"": problem.detail}


def changed_parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs; null for what was taken away."""
    changed = {knob: value for knob, value in new.items() if knob not in old or not _is_same(old[knob], value)}
    return changed | {knob: None for knob in old if knob not in new}


def _is_same(one: Any, other: Any) -> bool:
    return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)

"""Create a gate from a form: about captured scores, or about a config of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.accounts.models import Account
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.gates.form import (
    KINDS,
    LOOKS,
    RANGE_HELP,
    as_gate_body,
    gate_errors,
    gate_fields,
    parse_gate_form,
    parse_rule,
    rule_limit,
)
from evalsvc.console.pages.history.truth import build_truth_field, list_truth_criteria
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, populate_fields, read_fields
from evalsvc.evaluations.history.read import list_histories
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.selectors import get_plan, list_configs, list_plans
from evalsvc.gates.bodies import GateBody
from evalsvc.gates.services import decide_about
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem

MOST_PLANS, MOST_HISTORIES = 50, 100
LIMITS = ("at_least", "at_most")
METRICS = {"pass": "the share that passes", "score": "the score", "truth": "what people would say"}
EXAMPLE = {"history": {"evaluator": "exact-match"}, "rules": [{"metric": "pass", "at_least": 0.8}]}
OF_HISTORY = {
    "evaluator": "evaluator",
    "criteria": "evaluator",
    "history": "evaluator",
    "since": "scores",
    "scope": "app",
    "truth": "truth",
    "looks": "looks",
}
OF_CONFIGS = {"candidate": "candidate_config", "baseline": "baseline_config"}


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_gate(request: PageRequest) -> HttpResponse:
    """Create a gate and redirect to the decision with its evidence."""
    visitor = request.visitor
    plan = _plan(request)
    if request.method != "POST":
        return _form(request, plan, {})
    try:
        body = parse_gate_form(request) if plan is not None else _parse_history_form(request)
        gate = decide_about(account=visitor.account, epoch=None, body=body, actor=visitor.actor)
    except Problem as problem:
        return _form(request, plan, gate_errors(problem, OF_HISTORY if plan is None else OF_CONFIGS))
    messages.success(request, f"Gate: {gate.outcome}.")
    return redirect(page_address("console_gate", gate.pk))


def _plan(request: PageRequest) -> ExperimentPlan | None:
    text = request.GET.get("experiment", "")
    if not text:
        return None
    if not is_bigint(text):
        raise NotFound
    return get_plan(account=request.visitor.account, id=int(text))


def _parse_history_form(request: PageRequest) -> GateBody:
    """Read the form of a history as the body of `POST /v1/gates`. Raises Invalid with the same pointers."""
    post = request.POST
    evaluator, _, profile = post.get("evaluator", "").strip().partition(" · ")
    app, scores = post.get("app", "").strip(), post.get("scores", "").strip()
    kind = post.get("kind", "") if post.get("kind") in LIMITS else "at_least"
    rule = parse_rule(post, kind, post.get("rule_metric", "pass"))
    rule |= {"looks": post.get("looks") or None} if rule["metric"] == "truth" else {}
    body: dict[str, Any] = {
        "history": {
            "evaluator": evaluator,
            "criteria": profile or None,
            "scope": {"app": app} if app else None,
            "since": {"scores": _newest(scores)} if scores else None,
            "truth": post.get("truth") or None,
        },
        "rules": [rule],
        "level": rule_limit(post.get("level") or "0.95", "/level"),
        "name": post.get("name", "").strip() or None,
    }
    return as_gate_body(body)


def _newest(text: str) -> int:
    if not is_bigint(text):
        raise Invalid(FieldError("/history/since/scores", "Enter a whole number."))
    return int(text)


def _form(request: PageRequest, plan: ExperimentPlan | None, errors: Mapping[str, str]) -> HttpResponse:
    account = request.visitor.account
    data = read_fields(request)
    plans = list(list_plans(account=account)[:MOST_PLANS])
    options = [("", "what was captured"), *((str(row.pk), f"{row.experiment.name} ({row.pk})") for row in plans)]
    context = {
        "about": [FormField("experiment", "About", "select", str(plan.pk) if plan else "", options)],
        "fields": _build_fields(account, plan, data, errors),
        "plan": plan,
        "refused": errors.get("", ""),
        "call": ApiCall("POST", "/v1/gates", body=EXAMPLE),
    }
    return render(request, "console/gates/new.html", context, status=422 if errors else 200)


def _build_fields(
    account: Account, plan: ExperimentPlan | None, sent: Mapping[str, str], errors: Mapping[str, str]
) -> list[FormField]:
    if plan is None:
        return populate_fields(_history_fields(account), sent, errors)
    configs = [(str(config.pk), config.name) for config in list_configs(account=account, experiment_id=plan.pk)]
    plan_id = str(plan.pk)
    sides = [
        FormField("candidate_experiment", "", "hidden", plan_id),
        FormField("baseline_experiment", "", "hidden", plan_id),
        FormField("candidate_config", "Candidate", "select", options=configs),
        FormField(
            "baseline_config",
            "Baseline",
            "select",
            configs[-1][0] if configs else "",
            configs,
            "For rules that compare with a baseline.",
        ),
    ]
    metrics = [metric["name"] for metric in plan.metrics]
    return [*populate_fields(sides, sent, errors), *gate_fields(metrics, metrics[0] if metrics else "", sent, errors)]


def _history_fields(account: Account) -> list[FormField]:
    pairs = list_histories(account=account, limit=MOST_HISTORIES)
    names = [f"{evaluator} · {profile}" if profile else evaluator for evaluator, profile in pairs]
    return [
        FormField("evaluator", "Evaluator and profile", options=[(name, name) for name in names], is_required=True),
        FormField("app", "App", help="Default: the whole account."),
        FormField("scores", "Number of newest scores", "number", help="Default: all stored scores."),
        FormField("rule_metric", "Metric", "select", "pass", list(METRICS.items())),
        build_truth_field(
            list_truth_criteria(account), "", label="Criteria", empty="none", help="For what people would say."
        ),
        FormField("looks", "Looks", "select", "watched", list(LOOKS.items()), help="For what people would say."),
        FormField(
            "kind",
            "Passes if",
            "select",
            "at_least",
            [(kind, KINDS[kind].replace("the candidate's", "its")) for kind in LIMITS],
        ),
        FormField("limit", "Limit", "number", "0.8", is_required=True),
        FormField("value_range", "Range of the scores", help=RANGE_HELP),
        FormField("level", "Level", "number", "0.95", help="At 0.95, at most 1 in 20 gates passes wrongly."),
        FormField("name", "Name", help="Gates with the same name are grouped as runs of one gate."),
    ]

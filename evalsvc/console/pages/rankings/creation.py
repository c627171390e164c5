"""A new ranking by form: the same body as `POST /v1/comparisons`, refused at the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError

from evalsvc.accounts.models import Account
from evalsvc.accounts.views import validate_strict
from evalsvc.comparisons.bodies import ComparisonIn
from evalsvc.comparisons.judges.resolver import to_judge_request
from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.queueing import enqueue_comparison_after_commit
from evalsvc.comparisons.selectors import get_comparison
from evalsvc.comparisons.services import create_comparison
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.experiments.form_fields import field_source
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields, read_fields
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.selectors import get_plan, list_configs, list_plans
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem

MOST_EXPERIMENTS = 200
JUDGES = (
    ("metric", "scores of a metric of the experiment"),
    ("evaluator", "an evaluator (higher score wins) or a pairwise judge"),
    ("connection", "an LLM, by connection, with criteria in words"),
    ("review_id", "people, by a pairwise review"),
)
WHO = "Metric, evaluator, connection or review id."
CRITERIA = "Criteria for an LLM, or profile name for an evaluator."
DESIGNS = (
    ("all", "every pair on every example"),
    ("baseline", "each config against one"),
    ("active", "adaptive: pairs that may still decide who is first"),
)
TIES = (("", "default: ties allowed"), ("false", "no ties: it must choose"))
TAKEN_OVER = "Reuses judgements of the same outputs by the same judge; only the rest is judged."
OF_JUDGE = ("criteria", "model", "tie_width", "allow_tie")
FIELDS = {"experiment_id": "experiment"} | {name: name for name in OF_JUDGE} | {name: "who" for name, _ in JUDGES}


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_ranking(request: PageRequest) -> HttpResponse:
    """Show the form of a new ranking, or create the ranking."""
    if request.method != "POST":
        return _form(request, _initial_values(request))
    values = {name: value.strip() for name, value in read_fields(request).items()}
    visitor = request.visitor
    try:
        body = validate_strict(ComparisonIn(data=_body(values)))
        try:
            plan = get_plan(account=visitor.account, id=body["experiment_id"])
        except NotFound:
            raise Invalid(FieldError("/experiment_id", "Choose an experiment.")) from None
        ranking, is_added = create_comparison(
            account=visitor.account, epoch=None, plan=plan, body=body, actor=visitor.actor
        )
    except NotFound:
        raise
    except (Problem, ValidationError) as exc:
        return _form(request, values, errors_at(exc, _field))
    enqueue_comparison_after_commit(visitor.account.pk, ranking.pk)
    if is_added:
        enqueue_after_commit()
    messages.success(request, f"{ranking.name} is being judged.")
    return redirect(page_address("console_ranking", ranking.pk))


def _initial_values(request: PageRequest) -> dict[str, str]:
    """Return the initial values of the form: an experiment, or the settings of an earlier ranking."""
    if id := request.GET.get("previous", ""):
        if not is_bigint(id):
            raise NotFound
        return _copy_settings(get_comparison(account=request.visitor.account, id=int(id)))
    return {"experiment": request.GET.get("experiment", "")[:20], "judge": "metric"}


def _copy_settings(row: OutputComparison) -> dict[str, str]:
    """Return the fields of a ranking that goes on where another has ended, of all configs that are there now."""
    judge = to_judge_request(row.judge)
    kind = next(name for name, _ in JUDGES if name in judge)
    names = dict(list_configs(account=row.account, experiment_id=row.experiment_id).values_list("pk", "name"))
    values = {
        "experiment": row.experiment_id,
        "judge": kind,
        "who": judge[kind],
        "design": row.design,
        "name": row.name,
    }
    values |= {name: judge[name] for name in ("criteria", "model") if judge.get(name)}
    if judge.get("tie_width"):
        values["tie_width"] = judge["tie_width"]
    if judge.get("allow_tie") is False:
        values["allow_tie"] = "false"
    if row.design == OutputComparison.Design.BASELINE:
        values["baseline"] = names.get(row.configs[0], "")
    return {name: str(value) for name, value in (values | {"previous_id": row.pk}).items()}


def _body(sent: Mapping[str, str]) -> dict[str, Any]:
    judge = {sent.get("judge", "metric"): sent.get("who", "")}
    judge |= {name: sent[name] for name in OF_JUDGE if sent.get(name)}
    body: dict[str, Any] = {"experiment_id": sent.get("experiment", ""), "judge": judge}
    for name in ("name", "design", "baseline", "budget", "previous_id"):
        if sent.get(name):
            body[name] = sent[name]
    if configs := [name for part in sent.get("configs", "").split(",") if (name := part.strip())]:
        body["configs"] = configs
    return body


def _field(pointer: str) -> str:
    parts = pointer.strip("/").split("/")
    last = parts[1] if parts[0] == "judge" and len(parts) > 1 else parts[0]
    return FIELDS.get(last, "who" if parts[0] == "judge" else last)


def _fields(account: Account, previous_id: str) -> tuple[FormField, ...]:
    plans = list_plans(account=account)[:MOST_EXPERIMENTS]
    experiments = [("", "choose one"), *((str(plan.pk), f"{plan.experiment.name} ({plan.pk})") for plan in plans)]
    source = field_source(account)
    judges = [*source.connections, *source.evaluators]
    return (
        FormField("experiment", "Experiment", "select", options=experiments, is_required=True),
        FormField("configs", "Configs", help="Comma-separated names; default: all."),
        FormField("judge", "Judged by", "select", options=JUDGES),
        FormField("who", "Which", options=judges, is_required=True, help=WHO),
        FormField("criteria", "Criteria", "textarea", rows=3, help=CRITERIA),
        FormField("model", "Model", help="For an LLM; default: the connection's."),
        FormField("allow_tie", "Allow ties", "select", options=TIES),
        FormField("tie_width", "Tie margin", "number", help="Score difference that still is a tie; default: 0."),
        FormField("design", "Which pairs", "select", options=DESIGNS),
        FormField("baseline", "Against", help="The config that each is compared with."),
        FormField("budget", "Judgements at most", "number"),
        FormField("name", "Name", help="Default: the experiment's."),
        *([_inherited_field(account, previous_id)] if is_bigint(previous_id) else ()),
    )


def _inherited_field(account: Account, id: str) -> FormField:
    try:
        name = get_comparison(account=account, id=int(id)).name
    except NotFound:
        name = "a deleted ranking"
    options = (("", "nothing: judge everything again"), (id, f"the judgements of {name} ({id})"))
    return FormField("previous_id", "Taken over", "select", options=options, help=TAKEN_OVER)


def _form(request: PageRequest, sent: Mapping[str, str], errors: Mapping[str, str] | None = None) -> HttpResponse:
    context = {
        "fields": populate_fields(_fields(request.visitor.account, sent.get("previous_id", "")), sent, errors),
        "refused": (errors or {}).get("", ""),
        "is_refused": bool(errors),
        "call": ApiCall("POST", "/v1/comparisons", body=_body(sent)),
    }
    return render(request, "console/rankings/new.html", context, status=422 if errors else 200)

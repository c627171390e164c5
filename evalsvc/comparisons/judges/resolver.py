"""Which judge a call names: a metric or an evaluator by its scores, an LLM that sees both outputs, or people."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.comparisons.judges.people import PEOPLE, resolve_review
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.runner.additions import add_metrics
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.selectors import connection_facts, default_connection_facts
from evalsvc.rest.problems import FieldError, Invalid
from evaluators.base import Field, effective_settings

SCORES, PAIRWISE = "scores", "pairwise"
PAIRWISE_EVALUATOR = "judge-pairwise"


def resolve_judge(
    *, account: Account, epoch: str | None, plans: Sequence[ExperimentPlan], wanted: Mapping[str, Any], actor: str
) -> tuple[dict[str, Any], bool]:
    """Return the judge as it is stored, and whether a metric was added to an experiment for it.

    The first plan is that of the comparison. Raises Invalid with pointers into `/judge`.
    """
    sources = [name for name in ("evaluator", "metric", "connection", "review_id") if wanted.get(name)]
    if len(sources) != 1:
        raise Invalid(FieldError("/judge", "Give one of `evaluator`, `metric`, `connection` and `review_id`."))
    if sources == ["review_id"]:
        if len(plans) > 1:
            raise Invalid(FieldError("/judge/review_id", "A review has the outputs of one experiment."))
        return resolve_review(account, plans[0], wanted), False
    if sources == ["metric"]:
        judges = [_build_metric_judge(plan, _get_metric(plan, wanted["metric"]), wanted) for plan in plans]
        return _join_metric_judges(plans, judges), False
    if sources == ["connection"]:
        return _build_connection_judge(account, epoch, wanted), False
    run = _resolve_evaluator(account, epoch, wanted["evaluator"], wanted.get("criteria"))
    if Field.BASELINE in run.family.required_fields:
        return _build_pairwise_judge(account, run, dict(run.settings), wanted), False
    resolved = [_resolve_evaluator_judge(account, epoch, plan, run, wanted, actor) for plan in plans]
    return _join_metric_judges(plans, [judge for judge, _ in resolved]), any(is_added for _, is_added in resolved)


def compute_judge_digest(judge: Mapping[str, Any]) -> str:
    """Return the digest of everything that determines a judge's verdicts."""
    fields = {name: value for name, value in judge.items() if name not in ("metric", "metrics", "criteria", "review")}
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()


def to_judge_request(judge: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call sends as `judge` to be judged the same way again: the other direction of `resolve_judge`."""
    if judge["kind"] == PEOPLE:
        return {"review_id": judge["review"]}
    if judge["kind"] == SCORES:
        return {"metric": judge["metric"], "tie_width": judge["tie_width"]}
    if judge["criteria"] is not None:
        return {"evaluator": judge["evaluator"], "criteria": judge["criteria"]}
    settings = {name: judge["settings"].get(name) for name in ("criteria", "model", "allow_tie")}
    return {"connection": judge["connection"]} | {name: value for name, value in settings.items() if value is not None}


def _resolve_evaluator(account: Account, epoch: str | None, evaluator: str, criteria: str | None) -> ResolvedEvaluator:
    try:
        return resolve(account_id=account.pk, epoch=epoch, evaluator=evaluator, profile=criteria)
    except UnresolvedEvaluator as exc:
        at = "/judge/evaluator" if exc.code in ("unknown_evaluator", "evaluator_disabled") else "/judge/criteria"
        raise Invalid(FieldError(at, exc.message)) from None


def _get_metric(plan: ExperimentPlan, name: str) -> Metric:
    metric_row = next((row for row in plan.metrics if row["name"] == name), None)
    if metric_row is None:
        names = ", ".join(row["name"] for row in plan.metrics)
        detail = f"No metric is named {name!r} in experiment {plan.pk}; there are: {names}."
        raise Invalid(FieldError("/judge/metric", detail))
    return Metric.from_json(metric_row)


def _build_metric_judge(plan: ExperimentPlan, metric: Metric, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if not metric.kind.is_of_single_scores:
        detail = f"Metric {metric.name!r} has no score of a single output that could be compared."
        raise Invalid(FieldError("/judge/metric", detail))
    for name in ("model", "allow_tie"):
        if wanted.get(name) is not None:
            raise Invalid(FieldError(f"/judge/{name}", "Scores decide here; no LLM is asked."))
    definition = replace(metric, name="", addition=0, added_at=None, explain_strategy="never").to_json()
    return {
        "kind": SCORES,
        "metric": metric.name,
        "criteria": metric.profile_name,
        "evaluator": metric.evaluator_id,
        "revision": metric.profile_revision,
        "tie_width": wanted.get("tie_width") or 0.0,
        "higher_is_better": metric.higher_is_better,
        "reads": definition,
        # The caller's own numbers are of this experiment only, whatever they are called elsewhere.
        "name": None if metric.evaluator_id else f"{plan.pk}/{metric.name}",
    }


def _join_metric_judges(plans: Sequence[ExperimentPlan], judges: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the judge by scores of several experiments; raise Invalid where a metric is not the same in all."""
    judge = judges[0]
    if len(judges) == 1:
        return judge
    for plan, other in zip(plans, judges, strict=True):
        if other["reads"] != judge["reads"]:
            detail = f"Metric {other['metric']!r} of experiment {plan.pk} has another definition than in the first."
            raise Invalid(FieldError("/judge/metric", detail))
    ids = ",".join(sorted(str(plan.pk) for plan in plans))
    return judge | {
        "metrics": {str(plan.pk): other["metric"] for plan, other in zip(plans, judges, strict=True)},
        "name": judge["name"] and f"{ids}/{judge['metric']}",
    }


def _resolve_evaluator_judge(
    account: Account,
    epoch: str | None,
    plan: ExperimentPlan,
    run: ResolvedEvaluator,
    wanted: Mapping[str, Any],
    actor: str,
) -> tuple[dict[str, Any], bool]:
    """Take the metric that the experiment has of this evaluator and profile, or add one."""
    for row in plan.metrics:
        metric = Metric.from_json(row)
        if metric.component is not None or metric.is_apart:
            continue  # Its scores are of a part of the outputs, and not of what is compared.
        identity = (metric.evaluator_id, metric.profile_id, metric.profile_revision, metric.source, metric.sample)
        if identity == (run.evaluator_id, str(run.profile.id), run.profile.revision, "score", None):
            return _build_metric_judge(plan, metric, wanted), False
    name = f"{run.evaluator_id}/{run.profile.name}:{run.profile.revision}"[:100]
    metric_wanted: dict[str, object] = {"name": name, "evaluator": wanted["evaluator"], "source": "score"}
    if wanted.get("criteria"):
        metric_wanted["criteria"] = wanted["criteria"]
    try:
        plan, _ = add_metrics(account=account, experiment_id=plan.pk, epoch=epoch, wanted=[metric_wanted], actor=actor)
    except Invalid as exc:
        raise Invalid(*(FieldError("/judge/evaluator", error.detail) for error in exc.errors)) from None
    return _build_metric_judge(plan, _get_metric(plan, name), wanted), True


def _build_connection_judge(account: Account, epoch: str | None, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if not str(wanted.get("criteria") or "").strip():
        raise Invalid(FieldError("/judge/criteria", "Say what makes an output the better one."))
    run = _resolve_evaluator(account, epoch, PAIRWISE_EVALUATOR, None)
    settings = {"criteria": wanted["criteria"], "connection": wanted["connection"]}
    settings |= {name: wanted[name] for name in ("model", "allow_tie") if wanted.get(name) is not None}
    problems = run.family.check_settings(settings)
    if problems:
        raise Invalid(*(FieldError(f"/judge{problem.pointer}", problem.detail) for problem in problems))
    return _build_pairwise_judge(account, run, dict(effective_settings(run.spec, settings)), wanted, named=False)


def _build_pairwise_judge(
    account: Account, run: ResolvedEvaluator, settings: dict[str, Any], wanted: Mapping[str, Any], *, named: bool = True
) -> dict[str, Any]:
    if wanted.get("tie_width") is not None:
        raise Invalid(FieldError("/judge/tie_width", "This judge says itself when neither output is better."))
    ref = settings.get("connection")
    try:
        facts = (
            connection_facts(account_id=account.pk, ref=str(ref))
            if ref
            else default_connection_facts(account_id=account.pk)
        )
    except CallFailed as failed:
        at = "/judge/connection" if wanted.get("connection") else "/judge/evaluator"
        raise Invalid(FieldError(at, failed.detail)) from None
    return {
        "kind": PAIRWISE,
        "evaluator": run.evaluator_id,
        "runs": run.spec.id,
        "criteria": run.profile.name if named else None,
        "revision": run.profile.revision if named else None,
        "settings": settings,
        "connection": facts.name,
        # Another model behind the same name is another judge.
        "asks": [facts.base_url, str(settings.get("model") or facts.model)],
    }

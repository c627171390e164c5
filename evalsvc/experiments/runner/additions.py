"""Metrics that are added to the outputs of an experiment: scored like the plan's own, and part of no decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, Max, Sum
from django.utils import timezone

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.experiments.definition.checks.clusters import check_no_strategy
from evalsvc.experiments.definition.checks.unmapped import check_mappings
from evalsvc.experiments.definition.checks.unreadable import check_added_metrics
from evalsvc.experiments.definition.metrics import (
    CLIENT,
    Metric,
    add_source_twins,
    add_twins,
    group_by_source,
    resolve_metrics,
)
from evalsvc.experiments.models import Addition, Aggregate, Config, ExperimentPlan, Output
from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.generate import storable
from evalsvc.experiments.runner.score import failed_score, needs_judge, score_output
from evalsvc.experiments.selectors import get_plan
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope

MAX_IN_ALL = 100
# As many outputs as a worker scores in about a second, or sends to a judge in parallel.
UNIT_SIZE, JUDGED_UNIT_SIZE = 100, 8


@dataclass(frozen=True, slots=True)
class AdditionProgress:
    """How many outputs have a score (or the reason for none) of a metric, and how many wait for it."""

    n_scored: int
    n_pending: int


def add_metrics(
    *,
    account: Account,
    experiment_id: int,
    epoch: str | None,
    wanted: Sequence[Mapping[str, object]],
    actor: str,
) -> tuple[ExperimentPlan, bool]:
    """Add metrics to the existing outputs and to later ones; return the plan, and whether any metric is new.

    States, the primary metric and all decisions stay as they are. A metric that was added before with the same
    definition is accepted; a name that is used for another metric is refused. Raises Invalid, with pointers into
    `/metrics`.
    """
    with account_scope(account.pk):
        plan = get_plan(account=account, id=experiment_id, lock=True)
        if plan.cluster_by is not None:
            check_no_strategy(wanted, "/metrics")
        metrics = resolve_metrics(
            account_id=account.pk,
            epoch=epoch,
            wanted=wanted,
            strategy=plan.strategy,
            pointer="/metrics",
            there=[Metric.from_json(row) for row in plan.metrics],
            n_samples=plan.n_samples,
        )
        _check_trials(metrics)
        metrics = add_twins(metrics, plan.modes or (), pointer="/metrics")
        metrics = add_source_twins(metrics, _list_sources(plan), pointer="/metrics")
        check_mappings(plan.dataset_version, metrics, {}, pointer="/metrics")
        configs = Config.objects.filter(experiment_id=plan.pk).exclude(state=Config.State.DELETED)
        check_added_metrics(plan.dataset_version, metrics, plan.sample, list(configs))
        fresh = _new_ones(plan, metrics)
        if len(plan.metrics) + len(fresh) > MAX_IN_ALL:
            raise Invalid(FieldError("/metrics", f"An experiment has at most {MAX_IN_ALL} metrics in all."))
        for group in _together(fresh):
            _add(account, plan, group, actor)
    return plan, bool(fresh)


def _check_trials(metrics: Sequence[Metric]) -> None:
    """Refuse trials of a metric that takes one number of each output, of however many samples."""
    for i, metric in enumerate(metrics):
        if metric.trials is not None and metric.source == CLIENT:
            detail = "Numbers that are sent afterwards are one for each output, and no trials; leave `trials` out."
            raise Invalid(FieldError(f"/metrics/{i}/trials", detail))


def _new_ones(plan: ExperimentPlan, metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics that are not there yet; raise Invalid for names that are taken."""
    existing = {row["name"]: Metric.from_json(row) for row in plan.metrics}
    errors = [
        FieldError(f"/metrics/{i}/name", _why_taken(existing[metric.name]))
        for i, metric in enumerate(metrics)
        if metric.name in existing and not _is_same(metric, existing[metric.name])
    ]
    if errors:
        raise Invalid(*errors, code="already_exists")
    return [metric for metric in metrics if metric.name not in existing]


def _list_sources(plan: ExperimentPlan) -> dict[str, list[str]]:
    """Return, by component, which ones upstream the plan's runs replace by themselves."""
    by_source = group_by_source(map(Metric.from_json, plan.metrics))
    names = {name for targets in by_source.values() for name in targets}
    return {name: [source for source, targets in by_source.items() if name in targets] for name in names}


def _is_same(metric: Metric, known: Metric) -> bool:
    return known.addition > 0 and replace(known, addition=0, added_at=None) == metric


def _why_taken(known: Metric) -> str:
    if known.addition:
        return f"A metric named {known.name!r} was added before and measures something else. Take another name."
    return f"The plan has a metric named {known.name!r}; what the run has scored stays. Take another name."


def _together(metrics: Sequence[Metric]) -> list[list[Metric]]:
    """Group what workers score at once; numbers of the caller come when they come, each metric by itself."""
    ours = [metric for metric in metrics if metric.source != CLIENT]
    theirs = [[metric] for metric in metrics if metric.source == CLIENT]
    return [ours, *theirs] if ours else theirs


def _add(account: Account, plan: ExperimentPlan, group: Sequence[Metric], actor: str) -> None:
    rows = Addition.objects.filter(experiment_id=plan.pk)
    number = (rows.aggregate(last=Max("number"))["last"] or 0) + 1
    Addition.objects.create(
        account=account,
        experiment_id=plan.pk,
        number=number,
        names=[metric.name for metric in group],
        by_caller=group[0].source == CLIENT,
        unit_size=JUDGED_UNIT_SIZE if needs_judge(group) else UNIT_SIZE,
    )
    at = timezone.now().isoformat()
    plan.metrics = [*plan.metrics, *(replace(metric, addition=number, added_at=at).to_json() for metric in group)]
    ExperimentPlan.objects.filter(pk=plan.pk).update(metrics=plan.metrics)
    store.open_added_units(account_id=account.pk, experiment_id=plan.pk, number=number)
    for metric in group:
        record_audit(account=account, actor=actor, action="metric.added", target=metric.name, experiment=str(plan.pk))


def get_progress(plan: ExperimentPlan) -> dict[str, AdditionProgress]:
    """Return, by metric, how far the scoring of the outputs has come, over all configs that have not been deleted."""
    configs = Config.objects.filter(experiment_id=plan.pk).exclude(state=Config.State.DELETED)
    n_outputs = configs.aggregate(n=Sum(F("n_ok") + F("n_error")))["n"] or 0
    counts = Aggregate.objects.filter(config__in=configs, scope=Aggregate.Scope.ALL).values_list("metric")
    score_counts: dict[str, int] = defaultdict(int, counts.annotate(n=Sum(F("n") + F("n_error") + F("n_na"))))
    names = [row["name"] for row in plan.metrics]
    return {name: AdditionProgress(score_counts[name], n_outputs - score_counts[name]) for name in names}


@dataclass(frozen=True, slots=True)
class ReceivedScores:
    """What became of numbers that were sent: how many are new, and how many outputs still have none."""

    n_accepted: int
    n_pending: int


def post_scores(
    *, account: Account, experiment_id: int, name: str, scores: Sequence[Mapping[str, Any]]
) -> ReceivedScores:
    """Record the caller's scores for a metric that was added with the source `client`, once for each output.

    A value that is not a finite number within the metric's range becomes the same error as during the run. Raises
    Invalid, with pointers, for a metric that does not take scores from callers and for outputs of other experiments.
    """
    with account_scope(account.pk):
        plan = get_plan(account=account, id=experiment_id)
        metric = _metric_of_caller(plan, name)
        places = _places(plan, [row["output_id"] for row in scores])
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in scores:
        config_id, pos = places[row["output_id"]]
        rows[config_id].append(_posted(metric, pos, row))
    n_accepted = sum(
        len(
            store.record_added_scores(
                account_id=account.pk, config_id=config_id, number=metric.addition, scores=rows[config_id]
            )
        )
        for config_id in sorted(rows)
    )
    with account_scope(account.pk):
        return ReceivedScores(n_accepted, get_progress(plan)[name].n_pending)


def _metric_of_caller(plan: ExperimentPlan, name: str) -> Metric:
    row = next((row for row in plan.metrics if row["name"] == name), None)
    if row is None:
        raise Invalid(FieldError("/metric", f"No metric is named {name!r}; add it first."))
    metric = Metric.from_json(row)
    if metric.source != CLIENT or not metric.addition:
        detail = (
            f"Metric {name!r} takes no numbers here: only one that was added later with `source: client` does;"
            " those of the plan come with the outputs."
        )
        raise Invalid(FieldError("/metric", detail))
    return metric


def _places(plan: ExperimentPlan, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    rows = Output.objects.filter(experiment_id=plan.pk, pk__in=ids).exclude(config__state=Config.State.DELETED)
    places = {id: (config_id, pos) for id, config_id, pos in rows.values_list("id", "config_id", "pos")}
    missing = [
        FieldError(f"/scores/{i}/output_id", f"The experiment has no output {id}.")
        for i, id in enumerate(ids)
        if id not in places
    ]
    if missing:
        raise Invalid(*missing)
    return places


def _posted(metric: Metric, pos: int, row: Mapping[str, Any]) -> dict[str, Any]:
    if row.get("error") is not None:
        return failed_score(pos, metric, "bug", storable(row["error"]))
    output = {"pos": pos, "status": Output.Status.OK, "output": {}}
    client_scores = {metric.name: row["value"]} if "value" in row else {}
    # One number for an output, of however many samples.
    metric = replace(metric, binary_samples=False)
    (score,) = score_output(metrics=[metric], example={}, output=output, pointers={}, client_scores=client_scores)
    return score

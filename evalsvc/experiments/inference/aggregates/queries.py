"""Which experiments, configs and metric an aggregate is of: found, and refused where they do not go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.aggregates.axes import read_axes
from evalsvc.experiments.inference.aggregates.tables import AggregateQuery, SlicedRun, aggregate_table
from evalsvc.experiments.inference.clusters.pairs import resolve_cluster
from evalsvc.experiments.inference.confusion import find_config
from evalsvc.experiments.inference.pairs.compare import MEASURED_ALIKE
from evalsvc.experiments.inference.pairs.comparisons import why_not_pairable
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.selectors import list_configs
from evalsvc.rest.problems import FieldError, Invalid

BY_EXAMPLE = "paired by example"
SIDE_BY_SIDE = "side by side, not paired"


def compute_aggregates(account: Account, plan: ExperimentPlan, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the aggregates of one experiment. Raises Invalid, with pointers."""
    runs = [_run(account, plan, wanted.get("config"))]
    return _table(runs, _question(runs, wanted), is_paired=False)


def joint_aggregates(account: Account, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the aggregates of several experiments, each in rows of its own; `paired` compares each with the first.

    Raises Invalid, with pointers, for experiments that are not there, that measure something else under the metric's
    name, or that are to be paired and have no examples in common.
    """
    plans = _plans(account, wanted["experiment_ids"])
    runs = [_run(account, plan, wanted.get("config")) for plan in plans]
    question = _question(runs, wanted)
    if wanted["paired"]:
        _check_paired(runs, question)
    return _table(runs, question, is_paired=wanted["paired"])


def _table(runs: Sequence[SlicedRun], question: AggregateQuery, *, is_paired: bool) -> dict[str, Any]:
    experiments = [
        {
            "id": str(run.plan.pk),
            "name": run.plan.experiment.name,
            "dataset_id": run.plan.dataset_version.dataset_id,
            "dataset_version": run.plan.dataset_version.number,
        }
        for run in runs
    ]
    pairing = BY_EXAMPLE if is_paired else SIDE_BY_SIDE
    return {"experiments": experiments, "pairing": pairing, **aggregate_table(runs, question, is_paired=is_paired)}


def _plans(account: Account, ids: Sequence[int]) -> list[ExperimentPlan]:
    rows = ExperimentPlan.objects.filter(account=account, pk__in=ids).select_related("experiment", "dataset_version")
    plans_by_id = {plan.pk: plan for plan in rows}
    missing = [
        FieldError(f"/experiment_ids/{i}", "No such experiment, or one without a plan.")
        for i, id in enumerate(ids)
        if id not in plans_by_id
    ]
    if missing:
        raise Invalid(*missing)
    return [plans_by_id[id] for id in ids]


def _run(account: Account, plan: ExperimentPlan, config: str | None) -> SlicedRun:
    configs = list(list_configs(account=account, experiment_id=plan.pk))
    return SlicedRun(plan, configs if config is None else [find_config(configs, config)])


def _question(runs: Sequence[SlicedRun], wanted: Mapping[str, Any]) -> AggregateQuery:
    name = wanted.get("metric") or runs[0].plan.primary_metric
    metrics = [_metric(run.plan, name) for run in runs]
    for metric in metrics[1:]:
        for field in MEASURED_ALIKE:
            first, other = getattr(metrics[0], field), getattr(metric, field)
            if first != other:
                detail = f"{name!r} is not the same in all: `{field}` is {first} and {other}."
                raise Invalid(FieldError("/metric", detail))
    level = wanted.get("level") or runs[0].plan.level
    cluster_by = wanted.get("cluster_by")
    if cluster_by is None:
        cluster_by = resolve_cluster(None, [run.plan.cluster_by for run in runs])
    else:
        read_cluster(cluster_by)
        if not metrics[0].kind.of_one_score.is_of_single_scores:
            detail = f"{name!r} has no number of each example; only a mean or a total has an interval over clusters."
            raise Invalid(FieldError("/cluster_by", detail))
        if wanted.get("paired"):
            raise Invalid(FieldError("/cluster_by", "Differences have no interval over clusters here."))
    return AggregateQuery(metrics, read_axes(wanted["by"]), level, wanted["max_slices"], cluster_by)


def _metric(plan: ExperimentPlan, name: str) -> Metric:
    row = next((row for row in plan.metrics if row["name"] == name), None)
    if row is None:
        names = ", ".join(row["name"] for row in plan.metrics)
        raise Invalid(FieldError("/metric", f"{plan.experiment.name!r} has no metric {name!r}; it has {names}."))
    return Metric.from_json(row)


def _check_paired(runs: Sequence[SlicedRun], question: AggregateQuery) -> None:
    if (why := why_not_pairable(question.metric)) is not None:
        raise Invalid(FieldError("/metric", why))
    for i, run in enumerate(runs):
        if run.plan.dataset_version_id != runs[0].plan.dataset_version_id:
            detail = "It is over other examples than the first; only runs over one dataset version are paired here."
            raise Invalid(FieldError(f"/experiment_ids/{i}", detail))
        if len(run.configs) != 1:
            detail = f"It has {len(run.configs)} configs; name the one to pair in `config`."
            raise Invalid(FieldError(f"/experiment_ids/{i}", detail))

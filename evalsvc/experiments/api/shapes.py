"""What the experiments API answers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from evalsvc.evaluations.wire.answer import digits
from evalsvc.experiments.api.answers.runs import (
    ConfigFacts,
    ExperimentFacts,
    Plan,
    PlannedBudget,
    PlannedMetric,
    TrialsOfMetric,
)
from evalsvc.experiments.definition.metrics import INTEGRATED, Metric
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live.view import count_queries
from evalsvc.projects.models import Experiment
from evalsvc.rest.answering.shapes import build_shape


def experiment_out(experiment: Experiment, *, with_configs: bool = False) -> ExperimentFacts:
    """Return an experiment in the API's format, with its plan."""
    plan = find_plan(experiment)
    return build_shape(
        experiment,
        ExperimentFacts,
        id=str(experiment.pk),
        tags=experiment.tags or {},
        plan=plan_out(plan) if plan else None,
        configs=_list_configs(experiment) if with_configs and plan else UNSET,
    )


def _list_configs(experiment: Experiment) -> list[ConfigFacts]:
    configs = Config.objects.filter(experiment=experiment).exclude(state=Config.State.DELETED).order_by("arrival")
    return [config_out(config) for config in configs]


def find_plan(experiment: Experiment) -> ExperimentPlan | None:
    """Return the plan of an experiment; None for a passive one."""
    return getattr(experiment, "plan", None)


def plan_out(plan: ExperimentPlan) -> Plan:
    """Return a plan as it was given, with what was resolved."""
    return build_shape(
        plan,
        Plan,
        dataset_id=plan.dataset_version.dataset_id,
        dataset_version=plan.dataset_version.number,
        metrics=[metric_out(row) for row in plan.metrics],
        epsilon=epsilon_out(plan),
        modes=plan.modes or [INTEGRATED],
        budget=PlannedBudget(queries=plan.budget_queries, cost=plan.budget_cost, seconds=plan.budget_seconds),
    )


def epsilon_out(plan: ExperimentPlan) -> float | None:
    """Return the epsilon of a plan in the unit of its primary metric; it is stored on the scale of 0 to 1."""
    metric = primary_metric(plan)
    if plan.epsilon is None or metric.value_range is None:
        return plan.epsilon
    return plan.epsilon * metric.unit(plan.n_examples)


def metric_out(row: Mapping[str, object]) -> PlannedMetric:
    """Return a metric as it was requested, with the evaluator and profile that it resolved to."""
    metric = Metric.from_json(row)
    return build_shape(
        metric,
        PlannedMetric,
        value_range=row["value_range"],
        type=metric.kind.name,
        replaced=list(metric.replaced) if metric.replaced else None,
        trials=build_shape(metric.trials, TrialsOfMetric, adaptive=metric.trials.adaptive or UNSET)
        if metric.trials
        else None,
        binary=metric.binary or metric.binary_samples,
        evaluator=metric.evaluator_id,
        criteria=metric.profile_name,
        criteria_revision=metric.profile_revision,
    )


def config_out(config: Config) -> ConfigFacts:
    """Return a config with where it stands."""
    return build_shape(
        config,
        ConfigFacts,
        id=str(config.pk),
        parent_id=digits(config.parent_id),
        n_asked=count_queries(config),
        input_tokens=config.n_input_tokens,
        output_tokens=config.n_output_tokens,
    )

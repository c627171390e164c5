"""What the experiments API answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsvc.experiments.inference.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.projects.models import Experiment


def planned_experiment_out(experiment: Experiment, *, with_configs: bool = False) -> dict[str, Any]:
    """Return an experiment in the wire's shape, its plan beside it."""
    plan = plan_of(experiment)
    row = {
        "id": str(experiment.pk),
        "name": experiment.name,
        "project_id": experiment.project_id,
        "created_at": experiment.created_at,
        "tags": experiment.tags or {},
        "metadata": experiment.metadata,
        "plan": plan_out(plan) if plan else None,
    }
    if with_configs and plan is not None:
        configs = Config.objects.filter(experiment=experiment).exclude(state=Config.State.DELETED).order_by("arrival")
        row["configs"] = [config_out(config) for config in configs]
    return row


def plan_of(experiment: Experiment) -> ExperimentPlan | None:
    """Return the plan of an experiment; None for a passive one."""
    return getattr(experiment, "plan", None)


def plan_out(plan: ExperimentPlan) -> dict[str, object]:
    """Return a plan as it was given, with what was resolved."""
    return {
        "dataset_id": plan.dataset_version.dataset_id,
        "dataset_version": plan.dataset_version.number,
        "n_examples": plan.n_examples,
        "state": plan.state,
        "metrics": [metric_out(row) for row in plan.metrics],
        "primary_metric": plan.primary_metric,
        "seed": plan.seed,
        "micro_batch": plan.micro_batch,
        "num_shards": plan.num_shards,
        "level": plan.level,
        "strategy": plan.strategy,
        "use_fpc": plan.use_fpc,
        "policy": plan.policy,
        "k_max": plan.k_max,
        "epsilon": epsilon_out(plan),
        "baseline": plan.baseline,
        "limit": plan.limit,
        "stop_when_decided": plan.stop_when_decided,
        "errors": plan.errors,
        "abort_on_error": plan.abort_on_error,
        "pause_at_shards": plan.pause_at_shards,
        "promote": plan.promote,
        "budget": {"queries": plan.budget_queries, "cost": plan.budget_cost, "seconds": plan.budget_seconds},
        "sample": plan.sample,
        "started_at": plan.started_at,
        "finished_at": plan.finished_at,
    }


def epsilon_out(plan: ExperimentPlan) -> float | None:
    """Return the epsilon of a plan in the unit of its primary metric; it is stored on the scale of 0 to 1."""
    metric = primary_metric(plan)
    if plan.epsilon is None or metric.value_range is None:
        return plan.epsilon
    return plan.epsilon * metric.unit(plan.n_examples)


def metric_out(row: Mapping[str, object]) -> dict[str, object]:
    """Return a metric in the words that asked for it, with what they were resolved to."""
    names = ("name", "source", "value_range", "binary", "higher_is_better", "strategy", "denominator")
    resolved = {"type": "kind", "evaluator": "evaluator_id", "criteria": "profile_name"}
    return {
        **{name: row[name] for name in names},
        **{name: row[stored] for name, stored in resolved.items()},
        "criteria_revision": row["profile_revision"],
        "explain_strategy": row.get("explain_strategy") or "on-fail",
        "added_at": row.get("added_at"),
        "sample": row.get("sample"),
    }


def config_out(config: Config) -> dict[str, Any]:
    """Return a config with where it stands."""
    names = ["name", "kind", "parameters", "arrival", "state", "stop_reason", "epoch", "claim_pos", "watermark"]
    names += ["fresh_from", "n_ok", "n_error", "n_reused", "cost", "created_at"]
    return {
        "id": str(config.pk),
        **{name: getattr(config, name) for name in names},
        "parent_id": str(config.parent_id) if config.parent_id else None,
        "input_tokens": config.n_input_tokens,
        "output_tokens": config.n_output_tokens,
    }

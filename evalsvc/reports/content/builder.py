"""Build a report: the live view as the API returns it, with the data that explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.selectors import list_comparisons
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.aggregates.queries import compute_aggregates
from evalsvc.experiments.inference.gaps import gaps_view, pair_twins
from evalsvc.experiments.inference.pairs.comparisons import is_pairable
from evalsvc.experiments.inference.pareto import MOST_METRICS, pareto_view
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live.view import decision_out, live_view
from evalsvc.experiments.reporting.references import load_references
from evalsvc.experiments.selectors import list_configs, list_decisions
from evalsvc.gates.selectors import list_gates, load_evidence
from evalsvc.reports.content.examples import instructive_examples, worst_examples
from evalsvc.reports.content.measured import compute_output_quantiles, count_errors
from evalsvc.reports.content.sweeps import build_sweep
from evalsvc.reports.secrets import strip_secrets

MAX_DECISIONS, MAX_GATES, MAX_COMPARISONS = 50, 20, 10
GATE_FACTS = ("level", "looks", "covers", "summary", "candidate", "baseline", "history", "spending")
MOST_WEIGHED = 100_000
"""Scores that are weighed for a front within a report; more are asked for at the address of the front alone."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Options of a report: what to include in addition to the numbers of the experiment."""

    n_examples: int
    now: datetime
    slices: Mapping[str, Any] | None = None
    """What aggregates are asked by; None for no slices."""


def gather_report(account: Account, plan: ExperimentPlan, asked: ReportOptions) -> dict[str, Any]:
    """Return the report of an experiment, within one snapshot; what it costs does not grow with its texts."""
    live = {**live_view(plan), "references": load_references(plan)}
    configs = list(list_configs(account=account, experiment_id=plan.pk))
    leader = next((config for config in configs if str(config.pk) == live["leader"]), None)
    decisions = list_decisions(account=account, experiment_id=plan.pk).order_by("-id")
    pareto, why_no_pareto = _pareto(plan, configs)
    return {
        "generated_at": asked.now,
        "summary": build_summary(plan, live),
        "tags": plan.experiment.tags or {},
        "metadata": plan.experiment.metadata,
        "dataset": describe_dataset(plan),
        "live": live,
        "pareto": pareto,
        "why_no_pareto": why_no_pareto,
        "sweep": build_sweep(configs),
        "decisions": [decision_out(row) for row in decisions[:MAX_DECISIONS]],
        "n_decisions": decisions.count(),
        "slices": compute_aggregates(account, plan, asked.slices) if asked.slices else None,
        "gates": list_report_gates(account, plan),
        "components": gaps_view(plan, configs) if pair_twins([Metric.from_json(row) for row in plan.metrics]) else None,
        "measured": compute_output_quantiles(plan, configs),
        "errors": count_errors(configs),
        "worst_examples": worst_examples(account, plan, leader or next(iter(configs), None), asked.n_examples),
        "instructive_examples": instructive_examples(account, plan, configs, asked.n_examples),
        "target_snapshot": {config.name: build_snapshot(config) for config in configs},
        "warnings": _warnings(live),
    }


def list_report_gates(account: Account, plan: ExperimentPlan) -> list[dict[str, Any]]:
    """Return the newest decisions about configs of the experiment, as the list of gates has them."""
    rows = list_gates(account=account, experiment_id=str(plan.pk)).order_by("-id")[:MAX_GATES]
    return [
        {name: getattr(load_evidence(row), name) for name in GATE_FACTS}
        | {"id": str(row.pk), "name": row.name, "outcome": row.outcome, "created_at": row.created_at}
        for row in rows
    ]


def list_report_comparisons(account: Account, plan: ExperimentPlan) -> list[OutputComparison]:
    """Return the newest comparisons of the experiment's outputs."""
    return list(list_comparisons(account=account, experiment_id=plan.pk).order_by("-id")[:MAX_COMPARISONS])


def describe_dataset(plan: ExperimentPlan) -> dict[str, Any]:
    """Return which examples a report rests on."""
    version = plan.dataset_version
    return {
        "id": version.dataset_id,
        "name": version.dataset.name,
        "version": version.number,
        "n_examples": version.n_examples,
        "content_hash": version.content_hash,
    }


def build_snapshot(config: Config) -> dict[str, Any]:
    """Return what made a config's outputs, and the digest of it; headers without their values."""
    return {
        "kind": config.kind,
        "parameters": strip_secrets(config.kind, config.parameters),
        "hash": config.parameters_hash,
    }


def build_summary(plan: ExperimentPlan, live: Mapping[str, Any]) -> dict[str, Any]:
    """Return who leads by how much, and how sure that is."""
    leader = next((config for config in live["configs"] if config["id"] == live["leader"]), None)
    estimate = leader["metrics"][plan.primary_metric] if leader else None
    names = ("value", "lower", "upper", "n", "rows", "covers", "level", "method")
    return {
        "state": plan.state,
        "primary_metric": plan.primary_metric,
        "leader_id": live["leader"],
        "leader": leader["name"] if leader else None,
        "leader_settled": live["leader_settled"],
        "tied": [config["name"] for config in live["configs"] if config["id"] in live["tied"]],
        "confirmation": live["confirmation"],
        "estimate": {name: estimate[name] for name in names} if estimate else None,
        "n_configs": len(live["configs"]),
        "n_examples": plan.n_examples,
        "n_queries": live["experiment"]["n_queries"],
        "cost": live["experiment"]["cost"],
        "currency": live["experiment"]["currency"],
    }


def _pareto(plan: ExperimentPlan, configs: Sequence[Config]) -> tuple[dict[str, Any] | None, str | None]:
    """Compute the front of the primary metric and the next pairable ones; or return None and the reason for its
    absence.
    """
    metrics = [Metric.from_json(row) for row in plan.metrics]
    able = sorted(
        (candidate for candidate in metrics if is_pairable(candidate)), key=lambda one: one.name != plan.primary_metric
    )
    names = [metric.name for metric in able[:MOST_METRICS]]
    if len(names) < 2 or len(configs) < 2:
        return None, None
    if len(names) * sum(config.n_ok for config in configs) > MOST_WEIGHED:
        return (
            None,
            f"Too many scores for a report; ask /v1/experiments/{plan.pk}/pareto?metrics={','.join(names[:2])}.",
        )
    return {"experiment_id": str(plan.pk), **pareto_view(plan, names)}, None


def _warnings(live: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each warning of a metric once, with the configs that it is about."""
    configs_by_warning: dict[tuple[str, str], list[str]] = {}
    for config in live["configs"]:
        for name, result in config["metrics"].items():
            for warning in dict.fromkeys([*result["warnings"], *filter(None, [result["stopped"]])]):
                configs_by_warning.setdefault((name, warning), []).append(config["name"])
    return [
        {"metric": name, "warning": warning, "configs": configs}
        for (name, warning), configs in configs_by_warning.items()
    ]

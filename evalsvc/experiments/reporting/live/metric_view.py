"""One metric of one config: its estimate with its intervals and related values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.definition.ranges import wide_in
from evalsvc.experiments.inference.clusters.cluster_sums import Counted
from evalsvc.experiments.inference.estimates.figures import (
    SelectedEstimate,
    Tally,
    build_decision_interval,
    build_figures,
    build_tally,
    estimate_requested,
)
from evalsvc.experiments.inference.estimates.watched import WatchedIntervals
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan
from evalsvc.experiments.reporting.live.scene import Aggregates, Scope, tally_in
from evalsvc.stats.basics.words import THIS_SET
from evalsvc.stats.estimates.estimator import bounds_under_failures
from evalsvc.stats.formulas.clusters import ClusterSums


def metric_view(
    plan: ExperimentPlan,
    config: Config,
    metric: Metric,
    sums: Aggregates,
    watched: WatchedIntervals | None = None,
    *,
    clusters: Counted,
    wide: Sequence[str] | None = None,
    selected: SelectedEstimate | None = None,
) -> dict[str, Any]:
    """Return one metric of one config: its estimate with both intervals, and values that are only displayed.

    `wide` are the warnings about the metric's range, for callers that have already read the scores of all configs.
    `selected`: the config was chosen for its value of this metric.
    """
    tally = tally_in(plan, config, metric, sums)
    cluster_sums = clusters.get((config.pk, metric.name))
    estimate = build_figures(plan, metric, tally, watched, cluster_sums, selected)
    range_warnings = wide_in(metric, sums.values()) if wide is None else wide
    decision, reason = build_decision_interval(plan, metric, tally, watched)
    requested = estimate_requested(plan, metric, tally, config_id=config.pk, end=config.watermark)
    if requested is not None and metric.kind.covers == THIS_SET:
        estimate |= {name: requested[name] for name in ("lower", "upper", "method", "safe")}
    return {
        "type": metric.kind.name,
        "n": tally.n_scored,
        **_n_clusters(plan, cluster_sums),
        "N": plan.n_examples,
        "n_error": tally.n_error,
        "n_na": tally.n_na,
        "n_pending": tally.n_pending,
        **estimate,
        "strategy": metric.strategy,
        "requested": requested,
        "warnings": [*estimate["warnings"], *design_warnings(plan, config), *range_warnings],
        "stopped": config.stopped_metrics.get(metric.name),
        "higher_is_better": metric.higher_is_better,
        "decision_interval": decision,
        "reason": reason,
        "bounds_if_failures": _bounds(metric, tally),
        "rows": replace(tally.rows, chosen_among=selected.n_candidates if selected else None),
        "provisional": _mean(plan, metric, sums.get((config.pk, metric.name, Scope.ALL))),
        "designed_after": config.fresh_from or None,
        "seen_before_design": _mean(plan, metric, sums.get((config.pk, metric.name, Scope.SEEN))),
        "fresh": _mean(plan, metric, sums.get((config.pk, metric.name, Scope.PREFIX))) if config.fresh_from else None,
    }


def _n_clusters(plan: ExperimentPlan, counted: ClusterSums | None) -> dict[str, int | None]:
    return {} if plan.cluster_by is None else {"n_clusters": counted.groups if counted is not None else None}


def design_warnings(plan: ExperimentPlan, config: Config) -> list[str]:
    """Return why a config is not comparable with others: its designer may have seen some or all of the answers."""
    if not config.fresh_from:
        return []
    return ["designed_after"] + (["no_fresh_examples"] if config.fresh_from >= plan.run_length else [])


def _bounds(metric: Metric, tally: Tally) -> dict[str, float] | None:
    bounds = bounds_under_failures(
        metric.kind, tally.sums, tally.n_uncounted, value_range=metric.value_range, population=tally.n_applicable
    )
    return {"lower": bounds[0], "upper": bounds[1]} if bounds else None


def _mean(plan: ExperimentPlan, metric: Metric, row: Aggregate | None) -> dict[str, Any] | None:
    tally = build_tally(plan, metric, row)
    return {"n": tally.n_scored, "value": metric.kind.quotient(tally.sums)} if tally.sums.n else None

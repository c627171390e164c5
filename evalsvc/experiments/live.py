"""What people watch: every config with its estimates, how it compares with the leader, and what was decided."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connections

from evalsvc.experiments.estimates import decision_level, estimate_of, sums_of_row
from evalsvc.experiments.evidence import Pairs, is_comparable, primary_metric, read_pairs
from evalsvc.experiments.metrics import Metric
from evalsvc.experiments.models import Aggregate, Config, Decision, ExperimentPlan, Look
from evalsvc.stats.paired import Differences, examples_to_settle, paired_interval
from evalsvc.stats.racing import e_value
from evalsvc.stats.running import bounds_under_failures
from evalsvc.tenancy.scope import current_role

Scope = Aggregate.Scope
Aggregates = Mapping[tuple[int, str, str], Aggregate]
MAX_DECISIONS = 20
STAMP = """
SELECT count(*), sum(c.n_ok + c.n_error), sum(c.watermark), sum(c.epoch), sum(a.n),
  (SELECT sum(e.n) FROM experiments_evidence e WHERE e.experiment_id = %(experiment)s)
FROM experiments_config c
LEFT JOIN LATERAL (
  SELECT sum(g.n + g.n_error + g.n_na) AS n FROM experiments_aggregate g WHERE g.config_id = c.id) a ON true
WHERE c.experiment_id = %(experiment)s
"""


def etag_of(plan: ExperimentPlan) -> str:
    """Return a tag that changes with anything the live view shows; one small query."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(STAMP, {"experiment": plan.pk})
        stamp = cursor.fetchone()
    text = f"{plan.pk} {plan.experiment.name} {plan.state} {len(plan.metrics)} {stamp}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def live_view(plan: ExperimentPlan) -> dict[str, Any]:
    """Return the live view, from running sums only: its cost does not grow with the number of examples.

    Except for `anytime` intervals of scores that are not 0 or 1, which follow the order of the scores.
    """
    configs = list(Config.objects.filter(experiment_id=plan.pk).exclude(state=Config.State.DELETED).order_by("arrival"))
    rows = Aggregate.objects.filter(config__in=[config.pk for config in configs])
    sums = {(row.config_id, row.metric, row.scope): row for row in rows}
    metrics = [Metric.from_json(row) for row in plan.metrics]
    pairs = read_pairs(plan.pk) if is_comparable(primary_metric(plan)) else {}
    leader = leader_of(plan, configs, sums)
    against = _baseline_of(plan, configs) or leader
    decisions = Decision.objects.filter(experiment_id=plan.pk).select_related("config", "against").order_by("-id")
    return {
        "experiment": experiment_out(plan, configs),
        "configs": [_config_view(plan, config, metrics, sums, against, pairs) for config in configs],
        "leader": str(leader.pk) if leader else None,
        "decisions": [decision_out(row) for row in decisions[:MAX_DECISIONS]],
    }


def experiment_out(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, Any]:
    """Return the head of the live view."""
    return {
        "id": str(plan.pk),
        "name": plan.experiment.name,
        "state": plan.state,
        "n_examples": plan.n_examples,
        "num_shards": plan.num_shards,
        "shard_ends": list(plan.shard_ends),
        "policy": plan.policy,
        "primary_metric": plan.primary_metric,
        "level": plan.level,
        "n_queries": sum(config.n_ok + config.n_error - config.n_reused for config in configs),
        "cost": sum(config.cost for config in configs),
        "started_at": plan.started_at,
        "finished_at": plan.finished_at,
    }


def leader_of(plan: ExperimentPlan, configs: Sequence[Config], sums: Aggregates) -> Config | None:
    """Return the config that is ahead on the primary metric, of those in the race; the earlier one of two equals.

    None while one of them has answers and no estimate yet.
    """
    metric = primary_metric(plan)
    best, best_value = None, None
    for config in configs:
        row = sums.get((config.pk, metric.name, Scope.PREFIX))
        if config.state not in (Config.State.RUNNING, Config.State.COMPLETED):
            continue
        if row is None or not row.n:
            if config.fresh_from == 0 and config.n_ok:
                # Its answers wait for earlier ones: whoever is ahead of the others may be behind this one.
                return None
            continue
        value = row.total / row.n if metric.kind != "ratio" else row.total / (row.den_total or 1.0)
        value = value if metric.higher_is_better else -value
        if best_value is None or value > best_value:
            best, best_value = config, value
    return best


def _baseline_of(plan: ExperimentPlan, configs: Sequence[Config]) -> Config | None:
    return next((config for config in configs if plan.baseline and config.name == plan.baseline), None)


def _config_view(
    plan: ExperimentPlan,
    config: Config,
    metrics: Sequence[Metric],
    sums: Aggregates,
    against: Config | None,
    pairs: Pairs,
) -> dict[str, Any]:
    return {
        "id": str(config.pk),
        "name": config.name,
        "kind": config.kind,
        "state": config.state,
        "stop_reason": config.stop_reason,
        "epoch": config.epoch,
        "parent_id": str(config.parent_id) if config.parent_id else None,
        "fresh_from": config.fresh_from,
        "watermark": config.watermark,
        "n_done": config.n_ok + config.n_error,
        "n_ok": config.n_ok,
        "n_error": config.n_error,
        "n_reused": config.n_reused,
        "cost": config.cost,
        "input_tokens": config.n_input_tokens,
        "output_tokens": config.n_output_tokens,
        "metrics": {metric.name: metric_view(plan, config, metric, sums) for metric in metrics},
        "versus_leader": versus(plan, config, against, pairs),
    }


def metric_view(plan: ExperimentPlan, config: Config, metric: Metric, sums: Aggregates) -> dict[str, Any]:
    """Return one metric of one config: the estimate over what counts, and beside it what is only shown."""
    row = sums.get((config.pk, metric.name, Scope.PREFIX)) or Aggregate(config=config, metric=metric.name)
    left_out = row.n_error + row.n_na
    found = estimate_of(plan, config, metric, sums_of_row(row), n_left_out=left_out, end=config.watermark)
    n_examples = plan.n_examples - config.fresh_from
    view: dict[str, Any] = {
        "type": metric.kind,
        "n": found.n,
        "N": n_examples,
        "n_error": row.n_error,
        "n_na": row.n_na,
        "n_pending": n_examples - found.n - left_out,
        "value": found.value,
        "lower": found.lower,
        "upper": found.upper,
        "strategy": found.strategy,
        "method": found.method,
        "level": found.level,
        "covers": found.covers,
        "safe": found.safe,
        "warnings": [*found.warnings, *warnings_of(plan, config)],
        "stopped": config.stopped_metrics.get(metric.name),
        "higher_is_better": metric.higher_is_better,
        "decision_interval": _decision_interval(plan, config, metric, row),
        "bounds_if_failures": _bounds(plan, config, metric, row),
        "provisional": _mean(metric, sums.get((config.pk, metric.name, Scope.ALL))),
        "seen_before_design": _mean(metric, sums.get((config.pk, metric.name, Scope.SEEN))),
    }
    return view


def warnings_of(plan: ExperimentPlan, config: Config) -> list[str]:
    """Return what keeps a config from being compared: `no_fresh_examples`, if its designer can have seen all."""
    return ["no_fresh_examples"] if config.fresh_from >= plan.n_examples else []


def _decision_interval(plan: ExperimentPlan, config: Config, metric: Metric, row: Aggregate) -> dict[str, Any] | None:
    """The interval that may be read at every shard end: with all its looks together it is right at the plan's level."""
    if metric.kind == "untyped" or not row.n:
        return None
    level = decision_level(plan)
    left_out = row.n_error + row.n_na
    sums = sums_of_row(row)
    found = estimate_of(plan, config, metric, sums, n_left_out=left_out, end=config.watermark, level=level)
    return {"lower": found.lower, "upper": found.upper, "level": level}


def _bounds(plan: ExperimentPlan, config: Config, metric: Metric, row: Aggregate) -> dict[str, float] | None:
    found = bounds_under_failures(
        metric.kind,
        sums_of_row(row),
        row.n_error,
        value_range=metric.value_range,
        population=plan.n_examples - config.fresh_from - row.n_na,
    )
    return {"lower": found[0], "upper": found[1]} if found else None


def _mean(metric: Metric, row: Aggregate | None) -> dict[str, Any] | None:
    if row is None or not row.n:
        return None
    if metric.kind == "ratio":
        return {"n": row.n, "value": row.total / row.den_total if row.den_total else None}
    return {"n": row.n, "value": row.total / row.n}


def versus(plan: ExperimentPlan, config: Config, other: Config | None, pairs: Pairs) -> dict[str, Any] | None:
    """Compare a config with another one, pair by pair, in the unit of the metric; positive when it is better."""
    if other is None or other.pk == config.pk:
        return None
    pair = pairs.get((config.pk, other.pk))
    if pair is None or not pair.n:
        return None
    metric = primary_metric(plan)
    differences = Differences(pair.n, pair.total, pair.squares, pair.n_plus, pair.n_minus)
    population = plan.n_examples - pair.start
    found = paired_interval(
        differences, population=population, level=plan.level, use_fpc=plan.use_fpc, binary=metric.binary
    )
    # Of a sum the difference of the totals, over the examples that both are compared on.
    width = metric.unit(population)
    about = examples_to_settle(differences, population=population, level=plan.level, use_fpc=plan.use_fpc)
    opposite = pairs.get((other.pk, config.pk))
    return {
        "config_id": str(other.pk),
        "n": pair.n,
        "delta": _scaled(found.value, width),
        "lower": _scaled(found.lower, width),
        "upper": _scaled(found.upper, width),
        "method": found.method,
        "level": found.level,
        "safe": "one look",
        "e_value_better": e_value(pair),
        "e_value_worse": e_value(opposite) if opposite else None,
        "about_n_more": min(about, population - pair.n) if about is not None else None,
        "can_be_settled": about is not None and about <= population - pair.n,
    }


def _scaled(value: float | None, width: float) -> float | None:
    return None if value is None else value * width


def decision_out(row: Decision) -> dict[str, Any]:
    """Return a decision with the evidence it rested on."""
    return {
        "id": str(row.pk),
        "config_id": str(row.config_id),
        "config": row.config.name,
        "against_id": str(row.against_id) if row.against_id else None,
        "against": row.against.name if row.against else None,
        "policy": row.policy,
        "reason": row.reason,
        "watermark": row.watermark,
        "n_in_flight": row.n_in_flight,
        "evidence": row.evidence,
        "created_at": row.created_at,
    }


def looks_view(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, list[dict[str, Any]]]:
    """Return, by config, the estimates at the end of each shard: the points of a chart."""
    views: dict[str, list[dict[str, Any]]] = {str(config.pk): [] for config in configs}
    for look in Look.objects.filter(config__in=[config.pk for config in configs]).order_by("shard", "metric"):
        point = {
            name: getattr(look, name) for name in ("metric", "shard", "n", "n_error", "n_na", "value", "lower", "upper")
        }
        views[str(look.config_id)].append(point)
    return views

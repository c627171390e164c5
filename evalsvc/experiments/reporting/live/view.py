"""The live view: every config with its estimates, its comparison with the leader, and the decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings

from evalsvc.experiments.definition.conversations import is_conversation
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.cluster_sums import CountedPairs, count_bare
from evalsvc.experiments.inference.clusters.views import remove_bounds
from evalsvc.experiments.inference.confirmation import build_confirmation
from evalsvc.experiments.inference.estimates.samples import splits_in
from evalsvc.experiments.inference.estimates.spread import quantiles_in
from evalsvc.experiments.inference.estimates.trials import add_trials, trials_in
from evalsvc.experiments.inference.estimates.turns import add_turns, turns_in
from evalsvc.experiments.inference.leader import LeadingConfigs
from evalsvc.experiments.inference.pairs.comparisons import Comparisons, is_pairable
from evalsvc.experiments.inference.pairs.evidence import Pairs, primary_metric, read_pairs
from evalsvc.experiments.inference.pairs.versus import (
    build_question,
    comparison_out,
    evidence_out,
    find_baseline,
    is_declared_baseline,
)
from evalsvc.experiments.models import Config, Decision, ExperimentPlan
from evalsvc.experiments.reporting.by_component import group_by_component
from evalsvc.experiments.reporting.endings import count_endings
from evalsvc.experiments.reporting.live.metric_view import metric_view
from evalsvc.experiments.reporting.live.scene import Scene, add_pairs, load_scene
from evalsvc.judges.calls.endings import TRUNCATED, is_truncated
from evalsvc.stats.pairs.common import between
from evalsvc.stats.pairs.newpairs import WORSE

MAX_DECISIONS = 20
DECISIONS = "SELECT * FROM experiments_decision WHERE experiment_id = %s ORDER BY id DESC LIMIT %s"


def live_view(plan: ExperimentPlan, ever: Sequence[Config] | None = None) -> dict[str, Any]:
    """Return the live view from running sums only: its cost does not grow with the number of examples.

    The exception is scores in a range that are not 0 or 1: those that are new to this process are read. `ever` are all
    configs that were ever added, for callers that have already read them.
    """
    scene = load_scene(plan, ever)
    metric = primary_metric(plan)
    leading = scene.leading
    leader, baseline = leading.leader, find_baseline(plan, scene.configs)
    counts = [
        (config, metric, scene.tally(config, metric).n_scored) for config in scene.configs for metric in scene.metrics
    ]
    quantiles, splits = quantiles_in(counts, plan.level), splits_in(plan, counts)
    trials = trials_in(plan, scene.metrics, scene.configs)
    turns = turns_in(plan, scene.metrics, scene.configs)
    against = baseline or leading.reference
    scene = add_pairs(scene, [(config, other) for config in scene.configs for other in (against, leader)])
    pairs = read_pairs(plan.pk, of=against.pk) if against and metric.is_comparable else {}
    beside = {config.pk: compare_in_scene(scene, config, against) for config in scene.configs}
    behind = beside if against is leader else {}
    endings = count_endings(scene.configs, n_samples=plan.n_samples)
    views = [
        _config_view(scene, config, against, beside[config.pk], pairs) | {"endings": endings[config.pk]}
        for config in scene.configs
    ]
    for view in views:
        warnings = [TRUNCATED] if is_truncated(view["endings"]) else []
        for name, metric_row in view["metrics"].items():
            metric_row["warnings"] += warnings
            metric_quantiles = quantiles.get((int(view["id"]), name))
            metric_row["quantiles"] = (
                remove_bounds(metric_quantiles)
                if metric_quantiles and plan.cluster_by is not None
                else metric_quantiles
            )
            if plan.n_samples > 1:
                metric_row["variance_split"] = splits.get((int(view["id"]), name))
            add_trials(metric_row, trials.get((int(view["id"]), name)))
            add_turns(metric_row, turns.get((int(view["id"]), name)))
    return {
        "experiment": live_head(plan, scene.configs),
        "configs": views,
        "leader": str(leader.pk) if leader else None,
        "tied": [str(config.pk) for config in leading.tied],
        "leader_settled": _is_settled(scene, leading, behind),
        "confirmation": build_confirmation(plan),
        "decisions": [decision_out(row) for row in _decisions(scene)],
    }


def _is_settled(scene: Scene, leading: LeadingConfigs, known: Mapping[int, dict[str, Any] | None]) -> bool | None:
    """Return whether the leader is better on new data than every other config with a score, including stopped ones.

    None while no other config can be compared. `known` are comparisons with the leader that were already made.
    """
    metric = primary_metric(scene.plan)

    def compare(config: Config) -> Mapping[str, Any] | None:
        return known[config.pk] if config.pk in known else compare_in_scene(scene, config, leading.leader)

    scored = [config for config in scene.configs if scene.tally(config, metric).sums.n]
    return is_better_than_all(metric, leading.leader, scored, compare) if scene.configs else None


def is_better_than_all(
    metric: Metric,
    leader: Config | None,
    scored: Sequence[Config],
    compare: Callable[[Config], Mapping[str, Any] | None],
) -> bool | None:
    """Return whether every other config with a score is worse than the leader; None if there is no other."""
    if leader is None or not is_pairable(metric):
        return False
    others = [config for config in scored if config.pk != leader.pk]
    comparisons = (compare(config) for config in others)
    return all(found is not None and found["word"] == WORSE for found in comparisons) if others else None


def compare_in_scene(scene: Scene, config: Config, other: Config | None) -> dict[str, Any] | None:
    """Compare a config with another one on all examples that both have finished; positive when it is better."""
    if other is None:
        return None
    return compare_configs(scene.plan, config, other, scene.commons, scene.n_ever, scene.paired_clusters)


def compare_configs(
    plan: ExperimentPlan,
    config: Config,
    other: Config,
    commons: Comparisons,
    n_ever: int,
    clusters: CountedPairs,
) -> dict[str, Any] | None:
    """Compare two of the configs that were ever added to an experiment by what has been read of their pairs."""
    common = between(commons, config.pk, other.pk) if other.pk != config.pk else None
    if common is None:
        return None
    is_with_baseline = is_declared_baseline(plan, config, other)
    question = build_question(plan, primary_metric(plan), n_ever, is_with_baseline=is_with_baseline)
    fresh_from = get_fresh_position(config, other)
    return comparison_out(question, common, fresh_from=fresh_from, clusters=clusters.get((config.pk, other.pk)))


def get_fresh_position(config: Config, other: Config) -> int:
    """Return the position from which on neither designer can have seen an answer."""
    return max(config.fresh_from, other.fresh_from)


def live_head(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, object]:
    return {
        "id": str(plan.pk),
        "name": plan.experiment.name,
        "state": plan.state,
        "n_examples": plan.n_examples,
        "limit": plan.limit,
        "num_shards": plan.num_shards,
        "shard_ends": list(plan.shard_ends),
        "policy": plan.policy,
        "primary_metric": plan.primary_metric,
        "level": plan.level,
        "cluster_by": plan.cluster_by,
        "n_unclustered": count_bare(plan),
        "n_queries": sum(count_queries(config) for config in configs),
        "n_saved": sum(config.n_saved for config in configs),
        "cost": sum(config.cost for config in configs),
        "currency": settings.CURRENCY,
        "started_at": plan.started_at,
        "finished_at": plan.finished_at,
    }


def count_queries(config: Config) -> int:
    """Return the number of queries of a config, including samples, nodes of a pipeline and turns of conversations."""
    is_dialogue = config.n_calls > 1 and is_conversation(config.kind, config.parameters)
    if config.kind == Config.Kind.PIPELINE or is_dialogue:
        return config.n_asked
    return (config.n_ok + config.n_error - config.n_reused) * config.n_calls


def metric_view_in(scene: Scene, config: Config, metric: Metric) -> dict[str, Any]:
    """Return one metric of one config, as every page and endpoint shows it."""
    return metric_view(
        scene.plan,
        config,
        metric,
        scene.sums,
        scene.watched.get((config.pk, metric.name)),
        clusters=scene.clusters,
        wide=scene.wide[metric.name],
        selected=scene.selected.get((config.pk, metric.name)),
        fails_nonrandomly=metric.name == scene.plan.primary_metric and config.pk in scene.nonrandom,
    )


def _config_view(
    scene: Scene, config: Config, against: Config | None, beside: Mapping[str, Any] | None, pairs: Pairs
) -> dict[str, Any]:
    metrics = {metric.name: metric_view_in(scene, config, metric) for metric in scene.metrics}
    return {
        "id": str(config.pk),
        "name": config.name,
        "kind": config.kind,
        "state": config.state,
        "stop_reason": config.stop_reason,
        "epoch": config.epoch,
        "parent_id": str(config.parent_id) if config.parent_id else None,
        "fresh_from": config.fresh_from,
        "designed_after": config.fresh_from or None,
        "watermark": config.watermark,
        "n_done": config.n_ok + config.n_error,
        "n_ok": config.n_ok,
        "n_error": config.n_error,
        "n_reused": config.n_reused,
        "n_saved": config.n_saved,
        "cost": config.cost,
        "input_tokens": config.n_input_tokens,
        "output_tokens": config.n_output_tokens,
        "metrics": metrics,
        "by_component": group_by_component(scene.metrics, metrics),
        "versus_leader": _versus_out(config, against, beside, pairs),
        "waiting": _waiting_out(config),
    }


def _waiting_out(config: Config) -> dict[str, object] | None:
    """Return what the scores of a config wait for; the columns are those of `configs_ever`."""
    n_outputs = getattr(config, "n_waiting", None)
    if not n_outputs:
        return None
    names = {"since": "waiting_since", "until": "waiting_until", "message": "waiting_message"}
    return {"n_outputs": n_outputs, **{name: getattr(config, column) for name, column in names.items()}}


def _versus_out(
    config: Config, other: Config | None, view: Mapping[str, Any] | None, pairs: Pairs
) -> dict[str, object] | None:
    if other is None or view is None:
        return None
    return {"config_id": str(other.pk), **view, "evidence": evidence_out(pairs, config.pk, other.pk)}


def _decisions(scene: Scene) -> list[Decision]:
    """Return the newest decisions with their configs, which have been read: one that is not among them is read."""
    configs = {config.pk: config for config in scene.ever}
    rows = list(Decision.objects.raw(DECISIONS, [scene.plan.pk, MAX_DECISIONS]))
    for row in rows:
        for name, id in (("config", row.config_id), ("against", row.against_id)):
            if id in configs:
                setattr(row, name, configs[id])
    return rows


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

"""What people watch: every config with its estimates, how it compares with the leader, and what was decided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.definition.ranges import wide_in
from evalsvc.experiments.inference.clusters.counting import (
    MOST_WATCHED,
    Counted,
    CountedPairs,
    count_bare,
    count_clusters,
    count_pairs,
)
from evalsvc.experiments.inference.clusters.views import without_ends
from evalsvc.experiments.inference.comparisons import Comparisons, is_pairable, read_comparisons, read_sums
from evalsvc.experiments.inference.estimates import (
    Tally,
    decision_of,
    figures,
    needs_series,
    requested_of,
    sums_of_row,
    tally_of,
)
from evalsvc.experiments.inference.evidence import Pairs, primary_metric, read_pairs
from evalsvc.experiments.inference.looks import added_looks
from evalsvc.experiments.inference.samples import splits_in
from evalsvc.experiments.inference.spread import quantiles_in
from evalsvc.experiments.inference.standing import leader_of
from evalsvc.experiments.inference.versus import (
    AFTER_THE_FACT,
    ComparisonQuestion,
    baseline_of,
    comparison_out,
    evidence_out,
    is_declared,
    question_of,
)
from evalsvc.experiments.inference.watched import WatchedIntervals, watch
from evalsvc.experiments.models import Aggregate, Config, Decision, ExperimentPlan
from evalsvc.experiments.reporting.by_component import by_component
from evalsvc.rest.problems import NotFound
from evalsvc.stats.basics.words import NEW_DATA, ONE_LOOK, THIS_SET
from evalsvc.stats.estimates.running import bounds_under_failures
from evalsvc.stats.formulas.clusters import ClusterSums
from evalsvc.stats.kinds import kind_named
from evalsvc.stats.pairs.common import between
from evalsvc.stats.pairs.newpairs import WORSE
from evalsvc.tenancy.scope import current_role

Scope = Aggregate.Scope
Aggregates = Mapping[tuple[int, str, str], Aggregate]
MAX_DECISIONS = 20
STAMP = """
SELECT x.name, p.state, jsonb_array_length(p.metrics), s.*,
  (SELECT sum(e.n) FROM experiments_evidence e WHERE e.experiment_id = x.id),
  (SELECT sum(e.upto + e.basis) FROM experiments_comparison e WHERE e.experiment_id = x.id),
  extract(epoch FROM statement_timestamp())
FROM experiments_experimentplan p JOIN projects_experiment x ON x.id = p.experiment_id
CROSS JOIN LATERAL (
  SELECT count(*), sum(c.n_ok + c.n_error), sum(c.watermark), sum(c.epoch), sum(c.n_retried), sum(a.n)
  FROM experiments_config c
  LEFT JOIN LATERAL (SELECT sum(g.n + g.n_error + g.n_na) AS n FROM experiments_aggregate g WHERE g.config_id = c.id) a
    ON true
  WHERE c.experiment_id = x.id) s
WHERE p.account_id = %s AND p.experiment_id = %s
"""
# What a board reads each second is written as SQL: Django would take longer to write it than PostgreSQL to answer.
EVER = "SELECT * FROM experiments_config WHERE experiment_id = %s ORDER BY arrival"
AGGREGATES = "SELECT * FROM experiments_aggregate WHERE config_id = ANY (%s)"
DECISIONS = "SELECT * FROM experiments_decision WHERE experiment_id = %s ORDER BY id DESC LIMIT %s"
LOOKS = """
SELECT config_id, metric, shard, n, n_error, n_na, value, lower, upper, set_lower, set_upper
FROM experiments_look WHERE config_id = ANY (%s)
"""


class SeenLook(NamedTuple):
    """What was to be seen of one metric when a config had finished a shard."""

    config_id: int
    metric: str
    shard: int
    n: int
    n_error: int
    n_na: int
    value: float | None
    lower: float | None
    upper: float | None
    set_lower: float | None
    set_upper: float | None


FIELDS_OF_LOOK = attrgetter(*SeenLook._fields)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a live view reads, at one moment."""

    plan: ExperimentPlan
    configs: Sequence[Config]
    metrics: Sequence[Metric]
    sums: Aggregates
    commons: Comparisons
    """Of the pairs that `with_pairs` was not asked for the sums alone."""
    watched: Mapping[tuple[int, str], WatchedIntervals]
    ever: Sequence[Config]
    """Those that are deleted, too."""
    clusters: Counted = field(default_factory=dict)
    paired_clusters: CountedPairs = field(default_factory=dict)

    @property
    def n_ever(self) -> int:
        """How many configs were ever added: all have been looked at."""
        return len(self.ever)

    def tally(self, config: Config, metric: Metric) -> Tally:
        """Return what is known of a metric of a config."""
        return tally_in(self.plan, config, metric, self.sums)


def etag_of(plan: ExperimentPlan) -> str:
    """Return a tag that changes with anything the live view shows; one small query."""
    return f'"{stamp_of(account_id=plan.account_id, id=plan.pk)[0]}"'


def stamp_of(*, account_id: int, id: int) -> tuple[str, float]:
    """Return what changes with anything the live view shows, and when it was read by the database's clock.

    Raises NotFound where the account has no such plan.
    """
    with connections[current_role()].cursor() as cursor:
        cursor.execute(STAMP, [account_id, id])
        row = cursor.fetchone()
    if row is None:
        raise NotFound()
    *stamp, read_at = row
    return hashlib.sha256(f"{id} {tuple(stamp)}".encode()).hexdigest()[:24], float(read_at)


def live_view(plan: ExperimentPlan, ever: Sequence[Config] | None = None) -> dict[str, Any]:
    """Return the live view, from running sums only: its cost does not grow with the number of examples.

    But for scores in a range that are not 0 or 1, of which those that are new to this process are read. `ever` are all
    configs that were ever added, for who has read them already.
    """
    scene = scene_of(plan, ever)
    metric = primary_metric(plan)
    tallies = {config.pk: scene.tally(config, metric) for config in scene.configs}
    leader = leader_of(plan, scene.configs, tallies, scene.commons)
    baseline = baseline_of(plan, scene.configs)
    counts = [(config, one, scene.tally(config, one).sums.n) for config in scene.configs for one in scene.metrics]
    quantiles, splits = quantiles_in(counts, plan.level), splits_in(plan, counts)
    question = question_of(plan, metric, scene.n_ever, has_baseline=is_declared(plan, baseline))
    against = baseline or leader
    scene = with_pairs(scene, [(config, other) for config in scene.configs for other in (against, leader)])
    pairs = read_pairs(plan.pk, of=against.pk) if against and metric.is_comparable else {}
    beside = {config.pk: _compared(scene, config, against, question) for config in scene.configs}
    behind = beside if against is leader else {}
    views = [_config_view(scene, config, against, beside[config.pk], pairs) for config in scene.configs]
    for view in views:
        for name, shown in view["metrics"].items():
            found = quantiles.get((int(view["id"]), name))
            shown["quantiles"] = without_ends(found) if found and plan.cluster_by is not None else found
            if plan.n_samples > 1:
                shown["variance_split"] = splits.get((int(view["id"]), name))
    return {
        "experiment": live_head(plan, scene.configs),
        "configs": views,
        "leader": str(leader.pk) if leader else None,
        "leader_settled": _is_settled(scene, leader, question, behind),
        "decisions": [decision_out(row) for row in _decisions(scene)],
    }


def scene_of(plan: ExperimentPlan, ever: Sequence[Config] | None = None) -> Scene:
    """Read what a live view shows; of pairs of configs the sums alone, until `with_pairs` has read the others."""
    every = configs_ever(plan) if ever is None else ever
    configs = [config for config in every if config.state != Config.State.DELETED]
    rows = Aggregate.objects.raw(AGGREGATES, [[config.pk for config in configs]])
    metrics = [Metric.from_json(row) for row in plan.metrics]
    primary = primary_metric(plan)
    return Scene(
        plan,
        configs,
        metrics,
        {(row.config_id, row.metric, row.scope): row for row in rows},
        read_sums(plan.pk) if is_pairable(primary) else {},
        watched_in(plan, configs, metrics),
        every,
        count_clusters(plan, configs, metrics, most=MOST_WATCHED),
    )


def with_pairs(scene: Scene, pairs: Iterable[tuple[Config, Config | None]]) -> Scene:
    """Return a scene that has read all of these pairs, and counted their clusters, where its plan names clusters."""
    found, pairs = [], list(pairs)
    others = {other.pk for _, other in pairs if other is not None}
    if scene.commons:
        scene = replace(scene, commons={**scene.commons, **read_comparisons(scene.plan.pk, of=others)})
    for one, other in pairs:
        common = between(scene.commons, one.pk, other.pk) if other is not None else None
        if other is not None and common is not None:
            found.append((one, other, common.upto))
    counted = count_pairs(scene.plan, primary_metric(scene.plan), found, most=MOST_WATCHED)
    return replace(scene, paired_clusters=counted)


def configs_ever(plan: ExperimentPlan) -> list[Config]:
    """Return every config that was ever added, those that are deleted too: all have been looked at."""
    return list(Config.objects.raw(EVER, [plan.pk]))


def watched_in(
    plan: ExperimentPlan, configs: Iterable[Config], metrics: Sequence[Metric]
) -> dict[tuple[int, str], WatchedIntervals]:
    """Return the intervals that follow the order of scores, of the configs that have examples to come."""
    coming = [config for config in configs if config.watermark < plan.n_examples]
    return watch(plan, coming, [metric for metric in metrics if needs_series(metric) and not metric.addition])


def tally_in(plan: ExperimentPlan, config: Config, metric: Metric, sums: Aggregates) -> Tally:
    """Add up what was seen before a config's design and what came after: estimates are about all of it."""
    found = (sums.get((config.pk, metric.name, scope)) for scope in (Scope.SEEN, Scope.PREFIX))
    return tally_of(plan, *found)


def _is_settled(
    scene: Scene, leader: Config | None, question: ComparisonQuestion, known: Mapping[int, dict[str, Any] | None]
) -> bool | None:
    """Say whether the leader is better on new data than every other config that has a score, stopped ones included.

    None while there is nobody to be better than. `known` are comparisons with the leader that were made already.
    """
    metric = primary_metric(scene.plan)
    if leader is None or not is_pairable(metric):
        return False if scene.configs else None
    others = [config for config in scene.configs if config.pk != leader.pk and scene.tally(config, metric).sums.n]
    found = (
        known[config.pk] if config.pk in known else _compared(scene, config, leader, question) for config in others
    )
    return all(_is_behind(scene, one, question) for one in found) if others else None


def _is_behind(scene: Scene, found: Mapping[str, Any] | None, question: ComparisonQuestion) -> bool:
    """Say whether a config is worse than the leader; over clusters no word may be watched, so only when all is in."""
    if found is None:
        return False
    if question.cluster_by is None:
        return bool(found["word"] == WORSE)
    upper = found["new_data"]["upper"]
    return scene.plan.state == ExperimentPlan.State.DONE and upper is not None and upper < 0.0


def _compared(
    scene: Scene, config: Config, other: Config | None, question: ComparisonQuestion
) -> dict[str, Any] | None:
    """Compare a config with another one on all examples that both have finished; positive when it is better."""
    common = between(scene.commons, config.pk, other.pk) if other is not None and other.pk != config.pk else None
    if common is None or other is None:
        return None
    clusters = scene.paired_clusters.get((config.pk, other.pk))
    return comparison_out(question, common, fresh_from=fresh_of(config, other), clusters=clusters)


def fresh_of(config: Config, other: Config) -> int:
    """Return the position from which on neither designer can have seen an answer."""
    return max(config.fresh_from, other.fresh_from)


def live_head(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, object]:
    """Return the head of the live view."""
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
        "n_queries": sum(queries_of(config) for config in configs),
        "n_saved": sum(config.n_saved for config in configs),
        "cost": sum(config.cost for config in configs),
        "started_at": plan.started_at,
        "finished_at": plan.finished_at,
    }


def queries_of(config: Config) -> int:
    """Return how many queries a config has taken, samples counted: of a pipeline those that its nodes were asked."""
    if config.kind == Config.Kind.PIPELINE:
        return config.n_asked
    return (config.n_ok + config.n_error - config.n_reused) * config.n_calls


def _config_view(
    scene: Scene, config: Config, against: Config | None, beside: Mapping[str, Any] | None, pairs: Pairs
) -> dict[str, Any]:
    plan, sums = scene.plan, scene.sums
    metrics = {
        metric.name: metric_view(
            plan, config, metric, sums, scene.watched.get((config.pk, metric.name)), clusters=scene.clusters
        )
        for metric in scene.metrics
    }
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
        "by_component": by_component(scene.metrics, metrics),
        "versus_leader": _versus_out(config, against, beside, pairs),
    }


def metric_view(
    plan: ExperimentPlan,
    config: Config,
    metric: Metric,
    sums: Aggregates,
    watched: WatchedIntervals | None = None,
    *,
    clusters: Counted,
) -> dict[str, object]:
    """Return one metric of one config: its estimate with both intervals, and beside it what is only shown."""
    tally = tally_in(plan, config, metric, sums)
    counted = clusters.get((config.pk, metric.name))
    found = figures(plan, metric, tally, watched, counted)
    decision, reason = decision_of(plan, metric, tally, watched)
    return {
        "type": metric.kind.name,
        "n": tally.sums.n,
        **_n_clusters(plan, counted),
        "N": plan.n_examples,
        "n_error": tally.n_error,
        "n_na": tally.n_na,
        "n_pending": tally.n_pending,
        **found,
        "strategy": metric.strategy,
        "requested": requested_of(plan, metric, tally, config_id=config.pk, end=config.watermark),
        "warnings": [*found["warnings"], *design_warnings(plan, config), *wide_in(metric, sums.values())],
        "stopped": config.stopped_metrics.get(metric.name),
        "higher_is_better": metric.higher_is_better,
        "decision_interval": decision,
        "reason": reason,
        "bounds_if_failures": _bounds(metric, tally),
        "provisional": _mean(metric, sums.get((config.pk, metric.name, Scope.ALL))),
        "designed_after": config.fresh_from or None,
        "seen_before_design": _mean(metric, sums.get((config.pk, metric.name, Scope.SEEN))),
        "fresh": _mean(metric, sums.get((config.pk, metric.name, Scope.PREFIX))) if config.fresh_from else None,
    }


def _n_clusters(plan: ExperimentPlan, counted: ClusterSums | None) -> dict[str, int | None]:
    return {} if plan.cluster_by is None else {"n_clusters": counted.groups if counted is not None else None}


def design_warnings(plan: ExperimentPlan, config: Config) -> list[str]:
    """Return what keeps a config from being judged as others are: its designer may have seen some answers, or all."""
    if not config.fresh_from:
        return []
    return ["designed_after"] + (["no_fresh_examples"] if config.fresh_from >= plan.run_length else [])


def _bounds(metric: Metric, tally: Tally) -> dict[str, float] | None:
    found = bounds_under_failures(
        metric.kind, tally.sums, tally.n_error, value_range=metric.value_range, population=tally.n_applicable
    )
    return {"lower": found[0], "upper": found[1]} if found else None


def _mean(metric: Metric, row: Aggregate | None) -> dict[str, Any] | None:
    if row is None or not row.n:
        return None
    return {"n": row.n, "value": metric.kind.quotient(sums_of_row(row))}


def versus(
    scene: Scene, config: Config, other: Config | None, question: ComparisonQuestion, pairs: Pairs
) -> dict[str, object] | None:
    """Compare a config with another one on all examples that both have finished; positive when it is better."""
    return _versus_out(config, other, _compared(scene, config, other, question), pairs)


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


def looks_view(plan: ExperimentPlan, configs: Sequence[Config]) -> dict[str, list[dict[str, Any]]]:
    """Return, by config, the estimates at the end of each shard: the points of a chart. Each holds for one look.

    A metric that was added later has one point, at the last shard that it is scored up to.
    """
    totals = {row["name"] for row in plan.metrics if kind_named(row["kind"]).covers == THIS_SET}
    names = ("metric", "shard", "n", "n_error", "n_na", "value", "lower", "upper")
    views: dict[str, list[dict[str, Any]]] = {str(config.pk): [] for config in configs}
    added = {row["name"] for row in plan.metrics if row.get("addition")}
    for look in looks_of(plan, configs):
        this_set = {"lower": look.set_lower, "upper": look.set_upper}
        covers = THIS_SET if look.metric in totals else NEW_DATA
        point = {name: getattr(look, name) for name in names} | {"covers": covers, "this_set": this_set}
        point["label"] = AFTER_THE_FACT if look.metric in added else ONE_LOOK
        views[str(look.config_id)].append(point)
    return views


def looks_of(plan: ExperimentPlan, configs: Sequence[Config]) -> list[SeenLook]:
    """Return what `looks_view` shows as it is kept: by shard and metric."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(LOOKS, [[config.pk for config in configs]])
        found = [SeenLook(*row) for row in cursor.fetchall()]
    found += [SeenLook(*FIELDS_OF_LOOK(look)) for look in added_looks(plan, configs)]
    return sorted(found, key=lambda look: (look.shard, look.metric))

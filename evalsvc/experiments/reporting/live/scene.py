"""The data of a live view at one moment: configs, sums, pairs, and clusters if the plan names any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.definition.ranges import wide_in
from evalsvc.experiments.inference.clusters.cluster_sums import (
    MOST_WATCHED,
    Counted,
    CountedPairs,
    count_clusters,
    count_pairs,
)
from evalsvc.experiments.inference.estimates.figures import (
    SelectedEstimate,
    Tally,
    build_tally,
    needs_series,
    selected_level,
)
from evalsvc.experiments.inference.estimates.selection import bound_selected
from evalsvc.experiments.inference.estimates.watched import WatchedIntervals, watch, watch_all
from evalsvc.experiments.inference.failure_patterns import find_nonrandom_failures
from evalsvc.experiments.inference.leader import LeadingConfigs, find_leading_configs
from evalsvc.experiments.inference.pairs.comparisons import (
    Comparisons,
    add_lost_trials,
    is_pairable,
    read_comparisons,
    read_sums,
)
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan
from evalsvc.stats.pairs.common import between

Scope = Aggregate.Scope
Aggregates = Mapping[tuple[int, str, str], Aggregate]
# What a board reads each second is written as SQL: Django would take longer to write it than PostgreSQL to answer.
# Beside each config the units with scores or outputs that wait for an endpoint.
EVER = """
SELECT c.*, w.* FROM experiments_config c LEFT JOIN LATERAL (
  SELECT sum(u.to_pos - u.from_pos) AS n_waiting, min(u.waiting_since) AS waiting_since,
    min(u.lease_expires_at) AS waiting_until,
    (array_agg(u.waiting_message ORDER BY u.lease_expires_at))[1] AS waiting_message
  FROM experiments_workunit u
  WHERE u.config_id = c.id AND u.state <> 'done' AND u.waiting_since IS NOT NULL
    AND (u.state <> 'open' OR c.state = 'running')) w ON true
WHERE c.experiment_id = %s ORDER BY c.arrival
"""
AGGREGATES = "SELECT * FROM experiments_aggregate WHERE config_id = ANY (%s)"


@dataclass(frozen=True, slots=True)
class Scene:
    """The data of a live view at one moment."""

    plan: ExperimentPlan
    configs: Sequence[Config]
    metrics: Sequence[Metric]
    sums: Aggregates
    commons: Comparisons
    """Of the pairs that `add_pairs` was not asked for the sums alone."""
    leading: LeadingConfigs
    watched: Mapping[tuple[int, str], WatchedIntervals]
    ever: Sequence[Config]
    """Those that are deleted, too."""
    tallies: Mapping[tuple[int, str], Tally]
    wide: Mapping[str, Sequence[str]]
    """The warnings of each metric whose range is too wide for its scores."""
    clusters: Counted = field(default_factory=dict)
    paired_clusters: CountedPairs = field(default_factory=dict)
    nonrandom: frozenset[int] = frozenset()
    """The configs that fail on the examples that the others find hard, by the primary metric."""
    selected: Mapping[tuple[int, str], SelectedEstimate] = field(default_factory=dict)
    """The estimates that were chosen for their value: those of the leading configs by the primary metric."""

    @property
    def n_ever(self) -> int:
        """How many configs were ever added: all have been looked at."""
        return len(self.ever)

    def tally(self, config: Config, metric: Metric) -> Tally:
        """Return what is known of a metric of a config."""
        return self.tallies[config.pk, metric.name]


def load_scene(plan: ExperimentPlan, ever: Sequence[Config] | None = None) -> Scene:
    """Load the data of a live view; for pairs of configs only the sums, until `add_pairs` has read the others."""
    every = configs_ever(plan) if ever is None else ever
    configs = [config for config in every if config.state != Config.State.DELETED]
    rows = list(Aggregate.objects.raw(AGGREGATES, [[config.pk for config in configs]]))
    sums = {(row.config_id, row.metric, row.scope): row for row in rows}
    metrics = [Metric.from_json(row) for row in plan.metrics]
    primary = primary_metric(plan)
    commons = read_sums(plan.pk) if is_pairable(primary) else {}
    tallies = {
        (config.pk, metric.name): tally_in(plan, config, metric, sums) for config in configs for metric in metrics
    }
    by_config = {config.pk: tallies[config.pk, primary.name] for config in configs}
    leading = find_leading_configs(plan, configs, by_config, commons)
    return Scene(
        plan,
        configs,
        metrics,
        sums,
        commons,
        leading,
        watch_configs(plan, configs, metrics),
        every,
        tallies,
        {metric.name: wide_in(metric, rows) for metric in metrics},
        count_clusters(plan, configs, metrics, most=MOST_WATCHED),
        nonrandom=find_nonrandom_failures(plan, primary, configs, by_config),
        selected=select_estimates([(plan, leading, len(every), by_config)]),
    )


def select_estimates(
    found: Iterable[tuple[ExperimentPlan, LeadingConfigs, int, Mapping[int, Tally]]],
) -> dict[tuple[int, str], SelectedEstimate]:
    """Return the selected estimates of experiments, by config and metric, each among so many configs.

    One query for those that still run, and one for each whose bound is not remembered.
    """
    rows = [
        (plan, config, primary_metric(plan), n, tallies[config.pk])
        for plan, leading, n, tallies in found
        if n > 1
        for config in leading.best
    ]
    coming = [
        (plan, config, metric, selected_level(plan.level, n))
        for plan, config, metric, n, _ in rows
        if config.watermark < plan.n_examples and needs_series(metric) and not metric.addition
    ]
    watched = watch_all(coming)
    return {
        (config.pk, metric.name): SelectedEstimate(
            n,
            watched.get((config.pk, metric.name)),
            bound_selected(plan, config, metric, tally, selected_level(plan.level, n)),
        )
        for plan, config, metric, n, tally in rows
    }


def add_pairs(scene: Scene, pairs: Iterable[tuple[Config, Config | None]]) -> Scene:
    """Return a scene that has read all of these pairs, and counted their clusters, where its plan names clusters."""
    # A pair that is asked for twice must not be counted twice.
    pair_ends, pairs = [], list(dict.fromkeys(pairs))
    others = {other.pk for _, other in pairs if other is not None}
    if scene.commons:
        commons = read_comparisons(scene.plan.pk, of=others)
        commons = add_lost_trials(scene.plan, primary_metric(scene.plan), scene.configs, commons)
        scene = replace(scene, commons={**scene.commons, **commons})
    for config, other in pairs:
        common = between(scene.commons, config.pk, other.pk) if other is not None else None
        if other is not None and common is not None:
            pair_ends.append((config, other, common.upto))
    cluster_counts = count_pairs(scene.plan, primary_metric(scene.plan), pair_ends, most=MOST_WATCHED)
    return replace(scene, paired_clusters=cluster_counts)


def configs_ever(plan: ExperimentPlan) -> list[Config]:
    """Return every config that was ever added, those that are deleted too: all have been looked at."""
    return list(Config.objects.raw(EVER, [plan.pk]))


def watch_configs(
    plan: ExperimentPlan, configs: Iterable[Config], metrics: Sequence[Metric]
) -> dict[tuple[int, str], WatchedIntervals]:
    """Return the intervals that follow the order of scores, of the configs that have examples to come."""
    coming = [config for config in configs if config.watermark < plan.n_examples]
    return watch(plan, coming, [metric for metric in metrics if needs_series(metric) and not metric.addition])


def tally_in(plan: ExperimentPlan, config: Config, metric: Metric, sums: Aggregates) -> Tally:
    """Add up the scores from before and after a config's design: estimates cover both."""
    rows = (sums.get((config.pk, metric.name, scope)) for scope in (Scope.SEEN, Scope.PREFIX))
    return build_tally(plan, metric, *rows)

"""Many experiments at a glance: who leads each and by what, how far it has come, and what it has cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.inference.clusters.cluster_sums import MOST_WATCHED, count_clusters
from evalsvc.experiments.inference.estimates.figures import Tally, build_figures, needs_series
from evalsvc.experiments.inference.estimates.watched import watch_all
from evalsvc.experiments.inference.leader import LeadingConfigs, find_leading_configs
from evalsvc.experiments.inference.pairs.comparisons import read_comparisons
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan
from evalsvc.experiments.reporting.live.scene import select_estimates, tally_in
from evalsvc.experiments.reporting.live.view import count_queries
from evalsvc.experiments.reporting.words import level_names


@dataclass(frozen=True, slots=True)
class ExperimentOverview:
    """What the configs of an experiment add up to."""

    leader: Config | None
    ahead: Sequence[Config]
    """The leader, or the configs that are tied, in the order of arrival."""
    figures: Mapping[str, Any] | None
    """The leader's numbers of the primary metric, as the live view has them; None without a leader."""
    n: int
    n_configs: int
    n_running: int
    n_done: int
    n_to_do: int
    n_queries: int
    cost: float

    @property
    def leading(self) -> str:
        """Who leads, or who are level."""
        return f"{'level: ' if len(self.ahead) > 1 else ''}{level_names([config.name for config in self.ahead])}"

    @property
    def left_out(self) -> str:
        """Of how many of its answers the leader's numbers are not, as they failed."""
        first = self.ahead[0] if self.ahead else None
        return f"{first.n_error} failed" if first and first.n_error else ""


def build_overviews(plans: Sequence[ExperimentPlan]) -> dict[int, ExperimentOverview]:
    """Return the overview of each experiment: five queries, and one for each that names clusters, or a new leader."""
    ever: dict[int, list[Config]] = {plan.pk: [] for plan in plans}
    for config in Config.objects.filter(experiment__in=list(ever)).order_by("arrival"):
        ever[config.experiment_id].append(config)
    configs = {id: [config for config in rows if config.state != Config.State.DELETED] for id, rows in ever.items()}
    tallies = _tallies(plans, configs)
    commons = read_comparisons(*configs)
    leading = {plan.pk: find_leading_configs(plan, configs[plan.pk], tallies, commons) for plan in plans}
    leaders = {id: found.reference for id, found in leading.items()}
    intervals = watch_all(_iter_series_leaders(plans, leaders))
    selected = select_estimates((plan, leading[plan.pk], len(ever[plan.pk]), tallies) for plan in plans)
    overviews = {}
    for plan in plans:
        leader, metric = leaders[plan.pk], primary_metric(plan)
        tally = tallies[leader.pk] if leader else None
        leader_intervals = intervals.get((leader.pk, metric.name)) if leader else None
        clusters = count_clusters(plan, [leader], [metric], most=MOST_WATCHED) if leader else {}
        cluster_sums = clusters.get((leader.pk, metric.name)) if leader else None
        leader_figures = (
            build_figures(plan, metric, tally, leader_intervals, cluster_sums, selected.get((leader.pk, metric.name)))
            if tally and leader
            else None
        )
        overviews[plan.pk] = _overview(plan, configs[plan.pk], leading[plan.pk], leader_figures, tallies)
    return overviews


def _tallies(plans: Sequence[ExperimentPlan], configs: Mapping[int, Sequence[Config]]) -> dict[int, Tally]:
    rows = Aggregate.objects.filter(config__experiment__in=list(configs)).exclude(scope=Aggregate.Scope.ALL)
    sums = {(row.config_id, row.metric, row.scope): row for row in rows}
    return {
        config.pk: tally_in(plan, config, primary_metric(plan), sums) for plan in plans for config in configs[plan.pk]
    }


def _iter_series_leaders(plans: Sequence[ExperimentPlan], leaders: Mapping[int, Config | None]) -> Iterable[Any]:
    """Yield the leaders with intervals that depend on the order of their scores."""
    for plan in plans:
        leader, metric = leaders[plan.pk], primary_metric(plan)
        if leader is not None and leader.watermark < plan.n_examples and needs_series(metric):
            yield plan, leader, metric, plan.level


def _overview(
    plan: ExperimentPlan,
    configs: Sequence[Config],
    leading: LeadingConfigs,
    shown: Mapping[str, Any] | None,
    tallies: Mapping[int, Tally],
) -> ExperimentOverview:
    reference = leading.reference
    return ExperimentOverview(
        leader=leading.leader,
        ahead=leading.best,
        figures=shown,
        n=tallies[reference.pk].sums.n if reference else 0,
        n_configs=len(configs),
        n_running=sum(config.state == Config.State.RUNNING for config in configs),
        n_done=sum(config.n_ok + config.n_error for config in configs),
        n_to_do=plan.run_length * len(configs),
        n_queries=sum(count_queries(config) for config in configs),
        cost=sum(config.cost for config in configs),
    )

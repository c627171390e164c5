"""Many experiments at a glance: who leads each and by what, how far it has come, and what it has cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsvc.experiments.inference.clusters.cluster_sums import MOST_WATCHED, count_clusters, count_pairs
from evalsvc.experiments.inference.estimates.figures import Tally, build_figures, needs_series
from evalsvc.experiments.inference.estimates.watched import watch_all
from evalsvc.experiments.inference.leader import LeadingConfigs, find_leading_configs
from evalsvc.experiments.inference.pairs.comparisons import Comparisons, add_lost_trials, read_comparisons
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.inference.pairs.versus import find_baseline
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan
from evalsvc.experiments.reporting.conclusion import Conclusion, conclude, find_next_best
from evalsvc.experiments.reporting.live.scene import select_estimates, tally_in
from evalsvc.experiments.reporting.live.view import compare_configs, count_queries, is_better_than_all
from evalsvc.experiments.reporting.words import level_names
from evalsvc.stats.pairs.common import between


@dataclass(frozen=True, slots=True)
class ExperimentOverview:
    """What the configs of an experiment add up to."""

    leader: Config | None
    ahead: Sequence[Config]
    """The leader, or the configs that are tied, in the order of arrival."""
    figures: Mapping[str, Any] | None
    """The leader's numbers of the primary metric, as the live view has them; None without a leader.

    With a conclusion only those of an experiment with a single config: the conclusion of others is a comparison.
    """
    n: int
    n_configs: int
    n_running: int
    n_done: int
    n_to_do: int
    n_queries: int
    cost: float
    conclusion: Conclusion | None = None
    """Only where it was asked for."""

    @property
    def leading(self) -> str:
        """Who leads, or who are level."""
        return f"{'level: ' if len(self.ahead) > 1 else ''}{level_names([config.name for config in self.ahead])}"

    @property
    def left_out(self) -> str:
        """Of how many of its answers the leader's numbers are not, as they failed."""
        first = self.ahead[0] if self.ahead else None
        return f"{first.n_error} failed" if first and first.n_error else ""


def build_overviews(plans: Sequence[ExperimentPlan], *, concludes: bool = False) -> dict[int, ExperimentOverview]:
    """Return the overview of each experiment: five queries, and one for each of clusters, trials or a new leader.

    `concludes`: with the sentence of each, which compares its leader with the others, and without the estimates that
    the sentence does not need.
    """
    ever: dict[int, list[Config]] = {plan.pk: [] for plan in plans}
    for config in Config.objects.filter(experiment__in=list(ever)).order_by("arrival"):
        ever[config.experiment_id].append(config)
    configs = {id: [config for config in rows if config.state != Config.State.DELETED] for id, rows in ever.items()}
    tallies = _tallies(plans, configs)
    commons = read_comparisons(*configs)
    leading = {plan.pk: find_leading_configs(plan, configs[plan.pk], tallies, commons) for plan in plans}
    leaders = {id: found.reference for id, found in leading.items()}
    estimated = [plan for plan in plans if not concludes or len(configs[plan.pk]) == 1]
    intervals = watch_all(_iter_series_leaders(estimated, leaders))
    selected = select_estimates((plan, leading[plan.pk], len(ever[plan.pk]), tallies) for plan in estimated)
    overviews = {}
    for plan in plans:
        leader, metric = leaders[plan.pk] if plan in estimated else None, primary_metric(plan)
        tally = tallies[leader.pk] if leader else None
        leader_intervals = intervals.get((leader.pk, metric.name)) if leader else None
        clusters = count_clusters(plan, [leader], [metric], most=MOST_WATCHED) if leader else {}
        cluster_sums = clusters.get((leader.pk, metric.name)) if leader else None
        leader_figures = (
            build_figures(plan, metric, tally, leader_intervals, cluster_sums, selected.get((leader.pk, metric.name)))
            if tally and leader
            else None
        )
        overview = _overview(plan, configs[plan.pk], leading[plan.pk], leader_figures, tallies)
        if concludes:
            found = _conclude(plan, configs[plan.pk], len(ever[plan.pk]), overview, tallies, commons)
            overview = replace(overview, conclusion=found)
        overviews[plan.pk] = overview
    return overviews


def _conclude(
    plan: ExperimentPlan,
    configs: Sequence[Config],
    n_ever: int,
    overview: ExperimentOverview,
    tallies: Mapping[int, Tally],
    commons: Comparisons,
) -> Conclusion:
    """Return the same conclusion as that of the experiment's live view."""
    metric, leader, baseline = primary_metric(plan), overview.leader, find_baseline(plan, configs)
    others = [config for config in configs if leader is not None and config.pk != leader.pk]
    commons = add_lost_trials(plan, metric, configs, commons)
    pairs = [(config, leader) for config in others if leader is not None]
    if leader is not None and baseline is not None and baseline.pk != leader.pk:
        pairs.append((leader, baseline))
    starts = [(one, other, common.upto) for one, other in pairs if (common := between(commons, one.pk, other.pk))]
    clusters = count_pairs(plan, metric, starts, most=MOST_WATCHED)

    def compare(config: Config, other: Config | None = leader) -> Mapping[str, Any] | None:
        return compare_configs(plan, config, other, commons, n_ever, clusters) if other is not None else None

    rival = None
    if leader is not None and baseline is not None and baseline.pk != leader.pk:
        found = compare(leader, baseline)
        rival = (str(baseline.pk), found) if found is not None else None
    elif leader is not None:
        rival = find_next_best((str(config.pk), found) for config in others if (found := compare(config)) is not None)
    scored = [config for config in configs if tallies[config.pk].sums.n]
    is_settled = is_better_than_all(metric, leader, scored, compare) if configs else None
    names = {str(config.pk): config.name for config in configs}
    best = [str(config.pk) for config in overview.ahead]
    return conclude(metric.name, names, best, overview.figures, rival, is_settled=is_settled)


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

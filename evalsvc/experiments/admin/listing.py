"""The list of experiments: narrowed by state, with what the configs of each add up to."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from evalsvc.accounts.admin.base import CalmChangeList
from evalsvc.evaluations.admin import ChoiceFilter, Choices
from evalsvc.experiments.inference.comparisons import read_comparisons
from evalsvc.experiments.inference.evidence import primary_metric
from evalsvc.experiments.inference.standing import leader_of
from evalsvc.experiments.models import Aggregate, Config, ExperimentPlan
from evalsvc.experiments.reporting.live import tally_in


class StateFilter(ChoiceFilter):
    """By state."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: object) -> Choices:
        """Return the states."""
        return [(value, label.partition(":")[0]) for value, label in ExperimentPlan.State.choices]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Keep one state."""
        return rows.filter(state=value)


class PlanList(CalmChangeList):
    """The list, with what the configs of its experiments add up to: three queries a page."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page and sum its configs."""
        super().get_results(request)
        plans = {plan.pk: plan for plan in self.result_list}
        configs: dict[int, list[Config]] = {pk: [] for pk in plans}
        live = Config.objects.filter(experiment__in=plans).exclude(state=Config.State.DELETED).order_by("arrival")
        for config in live:
            configs[config.experiment_id].append(config)
        rows = Aggregate.objects.filter(config__experiment__in=plans).exclude(scope=Aggregate.Scope.ALL)
        sums = {(row.config_id, row.metric, row.scope): row for row in rows}
        commons = read_comparisons(*plans)
        for pk, plan in plans.items():
            metric = primary_metric(plan)
            tallies = {config.pk: tally_in(plan, config, metric, sums) for config in configs[pk]}
            plan.leads = leader_of(plan, configs[pk], tallies, commons)
            plan.n_asked = sum(config.n_ok + config.n_error - config.n_reused for config in configs[pk])
            plan.spent = sum(config.cost for config in configs[pk])

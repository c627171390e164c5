"""The list of experiments: narrowed by state, with what the configs of each add up to."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from evalsvc.accounts.admin.base import UncountedChangeList
from evalsvc.evaluations.admin import ChoiceFilter, Choices
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.overview import build_overviews


class StateFilter(ChoiceFilter):
    """By state."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: object) -> Choices:
        """Return the states."""
        return [(value, label.partition(":")[0]) for value, label in ExperimentPlan.State.choices]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(state=value)


class PlanList(UncountedChangeList):
    """The list, with what the configs of its experiments add up to: four queries a page."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page and sum its configs."""
        super().get_results(request)
        overviews = build_overviews(list(self.result_list))
        for plan in self.result_list:
            overview = overviews[plan.pk]
            plan.leads, plan.n_asked, plan.spent = overview.leader, overview.n_queries, overview.cost

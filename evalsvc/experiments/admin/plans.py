"""Admin rows of planned experiments, and where their addresses of before lead: people watch and act in the console."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import BigIntegerField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from unfold.decorators import display

from evalsvc.accounts.admin.base import READER, ScopedAdmin, shorten
from evalsvc.experiments.admin.changelist import PlanList, StateFilter
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.words import number

State = ExperimentPlan.State
VARIANTS = {State.RUNNING: "info", State.DONE: "success", State.IDLE: "warning", State.FAILED: "danger"}


@admin.register(ExperimentPlan)
class ExperimentPlanAdmin(ScopedAdmin):
    """Experiments that run something, newest first."""

    view_role = READER
    list_display = ("name", "running_state", "rule", "dataset", "leader", "queries", "cost", "started_at")
    list_display_links = ("name",)
    list_filter = (StateFilter,)
    list_select_related = ("account", "experiment", "dataset_version__dataset")
    ordering = ("-experiment",)
    sortable_by = ()
    search_fields = ("experiment__name",)
    search_help_text = "Name"
    fields = readonly_fields = (
        *("name", "running_state", "rule", "level", "primary_metric", "baseline", "dataset", "n_examples", "limit"),
        *("num_shards", "micro_batch", "seed", "budget_queries", "budget_cost", "budget_seconds"),
        *("started_at", "finished_at"),
    )
    change_form_outer_before_template = "experiments/to_board.html"

    def get_urls(self) -> list[URLPattern]:
        """Lead the addresses of the board and the outputs that stood here to the console's."""
        redirects = [
            ("live", "<path:object_id>/live/", self.redirect_to_board),
            ("control", "<path:object_id>/control/", self.redirect_to_board),
            ("outputs", "<path:object_id>/outputs/", self.outputs_page),
            ("clone", "<path:object_id>/configs/<int:config_id>/clone/", self.redirect_to_board),
            ("forget", "<path:object_id>/configs/<int:config_id>/forget/", self.redirect_to_board),
        ]
        paths = [path(route, self.admin_site.admin_view(view), name=address(name)) for name, route, view in redirects]
        return [*paths, *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[PlanList]:
        """Use the list that sums its configs."""
        return PlanList

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Return what the rows are."""
        return super().changelist_view(request, {**(extra_context or {}), "title": "Experiments"})

    # --- Columns and fields ------------------------------------------------------------------------------------------
    @admin.display(description="Name")
    def name(self, plan: ExperimentPlan) -> str:
        """Return the experiment's name."""
        return plan.experiment.name

    @display(description="State", label=VARIANTS)
    def running_state(self, plan: ExperimentPlan) -> str:
        """Return the state."""
        return plan.state

    @admin.display(description="Policy")
    def rule(self, plan: ExperimentPlan) -> str:
        """Return the policy by the name that requests give it."""
        return plan.policy

    @admin.display(description="Dataset")
    def dataset(self, plan: ExperimentPlan) -> str:
        """Return the dataset with its version."""
        return f"{plan.dataset_version.dataset.name}:{plan.dataset_version.number}"

    @admin.display(description="Leader")
    def leader(self, plan: Any) -> str | None:
        """Return who is ahead."""
        return shorten(plan.leads.name, 40) if plan.leads else None

    @admin.display(description="Queries")
    def queries(self, plan: Any) -> int:
        """Return how many queries were answered, well or badly."""
        return int(plan.n_asked)

    @admin.display(description="Cost")
    def cost(self, plan: Any) -> str | None:
        """Return what they cost."""
        return number(plan.spent) if plan.spent else None

    # --- One experiment ----------------------------------------------------------------------------------------------
    def redirect_to_board(self, request: HttpRequest, object_id: str, config_id: int | None = None) -> HttpResponse:
        """Redirect to the board."""
        return redirect(board_page(self.readable(request, object_id)))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the row, and the way to its board."""
        plan = self.readable(request, object_id)
        ways = {"board": board_page(plan), "plan": plan}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **ways})

    def outputs_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to the console's outputs of the requested config."""
        plan = self.readable(request, object_id)
        config = request.GET.get("config", "")
        return redirect(outputs_page(plan) + (f"?{urlencode({'config': config})}" if config else ""))

    def readable(self, request: HttpRequest, object_id: str) -> Any:
        """Return a plan that the person may look at; 404 for missing and foreign."""
        plan = self.get_object(request, object_id)
        if plan is None:
            raise Http404
        return plan

    def get_object(self, request: HttpRequest, object_id: object, from_field: str | None = None) -> object:
        """Look up ids only; the key is a relation, which would pass larger numbers on to the database."""
        return super().get_object(request, object_id, from_field) if is_id(object_id) else None


def is_id(text: object) -> bool:
    """Return whether a text can be an id."""
    text = str(text)
    return text.isascii() and text.isdigit() and int(text) <= BigIntegerField.MAX_BIGINT


def address(name: str) -> str:
    """Return the name of one of the pages' addresses."""
    return f"experiments_experimentplan_{name}"


def board_page(plan: ExperimentPlan) -> str:
    """Return the address of an experiment's board."""
    return reverse("console_experiment", args=[plan.account_id, plan.pk])


def outputs_page(plan: ExperimentPlan) -> str:
    """Return the address of an experiment's answers."""
    return reverse("console_experiment_outputs", args=[plan.account_id, plan.pk])

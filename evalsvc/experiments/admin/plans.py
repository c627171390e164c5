"""Admin pages of planned experiments. Readers look on; editors stop, resume, clone and delete configs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import BigIntegerField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from unfold.decorators import display

from evalsvc.accounts.admin.base import EDITOR, READER, ScopedAdmin, actor_of, has_role, shorten
from evalsvc.evaluations.admin import json_block
from evalsvc.experiments.admin.board import VARIANTS, board_of
from evalsvc.experiments.admin.chart import chart_of
from evalsvc.experiments.admin.forms import CloneForm
from evalsvc.experiments.admin.listing import PlanList, StateFilter
from evalsvc.experiments.admin.tradeoff import tradeoff_of
from evalsvc.experiments.decisions.control import ACTIONS, RESUME, clone, control
from evalsvc.experiments.inference.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.reporting.live import etag_of
from evalsvc.experiments.reporting.results import rows_out
from evalsvc.experiments.reporting.words import number
from evalsvc.experiments.selectors import list_configs, list_outputs
from evalsvc.experiments.services import start_experiment
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.problems import Problem

OUTPUTS_ON_A_PAGE = 25
DONE_WORDS = {"stop": "Stopped", "resume": "Resumed"}


@admin.register(ExperimentPlan)
class ExperimentPlanAdmin(ScopedAdmin):
    """Experiments that run something, newest first."""

    view_role, write_role = READER, EDITOR
    list_display = ("name", "running_state", "rule", "dataset", "leader", "queries", "cost", "started_at")
    list_display_links = ("name",)
    list_filter = (StateFilter,)
    list_select_related = ("account", "experiment", "dataset_version__dataset")
    ordering = ("-experiment",)
    sortable_by = ()
    search_fields = ("experiment__name",)
    search_help_text = "Name"

    def get_urls(self) -> list[URLPattern]:
        """Add the pages of one experiment."""
        own = [
            ("live", "<path:object_id>/live/", self.live_page),
            ("control", "<path:object_id>/control/", self.control_page),
            ("outputs", "<path:object_id>/outputs/", self.outputs_page),
            ("clone", "<path:object_id>/configs/<int:config_id>/clone/", self.clone_page),
            ("forget", "<path:object_id>/configs/<int:config_id>/forget/", self.forget_page),
        ]
        paths = [path(route, self.admin_site.admin_view(view), name=address(name)) for name, route, view in own]
        return [*paths, *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[PlanList]:
        """Use the list that sums its configs."""
        return PlanList

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Say what the rows are."""
        return super().changelist_view(request, {**(extra_context or {}), "title": "Experiments"})

    # --- The list ----------------------------------------------------------------------------------------------------
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
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: object = None
    ) -> HttpResponse:
        """Show the board."""
        plan = self.readable(request, object_id)
        if request.method != "GET":
            raise PermissionDenied
        metric = primary_metric(plan)
        return self.answer(
            request, plan, "plan", {**self.board(request, plan), "title": plan.experiment.name, "metric": metric}
        )

    def live_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the part that moves; nothing when it is as the page has it already."""
        plan = self.readable(request, object_id)
        if request.GET.get("seen") == seen_of(plan):
            return HttpResponse(status=204)
        return self.answer(request, plan, "live", self.board(request, plan))

    def board(self, request: HttpRequest, plan: ExperimentPlan) -> dict[str, Any]:
        """Lay the board out."""
        seen, board = seen_of(plan), board_of(plan)
        return {"seen": seen, "board": board, "chart": chart_of(plan, board), "tradeoff": tradeoff_of(plan, board)}

    def control_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Start the experiment, or stop or resume one config or all of them: what can be undone is done at once."""
        plan = self.writable(request, object_id)
        if request.method == "POST":
            try:
                messages.success(request, self.do(request, plan))
            except Problem as problem:
                messages.error(request, problem.detail)
        return redirect(experiment_page(plan))

    def do(self, request: HttpRequest, plan: ExperimentPlan) -> str:
        """Do what the pressed button says, and return what came of it."""
        account, actor = self.account_of(request, plan), actor_of(request)
        if "start" in request.POST:
            start_experiment(account=account, plan=plan, actor=actor)
            enqueue_after_commit()
            return "The experiment runs."
        name = next((name for name in DONE_WORDS if name in request.POST), None)
        if name is None:
            raise Http404
        target = request.POST[name]
        effect = control(
            account=account,
            experiment_id=plan.pk,
            action=ACTIONS[name],
            config_ids=None if target == "all" else [self.config_of(request, plan, target).pk],
            actor=actor,
        )
        if ACTIONS[name] is RESUME:
            enqueue_after_commit()
        n, flying = len(effect.op.changed_ids), effect.op.n_in_flight
        return f"{DONE_WORDS[name]} {n} config{'' if n == 1 else 's'}." + (
            f" {flying} in flight will finish and be kept." if flying else ""
        )

    def clone_page(self, request: HttpRequest, object_id: str, config_id: int) -> HttpResponse:
        """Ask for the changes, and clone."""
        plan = self.writable(request, object_id)
        config = self.config_of(request, plan, config_id)
        form = CloneForm(request.POST or None, config=config)
        if request.method == "POST" and form.is_valid():
            try:
                made = clone(
                    account=self.account_of(request, plan),
                    config=config,
                    name=form.cleaned_data["name"] or None,
                    changes=form.changes(),
                    actor=actor_of(request),
                )
            except Problem as problem:
                form.show(problem)
            else:
                enqueue_after_commit()
                messages.success(request, f"{made.name} was made from {config.name}.")
                return redirect(experiment_page(plan))
        return self.answer(request, plan, "clone", {"title": f"Clone {config.name}", "form": form, "config": config})

    def forget_page(self, request: HttpRequest, object_id: str, config_id: int) -> HttpResponse:
        """Delete a config after a confirmation."""
        plan = self.writable(request, object_id)
        config = self.config_of(request, plan, config_id)

        def verb() -> str:
            control(
                account=self.account_of(request, plan),
                experiment_id=plan.pk,
                action=ACTIONS["delete"],
                config_ids=[config.pk],
                actor=actor_of(request),
            )
            return f"{config.name} is deleted."

        return self.confirmed(
            request,
            plan,
            title=f"Delete {config.name}?",
            detail="It stops and is shown no more; it cannot be brought back. Its cost and its evidence are kept.",
            button="Delete",
            verb=verb,
        )

    def outputs_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show outputs with their scores, newest first."""
        plan = self.readable(request, object_id)
        account = self.account_of(request, plan)
        chosen = request.GET.get("config")
        config = self.config_of(request, plan, chosen) if chosen else None
        rows, cursor = page(
            list_outputs(account=account, experiment_id=plan.pk, config_id=config.pk if config else None),
            limit=OUTPUTS_ON_A_PAGE,
            cursor=request.GET.get("cursor"),
            of=f"admin-outputs:{plan.pk}:{config.pk if config else ''}",
        )
        outputs = [
            {
                **row,
                "shown": json_block(row["output"]),
                "scores": list(row["scores"].items()),
                "paid": f"{row['cost'] or 0:.4g}",
            }
            for row in rows_out(rows, plan=plan)
        ]
        context = {
            "title": f"Outputs of {plan.experiment.name}",
            "outputs": outputs,
            "next_cursor": cursor,
            "config": config,
            "configs": list_configs(account=account, experiment_id=plan.pk),
        }
        return self.answer(request, plan, "outputs", context)

    def answer(
        self, request: HttpRequest, plan: ExperimentPlan, part: str, context: Mapping[str, object]
    ) -> HttpResponse:
        """Render one of the templates of experiments."""
        shared = {
            "opts": self.opts,
            "plan": plan,
            "may_act": has_role(request, self.write_role),
            "page": experiment_page(plan),
        }
        return render(
            request, f"experiments/{part}.html", {**self.admin_site.each_context(request), **shared, **context}
        )

    def readable(self, request: HttpRequest, object_id: str) -> Any:
        """Return a plan that the person may look at; 404 for missing and foreign."""
        plan = self.get_object(request, object_id)
        if plan is None:
            raise Http404
        if not self.has_view_permission(request, plan):
            raise PermissionDenied
        return plan

    def config_of(self, request: HttpRequest, plan: ExperimentPlan, id: Any) -> Config:
        """Return a config of the plan; 404 for missing, foreign and deleted."""
        account = self.account_of(request, plan)
        rows = list_configs(account=account, experiment_id=plan.pk)
        config = rows.filter(pk=int(id)).first() if is_id(id) else None
        if config is None:
            raise Http404
        return config

    def get_object(self, request: HttpRequest, object_id: object, from_field: str | None = None) -> object:
        """Look up ids only; the key is a relation, which would pass larger numbers on to the database."""
        return super().get_object(request, object_id, from_field) if is_id(object_id) else None


def is_id(text: object) -> bool:
    """Say whether a text can be an id."""
    text = str(text)
    return text.isascii() and text.isdigit() and int(text) <= BigIntegerField.MAX_BIGINT


def address(name: str) -> str:
    """Return the name of one of the pages' addresses."""
    return f"experiments_experimentplan_{name}"


def experiment_page(plan: ExperimentPlan) -> str:
    """Return the address of an experiment's page."""
    return reverse(f"admin:{address('change')}", args=[plan.pk])


def seen_of(plan: ExperimentPlan) -> str:
    """Return a tag that changes with what the board shows."""
    return etag_of(plan).strip('"')

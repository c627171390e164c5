"""The list of experiments: state, leader with its interval, progress and cost."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.experiments.words import ENDED, STATES, state_markup
from evalsvc.console.parts.addresses import choice, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.money import format_cost
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow, paginate
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.overview import ExperimentOverview, build_overviews
from evalsvc.experiments.reporting.words import format_validity, headline
from evalsvc.experiments.selectors import list_plans
from evalsvc.reports.page.elements import element, join_parts

ON_A_PAGE = 25
COLUMNS = (
    Column("Experiment"),
    Column("State"),
    Column("Leader, by the primary metric", kind="wide"),
    Column("Asked", kind="figure"),
    Column("Cost", kind="figure"),
    Column("Started"),
)


@console_page()
def experiments(request: PageRequest) -> HttpResponse:
    """List the account's experiments, newest first."""
    account = request.visitor.account
    state = choice(request, "state", tuple(STATES), "")
    text = request.GET.get("q", "")[:100]
    rows = list_plans(account=account, state=state or None, text=text or None)
    plans, links = paginate(request, rows, ON_A_PAGE)
    overviews = build_overviews(plans)
    table = PageTable(
        "Experiments",
        COLUMNS,
        [_row(plan, overviews[plan.pk], request.visitor.now) for plan in plans],
        is_walked=True,
        empty="No experiments match these filters.",
    )
    states = [("", "any"), *((value, value) for value in STATES)]
    context: dict[str, Any] = {
        "table": table,
        "fields": [
            FormField("q", "Name contains", value=text),
            FormField("state", "State", "select", value=state, options=states),
        ],
        **links,
        "is_first": not plans and not state and not text,
        "call": ApiCall("GET", "/v1/experiments", {"limit": ON_A_PAGE}),
    }
    return render(request, "console/experiments/list.html", context)


def _row(plan: ExperimentPlan, seen: ExperimentOverview, now: datetime) -> TableRow:
    dataset = f"{plan.dataset_version.dataset.name}, version {plan.dataset_version.number}"
    about = f"{seen.n_configs} config{'s' * (seen.n_configs != 1)} on {dataset}; {plan.policy}"
    name = join_parts([element("bdi", plan.experiment.name), element("span", about, class_="facts")])
    cells = (
        name,
        state_markup(plan.state, f"{seen.n_running} running" if seen.n_running else ""),
        _leader(plan, seen),
        f"{seen.n_done} / {seen.n_to_do}",
        format_cost(seen.cost) if seen.cost else "—",
        time_tag(plan.started_at, now),
    )
    return TableRow(cells, href=page_address("console_experiment", plan.pk))


def _leader(plan: ExperimentPlan, seen: ExperimentOverview) -> Any:
    if not seen.ahead or seen.figures is None:
        if plan.state == ExperimentPlan.State.IDLE and seen.n_done:
            return "none: no config is running or completed"
        return "nobody" if plan.state in ENDED else "nobody yet"
    estimate = headline(seen.figures)
    number_of_leader = Number(
        estimate["value"],
        estimate["lower"],
        estimate["upper"],
        n=seen.n,
        level=plan.level,
        covers=format_validity(estimate) or None,
        low=min(0.0, estimate["value"] or 0.0),
        missing="" if estimate["lower"] is not None else "no interval",
        left_out=seen.left_out,
    )
    about = element("span", element("bdi", seen.leading), class_="facts")
    return join_parts([about, number_markup(number_of_leader)])

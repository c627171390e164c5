"""The page of one experiment: the board that moves, the charts beside it, its plan, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.experiments.board import SORTS, LiveBoard, live_board_of
from evalsvc.console.pages.experiments.drawings import front_of, looks_chart
from evalsvc.console.pages.experiments.knobs import knob_table, knobs_of_configs
from evalsvc.console.pages.experiments.words import decision_words, state_markup
from evalsvc.console.parts.addresses import choice
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.fields import FormField
from evalsvc.experiments.inference.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live import configs_ever, etag_of
from evalsvc.experiments.selectors import get_plan
from evalsvc.infra.cache import BoundedCache
from evalsvc.rest.problems import Problem

MAX_REMEMBERED, FRESH_SECONDS = 200, 0.5
# By account, experiment, what the address chooses and whether buttons are there: all who watch share one snapshot.
_tags: BoundedCache[tuple[int, int], str] = BoundedCache(MAX_REMEMBERED, seconds=lambda: FRESH_SECONDS)
_drawn: BoundedCache[tuple[Any, ...], tuple[str, str]] = BoundedCache(MAX_REMEMBERED)


@console_page()
def experiment(request: PageRequest, id: int) -> HttpResponse:
    """Show an experiment."""
    visitor = request.visitor
    plan = get_plan(account=visitor.account, id=id)
    tag, ever = etag_of(plan), configs_ever(plan)
    board = _board(request, plan, ever)
    knobs = knobs_of_configs(_living(ever))
    by = choice(request, "by", tuple(knobs), "")
    context = {
        **_shared(request, plan, board, ever, tag),
        "chosen": _choices(request, board, knobs, by),
        "knobs": _knobs(request, plan, by, board.metric) if by else None,
        "primary": primary_metric(plan),
        "call": ApiCall("GET", f"/v1/experiments/{id}/live"),
    }
    return render(request, "console/experiments/experiment.html", context)


@console_page()
def live(request: PageRequest, id: int) -> HttpResponse:
    """Return the part that moves, or 304 when it is as the page has it already."""
    account = request.visitor.account
    key = (account.pk, id)
    tag = _tags.get(key)
    plan = None
    if tag is None:
        plan = get_plan(account=account, id=id)
        tag = etag_of(plan)
        _tags.put(key, tag)
    answer = HttpResponse(status=304)
    if request.headers.get("If-None-Match") != tag:
        answer = HttpResponse(_fragment(request, plan or get_plan(account=account, id=id), tag))
    answer["ETag"] = tag
    return answer


def _fragment(request: PageRequest, plan: ExperimentPlan, tag: str) -> str:
    chosen = (request.GET.get("sort", "")[:20], request.GET.get("metric", "")[:100])
    key = (request.visitor.account.pk, plan.pk, request.visitor.may_edit, *chosen)
    known = _drawn.get(key)
    if known is not None and known[0] == tag:
        return known[1]
    ever = configs_ever(plan)
    context = _shared(request, plan, _board(request, plan, ever), ever, tag)
    text = render_to_string("console/experiments/live.html", context)
    _drawn.put(key, (tag, text))
    return text


def _living(ever: Sequence[Config]) -> list[Config]:
    return [config for config in ever if config.state != Config.State.DELETED]


def _board(request: PageRequest, plan: ExperimentPlan, ever: Sequence[Config]) -> LiveBoard:
    return live_board_of(plan, ever, metric=request.GET.get("metric"), sort=request.GET.get("sort", ""))


def _shared(
    request: PageRequest, plan: ExperimentPlan, board: LiveBoard, ever: Sequence[Config], tag: str
) -> dict[str, Any]:
    query = request.GET.urlencode()
    address = reverse("console_experiment_live", args=[plan.pk])
    return {
        "plan": plan,
        "board": board,
        "sent_headers": orjson.dumps({"If-None-Match": tag}).decode(),
        "state": state_markup(plan.state),
        "may_edit": request.visitor.may_edit,
        "live_address": f"{address}?{query}" if query else address,
        "looks": looks_chart(plan, board, _living(ever)),
        "tradeoff": front_of(plan, board, ever),
        "decisions": [decision_words(decision) for decision in board.decisions],
    }


def _choices(request: PageRequest, board: LiveBoard, knobs: list[str], by: str) -> list[FormField]:
    """Return what can be chosen about the board: all of it lives in the address."""
    fields = [
        FormField(
            "sort", "Order", "select", value=choice(request, "sort", tuple(SORTS), ""), options=list(SORTS.items())
        ),
    ]
    if len(board.metrics) > 1:
        options = [(name, name) for name in board.metrics]
        fields.append(FormField("metric", "Metric", "select", value=board.metric, options=options))
    if knobs:
        named = [("", "not at all"), *((knob, knob.removeprefix("parameters.")) for knob in knobs)]
        fields.append(FormField("by", "Group by knob", "select", value=by, options=named))
    return fields


def _knobs(request: PageRequest, plan: ExperimentPlan, by: str, metric: str) -> Any:
    try:
        return knob_table(request.visitor.account, plan, by, metric)
    except Problem as problem:
        return {"refused": problem.detail}

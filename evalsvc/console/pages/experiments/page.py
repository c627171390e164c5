"""The page of one experiment: the board with its charts, the plan, and the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.http import urlencode

from evalsvc.accounts.membership import Membership
from evalsvc.accounts.middleware import MEMBER_STATEMENT_TIMEOUT
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.experiments.files import list_comparable_files
from evalsvc.console.pages.experiments.knobs import knob_table, knobs_of_configs
from evalsvc.console.pages.experiments.live.board import SORTS, LiveBoard, build_live_board
from evalsvc.console.pages.experiments.live.drawings import build_front, looks_chart
from evalsvc.console.pages.experiments.live.rows import rows_markup
from evalsvc.console.pages.experiments.live.shared import (
    BoardTag,
    BoardView,
    RenderedBoard,
    get_cached_html,
    get_cached_tag,
    remember_html,
    remember_tag,
    turn,
)
from evalsvc.console.pages.experiments.words import ENDED, decision_words, state_markup
from evalsvc.console.parts.addresses import choice, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.digits import level_text
from evalsvc.experiments.decisions.promotion import count_promoted_scores
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live.scene import configs_ever
from evalsvc.experiments.reporting.words import format_estimate
from evalsvc.experiments.selectors import get_plan
from evalsvc.gates.selectors import list_gates
from evalsvc.openai_evals.results import summarize_run
from evalsvc.openai_evals.selectors import EVAL_TAG, find_run, get_run_config
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import account_scope

MOST_GATES = 5


@console_page()
def experiment(request: PageRequest, id: int) -> HttpResponse:
    """Show an experiment."""
    visitor = request.visitor
    look = _look(request, visitor.membership, id)
    tag = BoardTag.read(look.board)
    remember_tag(look.board, tag)
    plan = get_plan(account=visitor.account, id=id)
    ever = configs_ever(plan)
    board = _board(plan, ever, look)
    knobs = knobs_of_configs(_living(ever))
    by = choice(request, "by", tuple(knobs), "")
    context = {
        **_build_context(request, plan, board, ever, tag, look),
        "chosen": _choices(request, board, knobs, by),
        "knobs": _knobs(request, plan, by, board.metric) if by else None,
        "primary": primary_metric(plan),
        "gates": list_gates(account=visitor.account, experiment_id=str(plan.pk)).order_by("-pk")[:MOST_GATES],
        "comparable": list_comparable_files(visitor.account, plan),
        "level": level_text(plan.level),
        "call": ApiCall("GET", f"/v1/experiments/{id}/live"),
    }
    return render(request, "console/experiments/experiment.html", context)


def get_cached_answer(request: PageRequest, membership: Membership, id: int) -> HttpResponse | None:
    """Answer a poll from the caches; None if a query of the database is necessary."""
    look, reader_tag = _look(request, membership, id), _parse_tag(request)
    tag = get_cached_tag(look.board, reader_tag)
    if tag is None:
        return None
    return _answer(tag, reader_tag, get_cached_html(look, tag))


def _answer(tag: BoardTag, seen: BoardTag | None, drawn: RenderedBoard | None) -> HttpResponse | None:
    if seen is not None and seen.stamp == tag.stamp:
        answer = HttpResponse(status=304)
        answer["ETag"] = str(tag)
        return answer
    if drawn is None:
        return None
    answer = HttpResponse(drawn.html)
    answer["ETag"] = str(drawn.tag)
    return answer


@console_page(scoped=False, known=get_cached_answer)
def live(request: PageRequest, id: int) -> HttpResponse:
    """Return the changing part of the board, or 304 if the page has the current content.

    One thread reads the tag and one draws, for all concurrent requests.
    """
    account = request.visitor.account
    look, reader_tag = _look(request, request.visitor.membership, id), _parse_tag(request)
    with turn(look.board):
        tag = get_cached_tag(look.board, reader_tag)
        is_new = tag is None
        if tag is None:
            with account_scope(account.pk, statement_timeout=MEMBER_STATEMENT_TIMEOUT):
                tag = BoardTag.read(look.board)
            remember_tag(look.board, tag)
    if (answer := _answer(tag, reader_tag, get_cached_html(look, tag))) is not None:
        return answer
    with turn(look):
        rendered = get_cached_html(look, tag)
        if rendered is None:
            with account_scope(account.pk, statement_timeout=MEMBER_STATEMENT_TIMEOUT):
                rendered = _draw(request, look, tag if is_new else BoardTag.read(look.board))
    return _answer(rendered.tag, None, rendered) or HttpResponse(status=204)


def _draw(request: PageRequest, look: BoardView, tag: BoardTag) -> RenderedBoard:
    """Draw the board and cache it with its tag. The content is read after the tag, so it is never older."""
    plan = get_plan(account=request.visitor.account, id=look.board[1], with_dataset=False)
    ever = configs_ever(plan)
    context = _build_context(request, plan, _board(plan, ever, look), ever, tag, look)
    rendered = RenderedBoard(tag, render_to_string("console/experiments/live.html", context))
    remember_html(look, rendered)
    remember_tag(look.board, tag)
    return rendered


def _look(request: PageRequest, membership: Membership, id: int) -> BoardView:
    return BoardView.from_request(request, membership.account_id, membership.may_edit, id)


def _parse_tag(request: PageRequest) -> BoardTag | None:
    return BoardTag.parse(request.headers.get("If-None-Match", ""))


def _living(ever: Sequence[Config]) -> list[Config]:
    return [config for config in ever if config.state != Config.State.DELETED]


def _board(plan: ExperimentPlan, ever: Sequence[Config], look: BoardView) -> LiveBoard:
    return build_live_board(plan, ever, metric=look.metric, sort=look.sort)


def _build_context(
    request: PageRequest, plan: ExperimentPlan, board: LiveBoard, ever: Sequence[Config], tag: BoardTag, look: BoardView
) -> dict[str, Any]:
    query = urlencode(look.query)
    address = page_address("console_experiment_live", plan.pk)
    return {
        "plan": plan,
        "board": board,
        "rows": rows_markup(board, plan.pk, may_edit=request.visitor.may_edit),
        "sent_headers": orjson.dumps({"If-None-Match": str(tag)}).decode(),
        "state": state_markup(plan.state),
        "may_edit": request.visitor.may_edit,
        "live_address": f"{address}?{query}" if query else address,
        "looks": looks_chart(plan, board, _living(ever)),
        "tradeoff": build_front(plan, board, ever),
        "decisions": [decision_words(decision) for decision in board.decisions],
        "promoted": _promoted(plan, ever) if plan.state in ENDED else None,
        "run": _describe_run(request, plan),
    }


def _describe_run(request: PageRequest, plan: ExperimentPlan) -> dict[str, str] | None:
    """Return the pass rate of the eval's run that the experiment is; None where it is none."""
    if EVAL_TAG not in (plan.experiment.tags or {}):
        return None
    run = find_run(account=request.visitor.account, experiment_id=plan.pk)
    if run is None:
        return None
    summary = summarize_run(run, get_run_config(run))
    counts, rate = summary.counts, summary.pass_rate
    n_scored = counts.passed + counts.failed
    value = "" if rate["value"] is None else " ".join(format_estimate(rate["value"], rate["lower"], rate["upper"]))
    left_out = f"; {counts.errored} left out as errors" if counts.errored else ""
    return {"value": value, "counts": f"{counts.passed} of {n_scored} items pass all criteria{left_out}"}


def _promoted(plan: ExperimentPlan, ever: Sequence[Config]) -> list[dict[str, object]]:
    """Return which scores of an experiment entered which histories, each with the address of its page."""
    names = {config.pk: config.name for config in ever}
    return [
        {
            "n": score.n,
            "config": names.get(score.config_id, "a deleted config"),
            "history": f"{score.evaluator_id} · {score.profile_name}",
            "href": page_address("console_history", evaluator=score.evaluator_id, profile=score.profile_name),
        }
        for score in count_promoted_scores(plan)
    ]


def _choices(request: PageRequest, board: LiveBoard, knobs: list[str], by: str) -> list[FormField]:
    """Return the fields with the options of the board, which are all stored in the address."""
    fields = [
        FormField(
            "sort", "Order", "select", value=choice(request, "sort", tuple(SORTS), ""), options=list(SORTS.items())
        ),
    ]
    if len(board.metrics) > 1:
        options = [(name, name) for name in board.metrics]
        fields.append(FormField("metric", "Metric", "select", value=board.metric, options=options))
    if knobs:
        knob_options = [("", "not at all"), *((knob, knob.removeprefix("parameters.")) for knob in knobs)]
        fields.append(FormField("by", "Group by knob", "select", value=by, options=knob_options))
    return fields


def _knobs(request: PageRequest, plan: ExperimentPlan, by: str, metric: str) -> Any:
    try:
        return knob_table(request.visitor.account, plan, by, metric)
    except Problem as problem:
        return {"refused": problem.detail}

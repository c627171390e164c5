"""/console/evaluators: the catalogue, and one evaluator."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.catalog.prompts import read_prompts
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.evaluators.catalogue import (
    LANES,
    EvaluatorFilter,
    accuracy_table,
    card_page,
    catalogue,
    catalogue_table,
    family_profiles,
    field_words,
    iter_costs,
    iter_misses,
    list_questions,
)
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.rest.problems import Problem


@require_safe
@console_page()
def evaluators_page(request: PageRequest) -> HttpResponse:
    """Show the catalogue."""
    deprecated = request.GET.get("deprecated", "")
    questions = [(question, question) for question in list_questions()]
    rows = catalogue(request.visitor.account, include_deprecated=deprecated == "show")
    filters = EvaluatorFilter(*(request.GET.get(name, "").strip() for name in ("q", "lane", "question")))
    fields = [
        FormField("q", "Words", value=filters.words),
        FormField("lane", "Runs", "select", filters.lane, [("", "anywhere"), *LANES.items()]),
        FormField("question", "Question", "select", filters.question, [("", "all"), *questions]),
        FormField("deprecated", "Deprecated", "select", deprecated, [("", "hidden"), ("show", "shown")]),
    ]
    context = {
        "fields": fields,
        "table": catalogue_table([row for row in rows if filters.is_match(row)]),
        "call": ApiCall("GET", "/v1/evaluators"),
    }
    return render(request, "console/evaluators/list.html", context)


@require_safe
@console_page()
def evaluator_page(request: PageRequest, id: str) -> HttpResponse:
    """Show an evaluator with its card and the profiles that it runs with."""
    account = request.visitor.account
    evaluator = card_page(account, id)
    try:
        prompts = read_prompts(account=account, evaluator=evaluator.id, profile=None).prompts
    except Problem:
        prompts = []
    context = {
        "one": evaluator,
        "lane": LANES.get(str(evaluator.lane), "not installed"),
        "needs": field_words(evaluator.required_input_fields),
        "accuracy": accuracy_table(evaluator.card.accuracy) if evaluator.card else None,
        "misses": list(iter_misses(evaluator)),
        "costs": list(iter_costs(evaluator)),
        "prompts": prompts,
        "profiles": family_profiles(account, evaluator.evaluator_family),
        "call": ApiCall("GET", f"/v1/evaluators/{evaluator.id}"),
    }
    return render(request, "console/evaluators/detail.html", context)

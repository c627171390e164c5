"""/console/evaluators: the catalogue, and one evaluator."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.catalog.prompts import read_prompts
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.evaluators.catalogue import (
    LANES,
    Narrowed,
    accuracy_table,
    card_page,
    catalogue,
    catalogue_table,
    costs_of,
    family_profiles,
    field_words,
    misses_of,
)
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.rest.problems import Problem


@require_safe
@console_page()
def evaluators_page(request: PageRequest) -> HttpResponse:
    """Show the catalogue."""
    rows = catalogue(request.visitor.account)
    asked = Narrowed(*(request.GET.get(name, "").strip() for name in ("q", "lane", "family")))
    families = sorted({one.evaluator_family for one in rows})
    fields = [
        FormField("q", "Words", value=asked.words),
        FormField("lane", "Runs", "select", asked.lane, [("", "anywhere"), *LANES.items()]),
        FormField("family", "Family", "select", asked.family, [("", "all"), *((name, name) for name in families)]),
    ]
    context = {
        "fields": fields,
        "table": catalogue_table([one for one in rows if asked.lets_through(one)]),
        "call": ApiCall("GET", "/v1/evaluators"),
    }
    return render(request, "console/evaluators/list.html", context)


@require_safe
@console_page()
def evaluator_page(request: PageRequest, id: str) -> HttpResponse:
    """Show an evaluator with its card and the profiles that it runs with."""
    account = request.visitor.account
    one = card_page(account, id)
    try:
        prompts = read_prompts(account=account, evaluator=one.id, profile=None).prompts
    except Problem:
        prompts = []
    context = {
        "one": one,
        "lane": LANES.get(str(one.lane), "not installed"),
        "needs": field_words(one.required_input_fields),
        "accuracy": accuracy_table(one.card.accuracy) if one.card else None,
        "misses": list(misses_of(one)),
        "costs": list(costs_of(one)),
        "prompts": prompts,
        "profiles": family_profiles(account, one.evaluator_family),
        "call": ApiCall("GET", f"/v1/evaluators/{one.id}"),
    }
    return render(request, "console/evaluators/detail.html", context)

"""The page of a comparison, and the choice of two configs where the address names none."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.compare.examples import build_cards
from evalsvc.console.pages.compare.labels import criteria_for_answers, select_criteria
from evalsvc.console.pages.compare.selection import SHOWN, ComparisonSelection, parse_selection
from evalsvc.console.pages.compare.slices import slice_rows
from evalsvc.console.pages.compare.verdict import build_trials, build_verdict
from evalsvc.console.pages.gates.form import gate_fields, load_gate
from evalsvc.console.parts.addresses import address_with, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.forms.labels import label_options
from evalsvc.experiments.inference.pairs.compare import difference_view
from evalsvc.experiments.reporting.side_by_side import find_compared_examples
from evalsvc.experiments.selectors import list_plans, names_of_configs
from evalsvc.rest.problems import Invalid

MOST_PLANS = 30


@console_page()
def compare_page(request: PageRequest) -> HttpResponse:
    """Compare two configs, or let the visitor choose them."""
    account = request.visitor.account
    try:
        selection = parse_selection(request, account)
    except Invalid as problem:
        return _choose(request, account, [error.detail for error in problem.errors], status=422)
    if selection is None:
        return _choose(request, account, [])
    return render(request, "console/compare/compare.html", _context(request, account, selection))


def _choose(request: PageRequest, account: Account, errors: list[str], status: int = 200) -> HttpResponse:
    plans = list(list_plans(account=account)[:MOST_PLANS])
    names = {plan.pk: plan.experiment.name for plan in plans}
    rows = names_of_configs(account=account, experiment_ids=list(names))
    options = [("", "choose"), *((str(row.id), f"{names[row.experiment_id]} / {row.name}") for row in rows)]
    fields = [
        FormField("a", "A: candidate", "select", value=request.GET.get("a", ""), options=options),
        FormField("b", "B: baseline", "select", value=request.GET.get("b", ""), options=options),
    ]
    context = {"fields": fields, "errors": errors, "is_empty": len(options) < 3, "call": ApiCall("GET", "/v1/compare")}
    return render(request, "console/compare/choose.html", context, status=status)


def _context(request: PageRequest, account: Account, chosen: ComparisonSelection) -> dict[str, Any]:
    first, second, metric = chosen.first, chosen.second, chosen.first.metric.name
    view = difference_view(first, second)
    examples, has_more, counts = find_compared_examples(first, second, chosen.examples, chosen.others)
    criteria = criteria_for_answers(account)
    active_criteria = select_criteria(request, criteria)
    configs = [first.config, second.config, *chosen.others]
    return {
        "chosen": chosen,
        "view": view,
        "verdict": build_verdict(view),
        "trials": build_trials(view),
        "counts": counts,
        "shown": [
            (
                words.format(a=first.config.name),
                counts[show],
                _build_show_address(request, show),
                show == chosen.examples.show,
            )
            for show, words in SHOWN.items()
        ],
        "configs": configs,
        "cards": build_cards(account, examples, configs, metric, active_criteria, chosen.examples.offset),
        "pages": _pages(request, chosen, has_more),
        "fields": _fields(request, chosen),
        "slices": slice_rows(request, chosen) if chosen.examples.by else None,
        "criteria": active_criteria,
        "all_criteria": criteria,
        "offered": label_options(active_criteria) if active_criteria else [],
        "gate": load_gate(account, request.GET.get("gate", "")),
        "gate_fields": gate_fields(chosen.metric_names, metric),
        "may_edit": request.visitor.may_edit,
        "here": address_with(request, gate=None, page=chosen.page if chosen.page > 1 else None),
        "turned": address_with(request, a=second.config.pk, b=first.config.pk, gate=None, show=None),
        "call": ApiCall("GET", "/v1/compare", {"a": first.config.pk, "b": second.config.pk, "metric": metric}),
        "experiment_address": page_address("console_experiment", first.plan.pk),
    }


def _build_show_address(request: PageRequest, show: str) -> str:
    return f"{address_with(request, show=None if show == 'all' else show, gate=None)}#examples"


def _pages(request: PageRequest, chosen: ComparisonSelection, has_more: bool) -> dict[str, str]:
    page_number = chosen.page
    return {
        "previous": f"{address_with(request, page=page_number - 1 if page_number > 2 else None, gate=None)}#examples"
        if page_number > 1
        else "",
        "next": f"{address_with(request, page=page_number + 1, gate=None)}#examples" if has_more else "",
    }


def _fields(request: PageRequest, chosen: ComparisonSelection) -> list[FormField]:
    """Return the fields that control the page; hidden fields retain the other parameters of the address."""
    first = chosen.first
    fields = [
        FormField("a", "", "hidden", value=str(first.config.pk)),
        FormField("b", "", "hidden", value=str(chosen.second.config.pk)),
        FormField("show", "", "hidden", value=chosen.examples.show),
        FormField("view", "", "hidden", value="matrix" if chosen.is_matrix else ""),
        FormField("metric", "Metric", "select", value=first.metric.name, options=[(n, n) for n in chosen.metric_names]),
    ]
    if chosen.keys:
        options = [("", "not at all"), *((key, key.removeprefix("metadata.")) for key in chosen.keys)]
        fields.append(FormField("by", "Slice by", "select", value=chosen.examples.by or "", options=options))
    excluded = {first.config.pk, chosen.second.config.pk}
    beside = [
        ("", "nobody"),
        *((str(config.pk), config.name) for config in chosen.siblings if config.pk not in excluded),
    ]
    if len(beside) > 1:
        value = str(chosen.others[0].pk) if chosen.others else ""
        fields.append(FormField("also", "Also show", "select", value=value, options=beside))
    return fields

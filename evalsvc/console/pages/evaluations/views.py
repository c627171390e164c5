"""/console/evaluations: the list, its export, one evaluation, and what is done with it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.evaluations import acts
from evalsvc.console.pages.evaluations.detail import build_detail, load_prompts
from evalsvc.console.pages.evaluations.export import stream_csv
from evalsvc.console.pages.evaluations.labelled import is_label, texts_of_rows
from evalsvc.console.pages.evaluations.results import (
    count_in_span,
    filter_fields,
    find_samples,
    parse_filters,
    samples_table,
    search_call,
    unknown_names,
)
from evalsvc.console.pages.evaluations.saved_searches import OPENED, list_chips, saveable
from evalsvc.console.pages.evaluations.verdicts import format_evaluator_name, outcome_mark, verdict_chip
from evalsvc.console.parts.addresses import address_with, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, read_fields, search_refusal
from evalsvc.datasets.selectors import list_datasets
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.asked import SearchQuery
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.selectors import get_evaluation
from evalsvc.evaluations.wire.inputs import sample_from_row
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.tenancy.scope import account_scope

MAX_DATASETS = 200


@require_safe
@console_page()
def evaluations_page(request: PageRequest) -> HttpResponse:
    """Show samples with their verdicts, by the filters of the address."""
    visitor = request.visitor
    query = parse_filters(visitor.account, request.GET.dict(), visitor.now)
    results = {} if query.errors else _search(request, query)
    fields, chips = filter_fields(visitor.account, query), list_chips(visitor, request.GET.dict())
    open_chip = next((chip for chip in chips if chip.is_opened), None)
    table = results.get("table")
    context = {
        **results,
        "fields": [*fields, FormField(OPENED, "", "hidden", value=str(open_chip.id))] if open_chip else fields,
        "saved": chips,
        "opened": open_chip,
        "saving": saveable(visitor, query, chips),
        "unknown": unknown_names(visitor.account, fields) if table and not table.rows else [],
        "is_filtered": bool(query.values),
        "call": search_call(query),
        "query": request.GET.urlencode(),
    }
    is_refused = bool(query.errors) or "refusal" in results
    return render(request, "console/evaluations/list.html", context, status=422 if is_refused else 200)


def _search(request: PageRequest, asked: SearchQuery) -> dict[str, Any]:
    """Return the table, and where looking further back begins; or why nothing was searched for."""
    account, now = request.visitor.account, request.visitor.now
    try:
        page = find_samples(account, asked, now, request.GET.get("cursor"))
        results = {
            "table": samples_table(page.found, now, texts_of_rows(account, page.found.rows)),
            "n_in_span": count_in_span(account, asked),
        }
    except Problem as problem:
        return {"refusal": search_refusal(problem)}
    if page.left:
        results |= {"looked_back_to": page.left[1], "further": _further(request, page.left)}
    return results


def _further(request: PageRequest, left: tuple[datetime, datetime]) -> str:
    since, until = (f"{at:%Y-%m-%dT%H:%M:%S}" for at in left)
    return address_with(request, period=None, since=since, until=until)


@require_safe
@console_page(scoped=False)
def export_page(request: PageRequest) -> HttpResponse:
    """Answer the rows of the same filters as a file."""
    account = request.visitor.account
    query = parse_filters(account, request.GET.dict(), request.visitor.now)
    if query.errors:
        raise Invalid(*(FieldError(f"/{name}", detail) for name, detail in query.errors.items()))
    with account_scope(account.pk):
        # Report invalid filters before the file begins.
        evaluation_condition(query.filters)
    answer = StreamingHttpResponse(stream_csv(account=account, asked=query), content_type="text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = 'attachment; filename="evaluations.csv"'
    # No answer that streams is an HttpResponse by its type; what a page does with one is done with it.
    return cast(HttpResponse, answer)


@require_safe
@console_page()
def evaluation_page(request: PageRequest, id: int) -> HttpResponse:
    """Show one evaluation."""
    return _render_evaluation(request, _get_evaluation(request, id))


@require_POST
@console_page()
def label_evaluation(request: PageRequest, id: int) -> HttpResponse:
    """Save a label."""
    row, visitor = _get_evaluation(request, id), request.visitor
    try:
        criteria = acts.save_form_label(
            account=visitor.account, row=row, sent=read_fields(request), actor=visitor.actor
        )
    except Problem as problem:
        return _render_evaluation(request, row, problem.row.status, label_errors=_words(problem))
    messages.success(request, f"Your label by {criteria.name} is saved. It replaces your earlier label, if any.")
    return redirect(page_address("console_evaluation", row.pk))


@require_POST
@console_page()
def ask_first_question(request: PageRequest, id: int) -> HttpResponse:
    """Make a question that labels answer, where an account has none yet."""
    row, visitor = _get_evaluation(request, id), request.visitor
    try:
        acts.question_for_evaluations(account=visitor.account, row=row, actor=visitor.actor)
    except Problem as problem:
        return _render_evaluation(request, row, problem.row.status, label_errors=_words(problem))
    return redirect(f"{page_address('console_evaluation', row.pk)}#h-labels")


@require_POST
@console_page(once=SENT_TWICE)
def keep_example(request: PageRequest, id: int) -> HttpResponse:
    """Make the sample an example of a dataset's next version."""
    row, visitor = _get_evaluation(request, id), request.visitor
    try:
        version, is_new = acts.add_to_dataset(
            account=visitor.account, row=row, sent=read_fields(request), actor=visitor.actor
        )
    except Invalid as problem:
        return _render_evaluation(request, row, problem.row.status, dataset_errors=_words(problem))
    name = version.dataset.name
    text = f"Added to {name}: version {version.number} has {version.n_examples} examples."
    messages.success(request, text if is_new else f"{name} already contains this example, in version {version.number}.")
    return redirect(page_address("console_evaluation", row.pk))


def _words(problem: Problem) -> list[str]:
    return [error.detail for error in problem.errors] or [problem.detail]


def _get_evaluation(request: PageRequest, id: int) -> Evaluation:
    return get_evaluation(account=request.visitor.account, id=id)


def _render_evaluation(request: PageRequest, row: Evaluation, status: int = 200, **errors: list[str]) -> HttpResponse:
    account, visitor = request.visitor.account, request.visitor
    detail = build_detail(account=account, row=row)
    context: dict[str, Any] = {
        "one": detail,
        "row": row,
        "name": format_evaluator_name(row),
        "outcome": outcome_mark(row),
        "siblings": [verdict_chip(other) for other in detail.siblings],
        "labels": [(verdict_chip(other), other) for other in detail.labels],
        "prompts": load_prompts(account=account, row=row) if detail.judge else [],
        "call": ApiCall("GET", f"/v1/evaluations/{row.pk}"),
        **errors,
    }
    if visitor.may_edit:
        context["label_forms"] = acts.label_forms(account=account, row=row)
    if visitor.may_edit and not is_label(row):
        datasets = list_datasets(account=account).values_list("id", "name")[:MAX_DATASETS]
        context |= {
            "datasets": list(datasets),
            "gold": sample_from_row(row.request).gold or "",
            "sent": read_fields(request),
        }
    return render(request, "console/evaluations/detail.html", context, status=status)

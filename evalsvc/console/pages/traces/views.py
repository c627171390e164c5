"""/console/traces: the search, and one trace."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.traces.conversations import add_trace, format_additions
from evalsvc.console.pages.traces.scores import scores_of_trace
from evalsvc.console.pages.traces.search import read_trace_filters, trace_fields, traces_table
from evalsvc.console.pages.traces.spans import add_trace_span, format_span_addition
from evalsvc.console.pages.traces.tree import build_tree, flat, totals
from evalsvc.console.parts.addresses import address_with, int_param, page_address
from evalsvc.console.parts.calls import KEY, ApiCall, base_address
from evalsvc.console.parts.forms.fields import read_fields, search_refusal
from evalsvc.console.parts.marks import build_json_block
from evalsvc.datasets.selectors import list_datasets
from evalsvc.rest.problems import Invalid, NotFound, Problem
from evalsvc.telemetry.contents import read_contents
from evalsvc.telemetry.filters import SPAN_FIELDS, telemetry_condition
from evalsvc.telemetry.selectors import get_trace
from evalsvc.telemetry.traces import search_traces

PAGE = 50
MAX_SPANS = 500
MAX_DATASETS = 200
COMMAND = f"export OTEL_EXPORTER_OTLP_ENDPOINT={{0}} OTEL_EXPORTER_OTLP_HEADERS=X-API-KEY=${KEY}"
"""What an exporter reads; the key is taken from the environment."""


@require_safe
@console_page()
def traces_page(request: PageRequest) -> HttpResponse:
    """Show traces by the filters of the address."""
    account, now = request.visitor.account, request.visitor.now
    search_query = read_trace_filters(request.GET.dict(), now)
    table, refusal = None, ""
    if not search_query.errors:
        try:
            condition = telemetry_condition(search_query.filters, SPAN_FIELDS)
            page = search_traces(account=account, condition=condition, limit=PAGE, cursor=request.GET.get("cursor"))
            table = traces_table(page, now)
        except Problem as problem:
            refusal = search_refusal(problem)
    call = ApiCall("POST", "/v1/otel/spans/search", body={"filters": search_query.filters, "limit": PAGE})
    context = {
        "command": COMMAND.format(base_address(request)),
        "fields": trace_fields(search_query),
        "table": table,
        "refusal": refusal,
        "is_filtered": bool(search_query.values),
        "call": call,
    }
    return render(request, "console/traces/list.html", context, status=422 if search_query.errors or refusal else 200)


@require_safe
@console_page()
def trace_page(request: PageRequest, trace_id: str) -> HttpResponse:
    """Show a trace: its spans as a tree, with the logs and scores of each."""
    return _render_trace(request, trace_id)


@require_POST
@console_page(role=EDITOR, once=SENT_TWICE)
def keep_conversation(request: PageRequest, trace_id: str) -> HttpResponse:
    """Add the conversation of the trace to a dataset: that of its session where it has one."""
    account, sent = request.visitor.account, read_fields(request)
    # A stranger's trace is missing.
    get_trace(account=account, trace_id=trace_id, limit=1, offset=0)
    try:
        version, _, additions = add_trace(
            account=account, trace_id=trace_id, sent=sent, now=request.visitor.now, actor=request.visitor.actor
        )
    except Invalid as problem:
        errors = [error.detail for error in problem.errors]
        return _render_trace(request, trace_id, status=problem.row.status, dataset_errors=errors, sent=sent)
    messages.success(request, format_additions(version, additions))
    return redirect(page_address("console_trace", trace_id, offset=_read_offset(request)))


@require_POST
@console_page(role=EDITOR, once=SENT_TWICE)
def keep_span(request: PageRequest, trace_id: str, span_id: str) -> HttpResponse:
    """Add a span of the trace to the dataset of a name, which may be new."""
    visitor, sent = request.visitor, read_fields(request)
    try:
        version, additions = add_trace_span(
            account=visitor.account,
            trace_id=trace_id,
            span_id=span_id,
            name=sent.get("name", "").strip(),
            actor=visitor.actor,
        )
    except Invalid as problem:
        errors = {"span_id": span_id.lower(), "span_errors": [error.detail for error in problem.errors]}
        return _render_trace(request, trace_id, status=problem.row.status, sent_span=sent, **errors)
    level = messages.WARNING if additions.left_out else messages.SUCCESS
    messages.add_message(request, level, format_span_addition(version, additions))
    return redirect(f"{page_address('console_trace', trace_id, offset=_read_offset(request))}#span-{span_id.lower()}")


def _read_offset(request: PageRequest) -> int | None:
    """Return the first span of the page; None for the first page."""
    return int_param(request, "offset", 0, low=0) or None


def _render_trace(request: PageRequest, trace_id: str, *, status: int = 200, **errors: object) -> HttpResponse:
    account, offset = request.visitor.account, _read_offset(request)
    scores = scores_of_trace(account=account, trace_id=trace_id) if "\0" not in trace_id else {}
    try:
        trace = get_trace(account=account, trace_id=trace_id, limit=MAX_SPANS, offset=offset or 0)
    except NotFound:
        if not scores:
            raise
        return _render_without_spans(request, trace_id, scores)
    roots = build_tree(trace.spans, read_contents(account.pk, trace.spans), trace.logs, scores)
    span_ids = {span.span_id for span in trace.spans}
    context = {
        "trace": trace,
        "nodes": list(flat(roots)),
        "totals": totals(roots),
        "beside": [chip for span, chips in scores.items() if span not in span_ids for chip in chips],
        "logs": [
            (record, build_json_block(record.body)) for record in trace.logs if (record.span_id or "") not in span_ids
        ],
        "query": f"?offset={offset}" if offset else "",
        "is_shown": errors.get("span_id") in span_ids,
        "following": address_with(request, offset=trace.next_offset) if trace.next_offset else "",
        "call": ApiCall("GET", f"/v1/traces/{trace.trace_id}"),
        **errors,
    }
    if request.visitor.may_edit:
        context["datasets"] = list(list_datasets(account=account).values_list("id", "name")[:MAX_DATASETS])
    return render(request, "console/traces/detail.html", context, status=status)


def _render_without_spans(request: PageRequest, trace_id: str, scores: object) -> HttpResponse:
    """Show the scores of a trace without spans: they never arrived, or have expired."""
    chips = [chip for chips in dict(scores).values() for chip in chips]  # type: ignore[call-overload]
    context = {"trace": None, "trace_id": trace_id, "beside": chips, "call": ApiCall("GET", f"/v1/traces/{trace_id}")}
    return render(request, "console/traces/detail.html", context)

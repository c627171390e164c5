"""The search for traces: its form, its filters as the API has them, and its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsvc.console.pages.traces.tree import duration_words
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.fields import FormField, populate_fields
from evalsvc.console.parts.marks import one_line
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.evaluations.search.asked import PERIODS, Wrong, bounds
from evalsvc.reports.page.elements import element
from evalsvc.telemetry.traces import TraceLine, TracePage

Filter = dict[str, Any]
EQUAL = {"service": "service_name", "app": "app", "project": "project_name"}
NAMES = ("period", "since", "until", "service", "app", "project", "name", "trace", "failed", "all")
COLUMNS = (
    Column("When"),
    Column("Span", kind="wide"),
    Column("Service"),
    Column("App"),
    Column("Spans", kind="figure"),
    Column("Failed", kind="figure"),
    Column("Took", kind="figure"),
)


@dataclass(frozen=True, slots=True)
class TraceQuery:
    """A parsed trace search: the values of the form, the API's filters, and the errors by field."""

    values: Mapping[str, str]
    filters: list[Filter]
    errors: Mapping[str, str]


def read_trace_filters(query: Mapping[str, str], now: datetime) -> TraceQuery:
    """Read an address. Without a word about spans, the ones at the top of their traces are looked for."""
    values = {name: text for name in NAMES if (text := query.get(name, "").strip())}
    if wrong := {name: "Contains a character that is not allowed." for name, text in values.items() if "\0" in text}:
        return TraceQuery(values, [], wrong)
    filters = [_is(field, values[name]) for name, field in EQUAL.items() if name in values]
    if "trace" in values:
        filters.append(_is("trace_id", values["trace"].lower()))
    if "name" in values:
        filters.append(_is("span_name", values["name"], "starts_with"))
    if not {"name", "trace", "all"} & values.keys():
        filters.append(_is("parent_span_id", None))
    try:
        since, until = bounds(values, now)
    except Wrong as exc:
        return TraceQuery(values, [], {"since": str(exc)})
    filters += [_is("timestamp", at.isoformat(), op) for at, op in ((since, "ge"), (until, "lt")) if at is not None]
    return TraceQuery(values, filters, {})


def _is(field: str, value: object, op: str = "eq") -> Filter:
    return {"field": field, "op": op, "value": value}


def trace_fields(asked: TraceQuery) -> list[FormField]:
    """Return the form."""
    fields = (
        FormField(
            "period", "Time", "select", options=[("", "any time"), *((name, f"last {name}") for name in PERIODS)]
        ),
        FormField("since", "From (UTC)", "datetime-local"),
        FormField("until", "Until (UTC)", "datetime-local"),
        FormField("name", "Span begins with"),
        FormField("service", "Service"),
        FormField("app", "App"),
        FormField("project", "Project"),
        FormField("trace", "Trace id"),
        FormField("all", "Spans", "select", options=[("", "at the top of a trace"), ("1", "all")]),
    )
    return populate_fields(fields, asked.values, asked.errors)


def traces_table(found: TracePage, now: datetime) -> PageTable:
    """Return the table: a row for each trace."""
    rows = [_row(trace, now) for trace in found.rows]
    return PageTable("Traces, newest first", COLUMNS, rows, next_cursor=found.next_cursor, is_walked=True)


def _row(one: TraceLine, now: datetime) -> TableRow:
    took = duration_words(int((one.ended_at - one.started_at).total_seconds() * 1_000_000_000))
    cells = (
        time_tag(one.found.started_at, now),
        element("span", one_line(one.found.name, 200), dir="auto"),
        one_line(one.found.service_name, 80) or "—",
        one_line(one.found.app, 80) or "—",
        one.n_spans,
        one.n_failed,
        took,
    )
    return TableRow(cells, href=page_address("console_trace", one.found.trace_id), tone="bad" if one.n_failed else "")

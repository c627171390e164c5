"""The list of benchmarks, and one with its executions, each with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsvc.benchmarks.history import build_history, build_newest_results
from evalsvc.benchmarks.models import Benchmark
from evalsvc.benchmarks.selectors import get_benchmark, list_benchmarks, list_executions
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.experiments.words import state_markup
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import Number, build_number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.experiments.reporting.words import format_validity, headline, verdict_sentence
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.rest.answering.pagination import page

ON_A_PAGE = 20
COLUMNS = (
    Column("Benchmark", kind="wide"),
    Column("Metric"),
    Column("Executions", kind="figure"),
    Column("Latest result", kind="wide"),
    Column("Latest execution"),
)
EXECUTIONS = (
    Column("Execution"),
    Column("Config", kind="wide"),
    Column("State"),
    Column("Result", kind="wide"),
    Column("Changed since the execution before", kind="wide"),
    Column("When"),
)


@require_safe
@console_page()
def benchmarks_page(request: PageRequest) -> HttpResponse:
    """List the account's benchmarks, newest first, each with the result of its latest execution."""
    account = request.visitor.account
    rows, cursor = page(
        list_benchmarks(account=account),
        limit=ON_A_PAGE,
        cursor=request.GET.get("cursor"),
        of=f"benchmarks:{account.pk}",
    )
    newest = build_newest_results(account, rows)
    table_rows = [_benchmark_row(request, row, newest.get(row.pk)) for row in rows]
    context = {
        "table": PageTable("Benchmarks", COLUMNS, table_rows, next_cursor=cursor, is_walked=True),
        "is_first": not rows and not request.GET.get("cursor"),
        "call": ApiCall("GET", "/v1/benchmarks", {"limit": ON_A_PAGE}),
    }
    return render(request, "console/benchmarks/list.html", context)


def _benchmark_row(request: PageRequest, row: Benchmark, newest: Mapping[str, Any] | None) -> TableRow:
    version = row.dataset_version
    about = f"{version.dataset.name}, version {version.number}: {version.n_examples} examples"
    name = join_parts([element("bdi", row.name), element("span", about, class_="facts")])
    metric = row.logic["primary_metric"]
    cells = (
        name,
        element("bdi", metric),
        row.n_executions,
        _result(newest, metric) if newest else "—",
        time_tag(newest["created_at"] if newest else None, request.visitor.now),
    )
    return TableRow(cells, href=page_address("console_benchmark", row.pk))


@require_safe
@console_page()
def benchmark_page(request: PageRequest, id: int) -> HttpResponse:
    """Show the executions of a benchmark, newest first; the newest is compared with the one before it."""
    account, now = request.visitor.account, request.visitor.now
    benchmark = get_benchmark(account=account, id=id)
    metric, cursor = benchmark.logic["primary_metric"], request.GET.get("cursor")
    rows, next_cursor = page(
        list_executions(account=account, benchmark=benchmark),
        limit=ON_A_PAGE,
        cursor=cursor,
        of=f"executions:{account.pk}:{benchmark.pk}",
    )
    newest = [rows[0].pk] if rows and not cursor else []
    executions = build_history(account, benchmark, rows, compared=newest)["executions"]
    table_rows = [
        TableRow(
            (
                f"#{execution['number']}",
                _describe_config(execution),
                state_markup(execution["state"]),
                _result(execution, metric),
                element("span", ", ".join(execution["changed"]) or "—", dir="auto"),
                time_tag(execution["created_at"], now),
            ),
            href=page_address("console_experiment", execution["experiment_id"]),
        )
        for execution in executions
    ]
    context = {
        "benchmark": benchmark,
        "version": benchmark.dataset_version,
        "metric": metric,
        "says": _conclude(executions, metric) if newest else "",
        "table": PageTable("Executions", EXECUTIONS, table_rows, next_cursor=next_cursor, empty="No executions yet."),
        "call": ApiCall("GET", f"/v1/benchmarks/{benchmark.pk}/executions", {"limit": 1 if newest else ON_A_PAGE}),
    }
    return render(request, "console/benchmarks/benchmark.html", context)


def _conclude(executions: Sequence[Mapping[str, Any]], metric: str) -> str:
    """Return how the newest execution compares with the one before it."""
    last = executions[0]["against_last"]
    if last is None or last["comparison"] is None:
        return ""
    first, second = f"#{executions[0]['number']}", f"#{last['number']}"
    return f"{metric}: {verdict_sentence(last['comparison'], first, second)}"


def _describe_config(execution: Mapping[str, Any]) -> SafeString:
    about = [execution[name] for name in ("model", "task_version") if execution[name]]
    parts = [element("bdi", execution["config"] or "a deleted config")]
    return join_parts([*parts, element("span", ", ".join(about), class_="facts", dir="auto")] if about else parts)


def _result(execution: Mapping[str, Any], metric: str) -> SafeString:
    view = execution["metrics"].get(metric)
    if view is None:
        return number_markup(Number(None, missing="no result"))
    shown = headline(view)
    ends = [shown[name] for name in ("value", "lower", "upper") if shown[name] is not None]
    facts: dict[str, Any] = {"covers": format_validity(shown) or None, "n": view["n"], "level": view["level"]}
    missing = "" if shown["lower"] is not None else "no interval yet"
    return number_markup(
        build_number(shown, **facts, low=min(0.0, *ends, 0.0), high=max(1.0, *ends, 1.0), missing=missing)
    )

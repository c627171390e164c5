"""The start page."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.account.uses import limit_uses, spends_table
from evalsvc.console.pages.connections.words import format_cause
from evalsvc.console.pages.home import tables
from evalsvc.console.pages.home.reader import MAX_ALARMS, MAX_EXPERIMENTS, HomeReading, read_home
from evalsvc.console.pages.webhooks.words import Cause, get_cause_of_health, missing_words
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import KEY, ApiCall, as_curl, base_address
from evalsvc.events.selectors import EndpointHealth

FIRST = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_input": "What is the capital of Australia?",
    "evaluated_model_output": "Canberra",
    "evaluated_model_gold_answer": "Canberra",
    "app": "first-steps",
}


@console_page()
def home_page(request: PageRequest) -> HttpResponse:
    """Show open alarms, what experiments concluded, what was measured, and what waits for a person.

    A new account sees three steps to a score.
    """
    visitor = request.visitor
    reading = read_home(visitor.account, visitor.now)
    context: dict[str, Any] = {
        "reading": reading,
        "alarms": reading.alarms[:MAX_ALARMS],
        "failures": tables.failures_table(reading),
        "experiments": reading.experiments[:MAX_EXPERIMENTS],
        "reviews": tables.reviews_table(reading, visitor.now),
        "gates": tables.gates_table(reading, visitor.now),
        "webhooks": _webhooks(reading),
        "spends": spends_table(reading.connections),
        "limits": limit_uses(visitor.account),
        "failing": [
            (connection.connection, format_cause(connection))
            for connection in reading.connections
            if connection.failed_with
        ],
        "call": _call(request, reading),
    }
    if reading.is_new:
        context |= _first_steps(request)
    else:
        context |= {"rates": tables.rates_table(request, reading)}
    return render(request, "console/home/home.html", context)


def _webhooks(reading: HomeReading) -> list[tuple[EndpointHealth, str, Cause]]:
    """Return each webhook at which something has not arrived: what is missing, why, and the remedy."""
    return [(webhook, missing_words(webhook), get_cause_of_health(webhook)) for webhook in reading.webhooks]


def _call(request: PageRequest, reading: HomeReading) -> ApiCall:
    if not reading.rates:
        return ApiCall("POST", "/v1/evaluate", body=FIRST)
    first = tables.sort_rates(reading, tables.parse_rates_order(request))[0]
    return ApiCall("GET", "/v1/history", tables.build_history_params(first, reading.days))


def _first_steps(request: PageRequest) -> dict[str, Any]:
    export = f"export {KEY}=ek_…   # the key of step 1"
    return {
        "new_key": page_address("console_key_new"),
        "export": export,
        "command": as_curl(request, ApiCall("POST", "/v1/evaluate", body=FIRST)),
        "history": page_address("console_histories"),
        "base": base_address(request),
        "playground": page_address("console_playground"),
    }

"""The list of event webhooks."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.webhooks.words import format_health, get_cause_of_health, missing_words
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.events.selectors import EndpointHealth, list_endpoint_health
from evalsvc.reports.page.elements import element, join_parts

COLUMNS = (
    Column("Address", kind="wide"),
    Column("State"),
    Column("Not arrived", note="Of the last 100 deliveries within 7 days, and those skipped by the rate limit"),
    Column("Last arrived"),
    Column("What is wrong, and what to do", kind="wide"),
)


@require_safe
@console_page()
def webhooks_page(request: PageRequest) -> HttpResponse:
    """List the account's webhooks, oldest first, each with its status."""
    visitor = request.visitor
    endpoints = list_endpoint_health(account=visitor.account, now=visitor.now)
    context = {
        "table": PageTable(
            "Event webhooks", COLUMNS, [_row(endpoint, visitor.now) for endpoint in endpoints], is_walked=True
        ),
        "call": ApiCall("GET", "/v1/event-endpoints"),
    }
    return render(request, "console/webhooks/list.html", context)


def _row(one: EndpointHealth, now: datetime) -> TableRow:
    state, tone = format_health(one)
    cause = get_cause_of_health(one) if one.wants_a_look else None
    cause_markup = join_parts([cause.says, " ", element("strong", cause.remedy)]) if cause else "—"
    cells = (
        element("bdi", one.url),
        element("span", state, class_=f"badge {tone}"),
        missing_words(one),
        time_tag(one.delivered_at, now),
        cause_markup,
    )
    return TableRow(cells, href=page_address("console_webhook", one.id), tone=tone)

"""The rules of an account."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.pages.rules.words import count_dropped, format_entries, summarize_filter
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.digits import percent_text
from evalsvc.reports.page.elements import element
from evalsvc.rest.answering.pagination import page
from evalsvc.rules.models import Rule
from evalsvc.rules.selectors import list_rules_with_activity

ON_A_PAGE = 50
COLUMNS = (
    Column("Rule", kind="wide"),
    Column("State"),
    Column("Matches", kind="wide"),
    Column("Evaluators"),
    Column("Rate"),
    Column("Scored", kind="figure"),
    Column("Dropped", kind="wide"),
    Column("Last drawn"),
)


@require_safe
@console_page()
def rules_page(request: PageRequest) -> HttpResponse:
    """List rules, newest first, with what each has scored and dropped."""
    account = request.visitor.account
    rules, cursor = page(
        list_rules_with_activity(account=account),
        limit=ON_A_PAGE,
        cursor=request.GET.get("cursor"),
        of=f"rules:{account.pk}",
    )
    rows = [_build_row(rule, request.visitor.now) for rule in rules]
    table = PageTable("Rules, newest first", COLUMNS, rows, next_cursor=cursor, is_walked=True)
    call = ApiCall("GET", "/v1/rules", {"limit": ON_A_PAGE})
    return render(request, "console/rules/list.html", {"table": table, "call": call})


def _build_row(rule: Rule, now: datetime) -> TableRow:
    is_active = rule.state == Rule.State.ACTIVE
    dropped = count_dropped(rule)
    cells = (
        element("bdi", rule.name),
        element("span", rule.state, class_="badge good" if is_active else "badge"),
        summarize_filter(rule.filter, rule.source),
        ", ".join(format_entries(rule.evaluators)),
        f"{percent_text(rule.rate)} of {rule.sample_by}s" + (", other rates" if rule.strata else ""),
        rule.n_scored,
        ", ".join(f"{n} {words}" for words, n in dropped) or 0,
        time_tag(rule.last_span_at, now) if rule.last_span_at else "—",  # type: ignore[attr-defined]
    )
    return TableRow(cells, href=page_address("console_rule", rule.pk))

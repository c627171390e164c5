"""The list of histories, each with its number and its course."""

from __future__ import annotations

from django.core import signing
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from evalsvc.catalog.resolve import load_own_catalog
from evalsvc.console.access import PageRequest
from evalsvc.console.charts.bars import sparkline
from evalsvc.console.charts.scales import seconds
from evalsvc.console.charts.series import Point
from evalsvc.console.pages.history.reader import to_display_interval, value_limits
from evalsvc.console.pages.history.words import format_warning_list
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.scorers import scorer_names
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.history.course import LEAST_PART, compute_course, datetime_from_id
from evalsvc.evaluations.history.interval import answer_interval
from evalsvc.evaluations.history.read import Range, get_declared_ranges, list_histories
from evalsvc.evaluations.history.store import read_histories
from evalsvc.evaluations.wire.interval_request import DEFAULT_STRATEGY, IntervalOptions
from evalsvc.reports.page.elements import element
from evaluators.base import Family

PAGE, N_PARTS = 20, 12
OF = {"pass": "pass rate", "score": "mean score"}
SALT = "evalsvc.console.histories"
PLAIN = IntervalOptions(strategy=DEFAULT_STRATEGY)
FEW = element("span", f"from {2 * LEAST_PART} scores on", class_="quiet")
COLUMNS = (
    Column("Evaluator", kind="wide"),
    Column("Profile", kind="wide"),
    Column("Newest 1000"),
    Column("Course"),
    Column("Newest"),
    Column("Doubts"),
)


def histories_table(request: PageRequest) -> PageTable:
    """Return a page of histories by name, each with the interval of its newest scores. Few queries for all of them."""
    account = request.visitor.account
    pairs = list_histories(account=account, limit=PAGE + 1, after=_parse_cursor(request.GET.get("cursor", "")))
    page_pairs = pairs[:PAGE]
    families = load_own_catalog(account.pk, None).find_families({evaluator for evaluator, _ in page_pairs})
    histories = read_histories(account.pk, page_pairs)
    names = scorer_names(account, {evaluator for evaluator, _ in page_pairs})
    ranges = get_declared_ranges(account, page_pairs)
    rows = [
        _row(request, pair, families.get(pair[0]), ranges.get(pair), history, names.get(pair[0], pair[0]))
        for pair, history in zip(page_pairs, histories, strict=True)
    ]
    following = signing.dumps(page_pairs[-1], salt=SALT) if len(pairs) > PAGE else None
    return PageTable("Histories", COLUMNS, rows, next_cursor=following, is_walked=True, empty="No scores yet.")


def _parse_cursor(cursor: str) -> tuple[str, str]:
    try:
        evaluator, profile = signing.loads(cursor, salt=SALT)
    except signing.BadSignature:
        return "", ""
    return str(evaluator), str(profile)


def _row(
    request: PageRequest,
    pair: tuple[str, str],
    family: Family | None,
    declared: Range | None,
    history: HistorySnapshot | None,
    name: str,
) -> TableRow:
    interval = answer_interval(PLAIN, family, history, declared=declared) or {}
    course = compute_course(PLAIN, family, history, n_parts=N_PARTS, declared=declared)
    limits = value_limits(interval, family) or declared
    low, high = limits or (0.0, 1.0)
    display_interval = to_display_interval(interval)
    number = Number(
        course.mean, display_interval["lower"], display_interval["upper"], display_interval["n"],
        display_interval["alpha"], "new_data", OF[display_interval["of"]], low=low, high=high,
        missing=display_interval["reason"] or "",
    )  # fmt: skip
    points = [Point(seconds(part.ended_at), part.mean, part.lower, part.upper) for part in course.parts]
    newest = datetime_from_id(history.ids[0]) if history and len(history.ids) else None
    says = f"Course of {name}, {pair[1]}: {len(points)} parts"
    course_cell: SafeString | str = sparkline(points, says=says, low=low, high=high) if len(points) > 1 else FEW
    address = f"{page_address('console_history')}?{urlencode({'evaluator': pair[0], 'profile': pair[1]})}"
    cells = (name, pair[1] or "—", number_markup(number), course_cell, time_tag(newest, request.visitor.now),
             format_warning_list(interval))  # fmt: skip
    return TableRow(cells, address)

"""The tables of the start page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.utils.http import urlencode
from django.utils.safestring import SafeString

from evalsvc.codes import EVALUATION_ERRORS, PROBLEMS
from evalsvc.console.access import PageRequest
from evalsvc.console.charts.bars import sparkline
from evalsvc.console.charts.scales import seconds
from evalsvc.console.charts.series import Point
from evalsvc.console.pages.gates.lists import describe_subject
from evalsvc.console.pages.home.reader import MAX_GATES, MAX_REVIEWS, HomeReading
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableOrder, TableRow, parse_order
from evalsvc.evaluations.history.interval import explain_too_few
from evalsvc.evaluations.rollups.counts import LEVEL, DayCounts, DayRange, PassRate
from evalsvc.gates.selectors import load_evidence
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.reports.words import number_text
from evalsvc.stats.estimates.bounds import bound_pass_rate

MAX_RATES, MAX_FAILURES = 25, 10
REVISED = "counted together: verdicts before and after the profile was revised on"
NO_APP = "history of all apps"
RATES = (
    Column("Profile", "profile", "wide"),
    Column("App", "app"),
    Column("Pass rate", "rate"),
    Column("14 days"),
    Column("Evaluations", "n", "figure"),
    Column("Errors", "errors", "figure"),
)
FAILURES = (
    Column("Code"),
    Column("How often", kind="figure"),
    Column("Where", kind="wide"),
    Column("Last", kind="figure"),
    Column("What to do", kind="wide"),
)
WAITING = (Column("Review", kind="wide"), Column("Answered"), Column("Made"))
GATES = (Column("Gate", kind="wide"), Column("Outcome"), Column("When"))
TONES = {"pass": "good", "fail": "bad", "undecided": "warn"}


def rates_table(request: PageRequest, reading: HomeReading) -> PageTable:
    """Return the pass rate of each app and profile, with its interval and its course."""
    order = parse_rates_order(request)
    rows = [_rate_row(rate, reading) for rate in sort_rates(reading, order)]
    return PageTable("Pass rates, last 14 days", RATES, rows, order, is_walked=True)


def parse_rates_order(request: PageRequest) -> TableOrder:
    return parse_order(request, RATES, "-n")


def sort_rates(reading: HomeReading, order: TableOrder) -> list[PassRate]:
    """Return the rates that the table has room for, in its order."""
    return sorted(reading.rates, key=_keys(order), reverse=order.is_descending)[:MAX_RATES]


def _keys(order: TableOrder) -> Any:
    keys = {
        "profile": lambda rate: (rate.evaluator_id, rate.profile_name, rate.app or ""),
        "app": lambda rate: (rate.app or "", rate.evaluator_id, rate.profile_name),
        "rate": lambda rate: -1.0 if rate.counts.rate is None else rate.counts.rate,
        "n": lambda rate: rate.counts.n,
        "errors": lambda rate: rate.counts.n_error,
    }
    return keys[order.key]


def _rate_row(rate: PassRate, reading: HomeReading) -> TableRow:
    counts, days = rate.counts, reading.days
    name = reading.get_display_name(rate.evaluator_id, rate.profile_name)
    course = _course(name, rate, days)
    figures = (number_text(counts.n), number_text(counts.n_error))
    revised_at = reading.revised.get(rate.profile_name)
    number = build_rate_number(counts, can_be_undecided=rate.evaluator_id in reading.undecided)
    number = replace(number, aside=f"{REVISED} {revised_at:%Y-%m-%d}" if revised_at else "")
    cells = (name, rate.app or build_app_placeholder(), number_markup(number), course, *figures)
    return TableRow(cells, f"{page_address('console_history')}?{urlencode(build_history_params(rate, days))}")


def build_app_placeholder() -> SafeString:
    """Return the placeholder for calls that named no app; such a row links to the history of all apps."""
    return join_parts([element("span", "none named", class_="quiet"), " ", element("span", NO_APP, class_="facts")])


def build_history_params(rate: PassRate, days: DayRange) -> dict[str, str]:
    """Return the query of `GET /v1/history` for the history behind a row."""
    since = datetime.combine(days.first, datetime.min.time(), UTC).isoformat()
    query = {"evaluator": rate.evaluator_id, "profile": rate.profile_name}
    query |= {"strategy": "wilson", "of": "pass"} if rate.counts.rate is not None else {}
    query |= {"scope.app": rate.app} if rate.app else {}
    return {**query, "since": since}


def build_rate_number(counts: DayCounts, *, can_be_undecided: bool = False) -> Number:
    """Return a pass rate with a Wilson interval from two verdicts on, or the mean score as text without a verdict.

    The mean has its interval in the history only: daily sums do not show how skewed the scores are. With
    `can_be_undecided`, all scores without a verdict are undecided, otherwise those that were sent as such. Above a
    tenth the bounds of the rate are told.
    """
    n, ends = counts.n_pass + counts.n_fail, counts.interval()
    n_undecided = counts.n_without if can_be_undecided else counts.n_undecided
    if counts.rate is None:
        if counts.mean is None:
            return Number(None, missing="no scores")
        verdicts = f"no verdicts, {number_text(n_undecided)} undecided" if n_undecided else "no verdicts"
        return Number(None, missing=f"{verdicts}; mean score {number_text(counts.mean)}, see its history")
    count_texts = (
        (n_undecided, _describe_undecided(counts, n_undecided)),
        (counts.n_without - n_undecided, "without a verdict left out"),
        (counts.n - counts.n_error - counts.n_scored, "not in a history: no score, or captured only as failures"),
    )
    without = ", ".join(f"{number_text(k)} {words}" for k, words in count_texts if k > 0)
    if ends is None:
        return Number(counts.rate, n=n, missing=explain_too_few(has_no_verdict=counts.n_without > 0), left_out=without)
    return Number(counts.rate, *ends, n=n, level=LEVEL, covers="new_data", method="wilson", left_out=without)


def _describe_undecided(counts: DayCounts, n_undecided: int) -> str:
    bounds = bound_pass_rate(counts.n_pass, counts.n_fail, n_undecided)
    if bounds is None:
        return "undecided left out"
    return f"undecided left out (with them {number_text(bounds[0], 3)} to {number_text(bounds[1], 3)})"


def _course(name: str, rate: PassRate, days: DayRange) -> SafeString | str:
    points = []
    for day, counts in zip(days.days, rate.days, strict=True):
        at = seconds(datetime.combine(day, datetime.min.time(), UTC))
        points.append(Point(at, counts.rate, *(counts.interval() or (None, None))))
    values = [point.y for point in points if point.y is not None]
    if len(values) < 2:
        return element("span", "one day", class_="quiet") if values else "—"
    says = (
        f"Pass rate of {name} on {len(values)} days: from {number_text(values[0], 3)} to {number_text(values[-1], 3)}"
    )
    return sparkline(points, says=says, low=0.0, high=1.0)


def failures_table(reading: HomeReading) -> PageTable:
    """Return the failures by code, each with what can be done about it."""
    rows = []
    for failure in reading.failures[:MAX_FAILURES]:
        error = EVALUATION_ERRORS.get(failure.code) or PROBLEMS.get(failure.code)
        where = f"{failure.evaluator_id} · {failure.profile_name}" + (f", app {failure.app}" if failure.app else "")
        query = {
            "evaluator": failure.evaluator_id,
            "profile": failure.profile_name,
            "app": failure.app,
            "result": "error",
        }
        address = page_address("console_evaluations", **query)
        rows.append(
            TableRow(
                (failure.code, failure.n, where, f"{failure.last_day:%Y-%m-%d}", error.remedy if error else ""), address
            )
        )
    return PageTable("Failures of 14 days by code", FAILURES, rows, empty="No failures in the last 14 days.")


def reviews_table(reading: HomeReading, now: datetime) -> PageTable:
    """Return the open reviews; the first cell links to the review."""
    rows = [
        TableRow(
            (
                review.review.name,
                f"{review.n_complete} of {review.review.n_items}",
                time_tag(review.review.created_at, now),
            ),
            page_address("console_review", review.review.pk),
        )
        for review in reading.reviews[:MAX_REVIEWS]
    ]
    return PageTable("Open reviews", WAITING, rows, empty="No open reviews.")


def gates_table(reading: HomeReading, now: datetime) -> PageTable:
    """Return the gates of today."""
    rows = [
        TableRow(
            (
                gate.name or describe_subject(load_evidence(gate)),
                element("span", gate.outcome, class_=f"badge {TONES.get(gate.outcome, '')}"),
                time_tag(gate.created_at, now),
            ),
            page_address("console_gate", gate.pk),
            TONES.get(gate.outcome, ""),
        )
        for gate in reading.gates[:MAX_GATES]
    ]
    return PageTable("Today's gates", GATES, rows, empty="No gates today (UTC).")

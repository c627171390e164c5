"""Made-up numbers for the kit page: the same on every visit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.http import HttpRequest
from django.utils.safestring import SafeString

from evalsvc.console.charts.bars import ChartBar, IntervalBar, bars, histogram, ranges, sparkline
from evalsvc.console.charts.plot import plot
from evalsvc.console.charts.scales import Axis, seconds
from evalsvc.console.charts.series import ChartLine, Mark, Point
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow, parse_order

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
COLUMNS = (Column("Name", "name"), Column("Pass rate", "rate"), Column("n", "n", "figure"), Column("Note", kind="wide"))


def numbers() -> Sequence[tuple[str, Number]]:
    """Return one number of each sort."""
    return (
        ("A mean", Number(0.83, 0.71, 0.92, n=42, level=0.95, covers="new_data", method="wilson")),
        (
            "A difference",
            Number(-0.04, -0.11, 0.03, n=120, level=0.95, covers="new_data", low=-0.2, high=0.2, zero=True),
        ),
        ("One open end", Number(0.9, 0.78, None, n=60, level=0.95, covers="this_set")),
        ("Three rows", Number(1.0, n=3, missing="no interval from fewer than 5 scores")),
        ("None", Number(None, n=0, missing="every evaluation failed")),
    )


def wave(i: int, phase: float = 0.0, n: int = 24) -> float:
    """Return a made-up pass rate."""
    return 0.75 + 0.12 * math.sin(i / n * 5 + phase)


def build_daily_points(phase: float = 0.0, *, n: int = 24, gap: int | None = None) -> list[Point]:
    """Return made-up daily rates with intervals, optionally with a missing day."""
    days = [(seconds(BEGIN + timedelta(days=i)), wave(i, phase, n)) for i in range(n)]
    return [
        Point(x, None if i == gap else y, None if i == gap else y - 0.06, None if i == gap else y + 0.05)
        for i, (x, y) in enumerate(days)
    ]


def charts() -> Sequence[SafeString]:
    """Return one chart of each sort."""
    revisions = [Mark(seconds(BEGIN + timedelta(days=9)), "revision 2"), Mark(0.7, "threshold", is_level=True)]
    days, share = Axis("Day", "time"), Axis("Pass rate", low=0.0, high=1.0)
    names = ("prompt-a", "prompt-b", "prompt-c")
    interval_bars = [
        IntervalBar(name, wave(3 * i), wave(3 * i) - 0.07, wave(3 * i) + 0.05, 80) for i, name in enumerate(names)
    ]
    alone = [Point(i, bar.value, bar.lower, bar.upper) for i, bar in enumerate(interval_bars)]
    apps = [
        ChartLine("app-a", build_daily_points(), has_band=True),
        ChartLine("app-b", build_daily_points(2.0), has_band=True),
    ]
    differences = [
        IntervalBar("prompt-b", 0.04, -0.02, 0.1, 80),
        IntervalBar("prompt-c", None, text="no common example"),
    ]
    failures = [ChartBar("judge_timeout", 12), ChartBar("input_too_long", 3), ChartBar("judge_refused", 1)]
    says = "Made-up numbers, 95 % for new data; the 16th has none."
    return (
        plot(
            "Pass rate by day",
            days,
            share,
            [ChartLine("all", build_daily_points(gap=15), has_band=True)],
            marks=revisions,
            says=says,
        ),
        plot("Two apps", days, share, apps),
        plot(
            "Each config once",
            Axis("Config", "ordinal", names=names),
            share,
            [ChartLine("mean", alone, is_joined=False)],
        ),
        ranges("Configs", "Pass rate", interval_bars, low=0.0, high=1.0, says="Intervals at 95 %, for new data."),
        ranges("Differences from prompt-a", "Difference", differences, zero=True),
        bars("Failures by code", "Failures", failures),
        histogram("Scores", [wave(i, n=7) for i in range(200)], n=16, low=0.0, high=1.0),
        sparkline(build_daily_points(), says="Pass rate of 24 days, from 0.75 to 0.63", low=0.0, high=1.0),
    )


def many_series() -> SafeString:
    """Return twenty series, which colour alone would not tell apart."""
    lines = [
        ChartLine(f"config-{i + 1:02}", [Point(x, wave(x, i / 3, 9) - i / 60) for x in range(9)]) for i in range(20)
    ]
    return plot("Twenty configs", Axis("Shard"), Axis("Score"), lines, says="Choose one in the legend to see it alone.")


def example_table(request: HttpRequest) -> PageTable:
    """Return a table that the address orders."""
    sample_rows = [("b-profile", 0.7, 20), ("a-profile", 0.83, 42), ("c-profile", 0.91, 7)]
    order = parse_order(request, COLUMNS, "name")
    key = {"name": 0, "rate": 1, "n": 2}[order.key]
    rows = [
        TableRow(
            (
                name,
                number_markup(Number(rate, rate - 0.1, min(1.0, rate + 0.08), level=0.95)),
                n,
                "A longer text that breaks.",
            ),
            "#content",
        )
        for name, rate, n in sorted(sample_rows, key=lambda one: one[key], reverse=order.is_descending)
    ]
    return PageTable("Profiles", COLUMNS, rows, order, is_walked=True)


def fields(request: HttpRequest) -> list[FormField]:
    """Return one field of each sort."""
    query = request.GET
    return [
        FormField("q", "Text", value=query.get("q", ""), help="Any part of a name."),
        FormField(
            "kind", "Kind", "select", query.get("kind", ""), [("", "any"), ("judge", "judge"), ("metric", "metric")]
        ),
        FormField("app", "App", value=query.get("app", ""), options=[("shop", "shop"), ("bot", "bot")]),
        FormField("since", "Since", "date", query.get("since", "")),
        FormField("failed", "Only failures", "checkbox", query.get("failed", "")),
        FormField(
            "level",
            "Level",
            "number",
            query.get("level", "0.95"),
            error="" if query.get("level", "0.95") else "A number is needed.",
        ),
    ]

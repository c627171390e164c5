"""What was judged: the gaps of components with the bottleneck, and the ranking of each comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.digits import level_text
from evalsvc.reports.page.chart import compute_axis_range, interval_picture
from evalsvc.reports.page.elements import Part, element, join_parts, page_table, row_head, section, table_cell
from evalsvc.reports.page.room import PageRoom, Report
from evalsvc.reports.words import (
    bottleneck_sentence,
    comparison_sentence,
    gap_rows,
    interval_text,
    number_text,
    rank_range,
    value_text,
)


def gaps_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the gain of each component with perfect predecessors, and the bottleneck of each config."""
    components = report["components"]
    if components is None:
        return
    gaps = gap_rows(components)
    span = compute_axis_range((row["gap"] for _, row in gaps), zero=True)
    rows = [
        [
            row_head(room.truncate(config, 100)),
            table_cell(room.truncate(row["component"], 100)),
            table_cell(room.truncate(row["metric"], 100)),
            table_cell(room.truncate(", ".join(row["replaced"] or ()), 200)),
            table_cell(number_text(row["integrated"]), kind="n"),
            table_cell(number_text(row["isolated"]), kind="n"),
            table_cell(value_text(row["gap"]), kind="n"),
            table_cell(interval_picture(row["gap"], span, zero=True)),
            table_cell(interval_text(row["gap"]), kind="i"),
            table_cell(number_text(row["gap"]["n"]), kind="n"),
        ]
        for config, row in gaps[: room.rows]
    ]
    heads = [("config", None), ("component", None), ("metric", None), ("replaced", None), ("integrated", "n")]
    heads += [("isolated", "n"), ("gap", "n"), ("gap drawn", None), ("interval", None), ("n", "n")]
    caption = (
        f"Isolated less integrated, example by example, for new data; above 0 its predecessors lose. "
        f"{gaps_text(components['n_comparisons'])} at {level_text(components['level'])}."
    )
    sentences = [
        element("p", room.truncate(bottleneck_sentence(entry), 600)) for entry in components["configs"][: room.rows]
    ]
    yield section("What holds it back", *sentences, page_table(caption, heads, rows, len(gaps) - len(rows)))


def gaps_text(n: int) -> str:
    """Return how many intervals are right at once with the probability that follows."""
    return "The interval holds" if n == 1 else f"{number_text(n)} gaps hold together"


def comparisons_section(report: Report, room: PageRoom) -> Iterator[SafeString]:
    """Yield the ranking of each comparison."""
    parts: list[Part] = [_comparison(comparison, room) for comparison in report["comparisons"]]
    if parts:
        yield section("Comparisons", *parts)


def _comparison(one: Mapping[str, Any], room: PageRoom) -> SafeString:
    ranking, head = one["ranking"], one["comparison"]
    places = ranking["places"]
    intervals = [{"value": place["strength"], "lower": place["lower"], "upper": place["upper"]} for place in places]
    span = compute_axis_range(intervals)
    rows = [
        [
            row_head(room.truncate(place["config"], 100)),
            table_cell(rank_range(place), kind="i"),
            table_cell(value_text(interval), kind="n"),
            table_cell(interval_picture(interval, span)),
            table_cell(interval_text(interval), kind="i"),
            table_cell(f"{place['n_wins']}, {place['n_ties']}, {place['n_losses']}", kind="i"),
            table_cell(value_text(place["win_rate"] or {}), kind="n"),
            table_cell(interval_text(place["win_rate"] or {}), kind="i"),
        ]
        for place, interval in list(zip(places, intervals, strict=True))[: room.rows]
    ]
    heads = [("config", None), ("rank", None), ("strength", "n"), ("interval drawn", None), ("interval", None)]
    heads += [("won, tied, lost", None), ("win rate", "n"), ("interval", None)]
    caption = (
        f"Strengths that sum to 0, with intervals at {level_text(ranking['level'])} for new data "
        f"(n = {number_text(ranking['n_examples'])} examples); all ranges of ranks hold together."
    )
    title = element("h3", room.truncate(head.name, 100))
    summary = element("p", room.truncate(comparison_sentence(one), 600))
    return join_parts([title, summary, page_table(caption, heads, rows, len(places) - len(rows))])

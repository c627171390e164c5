"""The list of rankings, and one ranking: places with intervals, indistinguishable groups, and the win matrix."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.ranking import ranking_view
from evalsvc.comparisons.selectors import count_error_codes, count_judgements, get_comparison, list_comparisons
from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.charts.bars import IntervalBar, ranges
from evalsvc.console.pages.rankings.words import (
    ENDINGS,
    NOTES,
    Json,
    describe_groups,
    find_indistinguishable_groups,
    judge_words,
    rank_words,
)
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow, paginate
from evalsvc.digits import level_text
from evalsvc.reports.page.elements import element

ON_A_PAGE, MOST_IN_MATRIX = 25, 16
COLUMNS = (Column("Ranking"), Column("Experiment"), Column("State"), Column("First"), Column("Made"))
PLACES = (
    Column("Config"),
    Column("Place", note="Simultaneous over all configs."),
    Column("Strength", note="Log-odds scale: a difference of d means odds of e to the d."),
    Column("Won", kind="figure"),
    Column("Neither", kind="figure"),
    Column("Lost", kind="figure"),
    Column("Win rate"),
)


@require_safe
@console_page()
def rankings_page(request: PageRequest) -> HttpResponse:
    """List the account's comparisons of outputs, newest first."""
    rows = list_comparisons(account=request.visitor.account).select_related("experiment").order_by("-id")
    rankings, links = paginate(request, rows, ON_A_PAGE)
    table_rows = [_build_row(row, request.visitor.now) for row in rankings]
    context = {
        "table": PageTable("Rankings, newest first", COLUMNS, table_rows, is_walked=True),
        **links,
        "call": ApiCall("GET", "/v1/comparisons", {"limit": ON_A_PAGE}),
    }
    return render(request, "console/rankings/list.html", context)


def _build_row(row: OutputComparison, now: datetime) -> TableRow:
    first: object = element("span", "not yet", class_="quiet")
    if row.ranking and row.ranking["places"] and row.ranking["places"][0]["strength"] is not None:
        leader = row.ranking["places"][0]
        first = element("span", element("bdi", leader["config"]), f", {rank_words(leader)}")
    cells = (
        element("bdi", row.name),
        element("bdi", row.experiment.name),
        _state(row),
        first,
        time_tag(row.created_at, now),
    )
    return TableRow(cells, href=page_address("console_ranking", row.pk))


def _state(row: OutputComparison) -> SafeString:
    look = {"running": "badge live", "finished": "badge good"}.get(row.state, "badge")
    return element("span", row.state, class_=look)


@require_safe
@console_page()
def ranking_page(request: PageRequest, id: int) -> HttpResponse:
    """Show a ranking: of all judgements, or of those that are there while it runs."""
    account = request.visitor.account
    row = get_comparison(account=account, id=id)
    ranking = row.ranking if row.ranking is not None else ranking_view(row)
    counts = count_judgements(row)
    context: dict[str, Any] = {
        "row": row,
        "state": _state(row),
        "ending": ENDINGS.get(OutputComparison.Reason(row.reason), "") if row.reason else "",
        "ranking": ranking,
        "level": level_text(ranking["level"]),
        "counts": counts,
        "errors": count_error_codes(row) if counts.n_errors else {},
        "judge": judge_words(row.judge),
        "places": _places(ranking),
        "chart": _chart(ranking) if ranking["n_judgements"] else None,
        "alike": describe_groups(find_indistinguishable_groups(ranking)),
        "notes": [NOTES.get(note, note) for note in ranking["notes"]],
        "matrix": _matrix(ranking),
        "flips": _share(ranking["flips"], ranking["level"]) if ranking["flips"] else None,
        "call": ApiCall("GET", f"/v1/comparisons/{row.pk}"),
    }
    return render(request, "console/rankings/ranking.html", context)


def _share(found: Json | None, level: float) -> Number:
    if found is None:
        return Number(None, missing="no judgement")
    return Number(found["value"], found["lower"], found["upper"], found["n"], level, "new_data")


def _places(ranking: Json) -> PageTable:
    rows = [
        TableRow(
            (
                element("bdi", place["config"]),
                rank_words(place),
                number_markup(_strength(place, ranking)),
                *(f"{place[name]}" for name in ("n_wins", "n_ties", "n_losses")),
                number_markup(_share(place["win_rate"], ranking["level"])),
            )
        )
        for place in ranking["places"]
    ]
    return PageTable("Ranking, strongest first", PLACES, rows, empty="No judgements yet.")


def _strength(place: Json, ranking: Json) -> Number:
    ends = [
        end
        for place in ranking["places"]
        for end in (place["strength"], place["lower"], place["upper"])
        if end is not None
    ]
    return Number(
        place["strength"],
        place["lower"],
        place["upper"],
        place["n_examples"],
        ranking["level"],
        ranking["covers"],
        low=min(ends, default=0.0),
        high=max(ends, default=1.0),
        missing=_why_without(place),
    )


def _why_without(place: Json) -> str:
    """Return why a config lacks a strength or an interval; empty if it has both."""
    if place["strength"] is None:
        return "no judgement"
    if place["lower"] is not None or place["upper"] is not None:
        return ""
    return "no interval: neither has won a judgement" if not place["n_wins"] + place["n_losses"] else "no interval"


def _chart(ranking: Json) -> SafeString:
    bars = [
        IntervalBar(
            place["config"], place["strength"], place["lower"], place["upper"], place["n_examples"], rank_words(place)
        )
        for place in ranking["places"]
        if place["strength"] is not None
    ]
    rests_on = f"{ranking['n_judgements']} judgements on {ranking['n_examples']} examples"
    of = f" of {ranking['n_clusters']} clusters" if "n_clusters" in ranking else ""
    new = "clusters" if of else "examples"
    says = f"{rests_on}{of}; {level_text(ranking['level'])} each, for new {new}."
    return ranges("Strength, strongest first", "Strength", bars, says=says)


def _matrix(ranking: Json) -> dict[str, Any]:
    """Return who has won against whom: the share of wins of the row's config against the column's."""
    names = [place["config"] for place in ranking["places"]][:MOST_IN_MATRIX]
    cells: dict[tuple[str, str], str] = {}
    for pair in ranking["pairs"]:
        rate, n = pair["win_rate"], pair["n_wins"] + pair["n_ties"] + pair["n_losses"]
        ends = (rate["value"], rate["lower"], rate["upper"])
        cells[pair["first"], pair["second"]] = _cell(*ends, n)
        cells[pair["second"], pair["first"]] = _cell(1 - ends[0], 1 - ends[2], 1 - ends[1], n)
    return {
        "names": names,
        "rows": [(name, [cells.get((name, other), "—") for other in names]) for name in names],
        "n_left_out": max(0, len(ranking["places"]) - MOST_IN_MATRIX),
    }


def _cell(value: float, lower: float, upper: float, n: int) -> str:
    return f"{100 * value:.0f} % [{100 * lower:.0f}, {100 * upper:.0f}], n = {n}"

"""The page: sections one below the other, each cut so that the whole stays below a megabyte."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.utils.safestring import SafeString

from evalsvc.reports.page import grounds, judged, standings
from evalsvc.reports.page.elements import element, trusted
from evalsvc.reports.page.room import PageRoom, Report

LARGEST = 1_000_000
STYLE = Path(__file__).resolve().parent.parent / "static" / "reports" / "report.css"
SECTIONS = (
    *(standings.top_section, standings.leaderboard_section, standings.differences_section),
    *(
        standings.components_section,
        judged.gaps_section,
        judged.comparisons_section,
        standings.metrics_section,
        standings.sweep_section,
        standings.pareto_section,
        grounds.slices_section,
        grounds.quantiles_section,
    ),
    *(
        grounds.gates_section,
        grounds.decisions_section,
        grounds.endings_section,
        grounds.errors_section,
        grounds.examples_section,
        grounds.basis_section,
    ),
)


def render_page(report: Report) -> bytes:
    """Return the page, in UTF-8; with fewer rows and shorter texts where it would be too large."""
    room = PageRoom()
    while True:
        page = _page(report, room).encode()
        if len(page) <= LARGEST or room == room.smaller():
            return page
        room = room.smaller()


@cache
def _style() -> SafeString:
    return trusted(STYLE.read_text(encoding="utf-8"))


def _page(report: Report, room: PageRoom) -> str:
    name = room.truncate(report["live"]["experiment"]["name"], 200)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{name}: report"),
        element("style", _style()),
    )
    body = element("main", *(part for section in SECTIONS for part in section(report, room)))
    return "<!doctype html>\n" + element("html", head, element("body", body), lang="en")

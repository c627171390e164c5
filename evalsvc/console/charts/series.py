"""Points, lines with bands, and marks of charts, in styles that distinguish series without relying on colour."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from evalsvc.reports.page.elements import element

N_COLOURS, N_MARKERS = 7, 6
DASHES = (None, "6 3", "2 3")
MAX_SERIES = N_COLOURS * len(DASHES)


@dataclass(frozen=True, slots=True)
class Point:
    """One value; with ends where it has an interval, and with a text that the tooltip shows."""

    x: float
    y: float | None
    lower: float | None = None
    upper: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One series: its points, joined by a line if `is_joined`, and its intervals as a band or as bars."""

    name: str
    points: Sequence[Point]
    is_joined: bool = True
    has_band: bool = False
    has_dots: bool = True
    style: int | None = None
    """Which of the series' looks it has; None: that of its place."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across the chart at one place: a revision, a deployment, a limit."""

    at: float
    name: str
    is_level: bool = False
    """From left to right at a height, rather than from top to bottom."""


def series_class(index: int) -> str:
    """Return the classes that give a series its colour."""
    return f"series c{index % N_COLOURS}"


def get_dash(index: int) -> str | None:
    """Return how its line is broken."""
    return DASHES[index // N_COLOURS % len(DASHES)]


def get_marker(index: int) -> int:
    """Return the number of its marker: no two of the series have the same colour, dash and marker."""
    return index % N_MARKERS


def marker(index: int, x: str, y: str, text: str = "") -> SafeString:
    """Return a series' marker at a position; the shapes are defined once per page (`console/parts/markers.html`)."""
    title = element("title", text) if text else None
    return element("use", title, class_="point", href=f"#m{get_marker(index)}", x=x, y=y)


@functools.lru_cache(64)
def sample(index: int) -> SafeString:
    """Return a series' line and marker, for legends and tables; a board that moves shows all of them twice."""
    line = element("line", x1=0, x2=28, y1=7, y2=7, stroke_dasharray=get_dash(index))
    symbol = element("use", href=f"#m{get_marker(index)}", x=14, y=7)
    return element("svg", line, symbol, class_=f"sample {series_class(index)}", width=28, height=14, aria_hidden="true")

"""Lines, bands and points over a number, a time or an order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.safestring import SafeString

from evalsvc.console.charts.figure import figure, percent, picture
from evalsvc.console.charts.scales import Axis, PlacedAxis, fit_axis
from evalsvc.console.charts.series import ChartLine, Mark, Point, get_dash, marker, series_class
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.reports.words import estimate_words, number_text

HEIGHT, FLOOR, TOP = 260.0, 30.0, 12.0
ACROSS = 1000.0
"""Units from left to right of what is stretched to the width of the box."""
DENSE = 60
"""With more points than this, dots are seen under the pointer only."""


@dataclass(frozen=True, slots=True)
class _Plane:
    x: PlacedAxis
    y: PlacedAxis

    def left(self, value: float) -> float:
        return self.x.share(value)

    def top(self, value: float) -> float:
        return round(HEIGHT - FLOOR - self.y.share(value) * (HEIGHT - FLOOR - TOP), 1)

    def stretched(self, x: float, y: float) -> str:
        return f"{self.left(x) * ACROSS:.1f},{self.top(y):g}"


def plot(
    title: str, x: Axis, y: Axis, lines: Sequence[ChartLine], *, marks: Sequence[Mark] = (), says: str = ""
) -> SafeString:
    """Return a line chart, with a caption that describes the data and their uncertainty."""
    points = [point for line in lines for point in line.points]
    heights = [end for point in points for end in (point.y, point.lower, point.upper)]
    plane = _Plane(
        fit_axis(x, [point.x for point in points]),
        fit_axis(y, [*heights, *(mark.at for mark in marks if mark.is_level)]),
    )
    styled = [(line.style if line.style is not None else i, line) for i, line in enumerate(lines)]
    across = [part for i, line in styled for part in _draw_line(plane, i, line)]
    area = picture(
        *_grid(plane),
        *_marks(plane, marks),
        element("svg", *across, viewBox=f"0 0 {ACROSS:g} {HEIGHT:g}", preserveAspectRatio="none", width="100%",
                height=f"{HEIGHT:g}"),
        *(_dots(plane, i, line) for i, line in styled),
        height=HEIGHT,
        title=title,
        says=says or f"{y.label} by {x.label}",
    )  # fmt: skip
    return figure(
        title,
        join_parts([_heights(plane), area]),
        says=says,
        legend=[(line.name, i) for i, line in styled],
        head=("Series", x.label, y.label, "Interval", ""),
        rows=list(_rows(plane, lines)),
    )


def _heights(plane: _Plane) -> SafeString:
    parts = [element("text", text, x=44, y=plane.top(value) + 4) for value, text in plane.y.ticks()]
    return element("svg", *parts, class_="heights", width=48, height=f"{HEIGHT:g}", aria_hidden="true")


def _grid(plane: _Plane) -> Iterator[SafeString]:
    floor = HEIGHT - FLOOR
    for value, _ in plane.y.ticks():
        yield element("line", class_="rule", x1="0", x2="100%", y1=plane.top(value), y2=plane.top(value))
    for i, (value, text) in enumerate(plane.x.ticks(8)):
        share = plane.left(value)
        edge = "start" if share < 0.04 else "end" if share > 0.96 else "middle"
        yield element(
            "text", text, class_="tick odd" if i % 2 else "tick", x=percent(share), y=floor + 18, text_anchor=edge
        )
    yield element("line", class_="axis", x1="0", x2="100%", y1=floor, y2=floor)


def _marks(plane: _Plane, marks: Sequence[Mark]) -> Iterator[SafeString]:
    for mark in marks:
        title = element("title", mark.name)
        if mark.is_level:
            y = plane.top(mark.at)
            yield element("line", title, class_="mark", x1="0", x2="100%", y1=y, y2=y)
            yield element("text", mark.name, class_="note", x="100%", y=y - 4, text_anchor="end")
        else:
            x = percent(plane.left(mark.at))
            yield element("line", title, class_="mark", x1=x, x2=x, y1=TOP, y2=HEIGHT - FLOOR)
            yield element("text", mark.name, class_="note", x=x, y=TOP - 2, text_anchor="middle")


def _draw_line(plane: _Plane, i: int, line: ChartLine) -> Iterator[SafeString]:
    """Yield the band and the line of a series; a missing value interrupts both."""
    for is_there, group in groupby(line.points, key=lambda point: point.y is not None):
        run = list(group)
        if not is_there:
            continue
        edges = [point for point in run if point.lower is not None and point.upper is not None]
        if line.has_band and len(edges) > 1:
            upper_edge = [plane.stretched(point.x, point.upper or 0.0) for point in edges]
            back = [plane.stretched(point.x, point.lower or 0.0) for point in reversed(edges)]
            yield element("polygon", class_=f"band {series_class(i)}", data_of=i, points=" ".join([*upper_edge, *back]))
        if line.is_joined and len(run) > 1:
            path = " ".join(plane.stretched(point.x, point.y or 0.0) for point in run)
            yield element(
                "polyline", class_=f"line {series_class(i)}", data_of=i, points=path, stroke_dasharray=get_dash(i)
            )


def _dots(plane: _Plane, i: int, line: ChartLine) -> SafeString:
    parts: list[SafeString] = []
    for point in line.points:
        if point.y is None:
            continue
        x = percent(plane.left(point.x))
        if not line.has_band and point.lower is not None and point.upper is not None:
            ends = {"y1": plane.top(point.lower), "y2": plane.top(point.upper)}
            parts.append(element("line", class_="whisker", x1=x, x2=x, **ends))
        parts.append(marker(i, x, f"{plane.top(point.y):g}", _tip(plane, line, point)))
    is_hidden = len(line.points) > DENSE or not line.has_dots
    return element("g", *parts, class_=f"dots {series_class(i)}{' dense' if is_hidden else ''}", data_of=i)


def _tip(plane: _Plane, line: ChartLine, point: Point) -> str:
    value, ends = _texts(point)
    text = f"{line.name}: {value}{ends and f' {ends}'}, {plane.x.text(point.x)}"
    return f"{text}. {point.text}" if point.text else text


def _texts(point: Point) -> tuple[str, str]:
    if point.lower is None or point.upper is None:
        return number_text(point.y), ""
    return estimate_words(point.y, point.lower, point.upper)


def _rows(plane: _Plane, lines: Sequence[ChartLine]) -> Iterator[Sequence[str]]:
    for line in lines:
        for point in line.points:
            value, ends = _texts(point)
            yield line.name, plane.x.text(point.x), value, ends or "—", point.text

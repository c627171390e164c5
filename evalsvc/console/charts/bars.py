"""Bars, histograms, sparklines, and intervals one below the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.safestring import SafeString

from evalsvc.console.charts.figure import figure, percent, picture
from evalsvc.console.charts.scales import Axis, PlacedAxis, fit_axis
from evalsvc.console.charts.series import Point, marker, series_class
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.reports.words import estimate_words, number_text

ROW, BAR_HEIGHT, FLOOR, TOP = 34.0, 200.0, 30.0, 10.0
SPARK = 28.0


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar: its name, its height and a text for the tooltip."""

    name: str
    value: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class IntervalBar:
    """A named value with its interval, drawn in a list of its like."""

    name: str
    value: float | None
    lower: float | None = None
    upper: float | None = None
    n: int | None = None
    text: str = ""


def bars(title: str, label: str, found: Sequence[ChartBar], *, says: str = "", end: str = "") -> SafeString:
    """Return upright bars, one for each name: counts begin at zero.

    With an `end`, names are where their bars begin, and it is where the last one ends.
    """
    y = fit_axis(Axis(label, low=0.0), [bar.value for bar in found])
    floor = BAR_HEIGHT - FLOOR
    width = 1.0 / max(1, len(found))
    every = max(1, math.ceil(len(found) / 10))

    def top(value: float) -> float:
        return round(floor - y.share(value) * (floor - TOP), 1)

    parts = [element("line", class_="rule", x1="0", x2="100%", y1=top(at), y2=top(at)) for at, _ in y.ticks(4)]
    for i, bar in enumerate(found):
        shape = {"x": percent(width * (i + 0.06)), "width": percent(width * 0.88), "y": top(bar.value)}
        tooltip = element("title", f"{bar.name}: {number_text(bar.value)}{f'. {bar.text}' if bar.text else ''}")
        parts.append(element("rect", tooltip, class_="column point", height=round(floor - top(bar.value), 1), **shape))
        if i % every == 0:
            kind = "tick odd" if i // every % 2 else "tick"
            at, anchor = (width * i, "middle" if i else "start") if end else (width * (i + 0.5), "middle")
            parts.append(element("text", bar.name, class_=kind, x=percent(at), y=floor + 18, text_anchor=anchor))
    if end:
        parts.append(element("text", end, class_="tick", x="100%", y=floor + 18, text_anchor="end"))
    parts.append(element("line", class_="axis", x1="0", x2="100%", y1=floor, y2=floor))
    labels = [element("text", text, x=44, y=top(at) + 4) for at, text in y.ticks(4)]
    heights = element("svg", *labels, class_="heights", width=48, height=f"{BAR_HEIGHT:g}", aria_hidden="true")
    area = picture(*parts, height=BAR_HEIGHT, title=title, says=says or label)
    rows = [(bar.name, number_text(bar.value), bar.text) for bar in found]
    return figure(title, join_parts([heights, area]), says=says, head=("", label, ""), rows=rows)


def histogram(title: str, values: Sequence[float], *, n: int = 20, low: float | None = None, high: float | None = None,
              says: str = "") -> SafeString:  # fmt: skip
    """Return a histogram with n bins of equal width; the last bin includes its upper end."""
    low = min(values, default=0.0) if low is None else low
    high = max(values, default=1.0) if high is None else high
    if not high > low:
        return bars(title, "How many", [ChartBar(number_text(low), len(values), "all of them")], says=says)
    return histogram_of_counts(title, binned(values, low, high, n), low, high, says=says)


def binned(values: Sequence[float], low: float, high: float, n: int) -> list[int]:
    """Return how many values lie in each of n equal ranges from low to high."""
    counts = [0] * n
    for value in values:
        share = (value - low) / (high - low) if high > low else 0.0
        counts[min(n - 1, max(0, int(share * n)))] += 1
    return counts


def histogram_of_counts(title: str, counts: Sequence[int], low: float, high: float, *, says: str = "") -> SafeString:
    """Return a histogram of what was counted elsewhere."""
    step = (high - low) / max(1, len(counts))
    edges = [low + i * step for i in range(len(counts) + 1)]
    columns = [
        ChartBar(number_text(start, 3), count, f"from {number_text(start)} to {number_text(end)}")
        for count, start, end in zip(counts, edges, edges[1:], strict=False)
    ]
    return bars(title, "How many", columns, says=says, end=number_text(high, 3))


def ranges(title: str, label: str, found: Sequence[IntervalBar], *, zero: bool = False, says: str = "",
           low: float | None = None, high: float | None = None) -> SafeString:  # fmt: skip
    """Return intervals one below the other on one scale, each under its name."""
    ends = [end for bar in found for end in (bar.value, bar.lower, bar.upper)]
    x = fit_axis(Axis(label, low=low, high=high), [*ends, 0.0 if zero else None])
    height = ROW * len(found) + FLOOR
    parts = [*_scale(x, height, zero)]
    for i, bar in enumerate(found):
        parts.extend(_ranged(x, i, bar))
    rows = [(bar.name, *_texts(bar), "—" if bar.n is None else str(bar.n)) for bar in found]
    area = picture(*parts, height=height, title=title, says=says or label)
    return figure(title, area, says=says, head=("", label, "Interval", "n"), rows=rows)


def _scale(x: PlacedAxis, height: float, zero: bool) -> Iterator[SafeString]:
    for i, (value, text) in enumerate(x.ticks()):
        at = x.share(value)
        edge = "start" if at < 0.04 else "end" if at > 0.96 else "middle"
        kind = "tick odd" if i % 2 else "tick"
        yield element("line", class_="rule", x1=percent(at), x2=percent(at), y1=0, y2=height - FLOOR)
        yield element("text", text, class_=kind, x=percent(at), y=height - FLOOR + 18, text_anchor=edge)
    if zero:
        yield element(
            "line", class_="mark", x1=percent(x.share(0.0)), x2=percent(x.share(0.0)), y1=0, y2=height - FLOOR
        )


def _ranged(x: PlacedAxis, i: int, one: IntervalBar) -> Iterator[SafeString]:
    y = i * ROW + 24
    yield element("text", f"{one.name}{'' if one.n is None else f'  n = {one.n}'}", class_="note", x="0", y=y - 9)
    if one.value is None:
        yield element("text", one.text or "no score", class_="note", x="0", y=y + 4)
        return
    if one.lower is not None or one.upper is not None:
        low = x.reach.low if one.lower is None else one.lower
        high = x.reach.high if one.upper is None else one.upper
        yield element("line", class_="range", x1=percent(x.share(low)), x2=percent(x.share(high)), y1=y, y2=y)
    value, ends = _texts(one)
    tooltip = f"{one.name}: {value} {ends}{f'. {one.text}' if one.text else ''}"
    yield element("g", marker(0, percent(x.share(one.value)), f"{y:g}", tooltip), class_=f"dots {series_class(0)}")


def _texts(one: IntervalBar) -> tuple[str, str]:
    value, ends = estimate_words(one.value, one.lower, one.upper)
    return value, "no interval" if one.lower is None and one.upper is None else ends


def sparkline(points: Sequence[Point], *, says: str, low: float | None = None, high: float | None = None) -> SafeString:
    """Return a small line chart without axes, with its band, interrupted where a value is missing."""
    x = fit_axis(Axis("", "time"), [point.x for point in points])
    y = fit_axis(Axis("", low=low, high=high), [end for point in points for end in (point.y, point.lower, point.upper)])

    def place(at: float, value: float) -> str:
        return f"{2 + 96 * x.share(at):.1f},{SPARK - 3 - y.share(value) * (SPARK - 6):.1f}"

    runs = [list(run) for is_there, run in groupby(points, key=lambda point: point.y is not None) if is_there]
    parts = [part for run in runs for part in _run_of_spark(run, place)]
    if runs:
        cx, cy = place(runs[-1][-1].x, runs[-1][-1].y or 0.0).split(",")
        parts.append(element("circle", class_="end", cx=cx, cy=cy, r="1.8"))
    return element(
        "svg", element("title", says), *parts, class_="spark", viewBox=f"0 0 100 {SPARK:g}", role="img", width=100,
        height=f"{SPARK:g}",
    )  # fmt: skip


def _run_of_spark(run: Sequence[Point], place: Callable[[float, float], str]) -> Iterator[SafeString]:
    """Yield a line with its band through points without a gap between them; one alone is a dot."""
    if len(run) == 1:
        cx, cy = place(run[0].x, run[0].y or 0.0).split(",")
        yield element("circle", class_="end", cx=cx, cy=cy, r="1.2")
        return
    edges = [point for point in run if point.lower is not None and point.upper is not None]
    upper_edge = [place(point.x, point.upper or 0.0) for point in edges]
    back = [place(point.x, point.lower or 0.0) for point in reversed(edges)]
    yield element("polygon", class_=f"band {series_class(0)}", points=" ".join([*upper_edge, *back]))
    path = " ".join(place(point.x, point.y or 0.0) for point in run)
    yield element("polyline", class_=f"line {series_class(0)}", points=path)

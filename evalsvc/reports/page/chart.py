"""Intervals and fronts as pictures: SVG within the page, with a text for those who do not see it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.reports.page.elements import element
from evalsvc.reports.words import interval_text, number_text, value_text

WIDTH, HEIGHT, EDGE = 200.0, 20.0, 6.0
PLOT_WIDTH, PLOT_HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560.0, 320.0, 64.0, 44.0, 22.0, 24.0
MAX_LABELS, MAX_LABEL = 12, 24
NEAR, WIDE = 13.0, 170.0
"""A name that would lie on another one is left out: the table below has it."""


@dataclass(frozen=True, slots=True)
class AxisRange:
    """From which number to which a picture reaches."""

    low: float
    high: float

    def scale(self, value: float, start: float, end: float) -> float:
        """Return where a number lies between two places of the picture; ends that are infinite stay within."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(start + (end - start) * min(max(share, 0.0), 1.0), 1)


def compute_axis_range(
    rows: Iterable[Mapping[str, Any] | None], *, value: str = "value", zero: bool = False
) -> AxisRange | None:
    """Return the reach of all values and their ends; None where there are none."""
    values = [0.0] if zero else []
    for row in rows:
        ends = (row.get(name) for name in (value, "lower", "upper")) if row else ()
        values += [float(end) for end in ends if end is not None and math.isfinite(end)]
    if len(values) <= zero:
        return None
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    return AxisRange(low - room, high + room)


def interval_picture(
    row: Mapping[str, Any], span: AxisRange | None, *, value: str = "value", zero: bool = False
) -> Any:
    """Draw an interval on the scale shared by all rows; None for a row without a value."""
    if span is None or row.get(value) is None:
        return None

    def x(number: float) -> float:
        return span.scale(number, EDGE, WIDTH - EDGE)

    middle = HEIGHT / 2
    parts = [element("line", class_="axis", x1=EDGE, x2=WIDTH - EDGE, y1=middle, y2=middle)]
    if zero:
        parts.append(element("line", class_="zero", x1=x(0.0), x2=x(0.0), y1=1, y2=HEIGHT - 1))
    if row.get("lower") is not None or row.get("upper") is not None:
        low = span.low if row.get("lower") is None else row["lower"]
        high = span.high if row.get("upper") is None else row["upper"]
        parts.append(element("line", class_="range", x1=x(low), x2=x(high), y1=middle, y2=middle))
    parts.append(element("circle", class_="dot", cx=x(row[value]), cy=middle, r=4))
    title = f"{value_text(row, value)}, interval {interval_text(row, value)}"
    return element("svg", element("title", title), *parts, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", role="img")


def front_picture(pareto: Mapping[str, Any]) -> SafeString | None:
    """Return the configs by the first two metrics; those on the front are filled."""
    first, second = pareto["metrics"][:2]
    dots = [
        (config, config["values"][first["name"]]["value"], config["values"][second["name"]]["value"])
        for config in pareto["configs"]
    ]
    dots = [dot for dot in dots if dot[1] is not None and dot[2] is not None]
    if not dots:
        return None
    across = compute_axis_range([{"value": dot[1]} for dot in dots])
    up = compute_axis_range([{"value": dot[2]} for dot in dots])
    if across is None or up is None:
        return None
    floor, end = PLOT_HEIGHT - BOTTOM, PLOT_WIDTH - RIGHT
    parts = [
        element(
            "title",
            f"{second['name']} against {first['name']}: {len(dots)} configs, {_count_on_front(dots)} on the front",
        ),
        element("line", class_="axis", x1=LEFT, x2=end, y1=floor, y2=floor),
        element("line", class_="axis", x1=LEFT, x2=LEFT, y1=TOP, y2=floor),
        *_ticks(across, up, floor, end),
        element("text", _axis(first), x=(LEFT + end) / 2, y=PLOT_HEIGHT - 6, text_anchor="middle"),
        element("text", _axis(second), x=4, y=10),
    ]
    label_positions: list[tuple[float, float]] = []
    for i, (config, a, b) in enumerate(sorted(dots, key=lambda dot: dot[0]["on_front"])):
        x, y = across.scale(a, LEFT + 10, end - 10), up.scale(b, floor - 10, TOP + 10)
        parts.append(element("circle", class_="dot" if config["on_front"] else "off", cx=x, cy=y, r=5))
        if len(dots) - i <= MAX_LABELS and not any(abs(y - b) < NEAR and abs(x - a) < WIDE for a, b in label_positions):
            right = x > PLOT_WIDTH * 0.7
            anchor = {"x": x - 9 if right else x + 9, "y": y + 4, "text_anchor": "end" if right else "start"}
            parts.append(element("text", _short(config["name"]), **anchor))
            label_positions.append((x, y))
    return element("svg", *parts, class_="plot", viewBox=f"0 0 {PLOT_WIDTH:g} {PLOT_HEIGHT:g}", role="img")


def _ticks(across: AxisRange, up: AxisRange, floor: float, end: float) -> Sequence[SafeString]:
    xs = [(across.low, LEFT, "start"), (across.high, end, "end")]
    ys = [(up.low, floor), (up.high, TOP + 10)]
    return [
        *(element("text", number_text(value, 3), x=x, y=floor + 16, text_anchor=anchor) for value, x, anchor in xs),
        *(element("text", number_text(value, 3), x=LEFT - 6, y=y, text_anchor="end") for value, y in ys),
    ]


def _axis(metric: Mapping[str, Any]) -> str:
    return f"{_short(metric['name'])} ({'higher' if metric['higher_is_better'] else 'lower'} is better)"


def _count_on_front(dots: Sequence[Any]) -> int:
    return sum(1 for config, _, _ in dots if config["on_front"])


def _short(text: str) -> str:
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"

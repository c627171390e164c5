"""Intervals in the rows of a table, on one axis for all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.charts.figure import percent, picture
from evalsvc.console.charts.scales import Axis, PlacedAxis, fit_axis
from evalsvc.console.charts.series import marker, series_class
from evalsvc.experiments.reporting.words import format_estimate, number
from evalsvc.reports.page.elements import element

HEIGHT, MIDDLE = 22.0, 11.0


@dataclass(frozen=True, slots=True)
class Strip:
    """The axis of all strips."""

    placed: PlacedAxis
    is_empty: bool

    @property
    def low(self) -> str:
        """Return the number at the left end."""
        return number(self.placed.reach.low)

    @property
    def high(self) -> str:
        """Return the number at the right end."""
        return number(self.placed.reach.high)


def strip_axis(views: Sequence[Mapping[str, Any]], limits: tuple[float, float] | None = None) -> Strip:
    """Return an axis that includes every interval, within the limits of the values."""
    ends = [view[name] for view in views for name in ("lower", "value", "upper") if view[name] is not None]
    return Strip(fit_axis(Axis("", limits=limits), ends), not ends)


def draw_strip(axis: Strip, view: Mapping[str, Any], style: int, name: str) -> SafeString | None:
    """Draw one interval, without a dot where there are bounds alone; None where there is nothing to draw."""
    lower, value, upper = view["lower"], view["value"], view["upper"]
    has_ends = lower is not None and upper is not None
    if value is None and not has_ends:
        return None
    parts = []
    if has_ends:
        ends = {"x1": percent(axis.placed.share(lower)), "x2": percent(axis.placed.share(upper))}
        parts.append(element("line", class_="range", y1=MIDDLE, y2=MIDDLE, **ends))
    words, bounds = format_estimate(value, lower, upper)
    text = f"{name}: {words} {bounds if has_ends else 'without an interval'}"
    if value is not None:
        dot = marker(style, percent(axis.placed.share(value)), f"{MIDDLE:g}", text)
        parts.append(element("g", dot, class_="dots"))
    group = element("g", *parts, class_=series_class(style))
    return picture(group, height=HEIGHT, says=text, class_="strip")

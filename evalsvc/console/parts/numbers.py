"""A number as every page shows it: with its interval drawn, n, the level, and what it covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.charts.figure import percent
from evalsvc.digits import level_text
from evalsvc.reports.page.chart import AxisRange
from evalsvc.reports.page.elements import element
from evalsvc.reports.words import estimate_words, number_text

COVERS = {
    **{"new_data": "for new data", "this_set": "for this set", "generalizes": "for new data"},
    **{"new data": "for new data", "this set": "for this set"},
}
MISSING = "no number"


@dataclass(frozen=True, slots=True)
class Number:
    """A value, how sure it is, and what it is of."""

    value: float | None
    lower: float | None = None
    upper: float | None = None
    n: int | None = None
    level: float | None = None
    covers: str | None = None
    """`new_data` or `this_set`, as the API says it."""
    method: str = ""
    low: float = 0.0
    high: float = 1.0
    """The scale on which the bar is drawn; numbers that are compared share it."""
    limit: float | None = None
    """What a gate compares it with."""
    zero: bool = False
    """Whether zero is marked: for differences."""
    why_level: str = ""
    """Why the level is not the one that was asked for, as with several intervals that hold together."""
    missing: str = ""
    """Why there is no value, or no interval."""
    left_out: str = ""
    """What the value is not of, as failures and what has no verdict."""
    aside: str = ""
    """What else its reader should mind."""

    @property
    def has_interval(self) -> bool:
        """Whether at least one end is known."""
        return self.lower is not None or self.upper is not None

    @property
    def texts(self) -> tuple[str, str]:
        """The value and the interval as texts, with ∞ for an open end."""
        return estimate_words(self.value, self.lower, self.upper, limit=self.limit)

    @property
    def facts(self) -> list[str]:
        """The details of the number: n, level, coverage and method, or why something is missing."""
        facts = [] if self.n is None else [f"n = {number_text(self.n)}"]
        if self.has_interval and self.level is not None:
            facts.append(level_text(self.level) + (f", {self.why_level}" if self.why_level else ""))
        if self.has_interval and self.covers:
            facts.append(COVERS.get(self.covers, self.covers.replace("_", " ")))
        if self.method and self.method != "none":
            facts.append(self.method.replace("_", " "))
        return [*facts, *(part for part in (self.missing, self.left_out, self.aside) if part)]


def build_number(row: Mapping[str, Any], *, value: str = "value", **more: Any) -> Number:
    """Return the number in an answer of the API: `value` (or `estimate`), `lower`, `upper`, `n`, `level`, `covers`."""
    fields = {
        name: row[name] for name in ("lower", "upper", "n", "level", "covers", "method") if row.get(name) is not None
    }
    return Number(row.get(value), **{**fields, **more})


def number_markup(number: Number) -> SafeString:
    """Return the number, its interval as a bar with a point, and the facts behind it."""
    if number.value is None and not number.has_interval:
        reason = " · ".join(number.facts) or MISSING
        return element(
            "span",
            element("span", "—", class_="value"),
            element("span", reason, class_="facts"),
            class_="number missing",
        )
    value, ends = number.texts
    parts = [
        element("span", value, class_="value"),
        interval_bar(number) if number.has_interval else None,
        element("span", ends, class_="ends") if number.has_interval else None,
        element("span", " · ".join(number.facts), class_="facts") if number.facts else None,
    ]
    return element("span", *parts, class_="number")


def interval_bar(number: Number) -> SafeString:
    """Draw the interval on its scale, which is extended to all bounds; an open end extends to the edge."""
    ends = [end for end in (number.value, number.lower, number.upper) if end is not None]
    reach = AxisRange(min(number.low, *ends), max(number.high, *ends))

    def x(value: float) -> str:
        return percent(reach.scale(value, 30.0, 970.0) / 1000.0)

    low = reach.low if number.lower is None else number.lower
    high = reach.high if number.upper is None else number.upper
    zero = element("line", class_="zero", x1=x(0.0), x2=x(0.0), y1=1, y2=15) if number.zero else None
    point = element("circle", class_="dot", cx=x(number.value), cy=8, r=4) if number.value is not None else None
    scale = f"on a scale from {number_text(reach.low)} to {number_text(reach.high)}"
    text, ends_text = number.texts
    label = f"{text}, interval {ends_text}, {scale}"
    return element(
        "svg",
        element("line", class_="scale", x1="0", x2="100%", y1=8, y2=8),
        zero,
        element("line", class_="range", x1=x(low), x2=x(high), y1=8, y2=8),
        point,
        class_="interval",
        width=96,
        height=16,
        role="img",
        aria_label=label,
    )

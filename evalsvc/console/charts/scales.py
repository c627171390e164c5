"""Axes: from where to where, the round numbers and times on them, and the place of a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from evalsvc.reports.page.chart import AxisRange
from evalsvc.reports.words import number_text

Kind = Literal["number", "time", "ordinal"]
ROUND_A_MOMENT = 1800.0
ALIKE = 1e-9
"""As shares of a number: means of equal scores differ by less, and an axis of that would show nothing but rounding."""
STEPS_OF_TIME = (
    *(60.0 * n for n in (1, 5, 15, 30)),
    *(3600.0 * n for n in (1, 3, 6, 12)),
    *(86400.0 * n for n in (1, 2, 7, 14, 30, 91, 182, 365)),
)


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a chart: what it measures, and where it begins and ends (None: where its values do)."""

    label: str
    kind: Kind = "number"
    low: float | None = None
    high: float | None = None
    limits: tuple[float, float] | None = None
    """What values there can be: the room beside them ends there."""
    names: Sequence[str] = ()
    """What stands at 0, 1, 2 … of an ordinal axis."""


@dataclass(frozen=True, slots=True)
class PlacedAxis:
    """An axis with its ends known."""

    axis: Axis
    reach: AxisRange

    def share(self, value: float) -> float:
        """Return the position of a value, from 0 to 1, clamped to the ends of the axis."""
        return self.reach.scale(value, 0.0, 1000.0) / 1000.0

    def ticks(self, n: int = 5) -> list[tuple[float, str]]:
        """Return the places that are named, and their names."""
        if self.axis.kind == "ordinal":
            every = max(1, math.ceil(len(self.axis.names) / (2 * n)))
            return [(float(i), name) for i, name in enumerate(self.axis.names) if i % every == 0]
        if self.axis.kind == "time":
            return time_ticks(self.reach.low, self.reach.high, n)
        return [(value, number_text(value)) for value in round_ticks(self.reach.low, self.reach.high, n)]

    def text(self, value: float) -> str:
        """Return a value of this axis in words."""
        if self.axis.kind == "ordinal":
            return self.axis.names[int(value)]
        if self.axis.kind == "time":
            return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC"
        return number_text(value)


def fit_axis(axis: Axis, values: Iterable[float | None]) -> PlacedAxis:
    """Return the axis with ends that include all values, and a margin at each end that is not fixed."""
    if axis.kind == "ordinal":
        return PlacedAxis(axis, AxisRange(-0.5, max(0.5, len(axis.names) - 0.5)))
    numbers = [float(value) for value in values if value is not None and math.isfinite(value)]
    numbers += [end for end in (axis.low, axis.high) if end is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    if axis.kind == "number" and high - low <= ALIKE * max(abs(low), abs(high)):
        low = high = 0.5 * (low + high)
    room = _room(axis.kind, low, high)
    least, most = axis.limits or (-math.inf, math.inf)
    return PlacedAxis(
        axis,
        AxisRange(
            low if axis.low == low else min(low, max(low - room, least)),
            high if axis.high == high else max(high, min(high + room, most)),
        ),
    )


def _room(kind: Kind, low: float, high: float) -> float:
    """Return the margin around the values: none on a time axis, except half an hour around a single moment."""
    if kind == "time":
        return 0.0 if high > low else ROUND_A_MOMENT
    return 0.05 * (high - low) or 0.5 * abs(high) or 0.5


def seconds(moment: datetime) -> float:
    """Return a time as a place on a time axis."""
    return moment.timestamp()


def round_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return at most n + 1 round numbers from low to high: steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / n
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def time_ticks(low: float, high: float, n: int = 5) -> list[tuple[float, str]]:
    """Return round times of UTC and how they are written, by the distance between them."""
    step = next(
        (candidate for candidate in STEPS_OF_TIME if (high - low) / candidate <= n),
        math.ceil((high - low) / n / 864e5) * 864e5,
    )
    form = "%H:%M" if step < 86400 else "%d %b" if high - low < 300 * 86400 else "%b %Y"
    first = math.ceil(low / step)
    moments = [i * step for i in range(first, math.floor(high / step) + 1)] or [low]
    return [(at, f"{datetime.fromtimestamp(at, UTC):{form}}") for at in moments]

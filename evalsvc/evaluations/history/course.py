"""How a history came to its interval: part after part, and as it ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.history.interval import (
    Window,
    compute_interval,
    compute_mean,
    get_default_estimand,
    interval_values,
    select_bounds,
)
from evalsvc.evaluations.wire.interval_request import EPOCH, IntervalOptions
from evaluators.base import Family

LEAST_PART = 20
"""Values of a part: the interval of fewer says next to nothing."""


@dataclass(frozen=True, slots=True)
class HistoryStretch:
    """Neighbouring values of a history in the order of time, from the `first` to the `last`, and their interval."""

    first: int
    last: int
    began_at: datetime
    ended_at: datetime
    mean: float
    lower: float | None
    upper: float | None
    first_id: int = 0
    """Of the value at its beginning: the evaluation's, where an evaluation made it."""
    last_id: int = 0
    is_degenerate: bool = False
    """Whether all of its values are equal."""

    @property
    def n(self) -> int:
        """How many values it has."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class HistoryCourse:
    """A window in chronological order.

    Attributes
    ----------
    parts : tuple of HistoryStretch
        The window cut into adjacent parts of about equal size, at least LEAST_PART values each, with an interval
        per part; one part if there are too few values for two. A part with equal values has the advised interval
        instead of one of zero width.
    running : tuple of HistoryStretch
        Cumulative stretches from the oldest value to each of evenly spaced ends; the last one is the full window.
    revisions : tuple of (int, datetime, int)
        Where a new revision of the profile took effect: the position of its first value, its time, and the
        revision number.
    values, ids : array
        All values and their ids, oldest first.
    mean : float or None
        Of all values, weighted where the interval is; None without any.
    """

    parts: tuple[HistoryStretch, ...]
    running: tuple[HistoryStretch, ...]
    revisions: tuple[tuple[int, datetime, int], ...]
    values: Any
    ids: Any
    mean: float | None

    @property
    def has_tied_times(self) -> bool:
        """Return whether some stretches end at the same time, such as those of one batch."""
        return any(
            len({stretch.ended_at for stretch in stretches}) < len(stretches)
            for stretches in (self.parts, self.running)
        )

    def place_of(self, moment: datetime) -> int:
        """Return which value, counted from 1, is the first one at or after a time."""
        return int(np.searchsorted(self.ids >> 22, (moment - EPOCH) // timedelta(milliseconds=1))) + 1


def compute_course(
    ask: IntervalOptions,
    family: Family | None,
    history: HistorySnapshot | None,
    *,
    n_parts: int = 24,
    has_verdict: bool = True,
    declared: tuple[float, float] | None = None,
) -> HistoryCourse:
    """Compute the course of a window in at most `n_parts` parts, each with the interval specified by the options."""
    of = ask.of or get_default_estimand(family, history, ask.most)
    # The newest first.
    window = interval_values(history, of, ask.most, has_verdict=has_verdict)
    n = int(window.values.size)
    ends = _ends(n, min(n_parts, max(1, n // LEAST_PART)))

    def stretch(first: int, end: int) -> HistoryStretch:
        part = window.select(slice(n - end, n - first))
        numbers = compute_interval(ask, of, family, part, declared=declared)
        mean, bounds = compute_mean(ask, part), select_bounds(numbers)
        assert mean is not None  # noqa: S101  no part is empty
        oldest, newest = int(window.ids[n - 1 - first]), int(window.ids[n - end])
        times = datetime_from_id(oldest), datetime_from_id(newest)
        return HistoryStretch(
            first + 1, end, *times, mean, bounds["lower"], bounds["upper"], oldest, newest,
            is_degenerate=numbers["degenerate"],
        )  # fmt: skip

    return HistoryCourse(
        parts=tuple(stretch(first, end) for first, end in zip([0, *ends], ends, strict=False)),
        running=tuple(stretch(0, end) for end in _ends(n, min(n_parts, n))),
        revisions=tuple(_revisions(window)),
        values=window.values[::-1],
        ids=np.asarray(window.ids[::-1], np.int64),
        mean=compute_mean(ask, window),
    )


def _ends(n: int, n_parts: int) -> list[int]:
    return [round(n * (i + 1) / n_parts) for i in range(n_parts)] if n else []


def _revisions(window: Window) -> Iterator[tuple[int, datetime, int]]:
    if window.verdicts is not None or not window.values.size:
        return
    numbers = (window.marks >> 2)[::-1]
    for place in np.flatnonzero(np.diff(numbers)) + 1:
        if numbers[place] > 0:
            yield int(place) + 1, datetime_from_id(window.ids[::-1][place]), int(numbers[place])


def datetime_from_id(id: Any) -> datetime:
    """Return when the database gave an id."""
    return EPOCH + timedelta(milliseconds=int(id) >> 22)

"""A range of the chart, and the form that opens exactly the evaluations in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.console.pages.history.query import HistoryQuery
from evalsvc.console.pages.history.reader import HistoryReading
from evalsvc.evaluations.history.course import HistoryCourse, datetime_from_id
from evalsvc.evaluations.history.scope import scope_window

SCOPES = {"app": "app", "project": "project", "experiment": "experiment", "revision": "revision"}
"""What a window says, by the name of the filter of evaluations that says the same."""


@dataclass(frozen=True, slots=True)
class BrushEnd:
    """Where a span may begin or end: where the running mean of the chart has a point."""

    id: int
    place: int
    words: str


@dataclass(frozen=True, slots=True)
class Brush:
    """The ends to choose from, and the filters that narrow evaluations to this history."""

    begins: Sequence[BrushEnd]
    ends: Sequence[BrushEnd]
    kept: Mapping[str, str]
    n_others: int = 0
    """Scores of the chart that no evaluation is behind: outputs of experiments."""


def build_brush(account: Account, question: HistoryQuery, reading: HistoryReading) -> Brush | None:
    """Return the form's content; None if evaluations cannot be identified by the IDs of their scores.

    An imported score is stored under a number derived from its time, not under the ID of its evaluation.
    """
    interval, course = reading.interval or {}, reading.course
    n = {name: source["n"] for name, source in interval.get("sources", {}).items()}
    if not course.running or not n.get("evaluation") or n.get("import"):
        return None
    window = scope_window(account.pk, question.ask, pointer="")
    filters = _build_filters(question, window, str(interval.get("of", "score")))
    if filters is None:
        return None
    return Brush(
        [_end(course, place) for place in (1, *(stretch.last + 1 for stretch in course.running[:-1]))],
        [_end(course, stretch.last) for stretch in course.running],
        filters,
        len(course.values) - n["evaluation"],
    )


def _end(course: HistoryCourse, place: int) -> BrushEnd:
    id = int(course.ids[place - 1])
    return BrushEnd(id, place, f"score {place}, {datetime_from_id(id):%Y-%m-%d %H:%M} UTC")


def _build_filters(question: HistoryQuery, window: Mapping[str, Any], of: str) -> dict[str, str] | None:
    filters = {**question.names, "scored": of}
    filters |= {name: str(window[key]) for key, name in SCOPES.items() if key in window}
    tags = window.get("tags", {})
    if len(tags) > 1:
        return None
    for key, value in tags.items():
        filters["tag"] = f"{key}:{value}"
    return filters

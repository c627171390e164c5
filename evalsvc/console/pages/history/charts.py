"""The charts of a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.charts.bars import histogram
from evalsvc.console.charts.plot import plot
from evalsvc.console.charts.scales import Axis, seconds
from evalsvc.console.charts.series import ChartLine, Mark, Point
from evalsvc.console.pages.history.query import HistoryQuery
from evalsvc.console.pages.history.reader import HistoryReading
from evalsvc.console.pages.history.words import format_strategy
from evalsvc.digits import level_text
from evalsvc.evaluations.history.course import HistoryStretch
from evalsvc.monitors.answers import AlarmOut
from evalsvc.monitors.models import Monitor

NAMES = {"pass": "Pass rate", "score": "Mean score"}
ESTIMANDS = {"pass": Monitor.Estimand.PASS_RATE, "score": Monitor.Estimand.MEAN_SCORE}


def course_chart(question: HistoryQuery, reading: HistoryReading, alarms: Iterable[AlarmOut]) -> SafeString:
    """Draw parts as points with their intervals, and the running mean with its band: it ends in the page's number.

    Lines mark where revisions begin, and the change points of alarms of what is drawn.
    """
    interval = reading.interval or {}
    name = NAMES[interval.get("of", "score")]
    # Scores of one time would lie on top of each other.
    by_number = question.by_number or reading.course.has_tied_times

    def x(place: int, moment: datetime) -> float:
        return float(place) if by_number else seconds(moment)

    def points(found: tuple[HistoryStretch, ...]) -> list[Point]:
        return [
            Point(
                x(stretch.last, stretch.ended_at), stretch.mean, stretch.lower, stretch.upper, _format_stretch(stretch)
            )
            for stretch in found
        ]

    marks = [Mark(x(place, at), f"revision {number}") for place, at, number in reading.course.revisions]
    drawn = [alarm for alarm in alarms if alarm.estimand == ESTIMANDS[interval.get("of", "score")]]
    changes = [alarm.at for alarm in drawn if int(alarm.at.score_id or 0) >= int(reading.course.ids[0])]
    times = [datetime.fromisoformat(change.created_at) for change in changes]
    marks += [Mark(x(reading.course.place_of(at), at), "change") for at in times]
    low, high = reading.limits or (None, None)
    across = Axis("Number of scores") if by_number else Axis("Time (UTC)", "time")
    parts = reading.course.parts if len(reading.course.parts) > 1 else ()
    lines = [ChartLine("cumulative", points(reading.course.running), has_band=True, has_dots=not parts)]
    lines += [ChartLine("per window", points(parts), is_joined=False)] if parts else []
    says = (
        f"{_parts_text(reading)}; {level_text(question.ask.level)} for new data, by "
        f"{_describe_strategy(interval, reading)}."
    )
    return plot(f"{name}, and how sure it is", across, Axis(name, low=low, high=high), lines, marks=marks, says=says)


def _describe_strategy(interval: Mapping[str, Any], reading: HistoryReading) -> str:
    """Name the strategy of what is drawn, which of equal scores is another than that of the rest."""
    strategy, stretches = format_strategy(interval), (*reading.course.parts, *reading.course.running)
    if strategy != interval["strategy"] or not any(stretch.is_degenerate for stretch in stretches):
        return strategy
    return f"{strategy}, and where all scores are equal by the one that is advised then"


def _parts_text(reading: HistoryReading) -> str:
    n_parts, n = len(reading.course.parts), len(reading.course.values)
    scores = f"{n} score{'s' * (n != 1)}"
    return scores if n_parts == 1 else f"{scores} in {n_parts} neighbouring parts"


def _format_stretch(one: HistoryStretch) -> str:
    return f"n = {one.n}, until {one.ended_at:%Y-%m-%d %H:%M} UTC"


def distribution_chart(reading: HistoryReading) -> SafeString | None:
    """Draw how the scores lie; nothing for none."""
    if not reading.scores:
        return None
    low, high = reading.limits or (min(reading.scores), max(reading.scores))
    low, high = min(low, *reading.scores, high), max(high, *reading.scores, low)
    says = f"The newest {len(reading.scores)}."
    return histogram("Distribution of the scores", reading.scores, low=low, high=high, says=says)

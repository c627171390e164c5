"""Read all rows of a service that answers only so many at once: by stretches of time, halved until they are whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from evalsvc.client.values import JsonObject

WHOLE_BELOW = 50
"""No service answers fewer rows than this at most: an answer with fewer has all of its stretch."""
SHORTEST = timedelta(microseconds=1)
AT_FIRST = timedelta(days=30)
"""What is asked for before anything is known: years at once might take a service longer than anybody waits."""

ReadRows = Callable[["TimeRange"], Sequence[JsonObject]]


class TooDense(Exception):
    """More rows are of one moment than the service answers, so that it never answers all of them."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time: from `start` to before `end`."""

    start: datetime
    end: datetime

    def halves(self) -> tuple[TimeRange, TimeRange]:
        """Return both halves, the earlier one first; their border is a whole microsecond."""
        middle = self.start + timedelta(microseconds=(self.end - self.start) // SHORTEST // 2)
        return TimeRange(self.start, middle), TimeRange(middle, self.end)

    def parts(self, length: timedelta) -> Iterator[TimeRange]:
        """Yield consecutive ranges of this length, oldest first; the last one can be shorter."""
        start = self.start
        while start < self.end:
            end = min(start + length, self.end)
            yield TimeRange(start, end)
            start = end


def read_complete_ranges(read: ReadRows, all_of: TimeRange) -> Iterator[tuple[TimeRange, Sequence[JsonObject]]]:
    """Yield stretches that follow each other without a gap, oldest first, each with all of its rows.

    How many rows the service answers at most is not known, only that it is not fewer than it has ever answered: an
    answer with as many as the largest one may have been cut, so its halves are read instead. Raises TooDense where
    rows of one microsecond are cut.
    """
    most = WHOLE_BELOW
    waiting = [*all_of.parts(AT_FIRST)][::-1]
    while waiting:
        stretch = waiting.pop()
        rows = read(stretch)
        if len(rows) < most:
            yield stretch, rows
            continue
        most = len(rows)
        if stretch.end - stretch.start <= SHORTEST:
            raise TooDense(
                f"{len(rows)} rows are of {stretch.start.isoformat()} alone, and the service may hold more of that "
                "moment than it answers."
            )
        earlier, later = stretch.halves()
        waiting += [later, earlier]

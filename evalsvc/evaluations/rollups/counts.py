"""The counts of a day, and the statistics derived from their sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta

from evalsvc.stats.formulas.intervals import wilson

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class DayRange:
    """Days by UTC, both ends included."""

    first: date
    last: date

    @classmethod
    def latest(cls, n: int = 14, *, now: datetime | None = None) -> DayRange:
        """Return the last n days, including today."""
        today = (now or datetime.now(UTC)).astimezone(UTC).date()
        return cls(today - timedelta(days=n - 1), today)

    @property
    def days(self) -> list[date]:
        """All of its days, in order."""
        return [self.first + timedelta(days=i) for i in range((self.last - self.first).days + 1)]


@dataclass(frozen=True, slots=True)
class DayCounts:
    """The counts of captured evaluations.

    Attributes
    ----------
    n, n_error : int
        Finished captured evaluations, and how many of them are errors.
    n_scored : int
        Scores in the history. Evaluations captured because they failed (`fails-only`) do not count, since they
        would make the pass rate zero.
    n_pass, n_fail : int
        Those of the scores that have a verdict.
    n_without : int
        The other scores: undecided, without a threshold, or made elsewhere without a verdict.
    total, squares : float
        Sum of the scores in the history, and of their squares.
    n_undecided : int
        The scores without a verdict that were made elsewhere and sent as undecided.
    """

    n: int = 0
    n_error: int = 0
    n_scored: int = 0
    n_pass: int = 0
    n_fail: int = 0
    total: float = 0.0
    squares: float = 0.0
    n_undecided: int = 0

    @property
    def rate(self) -> float | None:
        """The pass rate of the scores with a verdict; None where nothing has one."""
        n = self.n_pass + self.n_fail
        return self.n_pass / n if n else None

    @property
    def n_without(self) -> int:
        """The scores without a verdict."""
        return self.n_scored - self.n_pass - self.n_fail

    @property
    def mean(self) -> float | None:
        """The mean score; None where nothing has a score."""
        return self.total / self.n_scored if self.n_scored else None

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return Wilson's interval of the pass rate on similar data; None with fewer than two verdicts.

        Assumes independent verdicts and a constant rate: a rate that changes within the days has no such interval.
        """
        n = self.n_pass + self.n_fail
        return wilson(self.n_pass, n, level) if n > 1 else None


@dataclass(frozen=True, slots=True)
class PassRate:
    """The pass rate of one app and profile over some days.

    `app` is None for calls that named none. `days` has every day of the range in order, those without evaluations too.
    """

    app: str | None
    evaluator_id: str
    profile_name: str
    counts: DayCounts
    days: tuple[DayCounts, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How often evaluations of one evaluator and app ended in an error of this code, and the last day of it."""

    code: str
    app: str | None
    evaluator_id: str
    profile_name: str
    n: int
    last_day: date


def sum_counts(many: Iterable[DayCounts]) -> DayCounts:
    """Return the sum."""
    rows = list(many)
    return DayCounts(*(sum(getattr(row, attribute.name) for row in rows) for attribute in fields(DayCounts)))

"""What the page of a history shows, read by the selectors that answer GET /v1/history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.console.pages.history.query import HistoryQuery
from evalsvc.console.pages.history.words import WARNINGS
from evalsvc.console.parts.numbers import Number
from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.history.course import HistoryCourse, HistoryStretch, compute_course
from evalsvc.evaluations.history.interval import UNWEIGHTED, answer_interval
from evalsvc.evaluations.history.read import count_endings, get_declared_range, history_summary, list_history
from evalsvc.evaluations.history.scope import scope_window
from evalsvc.evaluations.history.selection import read_window
from evalsvc.evaluations.wire.interval_request import IntervalOptions, first_id
from evalsvc.judges.calls.endings import TRUNCATED, describe_endings, is_truncated
from evalsvc.reports.words import number_text
from evalsvc.stats.basics.rows import IntervalRows, describe_rows
from evalsvc.stats.formulas.differences import difference_of_intervals
from evaluators.base import Family

EQUAL = "all scores are equal, so the interval has no width"


@dataclass(frozen=True, slots=True)
class HistoryReading:
    """A history in a window: the API's answer, and how it came to it."""

    n: int
    n_total: int
    value: float | None
    """The pass rate or the mean, as the interval is of one or the other."""
    interval: dict[str, Any] | None
    course: HistoryCourse
    scores: list[float]
    limits: tuple[float, float] | None
    endings: str
    """The counts of endings but `stop` in words."""

    @property
    def rows_text(self) -> str:
        """The rows of the interval in words."""
        return describe_rows(IntervalRows(**(self.interval or {"rows": {"n": self.n}})["rows"]), "scores")

    @property
    def undecided_text(self) -> str:
        """How many scores are undecided, and from where to where the pass rate may lie with them; empty without any."""
        interval = self.interval or {}
        if not (n := interval.get("n_undecided", 0)):
            return ""
        bounds = interval["pass_rate_bounds"]
        ends = f"from {number_text(bounds[0], 3)} to {number_text(bounds[1], 3)}" if bounds else ""
        return f"{n} undecided" + (f": with them, the pass rate is {ends}" if ends else "")

    @property
    def number(self) -> Number:
        """The value with its interval."""
        interval = to_display_interval(self.interval or {})
        low, high = self.limits or (0.0, 1.0)
        return Number(
            self.value,
            interval.get("lower"),
            interval.get("upper"),
            n=interval.get("n", self.n),
            level=interval.get("alpha"),
            covers="new_data",
            method=interval.get("method") or "",
            low=low,
            high=high,
            missing=interval.get("reason") or "",
        )

    def number_of(self, part: HistoryStretch) -> Number:
        """Return the number of a part, on the same scale."""
        low, high = self.limits or (0.0, 1.0)
        return Number(part.mean, part.lower, part.upper, part.n, low=low, high=high, missing=_why_without(part))


def read_history(account: Account, question: HistoryQuery) -> HistoryReading:
    """Read the history that the query specifies."""
    window = scope_window(account.pk, question.ask, pointer="")
    history = read_window(account.pk, question.pair, question.ask, window)
    rows = list_history(
        account=account, evaluator_id=question.evaluator_id, profile_name=question.profile_name, window=window
    )
    # Scores made elsewhere have none.
    endings = count_endings(account, history, question.ask.most) if not question.is_external else {}
    return _reading(
        question, history, history_summary(rows, history, question.ask), _find_range(account, question), endings
    )


def _reading(
    question: HistoryQuery,
    history: HistorySnapshot,
    summary: dict[str, Any],
    declared: tuple[float, float] | None,
    endings: Mapping[str, int] = MappingProxyType({}),
) -> HistoryReading:
    family, has_verdict = (question.run.family, question.run.has_verdict) if question.run else (None, True)
    interval = answer_interval(question.ask, family, history, has_verdict=has_verdict, declared=declared)
    if interval is not None and is_truncated(endings):
        interval["warnings"].append(TRUNCATED)
    course = compute_course(question.ask, family, history, has_verdict=has_verdict, declared=declared)
    return HistoryReading(
        n=summary["n"],
        n_total=summary["n_total"],
        value=course.mean,
        interval=interval,
        course=course,
        scores=history.scores[: question.ask.most].tolist(),
        limits=value_limits(interval, family) or declared,
        endings=describe_endings(endings),
    )


def _why_without(part: HistoryStretch) -> str:
    """Return why a part's interval is missing; an empty text if it exists."""
    if part.lower is not None or part.upper is not None:
        return ""
    if part.n == 1:
        return "one score, no interval"
    return EQUAL if part.is_degenerate else "no interval"


def to_display_interval(interval: dict[str, Any]) -> dict[str, Any]:
    """Return an interval for display.

    The interval of equal scores is degenerate and is replaced by the advised one.
    """
    advice = interval.get("advice")
    if not interval.get("degenerate"):
        return interval
    if not advice:
        return {**interval, "lower": None, "upper": None, "reason": EQUAL}
    return {**interval, "lower": advice["lower"], "upper": advice["upper"], "method": advice["kind"]}


def value_limits(interval: dict[str, Any] | None, family: Family | None) -> tuple[float, float] | None:
    """Return between which numbers every value lies; None where nothing is known of them."""
    if interval is not None and interval["of"] == "pass":
        return 0.0, 1.0
    return family.value_range if family else None


@dataclass(frozen=True, slots=True)
class HistoryComparison:
    """Two parts of a history side by side, and the first less the second."""

    first_name: str
    second_name: str
    first: Number
    second: Number
    difference: Number
    warning: str = ""


def compare_histories(account: Account, question: HistoryQuery, shown: HistoryReading) -> HistoryComparison | None:
    """Compare the displayed history with another app or with an earlier period; None if neither is requested."""
    if "vs.app" in question.errors:
        return None
    if question.other_app and question.ask.scope:
        _, app = question.ask.scope
        ask = replace(question.ask, scope=("app", question.other_app))
        return _build_comparison(f"app {app}", f"app {question.other_app}", shown, _read_as(account, question, ask))
    if question.split_at is not None:
        after = _read_as(account, question, replace(question.ask, since=question.split_at))
        until = first_id(question.split_at)
        before = _read_as(account, question, replace(question.ask, since=None), before=until)
        at = f"{question.split_at:%Y-%m-%d %H:%M} UTC"
        return _build_comparison(f"since {at}", f"before {at}", after, before)
    return None


def _read_as(
    account: Account, question: HistoryQuery, ask: IntervalOptions, *, before: int | None = None
) -> HistoryReading:
    query = replace(question, ask=ask)
    window = scope_window(account.pk, ask, pointer="")
    history = read_window(account.pk, question.pair, ask, window, before=before)
    summary = {"n": len(history.scores), "n_total": len(history.scores)}
    return _reading(query, history, summary, _find_range(account, question))


def _find_range(account: Account, question: HistoryQuery) -> tuple[float, float] | None:
    return None if question.run else get_declared_range(account, *question.pair)


def _build_comparison(
    first_name: str, second_name: str, first: HistoryReading, second: HistoryReading
) -> HistoryComparison:
    warnings = {name for reading in (first, second) for name in (reading.interval or {}).get("warnings", ())}
    warning = WARNINGS[UNWEIGHTED] if UNWEIGHTED in warnings else ""
    first_number, two = first.number, second.number
    span = abs(first_number.high - first_number.low)
    if None in (first_number.value, first_number.lower, first_number.upper, two.value, two.lower, two.upper):
        missing = Number(None, missing="Both sides need a confidence interval.")
        return HistoryComparison(first_name, second_name, first_number, two, missing, warning)
    value, (lower, upper) = difference_of_intervals(_estimate(first_number), _estimate(two))
    n = (first_number.n or 0) + (two.n or 0)
    difference = Number(value, lower, upper, n, first_number.level, "new_data", low=-span, high=span, zero=True)
    return HistoryComparison(first_name, second_name, first_number, two, difference, warning)


def _estimate(one: Number) -> tuple[float, tuple[float, float]]:
    return float(one.value or 0.0), (float(one.lower or 0.0), float(one.upper or 0.0))

"""Translate filters with short names, as in console URLs and saved searches, into the API's search filters.

A time can be relative (`period`) and is resolved each time it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime

from evalsvc.evaluations.verdicts import UNDECIDED
from evalsvc.rest.bodies.scalars import read_row_id, read_uuid

Filter = dict[str, Any]
PERIODS = {"1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000}
TEXT_PERIOD = "7d"
"""What a search for words looks through where the address names no time."""
MAX_TEXT_DAYS = 31
MAX_WORDS = 200
FIRST_YEAR, LAST_YEAR = 1971, 2089
"""Of times, as in windows of histories: a period before or behind these may be none that a computer can write."""
TEXTS = {
    "output": "evaluated_model_output",
    "input": "evaluated_model_input",
    "explanation": "explanation",
}
EQUAL = {"app": "app", "evaluator": "evaluator_id", "profile": "criteria", "log": "log_id", "trace": "trace_id"}
RESULTS = {"pass": True, "fail": False}
MADE_BY = {"service": "patronus_evaluation", "client": "client_evaluation", "people": "annotation"}
CHOICES: Mapping[str, Collection[str]] = {
    "period": PERIODS,
    "result": (*RESULTS, UNDECIDED, "error"),
    "by": MADE_BY,
    "in": TEXTS,
    "feedback": ("positive", "negative"),
    "scored": ("pass", "score"),
}
"""What may stand where only some words may."""
NAMES = (
    *("period", "since", "until", "project", "app", "evaluator", "profile", "result", "by", "tag", "dataset"),
    *("experiment", "log", "trace", "min", "max", "feedback", "q", "in", "first", "last", "revision", "scored"),
)


class Wrong(ValueError):
    """A form field that cannot be parsed; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed query: the values to display in the form again, the API's filters, and the errors by field."""

    values: Mapping[str, str]
    filters: list[Filter]
    errors: Mapping[str, str]


def read_filters(query: Mapping[str, str], now: datetime) -> SearchQuery:
    """Parse a query string. Errors are reported per field, and then no search should be run."""
    values = {name: text for name in NAMES if (text := query.get(name, "").strip())}
    filters: list[Filter] = []
    errors = {name: "Contains a character that is not allowed." for name, text in values.items() if "\0" in text}
    errors |= {
        name: f"One of: {', '.join(allowed)}."
        for name, allowed in CHOICES.items()
        if name in values and values[name] not in allowed
    }
    errors |= dict(_wrong_times(values))
    if errors:
        return SearchQuery(values, [], errors)
    for name, read in READERS.items():
        try:
            filters += read(values, now)
        except Wrong as exc:
            errors[name] = str(exc)
    return SearchQuery(values, filters, errors)


def _is(field: str, value: object, operation: str = "eq") -> Filter:
    return {"field": field, "operation": operation, "value": value}


def _time(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    since, until = bounds(values, now)
    if since is not None:
        yield _is("created_at", since.isoformat(), "ge")
    if until is not None:
        yield _is("created_at", until.isoformat(), "lt")


def bounds(values: Mapping[str, str], now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the start and end of the searched period; None where it is unbounded."""
    period = values.get("period", "")
    since, until = _moment(values, "since"), _moment(values, "until")
    if since is None and until is None and "q" in values and not period:
        period = TEXT_PERIOD
    if since is None and period in PERIODS:
        # To the minute, so that a page that is loaded again is the same page.
        since = (until or now).replace(second=0, microsecond=0) - timedelta(seconds=PERIODS[period])
    if since is not None and until is not None and since >= until:
        raise Wrong("Begins after its end.")
    return since, until


def _wrong_times(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in ("since", "until"):
        try:
            _moment(values, name)
        except Wrong as exc:
            yield name, str(exc)


def _moment(values: Mapping[str, str], name: str) -> datetime | None:
    if (text := values.get(name)) is None:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise Wrong("A time in UTC, as 2026-11-26T14:30.")
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise Wrong(f"A time of the years from {FIRST_YEAR} to {LAST_YEAR}.")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _equal(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    yield from (_is(field, values[name]) for name, field in EQUAL.items() if name in values)
    if "by" in values:
        yield _is("evaluation_type", MADE_BY[values["by"]])
    if "feedback" in values:
        yield _is("feedback", values["feedback"])


def _result(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    result = values.get("result", "")
    if result in RESULTS:
        yield _is("pass", RESULTS[result])
    elif result == UNDECIDED:
        yield _is("pass", None)
        yield _is("status", "success")
        yield _is("why", None, "ne")
    elif result == "error":
        yield _is("status", ["error", "validation_error"], "in")


def _span(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    """Read a span of a history: ids rise with time, and a score has that of its evaluation."""
    ends = {name: read_row_id(values[name]) for name in ("first", "last") if name in values}
    if None in ends.values():
        raise Wrong("Not an id of this kind.")
    first, last = ends.get("first"), ends.get("last")
    if first is not None and last is not None and first > last:
        raise Wrong("Begins after its end.")
    if first is not None:
        yield _is("id", values["first"], "ge")
    if last is not None:
        yield _is("id", values["last"], "le")


def _revision(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    if (text := values.get("revision")) is None:
        return
    if not text.isdecimal() or len(text) > 9:
        raise Wrong("A number.")
    yield _is("criteria_revision", text, "ge")


def _parse_scored(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    if values.get("scored") == "pass":
        yield _is("pass", [True, False], "in")
    elif values.get("scored") == "score":
        yield _is("score", -1e300, "ge")


def _tag(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    if (text := values.get("tag")) is None:
        return
    key, colon, value = text.partition(":")
    if not colon or not key:
        raise Wrong("Written as name:value.")
    yield _is("tags", {key.strip(): value.strip()})


def _ids(field: str, name: str, read: Callable[[object], object]) -> Callable[..., Iterator[Filter]]:
    def reader(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
        if (text := values.get(name)) is not None:
            if read(text) is None:
                raise Wrong("Not an id of this kind.")
            yield _is(field, text)

    return reader


def _score(name: str, operation: str) -> Callable[..., Iterator[Filter]]:
    def reader(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
        if (text := values.get(name)) is None:
            return
        try:
            number = float(text)
        except ValueError:
            raise Wrong("A number.") from None
        if abs(number) > 1e15 or number != number:
            raise Wrong("A number up to 10¹⁵.")
        yield _is("score", number, operation)

    return reader


def _words(values: Mapping[str, str], now: datetime) -> Iterator[Filter]:
    if (text := values.get("q")) is None:
        return
    if len(text) > MAX_WORDS:
        raise Wrong(f"At most {MAX_WORDS} characters.")
    since, until = bounds(values, now)
    if since is None or (until or now) - since > timedelta(days=MAX_TEXT_DAYS):
        raise Wrong(f"Words are looked for within {MAX_TEXT_DAYS} days at most: choose a time.")
    yield _is(TEXTS.get(values.get("in", ""), TEXTS["output"]), f"%{_literally(text)}%", "ilike")


def _literally(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return text


READERS: dict[str, Callable[[Mapping[str, str], datetime], Iterator[Filter]]] = {
    "since": _time,
    "app": _equal,
    "result": _result,
    "tag": _tag,
    "first": _span,
    "revision": _revision,
    "scored": _parse_scored,
    "project": _ids("project_id", "project", read_uuid),
    "experiment": _ids("experiment_id", "experiment", read_row_id),
    "dataset": _ids("dataset_id", "dataset", str),
    "min": _score("min", "ge"),
    "max": _score("max", "le"),
    "q": _words,
}
"""By the field at which an error is shown."""

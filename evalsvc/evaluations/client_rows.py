"""Scores that an account's own code has made, as they come in: each row is checked alone and refused alone."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import Meta

from evalsvc.evaluations.call import MAX_ID, fingerprint, is_bigint, is_uuid, text_of
from evalsvc.rest.parsing import decode
from evalsvc.rest.problems import FieldError, Problem

PREFIX = "external:"
MAX_ROWS = 1000
MAX_NAME = 100 - len(PREFIX)
# Means and their fourth powers stay far from overflow.
MAX_SCORE = 1e15
MAX_DURATION = timedelta(days=366)
# Well within what every calendar, time zone and column can hold.
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)

Text = Annotated[str, Meta(max_length=MAX_ID)]
Identifier = Annotated[str, Meta(max_length=MAX_ID)] | int | None


class Batch(msgspec.Struct):
    """The body: rows are taken apart later, so that one that cannot be read costs no other."""

    evaluations: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MAX_ROWS)]


class Row(msgspec.Struct):
    """One score that was made elsewhere; unknown fields are ignored, as clients of this wire expect."""

    evaluator_id: Annotated[str, Meta(min_length=1, max_length=100)]
    log_id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
    project_id: str | None = None
    project_name: Annotated[str, Meta(min_length=1, max_length=50)] | None = None
    app: Annotated[str, Meta(min_length=2, max_length=50)] | None = None
    experiment_id: str | int | None = None
    criteria: Annotated[str, Meta(min_length=1, max_length=120)] | None = None
    passed: bool | None = msgspec.field(name="pass", default=None)
    score: float | None = None
    text_output: str | None = None
    metadata: dict[str, Any] | None = None
    explanation: str | None = None
    evaluation_duration: timedelta | None = None
    explanation_duration: timedelta | None = None
    metric_name: Text | None = None
    metric_description: str | None = None
    dataset_id: Identifier = None
    dataset_sample_id: Identifier = None
    created_at: datetime | None = None
    tags: Annotated[dict[str, str], Meta(max_length=100)] | None = None
    trace_id: Text | None = None
    span_id: Text | None = None


_batch_decoder = msgspec.json.Decoder(Batch)
_row_decoder = msgspec.json.Decoder(Row)


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a row says that it belongs."""

    app: str | None
    experiment_id: int | None
    project_id: uuid.UUID | None
    project_name: str | None


@dataclass(frozen=True, slots=True)
class ClientScore:
    """A checked row. `request` and `evaluation` hold the columns that it decides; the place is added to `request`.

    `fingerprint` is the same for the same row of the same account, whatever the spelling of its JSON.
    """

    index: int
    fingerprint: int
    wish: Wish
    request: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowError:
    """Why a row was left out."""

    index: int
    pointer: str
    detail: str


def read_batch(account_id: int, body: bytes) -> tuple[list[ClientScore], list[RowError]]:
    """Read the rows and say what is wrong with the others. Raises a Problem when there is no list of 1 to 1000."""
    raws = decode(body, _batch_decoder, storable=False).evaluations
    good: list[ClientScore] = []
    errors: list[RowError] = []
    for index, raw in enumerate(raws):
        found = _read(account_id, index, bytes(raw))
        if isinstance(found, ClientScore):
            good.append(found)
        else:
            errors += found
    return good, errors


def external_id(name: str) -> str:
    """Return the id under which an account's own evaluator is kept: no managed evaluator's history can be written."""
    return name if name.startswith(PREFIX) else PREFIX + name


def _read(account_id: int, index: int, raw: bytes) -> ClientScore | list[RowError]:
    try:
        row = decode(raw, _row_decoder)
    except Problem as problem:
        errors = problem.errors or (FieldError("", problem.detail),)
    else:
        errors = tuple(_errors(row))
        if not errors:
            return _checked(account_id, index, row)
    return [RowError(index, f"/evaluations/{index}{error.pointer}", error.detail) for error in errors]


def _errors(row: Row) -> Iterator[FieldError]:
    if len(external_id(row.evaluator_id)) > MAX_NAME + len(PREFIX):
        yield FieldError("/evaluator_id", f"At most {MAX_NAME} characters.")
    if external_id(row.evaluator_id) == PREFIX:
        yield FieldError("/evaluator_id", f"A name follows {PREFIX!r}.")
    if row.score is not None and not (math.isfinite(row.score) and abs(row.score) <= MAX_SCORE):
        yield FieldError("/score", f"A score lies between -{MAX_SCORE:g} and {MAX_SCORE:g}.")
    if row.score is None and row.passed is None and row.text_output is None:
        yield FieldError("/score", "Send `score`, `pass` or `text_output`.")
    if row.experiment_id is not None and not is_bigint(str(row.experiment_id)):
        yield FieldError("/experiment_id", "An experiment's id is a string of digits.")
    if row.project_id and not is_uuid(row.project_id):
        yield FieldError("/project_id", "A project's id is a UUID.")
    if row.created_at is not None and not EARLIEST <= _in_zone(row.created_at) < LATEST:
        yield FieldError("/created_at", f"A time lies between {EARLIEST.year} and {LATEST.year}.")
    for name in ("evaluation_duration", "explanation_duration"):
        duration = getattr(row, name)
        if duration is not None and not timedelta() <= duration <= MAX_DURATION:
            yield FieldError(f"/{name}", "A duration lies between nothing and a year.")


def _checked(account_id: int, index: int, row: Row) -> ClientScore:
    wish = Wish(
        app=None if row.experiment_id is not None else row.app,
        experiment_id=int(row.experiment_id) if row.experiment_id is not None else None,
        project_id=uuid.UUID(row.project_id) if row.project_id else None,
        project_name=row.project_name,
    )
    canonical = orjson.dumps(msgspec.to_builtins(row), option=orjson.OPT_SORT_KEYS)
    return ClientScore(index, fingerprint(account_id, canonical), wish, _request(row), _evaluation(row))


def _request(row: Row) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "log_id": row.log_id,
        "tags": row.tags,
        "dataset_id": text_of(row.dataset_id),
        "dataset_sample_id": text_of(row.dataset_sample_id),
        "trace_id": row.trace_id,
        "span_id": row.span_id,
    }
    if row.created_at is not None:
        columns["created_at"] = _in_zone(row.created_at)
    return columns


def _evaluation(row: Row) -> dict[str, Any]:
    score = float(row.passed) if row.score is None and row.passed is not None else row.score
    details = {
        "metadata": row.metadata,
        "metric_name": row.metric_name,
        "metric_description": row.metric_description,
        "explanation_us": _microseconds(row.explanation_duration),
    }
    return {
        "evaluator_id": external_id(row.evaluator_id),
        # The history goes by a name, and no name is one as well.
        "profile_name": row.criteria or "",
        "score": score,
        "passed": row.passed,
        "text_output": row.text_output,
        "explanation": row.explanation,
        "duration_us": _microseconds(row.evaluation_duration),
        "details": {name: value for name, value in details.items() if value is not None} or None,
    }


def _in_zone(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _microseconds(duration: timedelta | None) -> int | None:
    return None if duration is None else duration // timedelta(microseconds=1)

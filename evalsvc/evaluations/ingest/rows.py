"""Scores that an account's own code has made, as they come in: each row is checked alone and refused alone."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
import orjson
from msgspec import Meta

from evalsvc.evaluations.models import EXTERNAL_PREFIX
from evalsvc.evaluations.verdicts import UNDECIDED, UNDECIDED_TEXTS, UNSTATED
from evalsvc.evaluations.wire.inputs import hash_content, tag_errors
from evalsvc.evaluations.wire.request import MAX_ID, fingerprint, id_text
from evalsvc.evaluations.wire.shapes import RowError
from evalsvc.rest.answering.shapes import KeyWarning
from evalsvc.rest.answering.unknown import RowKeys
from evalsvc.rest.bodies.names import app_error, normalize_app_name
from evalsvc.rest.bodies.parsers import decode, list_body_keys
from evalsvc.rest.bodies.scalars import is_bigint, read_uuid
from evalsvc.rest.problems import FieldError, Problem

MAX_ROWS = 1000
MAX_NAME = 100 - len(EXTERNAL_PREFIX)
# Means and their fourth powers stay far from overflow.
MAX_SCORE = 1e15
MAX_DURATION = timedelta(days=366)
# Within the range of every calendar, time zone and column.
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)

# Fields that identify a row only where they are read: earlier releases did not know them.
VERDICT = ("verdict", "why")
ADDED = ("value_range", *VERDICT)

Text = Annotated[str, Meta(max_length=MAX_ID)]
Identifier = Annotated[str, Meta(max_length=MAX_ID)] | int | None


class ScoreBatchBody(msgspec.Struct):
    """The body: rows are taken apart later, so that one that cannot be read costs no other."""

    evaluations: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MAX_ROWS)]


class ScoreRow(msgspec.Struct, kw_only=True):
    """What rows of either batch have; unknown fields are ignored, as clients of this wire expect."""

    evaluator_id: Annotated[str, Meta(min_length=1, max_length=100)]
    project_id: str | None = None
    project_name: Annotated[str, Meta(min_length=1, max_length=50)] | None = None
    app: Annotated[str, Meta(min_length=2, max_length=50)] | None = None
    experiment_id: str | int | None = None
    criteria: Annotated[str, Meta(min_length=1, max_length=120)] | None = None
    passed: bool | None = msgspec.field(name="pass", default=None)
    verdict: Literal["pass", "fail", "undecided"] | None = None
    # Of other verdicts it may be anything, as earlier releases ignored it.
    why: Annotated[Any, Meta(extra_json_schema={"enum": [*UNDECIDED_TEXTS, None]})] = None
    text_output: str | None = None
    explanation: str | None = None
    evaluation_duration: timedelta | None = None
    explanation_duration: timedelta | None = None
    metric_name: Text | None = None
    metric_description: str | None = None
    value_range: Annotated[list[float], Meta(min_length=2, max_length=2)] | None = None
    dataset_id: Identifier = None
    dataset_sample_id: Identifier = None
    created_at: datetime | None = None
    tags: dict[str, str] | None = None
    trace_id: Text | None = None
    span_id: Text | None = None


class LoggedScore(ScoreRow, kw_only=True):
    """One score of something that is logged elsewhere."""

    log_id: Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
    score: float | None = None
    metadata: dict[str, Any] | None = None


_batch_decoder = msgspec.json.Decoder(ScoreBatchBody)
_row_decoder = msgspec.json.Decoder(LoggedScore)


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """The app, project or experiment of a row."""

    app: str | None
    experiment_id: int | None
    project_id: uuid.UUID | None
    project_name: str | None


@dataclass(frozen=True, slots=True)
class ClientScore:
    """A validated row. `request` and `evaluation` contain the columns it sets; its placement is added to `request`.

    `fingerprint` is the same for equal rows of an account, however their JSON is formatted, and identifies rows that
    were stored before; `since` is the lowest request id that is searched for them.
    """

    index: int
    fingerprint: int
    placement: PlacementRequest
    since: int = 0
    request: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rows:
    """The parsed rows of a batch: rows to store, errors of the other rows, and warnings about unknown keys."""

    scores: list[ClientScore]
    errors: list[RowError]
    warnings: list[KeyWarning]


def read_score_batch(account_id: int, body: bytes) -> Rows:
    """Read the rows and report the errors of invalid ones. Raises a Problem unless there are 1 to 1000 rows."""
    raws = decode(body, _batch_decoder, storable=False).evaluations
    return read_rows(
        "evaluations", raws, lambda index, raw: _read(account_id, index, raw), known=keys_read(LoggedScore)
    )


def keys_read(*kinds: type[msgspec.Struct]) -> frozenset[str]:
    """Return the keys of JSON that structs read."""
    return frozenset(field.encode_name for kind in kinds for field in msgspec.structs.fields(kind))


def read_rows(
    name: str,
    raws: Sequence[msgspec.Raw],
    read: Callable[[int, bytes], ClientScore | Sequence[FieldError]],
    *,
    known: Collection[str],
) -> Rows:
    """Read each row of the batch's list called `name`; collect the errors of invalid rows by pointer.

    Keys that are not in `known` are ignored with a warning, in invalid rows too: a misspelt key might be the cause. So
    is `why` of a row that is not undecided.
    """
    row_keys = RowKeys(known)
    good: list[ClientScore] = []
    errors: list[RowError] = []
    for index, raw in enumerate(raws):
        at = f"/{name}/{index}"
        try:
            outcome = read(index, bytes(raw))
        except Problem as problem:
            outcome = problem.errors or (FieldError("", problem.detail),)
        if isinstance(outcome, ClientScore):
            good.append(outcome)
        else:
            errors += [RowError(index=index, pointer=at + error.pointer, detail=error.detail) for error in outcome]
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            is_why_read = not isinstance(outcome, ClientScore) or "extra" in outcome.evaluation
            row_keys.note(list_body_keys(bytes(raw)), at, unread=() if is_why_read else ("why",))
    return Rows(good, errors, row_keys.warnings)


def external_id(name: str) -> str:
    """Return the stored id of an account's own evaluator; its prefix protects the histories of managed evaluators."""
    return name if name.startswith(EXTERNAL_PREFIX) else EXTERNAL_PREFIX + name


def _read(account_id: int, index: int, raw: bytes) -> ClientScore | list[FieldError]:
    row = decode(raw, _row_decoder)
    errors = list(row_errors(row, row.score))
    if errors:
        return errors
    canonical = orjson.dumps(identifying_fields(row), option=orjson.OPT_SORT_KEYS)
    return ClientScore(
        index=index,
        fingerprint=fingerprint(account_id, canonical),
        placement=placement_request(row),
        request=request_columns(row, row.log_id),
        evaluation=evaluation_columns(row, score=row.score, name=row.criteria, metadata=row.metadata),
    )


def identifying_fields(row: ScoreRow) -> dict[str, Any]:
    """Return the fields by which equal rows are known, without those that earlier releases ignored."""
    fields: dict[str, Any] = msgspec.to_builtins(row)
    if row.verdict != UNDECIDED:
        fields |= dict.fromkeys(VERDICT)
    return {name: value for name, value in fields.items() if value is not None or name not in ADDED}


def row_errors(row: ScoreRow, score: float | None, *, score_name: str = "score") -> Iterator[FieldError]:
    """Check what the types do not."""
    if len(external_id(row.evaluator_id)) > MAX_NAME + len(EXTERNAL_PREFIX):
        yield FieldError("/evaluator_id", f"At most {MAX_NAME} characters.")
    if external_id(row.evaluator_id) == EXTERNAL_PREFIX:
        yield FieldError("/evaluator_id", f"A name follows {EXTERNAL_PREFIX!r}.")
    if score is not None and not (math.isfinite(score) and abs(score) <= MAX_SCORE):
        yield FieldError(f"/{score_name}", f"A score lies between -{MAX_SCORE:g} and {MAX_SCORE:g}.")
    if score is None and row.passed is None and row.text_output is None and row.verdict != UNDECIDED:
        yield FieldError(f"/{score_name}", f"Send `{score_name}`, `pass` or `text_output`.")
    yield from verdict_errors(row, score, score_name)
    yield from range_errors(row.value_range, score, score_name)
    if wrong := app_error(row.app):
        yield wrong
    if row.experiment_id is not None and not is_bigint(str(row.experiment_id)):
        yield FieldError("/experiment_id", "An experiment's id is a string of digits.")
    if row.project_id and read_uuid(row.project_id) is None:
        yield FieldError("/project_id", "A project's id is a UUID.")
    yield from moment_errors(row.created_at)
    yield from tag_errors(row.tags)
    for name in ("evaluation_duration", "explanation_duration"):
        duration = getattr(row, name)
        if duration is not None and not timedelta() <= duration <= MAX_DURATION:
            yield FieldError(f"/{name}", "A duration lies between nothing and a year.")


def verdict_errors(row: ScoreRow, score: float | None, score_name: str) -> Iterator[FieldError]:
    """Check that a verdict says the same as `pass`, and that an undecided one has what a history needs."""
    if row.verdict is not None and row.verdict != UNDECIDED and row.passed is not (row.verdict == "pass"):
        yield FieldError("/verdict", "Send `pass` too: true with `pass`, false with `fail`.")
    if row.verdict == UNDECIDED and row.passed is not None:
        yield FieldError("/pass", "An `undecided` verdict neither passes nor fails: send null, or leave it out.")
    if row.verdict == UNDECIDED and score is None:
        detail = f"An `undecided` verdict comes with a `{score_name}`: without one it would be in no history."
        yield FieldError(f"/{score_name}", detail)
    reasons = [*UNDECIDED_TEXTS]
    if row.verdict == UNDECIDED and row.why is not None and row.why not in reasons:
        yield FieldError("/why", f"One of: {', '.join(reasons)}.")


def range_errors(value_range: Sequence[float] | None, score: float | None, score_name: str) -> Iterator[FieldError]:
    """Reject a range that has no width or that the score lies outside of."""
    if value_range is None:
        return
    low, high = value_range
    if not -MAX_SCORE <= low < high <= MAX_SCORE:
        yield FieldError("/value_range", "Two numbers, the lowest and the highest possible score, the lower one first.")
    elif score is not None and not low <= score <= high:
        yield FieldError(f"/{score_name}", f"The score lies outside its `value_range`, {low:g} to {high:g}.")


def moment_errors(created_at: datetime | None) -> Iterator[FieldError]:
    """Reject a time outside the supported years."""
    if created_at is not None and not EARLIEST <= in_zone(created_at) < LATEST:
        yield FieldError("/created_at", f"A time lies between {EARLIEST.year} and {LATEST.year}.")


def placement_request(row: ScoreRow) -> PlacementRequest:
    return PlacementRequest(
        app=None if row.experiment_id is not None else normalize_app_name(row.app),
        experiment_id=int(row.experiment_id) if row.experiment_id is not None else None,
        project_id=uuid.UUID(row.project_id) if row.project_id else None,
        project_name=row.project_name,
    )


def request_columns(row: ScoreRow, log_id: str | None) -> dict[str, Any]:
    """Return the columns of the EvaluationRequest that a checked row decides."""
    columns: dict[str, Any] = {
        "log_id": log_id,
        "tags": row.tags,
        "dataset_id": id_text(row.dataset_id),
        "dataset_sample_id": id_text(row.dataset_sample_id),
        "trace_id": row.trace_id,
        "span_id": row.span_id,
    }
    if columns["dataset_sample_id"]:
        # Without its texts a sample is known by its id in the dataset.
        columns["sample_hash"] = hash_content([columns["dataset_id"], columns["dataset_sample_id"]])
    if row.created_at is not None:
        columns["created_at"] = in_zone(row.created_at)
    return columns


def evaluation_columns(
    row: ScoreRow, *, score: float | None, name: str | None, metadata: Mapping[str, object] | None
) -> dict[str, Any]:
    """Return the columns of the Evaluation that a checked row decides; without a score `pass` counts as 1 or 0."""
    details = {
        "metadata": metadata,
        "metric_name": row.metric_name,
        "metric_description": row.metric_description,
        "value_range": row.value_range,
        "explanation_us": _microseconds(row.explanation_duration),
    }
    return {
        "evaluator_id": external_id(row.evaluator_id),
        # The name is part of the history's key, where the empty name is valid.
        "profile_name": name or "",
        "score": float(row.passed) if score is None and row.passed is not None else score,
        "passed": row.passed,
        "text_output": row.text_output,
        "explanation": row.explanation,
        **({"extra": {UNDECIDED: row.why or UNSTATED}} if row.verdict == UNDECIDED else {}),
        "duration_us": _microseconds(row.evaluation_duration),
        "details": {name: value for name, value in details.items() if value is not None} or None,
    }


def in_zone(time: datetime) -> datetime:
    """Return a time with its offset: UTC where it names none."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _microseconds(duration: timedelta | None) -> int | None:
    return None if duration is None else duration // timedelta(microseconds=1)

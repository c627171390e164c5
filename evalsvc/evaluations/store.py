"""The round trips of the hot path: plain SQL functions over the request's own pooled connection.

The functions set the account themselves, so one call is one message; Django's cursor would add a layer per call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import orjson
from django.db import connection, connections
from psycopg import Connection

from evalsvc.tenancy.scope import current_role

# PostgreSQL's binary float8[]: a 20-byte header, then for each element its length and its big-endian value.
HISTORY_LENGTH = 1000
_HEADER = 20
_ELEMENT = np.dtype([("length", ">i4"), ("value", ">f8")])

Pairs = Sequence[tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class Captured:
    """What came back from capturing a request."""

    request_id: int
    created_at: datetime
    evaluation_ids: list[int]
    histories: list[bytes | None]


def _raw() -> Connection[Any]:
    wrapper = connections[current_role()]
    wrapper.ensure_connection()
    return wrapper.connection  # type: ignore[no-any-return]


def _call(sql: str, values: Sequence[Any]) -> tuple[Any, ...]:
    with connection.wrap_database_errors:
        row = _raw().execute(sql, values, prepare=True, binary=True).fetchone()  # type: ignore[call-overload]
    assert row is not None  # noqa: S101  a function call always returns a row
    return row  # type: ignore[no-any-return]


def scores_of(history: bytes | None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Read a history as float64, newest first, without a Python object per score."""
    if not history:
        return np.empty(0)
    return np.frombuffer(history, _ELEMENT, offset=_HEADER)["value"].astype(np.float64)


def read_histories(account_id: int, pairs: Pairs, *, before: int | None = None) -> list[bytes | None]:
    """Read the newest scores of each (evaluator id, profile name), as of now or as of an earlier request.

    None for an entry that wants none.
    """
    if not any(pairs):
        return [None] * len(pairs)
    values = [account_id, *_split(pairs), before]
    return _call("SELECT latest_scores(%s, %s::text[], %s::text[], %s)", values)[0]  # type: ignore[no-any-return]


def capture(
    account_id: int,
    request: dict[str, Any],
    evaluations: Sequence[dict[str, Any]],
    pairs: Pairs,
    *,
    lease_seconds: float,
) -> Captured:
    """Write a request with its evaluations and history scores, and read the histories as they were before it."""
    evaluators, profiles = _split(pairs)
    values = [account_id, dumps(request), dumps(evaluations), lease_seconds, evaluators, profiles]
    row = _call(
        "SELECT request_id, created_at, evaluation_ids, histories"
        " FROM capture_evaluations(%s, %s::jsonb, %s::jsonb, %s, %s::text[], %s::text[])",
        values,
    )
    return Captured(*row)


def finish(account_id: int, request_id: int, verdicts: Sequence[dict[str, Any]]) -> list[int]:
    """Write verdicts of pending evaluations; return the positions that had none before."""
    return _call("SELECT finish_evaluations(%s, %s, %s::jsonb)", [account_id, request_id, dumps(verdicts)])[0]  # type: ignore[no-any-return]


def dumps(value: Any) -> str:
    """Write JSON for a jsonb parameter."""
    return orjson.dumps(value).decode()


def _split(pairs: Pairs) -> tuple[list[str | None], list[str | None]]:
    return [pair[0] if pair else None for pair in pairs], [pair[1] if pair else None for pair in pairs]

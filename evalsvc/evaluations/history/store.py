"""The round trips of the hot path: what is read and written of histories, verdicts and scores from elsewhere."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from evalsvc.evaluations.evaluate.captures import Captured, capture
from evalsvc.evaluations.history.cache import HISTORY_LENGTH, History, Pairs, as_read, brought_up_to_date, remembered
from evalsvc.evaluations.ingest.rows import ClientScore
from evalsvc.evaluations.round_trips import call, dumps, raw_connection, split

__all__ = [
    "HISTORY_LENGTH",
    "Captured",
    "capture",
    "dumps",
    "finish",
    "keep_client_scores",
    "read_histories",
    "take_turns",
]


def read_histories(
    account_id: int, pairs: Pairs, *, epoch: str | None = None, before: int | None = None
) -> list[History | None]:
    """Read the newest scores of each (evaluator id, profile name), as of now or as of an earlier request.

    None for an entry that wants none. With an epoch, this process' memory is used and brought up to date.
    """
    if not any(pairs):
        return [None] * len(pairs)
    known = remembered(account_id, epoch if before is None else None, pairs)
    values = [account_id, *split(pairs), [history.snapshot if history else None for history in known], before]
    row = call(
        "SELECT ids, scores, facts, snapshots, are_new FROM latest_scores(%s, %s::text[], %s::text[], %s::text[], %s)",
        values,
    )
    return brought_up_to_date(account_id, epoch if before is None else None, pairs, known, row)


def read_scoped(
    account_id: int, pairs: Pairs, window: dict[str, Any], *, before: int | None = None
) -> list[History | None]:
    """Read the scores of each (evaluator id, profile name) within a window (see `windows`), newest first."""
    if not any(pairs):
        return [None] * len(pairs)
    row = call(
        "SELECT ids, scores, facts FROM scoped_scores(%s, %s::text[], %s::text[], %s::jsonb, %s)",
        [account_id, *split(pairs), dumps(window), before],
    )
    return [as_read(*(part[i] for part in row)) if pair else None for i, pair in enumerate(pairs)]


def promote(account_id: int, pairs: Sequence[tuple[str, str]], *, experiment_id: int, config_id: int) -> int:
    """Let the trials of a config enter these histories; return how many scores that were."""
    values = [account_id, *split(pairs), experiment_id, config_id]
    return call("SELECT promote_scores(%s, %s::text[], %s::text[], %s, %s)", values)[0]


def finish(account_id: int, request_id: int, verdicts: Sequence[dict[str, Any]]) -> list[int]:
    """Write verdicts of pending evaluations; return the positions that had none before."""
    return call("SELECT finish_evaluations(%s, %s, %s::jsonb)", [account_id, request_id, dumps(verdicts)])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """What becomes a row of a history: the fields of the database's type `history_entry`, in its order."""

    id: int
    evaluator_id: str
    profile_name: str
    revision: int | None = None
    score: float
    passed: bool | None
    source: str
    source_id: int
    trial: bool = False
    app: str | None = None
    project_id: uuid.UUID | None = None
    experiment_id: int | None = None
    config_id: int | None = None
    output_id: int | None = None
    created_at: datetime


REMEMBER = (
    "SELECT remember_scores(%s, ARRAY[ROW(%s::bigint, %s, %s, %s::int, %s::float8, %s::boolean, %s, %s::bigint,"
    " %s::boolean, %s, %s::uuid, %s::bigint, %s::bigint, %s::bigint, %s::timestamptz)::history_entry])"
)


def remember(account_id: int, entry: HistoryEntry) -> None:
    """Write one score to its history, within the account's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(REMEMBER, [account_id, *astuple(entry)])


def take_turns(account_id: int) -> None:
    """Let one batch of the account after the other be kept, until the transaction ends, as `keep_client_scores` does.

    To be called before a batch's apps and projects are made: two with the same new ones in another order deadlock.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('keep_client_evaluations', %s::bigint))", [account_id]
        )


def keep_client_scores(account_id: int, scores: Sequence[ClientScore]) -> list[int]:
    """Write scores that were made elsewhere, each once; return the ids of their evaluations, in the same order.

    Rows of one batch that are the same are one.
    """
    first = {score.fingerprint: place for place, score in reversed(list(enumerate(scores)))}
    rows = [
        {
            "position": place,
            "fingerprint": fingerprint,
            "since": scores[place].since,
            "request": scores[place].request,
            "evaluation": scores[place].evaluation,
        }
        for fingerprint, place in first.items()
    ]
    sql = "SELECT row_position, evaluation_id FROM keep_client_evaluations(%s, %s::jsonb)"
    with connection.wrap_database_errors:
        found = dict(raw_connection().execute(sql, [account_id, dumps(rows)], prepare=True, binary=True).fetchall())
    return [found[first[score.fingerprint]] for score in scores]

"""The round trips of histories: what is read of them, and how a score enters one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime

from django.db import connection

from evalsvc.evaluations.database.round_trips import call_function, dump_jsonb
from evalsvc.evaluations.history.cache import (
    HistorySnapshot,
    Pairs,
    build_uncached_snapshot,
    get_cached_histories,
    split,
    update_histories,
)


def read_histories(
    account_id: int, pairs: Pairs, *, epoch: str | None = None, before: int | None = None
) -> list[HistorySnapshot | None]:
    """Read the newest scores of each (evaluator id, profile name), as of now or as of an earlier request.

    The result is None for an entry that is None. If an epoch is given, the cache of this process is used and updated.
    """
    if not any(pairs):
        return [None] * len(pairs)
    cached_histories = get_cached_histories(account_id, epoch if before is None else None, pairs)
    values = [
        account_id,
        *split(pairs),
        [history.snapshot if history else None for history in cached_histories],
        before,
    ]
    row = call_function(
        "SELECT ids, scores, facts, hashes, batches, probabilities, snapshots, are_new"
        " FROM newest_scores(%s, %s::text[], %s::text[], %s::text[], %s)",
        values,
    )
    return update_histories(account_id, epoch if before is None else None, pairs, cached_histories, row)


def read_scoped(
    account_id: int, pairs: Pairs, window: Mapping[str, object], *, before: int | None = None
) -> list[HistorySnapshot | None]:
    """Read the scores of each (evaluator id, profile name) within a window (see `scope`), newest first."""
    if not any(pairs):
        return [None] * len(pairs)
    *columns, clusters, chosen = call_function(
        "SELECT ids, scores, facts, hashes, batches, probabilities, clusters, chosen"
        " FROM scores_in_window(%s, %s::text[], %s::text[], %s::jsonb, %s)",
        [account_id, *split(pairs), dump_jsonb(window), before],
    )
    return [
        build_uncached_snapshot(*(part[i] for part in columns), clusters=clusters[i], chosen=chosen[i])
        if pair
        else None
        for i, pair in enumerate(pairs)
    ]


def promote_trials(
    account_id: int,
    pairs: Sequence[tuple[str, str]],
    *,
    experiment_id: int,
    config_id: int,
    output_ids: Sequence[int] | None = None,
) -> int:
    """Let the trials of a config enter these histories, or those of some outputs; return how many scores that were."""
    values = [account_id, *split(pairs), experiment_id, config_id, output_ids]
    return call_function("SELECT promote_scores(%s, %s::text[], %s::text[], %s, %s, %s::bigint[])", values)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """What becomes a row of a history: the fields of the database's type `history_row`, in its order."""

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
    sample_hash: int | None = None
    batch_id: int | None = None
    probability: float | None = None


REMEMBER = (
    "SELECT insert_scores(%s, ARRAY[ROW(%s::bigint, %s, %s, %s::int, %s::float8, %s::boolean, %s, %s::bigint,"
    " %s::boolean, %s, %s::uuid, %s::bigint, %s::bigint, %s::bigint, %s::timestamptz, %s::bigint,"
    " %s::bigint, %s::float8)::history_row])"
)


def remember_score(account_id: int, entry: HistoryEntry) -> None:
    """Write one score to its history, within the account's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(REMEMBER, [account_id, *astuple(entry)])

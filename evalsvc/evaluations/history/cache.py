"""A per-process cache of histories. It is exact, because each history is cached with its database snapshot.

The newest rows of a busy history have not been vacuumed, so reading 1000 of them takes most of a request's time. A
process with the history as of a snapshot only requests rows which that snapshot could not see (see sql/functions.sql).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from django.conf import settings

from evalsvc.infra.cache import AccountCache

HISTORY_LENGTH = 1000
MAX_REMEMBERED = 2000  # histories a process; about 20 kB each

Scores: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Facts: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int32]]"
Pairs: TypeAlias = Sequence[tuple[str, str] | None]

# PostgreSQL's binary arrays: a 20-byte header, then for each element its length and its big-endian value.
_HEADER = 20
_ID = np.dtype([("length", ">i4"), ("value", ">i8")])
_SCORE = np.dtype([("length", ">i4"), ("value", ">f8")])
_FACT = np.dtype([("length", ">i4"), ("value", ">i4")])
FACT_BYTES = 4


@dataclass(frozen=True, slots=True)
class HistorySnapshot:
    """The newest scores of one evaluator under one profile, newest first, as of one database snapshot.

    Stored as bytes (native int64, float64 and int32): joining bytes neither creates a Python object per score nor
    releases the GIL, which NumPy does on every pass over more than 500 elements. The bits of a fact are defined by
    `history_facts` in sql/functions.sql.
    """

    id_bytes: bytes
    score_bytes: bytes
    fact_bytes: bytes
    snapshot: str | None
    epoch: str | None
    until: float

    @property
    def ids(self) -> memoryview[int]:
        """Return the ids, newest first."""
        return memoryview(self.id_bytes).cast("q")

    @property
    def scores(self) -> Scores:
        """Return the scores, newest first."""
        return np.frombuffer(self.score_bytes)

    @property
    def facts(self) -> Facts:
        """Return the facts of each score, newest first."""
        return np.frombuffer(self.fact_bytes, np.int32)


_memory: AccountCache[tuple[int, str, str], HistorySnapshot] = AccountCache(
    MAX_REMEMBERED, seconds=lambda: settings.API_KEY_CACHE_SECONDS
)


def get_cached_histories(account_id: int, epoch: str | None, pairs: Pairs) -> list[HistorySnapshot | None]:
    """Return the cached history of each pair under the account's epoch; None where it has to be read."""
    # Deletions advance the epoch; the time limit covers those that were not announced.
    return [_memory.get((account_id, *pair), epoch) if pair is not None else None for pair in pairs]


def update_histories(
    account_id: int, epoch: str | None, pairs: Pairs, known: Sequence[HistorySnapshot | None], row: Sequence[Any]
) -> list[HistorySnapshot | None]:
    """Return the histories as the database just answered, merged into what was known, and remember them."""
    histories: list[HistorySnapshot | None] = []
    for i, (pair, old) in enumerate(zip(pairs, known, strict=True)):
        if pair is None:
            histories.append(None)
            continue
        ids, scores, facts, snapshot, is_new = (part[i] for part in row)
        read = _read(ids, _ID), _read(scores, _SCORE), _read(facts, _FACT)
        history = _merge(old if is_new else None, *read, snapshot, epoch)
        _remember((account_id, *pair), history)
        histories.append(history)
    return histories


def build_uncached_snapshot(ids: bytes | None, scores: bytes | None, facts: bytes | None) -> HistorySnapshot:
    """Build an uncached history from a database answer."""
    return HistorySnapshot(_read(ids, _ID), _read(scores, _SCORE), _read(facts, _FACT), None, None, 0.0)


def _read(sent: bytes | None, element: Any) -> bytes:
    """Turn PostgreSQL's binary array into native bytes."""
    if not sent:
        return b""
    values = np.frombuffer(sent, element, offset=_HEADER)["value"]
    return values.astype(values.dtype.newbyteorder("=")).tobytes()


def _merge(
    old: HistorySnapshot | None, ids: bytes, scores: bytes, facts: bytes, snapshot: str | None, epoch: str | None
) -> HistorySnapshot:
    if old is None:
        return HistorySnapshot(ids, scores, facts, snapshot, epoch, _memory.end())
    if ids:
        ids, scores, facts = _insert_rows(old, ids, scores, facts)
        return HistorySnapshot(ids, scores, facts, snapshot, old.epoch, old.until)
    return HistorySnapshot(old.id_bytes, old.score_bytes, old.fact_bytes, snapshot, old.epoch, old.until)


def _insert_rows(old: HistorySnapshot, ids: bytes, scores: bytes, facts: bytes) -> tuple[bytes, bytes, bytes]:
    """Put new rows in their places, newest first, each id once, and cut to length.

    New rows are few and near the top, so only the remembered rows that are newer than the oldest new one are sorted
    with them; the rest is joined as it is. By id, once each: rows restored from another cluster carry that cluster's
    transaction ids and may look new for ever.
    """
    new = dict(zip(_ints(ids), zip(_floats(scores), _facts(facts), strict=True), strict=True))
    old_ids, oldest, n_top = old.ids, min(new), 0
    while n_top < len(old_ids) and old_ids[n_top] >= oldest:
        n_top += 1
    old_values = zip(_floats(old.score_bytes)[:n_top], _facts(old.fact_bytes)[:n_top], strict=True)
    new |= zip(old_ids[:n_top], old_values, strict=True)
    order = sorted(new, reverse=True)
    rows = [new[id] for id in order]
    return (
        _replace_top(array("q", order), old.id_bytes, n_top),
        _replace_top(array("d", [score for score, _ in rows]), old.score_bytes, n_top),
        _replace_top(array("i", [fact for _, fact in rows]), old.fact_bytes, n_top),
    )


def _replace_top(top: array[Any], old: bytes, n_top: int) -> bytes:
    """Put values in the place of the first `n_top` old ones."""
    return (top.tobytes() + old[n_top * top.itemsize :])[: HISTORY_LENGTH * top.itemsize]


def _ints(packed: bytes) -> memoryview[int]:
    return memoryview(packed).cast("q")


def _floats(packed: bytes) -> memoryview[float]:
    return memoryview(packed).cast("d")


def _facts(packed: bytes) -> memoryview[int]:
    return memoryview(packed).cast("i")


def _remember(key: tuple[int, str, str], history: HistorySnapshot) -> None:
    if history.snapshot is not None:
        _memory.put(key, history, history.epoch, until=history.until)


def split(pairs: Pairs) -> tuple[list[str | None], list[str | None]]:
    """Return the evaluators and the profiles of pairs as two array parameters."""
    return [pair[0] if pair else None for pair in pairs], [pair[1] if pair else None for pair in pairs]

"""A per-process cache of histories. It is exact, because each history is cached with its database snapshot.

The newest rows of a busy history have not been vacuumed, so reading 1000 of them takes most of a request's time. A
process with the history as of a snapshot only requests rows which that snapshot could not see (see sql/functions.sql).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from django.conf import settings

from evalsvc.infra.cache import AccountCache

HISTORY_LENGTH = 1000
MAX_REMEMBERED = 2000  # histories a process; about 36 kB each

Scores: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Facts: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int32]]"
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
Pairs: TypeAlias = Sequence[tuple[str, str] | None]

# PostgreSQL's binary arrays: a 20-byte header, then for each element its length and its big-endian value.
_HEADER = 20
_ID = np.dtype([("length", ">i4"), ("value", ">i8")])
_SCORE = np.dtype([("length", ">i4"), ("value", ">f8")])
_FACT = np.dtype([("length", ">i4"), ("value", ">i4")])
FACT_BYTES = 4
_CODES = ("q", "d", "i", "q", "q", "d")
COLUMNS = (_ID, _SCORE, _FACT, _ID, _ID, _SCORE)
"""Ids, scores, facts, hashes of the samples, batches, probabilities."""
Columns: TypeAlias = tuple[bytes, ...]
"""The same as native bytes."""


@dataclass(frozen=True, slots=True)
class HistorySnapshot:
    """The newest scores of one evaluator under one profile, newest first, as of one database snapshot.

    Stored as bytes (native int64, float64 and int32): joining bytes neither creates a Python object per score nor
    releases the GIL, which NumPy does on every pass over more than 500 elements. The bits of a fact are defined by
    `history_facts` in sql/history.sql.

    `hash_bytes` and `batch_bytes` (int64) identify the sample and the batch call or upload of each score; empty bytes
    mean that each has its own. `probability_bytes` (float64) has the probability with which a rule drew each score, 1
    for one that no rule drew; empty bytes: no rule drew any. `cluster_bytes` has the values of the tag in `cluster_by`,
    and `chosen_among` the number of configs among which one with promoted scores was chosen; both are read for scoped
    windows only.
    """

    id_bytes: bytes
    score_bytes: bytes
    fact_bytes: bytes
    snapshot: str | None
    epoch: str | None
    until: float
    hash_bytes: bytes = b""
    batch_bytes: bytes = b""
    probability_bytes: bytes = b""
    cluster_bytes: bytes = b""
    chosen_among: int | None = None

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
        *columns, snapshot, is_new = (part[i] for part in row)
        history = _merge(old if is_new else None, _read_columns(columns), snapshot, epoch)
        _remember((account_id, *pair), history)
        histories.append(history)
    return histories


def build_uncached_snapshot(*columns: bytes | None, clusters: bytes | None, chosen: int | None) -> HistorySnapshot:
    """Build an uncached history from a database answer: its columns are those of COLUMNS."""
    snapshot = _build_snapshot(_read_columns(columns), None, None, 0.0)
    return replace(snapshot, cluster_bytes=_read(clusters, _ID), chosen_among=chosen)


def _read_columns(sent: Sequence[bytes | None]) -> Columns:
    return tuple([_read(column, element) for column, element in zip(sent, COLUMNS, strict=True)])


def _read(sent: bytes | None, element: Any) -> bytes:
    """Turn PostgreSQL's binary array into native bytes."""
    if not sent:
        return b""
    values = np.frombuffer(sent, element, offset=_HEADER)["value"]
    return values.astype(values.dtype.newbyteorder("=")).tobytes()


def _merge(old: HistorySnapshot | None, new: Columns, snapshot: str | None, epoch: str | None) -> HistorySnapshot:
    if old is None:
        return _build_snapshot(new, snapshot, epoch, _memory.end())
    columns = (
        old.id_bytes, old.score_bytes, old.fact_bytes, old.hash_bytes, old.batch_bytes, old.probability_bytes
    )  # fmt: skip
    return _build_snapshot(_insert_rows(columns, new) if new[0] else columns, snapshot, old.epoch, old.until)


def _build_snapshot(columns: Columns, snapshot: str | None, epoch: str | None, until: float) -> HistorySnapshot:
    ids, scores, facts, hashes, batches, probabilities = columns
    return HistorySnapshot(ids, scores, facts, snapshot, epoch, until, hashes, batches, probabilities)


def _insert_rows(old: Columns, new: Columns) -> Columns:
    """Put new rows in their places, newest first, each id once, and cut to length.

    New rows are few and near the top, so only the remembered rows that are newer than the oldest new one are sorted
    with them; the rest is joined as it is. By id, once each: rows restored from another cluster carry that cluster's
    transaction ids and may look new for ever.
    """
    if old[-1] or new[-1]:
        old, new = _fill_probabilities(old), _fill_probabilities(new)
    new_ids, old_ids = _ints(new[0]), _ints(old[0])
    rows = dict(zip(new_ids, _rows(new, len(new_ids)), strict=True))
    oldest, n_top = min(rows), 0
    while n_top < len(old_ids) and old_ids[n_top] >= oldest:
        n_top += 1
    rows |= zip(old_ids[:n_top], _rows(old, n_top), strict=True)
    top = zip(*(rows[id] for id in sorted(rows, reverse=True)), strict=True)
    columns = tuple(
        [
            _replace_top(array(code, values), column, n_top)
            for code, values, column in zip(_CODES, top, old, strict=False)
        ]
    )
    return columns if new[-1] else (*columns, b"")


def _fill_probabilities(columns: Columns) -> Columns:
    """Write the probability 1 out, where it was left out."""
    *others, probabilities = columns
    return (*others, probabilities or array("d", [1.0] * (len(columns[0]) // 8)).tobytes())


def _rows(columns: Columns, n: int) -> Iterator[tuple[Any, ...]]:
    """Yield the first n rows, with their probabilities where these are written out."""
    ids, scores, facts, hashes, batches, probabilities = columns
    views: list[memoryview[Any]] = [_ints(ids), memoryview(scores).cast("d"), memoryview(facts).cast("i")]
    views += [_ints(hashes), _ints(batches)]
    views += [memoryview(probabilities).cast("d")] if probabilities else []
    return zip(*(view[:n] for view in views), strict=True)


def _replace_top(top: array[Any], old: bytes, n_top: int) -> bytes:
    """Put values in the place of the first `n_top` old ones."""
    return (top.tobytes() + old[n_top * top.itemsize :])[: HISTORY_LENGTH * top.itemsize]


def _ints(packed: bytes) -> memoryview[int]:
    return memoryview(packed).cast("q")


def _remember(key: tuple[int, str, str], history: HistorySnapshot) -> None:
    if history.snapshot is not None:
        _memory.put(key, history, history.epoch, until=history.until)


def split(pairs: Pairs) -> tuple[list[str | None], list[str | None]]:
    """Return the evaluators and the profiles of pairs as two array parameters."""
    return [pair[0] if pair else None for pair in pairs], [pair[1] if pair else None for pair in pairs]

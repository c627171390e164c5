"""What a process remembers of the histories it has read: exact, because each is kept with its database snapshot.

A busy history's newest rows have not been vacuumed, so reading 1000 of them costs most of a request. A process that
holds the history as of a snapshot asks only for rows which that snapshot could not see (see sql/functions.sql).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from django.conf import settings

HISTORY_LENGTH = 1000
MAX_REMEMBERED = 2000  # histories a process; about 16 kB each

Ids: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
Scores: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Pairs: TypeAlias = Sequence[tuple[str, str] | None]

# PostgreSQL's binary arrays: a 20-byte header, then for each element its length and its big-endian value.
_HEADER = 20
_ID = np.dtype([("length", ">i4"), ("value", ">i8")])
_SCORE = np.dtype([("length", ">i4"), ("value", ">f8")])


@dataclass(frozen=True, slots=True)
class History:
    """The newest scores of one evaluator under one profile, newest first, as one snapshot saw them."""

    ids: Ids
    scores: Scores
    snapshot: str
    epoch: str | None
    until: float


_memory: dict[tuple[int, str, str], History] = {}


def remembered(account_id: int, epoch: str | None, pairs: Pairs) -> list[History | None]:
    """Return what this process holds of each history under the account's epoch; None where it must be read."""
    return [_remembered(account_id, epoch, pair) for pair in pairs]


def _remembered(account_id: int, epoch: str | None, pair: tuple[str, str] | None) -> History | None:
    if pair is None or epoch is None:
        return None
    known = _memory.get((account_id, *pair))
    # Deletions move the epoch; the time limit is for those that nobody announced.
    return known if known and known.epoch == epoch and time.monotonic() < known.until else None


def brought_up_to_date(
    account_id: int, epoch: str | None, pairs: Pairs, known: Sequence[History | None], row: Sequence[Any]
) -> list[History | None]:
    """Return the histories as the database just answered, merged into what was known, and remember them."""
    histories: list[History | None] = []
    for i, (pair, old) in enumerate(zip(pairs, known, strict=True)):
        if pair is None:
            histories.append(None)
            continue
        ids, scores, snapshot, is_new = (part[i] for part in row)
        history = _merged(old if is_new else None, _read(ids, _ID), _read(scores, _SCORE), snapshot, epoch)
        _remember((account_id, *pair), history)
        histories.append(history)
    return histories


def _read(array: bytes | None, element: Any) -> Any:
    """Read a binary array without a Python object per element."""
    return (
        np.frombuffer(array, element, offset=_HEADER)["value"].astype(element["value"].newbyteorder("="), copy=True)
        if array
        else None
    )


def _merged(old: History | None, ids: Ids | None, scores: Scores | None, snapshot: str, epoch: str | None) -> History:
    if old is not None and ids is None:
        return History(old.ids, old.scores, snapshot, old.epoch, old.until)
    if ids is None or scores is None:
        ids, scores = np.empty(0, np.int64), np.empty(0)
    until = time.monotonic() + settings.API_KEY_CACHE_SECONDS
    if old is not None:
        # By id, once each: rows restored from another cluster carry its transaction ids and may look new for ever.
        ids, first = np.unique(np.concatenate((ids, old.ids)), return_index=True)
        scores = np.concatenate((scores, old.scores))[first]
        ids, scores, until = ids[::-1][:HISTORY_LENGTH], scores[::-1][:HISTORY_LENGTH], old.until
    return History(ids, scores, snapshot, epoch, until)


def _remember(key: tuple[int, str, str], history: History) -> None:
    if history.epoch is None:
        return
    if len(_memory) >= MAX_REMEMBERED and key not in _memory:
        _memory.clear()
    _memory[key] = history

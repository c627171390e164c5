"""Ranking metrics over retrieved passages, computed by ir-measures, and nDCG by its formula.

Passages are matched by id if every passage on both sides has one, else by text, character for character. A text may
name a document by its id. Passages with neither an id nor a non-space character are dropped on both sides, and the
ranks close up. A passage that is retrieved twice occupies both ranks and is credited at the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evaluators.base import CannotScore, Field, Passage

QUERY = "q"
BY_ID, BY_TEXT = "id", "text"
_LIKE_AN_ID = re.compile(r"(?=\D*\d)\S{1,200}").fullmatch


@dataclass(frozen=True, slots=True)
class RankedPassages:
    """A ranked list and what is relevant.

    `names` are the retrieved ones by what they are matched by, `grades` the wanted ones, `hits` those found, as (rank
    from 1, grade).
    """

    names: tuple[str, ...]
    grades: dict[str, float]
    hits: tuple[tuple[int, float], ...]
    matched_by: str

    @property
    def n_relevant(self) -> int:
        """Passages with a grade above zero."""
        return sum(grade > 0 for grade in self.grades.values())


def rank_passages(
    retrieved: Sequence[Passage], relevant: Sequence[Passage], *, reads_ids: bool = True
) -> RankedPassages:
    """Prepare a list for `measure`. A passage without a grade has 1; of a repeated one the best grade counts.

    A grade of zero or below is a passage that was judged and is not relevant, as trec_eval has it. With `reads_ids`,
    texts that are ids are read as ids. Raises CannotScore("wrong_type") where one side is known by ids alone and the
    other has none, or mixes ids with texts.
    """
    retrieved, relevant = _assign_names(retrieved), _assign_names(relevant)
    if reads_ids:
        retrieved, relevant = (
            _read_ids(retrieved, relevant, Field.CONTEXT),
            _read_ids(relevant, retrieved, Field.GOLD_CONTEXT),
        )
    matched_by = _matched_by(retrieved, relevant)
    name_of = _id if matched_by == BY_ID else _text
    names = tuple(name for passage in retrieved if (name := name_of(passage)).strip())
    grades = _grades(relevant, name_of)
    seen_names: set[str] = set()
    hits = []
    for rank, name in enumerate(names, start=1):
        if grades.get(name, 0.0) > 0 and name not in seen_names:
            seen_names.add(name)
            hits.append((rank, grades[name]))
    return RankedPassages(names, grades, tuple(hits), matched_by)


def _assign_names(passages: Sequence[Passage]) -> list[Passage]:
    """Leave out what has neither text nor id: it must not decide by which of the two the others are matched."""
    return [passage for passage in passages if _text(passage).strip() or _id(passage)]


def _read_ids(passages: list[Passage], others: Sequence[Passage], field: Field) -> list[Passage]:
    """Return texts that are ids of the other side as ids: a retriever or an expectation may name its documents only."""
    texts = {passage.text for passage in passages if not _id(passage)}
    ids = {_id(passage) for passage in others} - {""}
    if texts.isdisjoint(ids) and not _are_ids(passages, others):
        return passages
    if len(texts) < len({(passage.text, passage.id) for passage in passages}) or not all(map(_id, others)):
        raise CannotScore(
            "wrong_type", f"`{field}` has texts that are ids of documents, and not every passage has an id."
        )
    if texts & {passage.text for passage in others} - ids:
        raise CannotScore("wrong_type", f"`{field}` mixes ids of documents with their texts.")
    return [Passage("", passage.text, passage.relevance, passage.metadata) for passage in passages]


def _are_ids(passages: Sequence[Passage], others: Sequence[Passage]) -> bool:
    """Return whether texts look like ids and face documents known by ids alone: a retriever that found none of them."""
    is_bare = all(_id(passage) and not passage.text for passage in others)
    return bool(others) and is_bare and all(not _id(passage) and _LIKE_AN_ID(passage.text) for passage in passages)


def _matched_by(retrieved: Sequence[Passage], relevant: Sequence[Passage]) -> str:
    everyone = (*retrieved, *relevant)
    if everyone and all(map(_id, everyone)):
        return BY_ID
    if not retrieved or not relevant:
        return BY_TEXT
    for field, passages in ((Field.GOLD_CONTEXT, relevant), (Field.CONTEXT, retrieved)):
        if any(_id(passage) and not passage.text for passage in passages):
            other = Field.CONTEXT if field is Field.GOLD_CONTEXT else Field.GOLD_CONTEXT
            raise CannotScore(
                "wrong_type",
                f"`{field}` has passages that are known by their ids alone, and not every one of `{other}` has an id.",
            )
    return BY_TEXT


def _id(passage: Passage) -> str:
    return passage.id if passage.id and not passage.id.isspace() else ""


def _text(passage: Passage) -> str:
    return passage.text


def _grades(relevant: Iterable[Passage], name_of: Callable[[Passage], str]) -> dict[str, float]:
    best: dict[str, float] = {}
    for passage in relevant:
        name, grade = name_of(passage), 1.0 if passage.relevance is None else passage.relevance
        if name.strip():
            best[name] = max(grade, best.get(name, 0.0))
    return best


def measure(metric: str, found: RankedPassages, k: int | None = None) -> float:
    """Compute a metric of METRICS, 0 to 1, over the first `k` ranks or all; 0 when nothing relevant is there.

    Without `k` nothing is cut off, the ideal list of nDCG neither: who finds 2 of 6 has not done all there was to do.
    """
    if not found.hits:
        return 0.0
    if metric == NDCG:
        return ndcg(found, k)
    [result] = _measure(metric, k, len(found.names)).iter_calc({QUERY: _build_judgements(found)}, {QUERY: _run(found)})
    return min(max(float(result.value), 0.0), 1.0)


def ndcg(found: RankedPassages, k: int | None = None) -> float:
    """Return the discounted gain over that of the ideal order: gain is the grade, the discount log2(rank + 1).

    trec_eval's `ndcg` and, with `k`, its `ndcg_cut` (Järvelin and Kekäläinen, 2002, without their exponential gain).
    Written out since trec_eval takes whole grades only.
    """
    grades = sorted((grade for grade in found.grades.values() if grade > 0), reverse=True)
    # Grades are scaled first, because a sum of very large ones overflows.
    highest = grades[0]
    ideal = math.fsum(grade / highest / math.log2(rank + 1) for rank, grade in enumerate(grades[:k], start=1))
    gained = math.fsum(grade / highest / math.log2(rank + 1) for rank, grade in found.hits if k is None or rank <= k)
    return min(gained / ideal, 1.0)


NDCG = "ndcg"
METRICS = {
    "recall_single_hit": "Success",
    "recall_multi_hit": "R",
    "precision_at_k": "P",
    "mrr": "RR",
    "map": "AP",
    NDCG: "nDCG",
}
"""Our names, and those of ir-measures."""
_UNCUT = frozenset({"mrr", "map"})
"""What ir-measures computes without a cut-off; the others ask for one, and the length of the list cuts nothing."""


@cache
def _base(metric: str) -> Any:
    import ir_measures

    return getattr(ir_measures, METRICS[metric])


def _measure(metric: str, k: int | None, n_ranks: int) -> Any:
    base = _base(metric)
    return base if k is None and metric in _UNCUT else base @ (n_ranks if k is None else k)


def _build_judgements(found: RankedPassages) -> dict[str, int]:
    places: dict[str, str] = {}
    for rank, name in enumerate(found.names, start=1):
        places.setdefault(name, f"r{rank}")
    return {
        places.get(name, f"missed{index}"): int(grade > 0) for index, (name, grade) in enumerate(found.grades.items())
    }


def _run(found: RankedPassages) -> dict[str, float]:
    # Every rank is a document of its own, with a score below that of the rank before: equal scores would be ordered by
    # name. A repeated passage is judged under its first rank only.
    n_ranks = len(found.names)
    return {f"r{rank}": float(n_ranks - rank) for rank in range(1, n_ranks + 1)}

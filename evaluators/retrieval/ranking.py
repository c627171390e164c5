"""Ranking metrics over retrieved texts, computed by ir-measures.

Two texts are the same when they are equal, character for character. Texts without a character that is not space are
dropped on both sides, and ranks close up. A text that is retrieved twice keeps both ranks and is credited at the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

QUERY = "q"
GRADE_STEPS = 1_000
"""trec_eval keeps a table as long as the highest grade, and takes whole grades only."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranked list and what is relevant: `grades` by text, `hits` as (rank from 1, grade) of those found."""

    texts: tuple[str, ...]
    grades: dict[str, int]
    hits: tuple[tuple[int, int], ...]

    @property
    def n_relevant(self) -> int:
        """Texts with a grade above zero."""
        return sum(grade > 0 for grade in self.grades.values())


def ranked(retrieved: Sequence[str], relevant: Sequence[str], relevance: Sequence[float] | None = None) -> Ranked:
    """Prepare a list for `measure`. Without `relevance` all are alike; of a repeated text the best grade counts.

    A grade of zero or below is a text that was judged and is not relevant, as trec_eval has it. Grades that are not
    whole, or above 1000, are read to a thousandth of the highest.
    """
    texts = tuple(text for text in retrieved if text.strip())
    grades = _grades(relevant, relevance if relevance is not None else [1.0] * len(relevant))
    seen: set[str] = set()
    hits = []
    for rank, text in enumerate(texts, start=1):
        if grades.get(text, 0) > 0 and text not in seen:
            seen.add(text)
            hits.append((rank, grades[text]))
    return Ranked(texts, grades, tuple(hits))


def measure(metric: str, found: Ranked, k: int | None = None) -> float:
    """Compute a metric of METRICS, 0 to 1, over the first `k` ranks or all; 0 when nothing relevant is there."""
    if not found.hits:
        return 0.0
    cutoff = k if k is not None else len(found.texts)
    [result] = _measure(metric, cutoff).iter_calc({QUERY: _judged(found)}, {QUERY: _run(found)})
    return min(max(float(result.value), 0.0), 1.0)


METRICS = {
    "recall_single_hit": "Success",
    "recall_multi_hit": "R",
    "precision_at_k": "P",
    "mrr": "RR",
    "map": "AP",
    "ndcg": "nDCG",
}
"""Our names, and those of ir-measures."""


@cache
def _base(metric: str) -> Any:
    import ir_measures

    return getattr(ir_measures, METRICS[metric])


def _measure(metric: str, cutoff: int) -> Any:
    return _base(metric) @ cutoff


def _judged(found: Ranked) -> dict[str, int]:
    names: dict[str, str] = {}
    for rank, text in enumerate(found.texts, start=1):
        names.setdefault(text, f"r{rank}")
    return {
        names.get(text, f"missed{index}"): max(grade, 0) for index, (text, grade) in enumerate(found.grades.items())
    }


def _run(found: Ranked) -> dict[str, float]:
    # Every rank is a document of its own, with a score below that of the rank before: equal scores would be ordered by
    # name. A repeated text is judged under its first rank only.
    return {f"r{rank}": float(len(found.texts) - rank) for rank in range(1, len(found.texts) + 1)}


def _grades(relevant: Sequence[str], relevance: Sequence[float]) -> dict[str, int]:
    best: dict[str, float] = {}
    for text, grade in zip(relevant, relevance, strict=True):
        if text.strip():
            best[text] = max(float(grade), best.get(text, 0.0))
    highest = max(best.values(), default=0.0)
    if highest <= GRADE_STEPS and all(grade.is_integer() for grade in best.values()):
        return {text: int(grade) for text, grade in best.items()}
    # nDCG depends on the proportions only. What is barely relevant stays relevant.
    return {text: max(round(grade / highest * GRADE_STEPS), int(grade > 0)) for text, grade in best.items()}

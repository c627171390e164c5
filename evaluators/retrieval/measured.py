"""The retrieval metrics of a sample: a value, why, and the hits by rank."""

from __future__ import annotations

from evaluators.base import CannotScore, JSONValue, Sample
from evaluators.retrieval.ranks import METRICS, RankedPassages, measure, rank_passages
from evaluators.text.metrics.measured import MeasuredText

MAX_TEXTS = 10_000
"""Retrieved and relevant passages together."""
MAX_HITS_SHOWN = 100
_NAMES = {
    "recall_single_hit": "Recall (single hit)",
    "recall_multi_hit": "Recall",
    "precision_at_k": "Precision",
    "mrr": "The reciprocal rank",
    "map": "Average precision",
    "ndcg": "NDCG",
}


def retrieval(metric: str, sample: Sample, k: int | None, *, reads_ids: bool = True) -> MeasuredText:
    """Measure the retrieved contexts, in the order of their ranks, against those that should have been retrieved.

    With `reads_ids`, texts may be ids of documents.
    Raises CannotScore: `input_too_long` for too many, `wrong_type` where they have nothing to be matched by.
    """
    retrieved, relevant = sample.contexts or (), sample.gold_contexts or ()
    if len(retrieved) + len(relevant) > MAX_TEXTS:
        raise CannotScore("input_too_long", f"There are more than {MAX_TEXTS} passages.")
    result = rank_passages(retrieved, relevant, reads_ids=reads_ids)
    value = measure(metric, result, k)
    return MeasuredText(value, _because(metric, value, result, k), _extra(result, k))


def _because(metric: str, value: float, found: RankedPassages, k: int | None) -> str:
    if not found.n_relevant:
        return "No passage is relevant, which counts as 0"
    where = f" at {k}" if k is not None else ""
    hits = f"{len(found.hits)} of {found.n_relevant} relevant passages are among {len(found.names)}"
    return f"{_NAMES[metric]}{where} is {value:.2f}; {hits}"


def _extra(found: RankedPassages, k: int | None) -> dict[str, JSONValue]:
    hits: list[JSONValue] = [{"rank": rank, "grade": grade} for rank, grade in found.hits[:MAX_HITS_SHOWN]]
    extra: dict[str, JSONValue] = {
        "hits": hits,
        "n_hits": len(found.hits),
        "n_relevant": found.n_relevant,
        "n_retrieved": len(found.names),
        "matched_by": found.matched_by,
        "k": k,
    }
    return extra if found.n_relevant else {**extra, "nothing_relevant": True}


RETRIEVAL_METRICS = tuple(METRICS)

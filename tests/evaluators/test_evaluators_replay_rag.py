"""Tonic Validate's formulas replayed on random verdicts, with repeated, blank and no contexts."""

from __future__ import annotations

import random
from typing import Any

import pytest

from evaluators.base import CannotScore
from tests.evaluators.rag_script import Script, run
from tests.evaluators.samples import make_sample

TEXTS = [f"Text {i}." for i in range(6)]


def by_formula(metric: str, contexts: list[str], top_k: list[str], said: Script) -> float | str:
    """Tonic's formulas as its documentation states them; a code where there is no value."""
    relevant = [text in said.relevant for text in contexts]
    used = [text in said.contained for text in contexts]
    if metric == "retrieval_k_recall":
        wanted = {text for text in top_k if text in said.relevant}
        if not top_k:
            return "missing_input"
        return len(wanted & set(contexts)) / len(wanted) if wanted else "not_applicable"
    if metric == "answer_similarity":
        return said.similarity / 5
    if not contexts:
        return "missing_input"
    if metric == "retrieval_precision":
        return sum(relevant) / len(contexts)
    if metric == "augmentation_accuracy":
        return sum(used) / len(contexts)
    if metric == "augmentation_precision":
        return sum(r and u for r, u in zip(relevant, used, strict=True)) / sum(relevant) if any(relevant) else 0.0
    if metric == "answer_consistency":
        return sum(said.points.values()) / len(said.points) if said.points else "not_applicable"
    return float(said.consistent)


def overall(contexts: list[str], said: Script) -> float | str:
    """The mean of the default set with similarity as a fifth of its number; what has no value is left out."""
    names = ("answer_similarity", "retrieval_precision", "augmentation_precision", "augmentation_accuracy")
    values = [by_formula(name, contexts, [], said) for name in (*names, "answer_consistency")]
    if "missing_input" in values:
        return "missing_input"
    numbers = [value for value in values if isinstance(value, float)]
    return sum(numbers) / len(numbers)


@pytest.mark.parametrize("seed", range(60))
def test_random_verdicts_give_the_values_of_the_formulas(seed: int) -> None:
    rng = random.Random(seed)

    def some(texts: list[str]) -> list[str]:
        return rng.choices([*texts, "", " "], k=rng.choice([0, 1, 3, 8]))

    contexts, top_k = some(TEXTS), some(TEXTS)
    said: dict[str, Any] = {
        "relevant": set(rng.sample(TEXTS, rng.randint(0, 6))),
        "contained": set(rng.sample(TEXTS, rng.randint(0, 6))),
        "points": {f"Point {i}.": rng.random() < 0.5 for i in range(rng.choice([0, 1, 4]))},
        "similarity": rng.choice([0.0, 1.5, 4.0, 5.0]),
        "consistent": rng.random() < 0.5,
    }
    sample = make_sample(input="q", output="a", gold="g", contexts=contexts, top_k_contexts=top_k)
    kept, kept_top_k = ([text for text in texts if text.strip()] for texts in (contexts, top_k))
    metrics = ("answer_similarity", "retrieval_precision", "augmentation_precision", "augmentation_accuracy")
    for metric in (*metrics, "answer_consistency", "answer_consistency_binary", "retrieval_k_recall", "overall"):
        expected = (
            overall(kept, Script(**said))
            if metric == "overall"
            else by_formula(metric, kept, kept_top_k, Script(**said))
        )
        try:
            # The script quotes what stands in no context, which is not what is on trial here.
            found: float | str = run(metric, sample, chosen={"on_unverified": "flag"}, **said)[0].value
        except CannotScore as refusal:
            found = refusal.code
        assert found == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-12)), metric

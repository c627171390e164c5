"""Similarity of meaning, by the small sentence model."""

from __future__ import annotations

from collections.abc import Sequence


def embedding_cosines(output: str, golds: Sequence[str]) -> list[float]:
    """Return the cosine of a text's embedding and that of each other one, -1 to 1.

    Texts without a letter or digit are alike or not at all.
    """
    from evaluators.minilm import embed

    cosines = {gold: 1.0 if gold == output else 0.0 for gold in golds}
    remaining = [gold for gold in cosines if gold != output and _says_something(gold)]
    if remaining and _says_something(output):
        output_vector, *gold_vectors = embed([output, *remaining])
        cosines |= {
            gold: min(max(float(output_vector @ vector), -1.0), 1.0)
            for gold, vector in zip(remaining, gold_vectors, strict=True)
        }
    return [cosines[gold] for gold in golds]


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))

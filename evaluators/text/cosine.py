"""Similarity of meaning, by the small sentence model."""

from __future__ import annotations


def embedding_cosine(output: str, gold: str) -> float:
    """Return the cosine of two texts' embeddings, -1 to 1. Texts without a letter or digit are alike or not at all."""
    from evaluators.minilm import embed

    if output == gold:
        return 1.0
    if not (_says_something(output) and _says_something(gold)):
        return 0.0
    one, other = embed([output, gold])
    return min(max(float(one @ other), -1.0), 1.0)


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))

"""Similarity of meaning, by the small sentence model."""

from __future__ import annotations

from collections.abc import Sequence


def embedding_cosines(output: str, golds: Sequence[str]) -> list[float]:
    """Return the cosine of a text's embedding and that of each other one, -1 to 1.

    Texts without a letter or digit are alike or not at all.
    """
    from evaluators.minilm import embed

    found = {gold: 1.0 if gold == output else 0.0 for gold in golds}
    compared = [gold for gold in found if gold != output and _says_something(gold)]
    if compared and _says_something(output):
        said, *wanted = embed([output, *compared])
        found |= {
            gold: min(max(float(said @ vector), -1.0), 1.0) for gold, vector in zip(compared, wanted, strict=True)
        }
    return [found[gold] for gold in golds]


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))

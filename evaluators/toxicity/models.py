"""Two small models of English: one weighs words, the other the sentence's meaning. Logits of being offensive."""

from __future__ import annotations

import math
import threading
import unicodedata
from collections.abc import Sequence
from functools import cache

from evaluators.toxicity.words import WordModel, read_model

LOWEST_CHANCE = 1e-3
"""A chance nearer to 0 or 1 than this says nothing more; its logit would drown the other model's."""
_reading = threading.Lock()


def chances_by_words(texts: Sequence[str]) -> list[float]:
    """Return alt-profanity-check's chance that each text is offensive, clamped to the range."""
    model = word_model()
    return [min(max(model.chance(unicodedata.normalize("NFKC", text)), 0.0), 1.0) for text in texts]


def word_model() -> WordModel:
    """Return the model of words, read once whatever the number of threads."""
    with _reading:
        return _word_model()


@cache
def _word_model() -> WordModel:
    return read_model()


def word_logits(texts: Sequence[str]) -> list[float]:
    """Return the logits of `chances_by_words`, bounded."""
    return [to_logit(chance) for chance in chances_by_words(texts)]


def meaning_logits(texts: Sequence[str], *, is_early: bool = False) -> list[float]:
    """Return the head's logits over the texts' sentence vectors; `is_early` takes half of the layers, and the time."""
    from evaluators.minilm import ALL_LAYERS, embed
    from evaluators.minilm.heads import head

    name, layers = ("toxicity-early", ALL_LAYERS // 2) if is_early else ("toxicity", ALL_LAYERS)
    return head(name).logits(embed([unicodedata.normalize("NFKC", text) for text in texts], layers=layers))


def to_logit(chance: float) -> float:
    """Return log(p / (1 - p)), with p clipped to at least LOWEST_CHANCE from 0 and 1."""
    bounded = min(max(chance, LOWEST_CHANCE), 1 - LOWEST_CHANCE)
    return math.log(bounded / (1 - bounded))


def to_chance(logit: float) -> float:
    """Return the chance of a logit; finite for any."""
    return 1 / (1 + math.exp(-min(max(logit, -50.0), 50.0)))

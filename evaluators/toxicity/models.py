"""Two small models of English: one weighs words, the other the sentence's meaning. Logits of being offensive."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

LOWEST_CHANCE = 1e-3
"""A chance nearer to 0 or 1 than this says nothing more; its logit would drown the other model's."""


def word_chances(texts: Sequence[str]) -> list[float]:
    """Return alt-profanity-check's chance that each text is offensive, clamped to the range."""
    # The import loads the model; Python's import lock makes that happen once, whatever the number of threads.
    from profanity_check.profanity_check import model, vectorizer

    counts = vectorizer.transform([unicodedata.normalize("NFKC", text) for text in texts])
    parts = [_calibrated(part, counts) for part in model.calibrated_classifiers_]
    return [min(max(math.fsum(each) / len(parts), 0.0), 1.0) for each in zip(*parts, strict=True)]


def _calibrated(part: Any, counts: Any) -> list[float]:
    """Compute what `predict_proba` does, which takes four milliseconds to check what it is given."""
    [calibrator] = part.calibrators
    distances = (counts @ part.estimator.coef_[0] + part.estimator.intercept_[0]).tolist()
    return [to_chance(-(calibrator.a_ * distance + calibrator.b_)) for distance in distances]


def word_logits(texts: Sequence[str]) -> list[float]:
    """Return the logits of `word_chances`, bounded."""
    return [to_logit(chance) for chance in word_chances(texts)]


def meaning_logits(texts: Sequence[str]) -> list[float]:
    """Return the head's logits over the texts' sentence vectors."""
    from evaluators.minilm import embed
    from evaluators.minilm.heads import head

    return head("toxicity").logits(embed([unicodedata.normalize("NFKC", text) for text in texts]))


def to_logit(chance: float) -> float:
    """Return log(p / (1 - p)), with p kept LOWEST_CHANCE away from 0 and 1."""
    bounded = min(max(chance, LOWEST_CHANCE), 1 - LOWEST_CHANCE)
    return math.log(bounded / (1 - bounded))


def to_chance(logit: float) -> float:
    """Return the chance of a logit; finite for any."""
    return 1 / (1 + math.exp(-min(max(logit, -50.0), 50.0)))

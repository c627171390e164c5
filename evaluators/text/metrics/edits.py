"""How many edits are between two texts."""

from __future__ import annotations

from evaluators.text.metrics.overlap import same_text

MAX_EDIT_CELLS = 20_000_000_000
"""Largest product of two lengths that edits are counted for: about half a second."""
MAX_FUZZY_CELLS = 400_000_000
"""The same for the fuzzy ratio, which tries every place of the shorter text in the longer."""


def levenshtein_ratio(output: str, gold: str) -> float | None:
    """Return 1 minus the Levenshtein distance over the longer length; two empty texts are equal.

    None when that would take too long.
    """
    from rapidfuzz.distance import Levenshtein

    if len(output) * len(gold) > MAX_EDIT_CELLS:
        return None
    return float(Levenshtein.normalized_similarity(output, gold))


def fuzzy_ratio(output: str, gold: str) -> float | None:
    """Return rapidfuzz's weighted ratio, 0 to 1, of lower-cased texts without punctuation; None when too long.

    It ignores word order and, for texts of very different lengths, looks for the shorter inside the longer. Two texts
    of punctuation alone score 1 if they are equal, else 0; the library returns 0.
    """
    from rapidfuzz import fuzz, utils

    if not utils.default_process(output) and not utils.default_process(gold):
        return float(same_text(output, gold))
    if len(output) * len(gold) > MAX_FUZZY_CELLS:
        return None
    return float(fuzz.WRatio(output, gold, processor=utils.default_process)) / 100

"""Is one answer within another?"""

from __future__ import annotations

from evaluators.text.normalise import normalise_answer, normalise_words
from evaluators.text.tokens import part_unspaced


def contained(output: str, gold: str) -> bool:
    """Return whether the normalised gold answer occurs in the normalised output as complete words.

    "5" is in "it is 5." but not in "15", "5.5" or "-5"; "art" is not in "party". Marks between words can join them
    (U.S. is us) or separate them (Paris/London); either reading is accepted. Scripts without spaces lack word
    boundaries, so any position counts. An empty answer only occurs in an empty output.
    """
    return any(_has_words(normal(output), normal(gold)) for normal in (normalise_answer, normalise_words))


def _has_words(text: str, words: str) -> bool:
    # One search for the words with their spaces: trying place by place would be quadratic for "aaa…" in "aaa…".
    return f" {part_unspaced(words)} " in f" {part_unspaced(text)} " if words else not text

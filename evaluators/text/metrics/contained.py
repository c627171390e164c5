"""Is one answer within another?"""

from __future__ import annotations

from evaluators.text.normalise import normalise_answer, normalise_words
from evaluators.text.tokens import part_unspaced


def contained(output: str, gold: str) -> bool:
    """Return whether the normalised gold answer stands in the normalised output as whole words.

    "5" is in "it is 5." and neither in "15", "5.5" nor "-5"; "art" is not in "party". Marks between words may join
    them (U.S. is us) or part them (Paris/London); either reading will do. Scripts without spaces have no words, so any
    place counts. An answer of nothing is only in an output of nothing.
    """
    return any(_has_words(normal(output), normal(gold)) for normal in (normalise_answer, normalise_words))


def _has_words(text: str, words: str) -> bool:
    # One search for the words with their spaces: trying place by place would be quadratic for "aaa…" in "aaa…".
    return f" {part_unspaced(words)} " in f" {part_unspaced(text)} " if words else not text

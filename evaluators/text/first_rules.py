"""The rules of the ids of exact match before 2026-11-28.

They drop marks between digits and articles that are the whole answer, and read only JSON's words for booleans.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from evaluators.base import AnswerText
from evaluators.text import values
from evaluators.text.normalise import ARTICLES, fold_answer, remove_punctuation
from evaluators.text.table import CharTable
from evaluators.text.tokens import part_unspaced

_DECIMAL_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[,:;'/](?=\d)")
# A private-use character replaces the decimal point while punctuation is removed.
_POINT = "\ue000"
_WITHOUT_PUNCTUATION = CharTable(lambda char: "" if char == "\u2030" else remove_punctuation(char))
_SPACED_PUNCTUATION = CharTable(lambda char: _WITHOUT_PUNCTUATION[ord(char)] or " ")


def normalise_answer(text: str) -> str:
    """Fold width and case; drop articles and punctuation, but for signs and the point between digits."""
    return _normalise(text, lambda folded: folded.translate(_WITHOUT_PUNCTUATION))


def same_value(one: AnswerText, other: AnswerText) -> bool:
    """Return whether two answers, at least one of them a number or a boolean, have the same value in JSON."""
    return values.same_value(one, other, reads_words=False)


def contained(output: str, gold: str) -> bool:
    """Return whether the normalised gold answer occurs in the normalised output as complete words."""
    return any(_has_words(normal(output), normal(gold)) for normal in (normalise_answer, _normalise_words))


def _normalise_words(text: str) -> str:
    return _normalise(text, lambda folded: _BETWEEN_DIGITS.sub("", folded).translate(_SPACED_PUNCTUATION))


def _normalise(text: str, strip: Callable[[str], str]) -> str:
    folded = fold_answer(text)
    words = strip(_DECIMAL_POINT.sub(_POINT, folded)).replace(_POINT, ".").split() or folded.split()
    return " ".join([word for word in words if word not in ARTICLES] or words)


def _has_words(text: str, words: str) -> bool:
    return f" {part_unspaced(words)} " in f" {part_unspaced(text)} " if words else not text

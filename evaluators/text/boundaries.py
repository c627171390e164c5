"""Where a word or a number begins and ends in a text of any script."""

from __future__ import annotations

import re
import unicodedata

from evaluators.text.tokens import is_unspaced

_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_APOSTROPHES = "'\u2019"
_AFTER_NUMBER = re.compile(r"[.,:/'\u2019]\d")
_BEFORE_NUMBER = re.compile(r"(?:\d[.,:/'\u2019]|(?<![\w.])\.|(?<![\w)\]])[-\u2212])\Z")
_SYMBOL = re.compile(r"(?:#|\++)(?!\w)")
_NOT = re.compile(r"['\u2019]t(?!\w)", re.IGNORECASE)


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether a place holds whole words: not "cat" in "concatenate", 12 in 2012, 5 in 1.5, or C in C++.

    Scripts without spaces between words, and Korean, whose particles follow the word, have no such boundaries. A unit
    may follow a number directly: 12 is in "12km".
    """
    return _begins(text, start, text[start:end]) and _ends(text, end)


def _begins(text: str, start: int, words: str) -> bool:
    if not start or not words:
        return True
    left, right = text[start - 1], text[start]
    if unicodedata.category(right)[0] == "M":
        return False
    if right.isdigit() and _BEFORE_NUMBER.search(text[max(0, start - 3) : start]):
        return False
    if left in _APOSTROPHES and words.casefold() in _CLITICS and text[max(0, start - 2)].isalnum():
        return False
    return not (_is_part(left) and _is_part(right))


def _ends(text: str, end: int) -> bool:
    if not end or end == len(text):
        return True
    left, right = text[end - 1], text[end]
    if unicodedata.category(right)[0] == "M":
        return False
    if left.isdigit():
        return not (right.isdigit() or _AFTER_NUMBER.match(text, end))
    if left.isalpha() and (_SYMBOL.match(text, end) or _NOT.match(text, end)):
        return False
    return not (_is_part(left) and _is_part(right))


def _is_part(char: str) -> bool:
    is_joined = char.isalnum() or unicodedata.category(char)[0] == "M"
    return is_joined and not is_unspaced(char) and not unicodedata.name(char, "").startswith("HANGUL")

"""Refuse text that a model of English cannot read."""

from __future__ import annotations

import unicodedata
from collections import Counter

from evaluators.base import CannotScore

MIN_LATIN_SHARE = 0.5


def require_latin(text: str, what: str) -> None:
    """Raise CannotScore("unsupported_language") for text mostly not in Latin letters; `what` names it: `The output`.

    Text without letters passes.
    """
    if text.isascii():
        return
    letters = Counter(filter(str.isalpha, text))
    foreign = sum(count for char, count in letters.items() if not _is_latin(char))
    if foreign > (1 - MIN_LATIN_SHARE) * letters.total():
        raise CannotScore(
            "unsupported_language", f"{what} is mostly not in Latin letters, and this evaluator reads English."
        )


def _is_latin(char: str) -> bool:
    # Width and styled forms (fullwidth, mathematical) name Latin letters only after folding.
    return "LATIN" in unicodedata.name(unicodedata.normalize("NFKC", char)[0], "")

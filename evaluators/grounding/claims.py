"""Numbers and names that a text claims, and the words that a negation reaches."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from evaluators.base import Span
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, NUMBER_WORDS, word_set

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# "One" is mostly no number.
_SPELLED_WORDS = [word for word in NUMBER_WORDS if word not in ("zero", "one")]
_FIRST_LETTERS = "".join(sorted({word[0] for word in _SPELLED_WORDS}))
# Parts of "twenty-five" are other numbers than it. The first letter comes first, before what it may not follow: so the
# search jumps from letter to letter, and takes a fifth of the time.
_SPELLED = re.compile(
    rf"[{_FIRST_LETTERS}{_FIRST_LETTERS.upper()}](?<![\w-].)"
    rf"(?i:{'|'.join(f'(?<={word[0]}){word[1:]}' for word in _SPELLED_WORDS)})(?![\w-])",
    re.ASCII,
)
_WORD = re.compile(r"\w+")
_NEGATIONS = word_set(
    """
    not no never none nobody nothing neither nor without cannot cant dont didnt doesnt isnt wasnt arent werent wont
    """
)
# "don't" is two words once split at the apostrophe.
_BEFORE_T = word_set("don didn doesn isn wasn aren weren won can couldn wouldn shouldn hasn haven hadn ain")
MAY_NEGATE = _NEGATIONS | {"t"}
_NOT_REALLY = frozenset({"only", "just", "merely", "least", "doubt"})
_NO_NAMES = FUNCTION_WORDS | INTERJECTIONS
REACH = 3
"""Words after a negation that it is taken to speak of."""


def find_numbers(text: str, span: Span) -> list[tuple[Span, str]]:
    """Find the numbers within a span, each with a plain form: `1,000.50` is `1000.5`, `08` is `8`, `fifty` is `50`."""
    numbers = [(match.span(), _plain(match[0])) for match in _NUMBER.finditer(text, *span)]
    return sorted(
        [*numbers, *((match.span(), NUMBER_WORDS[match[0].lower()]) for match in _SPELLED.finditer(text, *span))]
    )


def _plain(number: str) -> str:
    digits = number if number.isascii() else "".join(_digit(char) for char in number)
    integer, _, fraction = digits.replace(",", "").partition(".")
    integer, fraction = integer.lstrip("0") or "0", fraction.rstrip("0")
    return f"{integer}.{fraction}" if fraction else integer


def _digit(char: str) -> str:
    value = unicodedata.digit(char, -1)
    return str(value) if value >= 0 else char


def find_names(text: str, span: Span) -> list[tuple[Span, str]]:
    """Find words within a span, other than its first, that begin with a capital; each with its lower-case form."""
    words = list(_WORD.finditer(text, *span))
    return [
        ((word.start(), word.end()), word[0].lower())
        for word in words[1:]
        if word[0][0].isupper() and word[0].lower() not in _NO_NAMES
    ]


def negated(words: Sequence[str]) -> list[bool]:
    """Return for each word whether there is a negation within the REACH words before it."""
    flags = [False] * len(words)
    if MAY_NEGATE.isdisjoint(words):
        return flags
    for index, word in enumerate(words):
        if word in MAY_NEGATE and _is_negation(words, index, word):
            for place in range(index + 1, min(index + 1 + REACH, len(words))):
                flags[place] = True
    return flags


def _is_negation(words: Sequence[str], index: int, word: str) -> bool:
    if word == "t":
        return index > 0 and words[index - 1] in _BEFORE_T
    # An answer's opening "No, ..." denies the question, not the words that follow.
    opens = word == "no" and index == 0
    return not opens and not (index + 1 < len(words) and words[index + 1] in _NOT_REALLY)

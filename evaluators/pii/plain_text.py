"""A text as the recognisers read it: without what only dresses it, and with the letters of other scripts set aside."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluators.base import Span
from evaluators.pii.entities import plain
from evaluators.text.table import CharTable
from evaluators.text.unmarked import in_latin

MASK = "\u00b7"
"""Stands for a letter of another script: no word character, so what stands beside it begins or ends there."""

# Shown as nothing: soft hyphens, joiners, marks of direction, fillers, variation selectors, and a keycap's frame.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u20e3\u3164"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_INVISIBLE_OR_MARK = re.compile(f"{_INVISIBLE.pattern}|[*_~`]")
# Emphasis opens before a word and closes behind one; "12*12" and "first_name" have none.
_EMPHASIS = re.compile(r"(?<![^\W_])(?<![*_~`])[*_~`]{1,3}(?=[^\s*_~`])|(?<=[^\s*_~`])[*_~`]{1,3}(?![^\W_]|[*_~`])")
# Next to a mask, the surrounding characters cannot show whether an underscore marks emphasis.
_BESIDE_MASK = re.compile(f"(?<={MASK})_+|_+(?={MASK})")


@dataclass(frozen=True)
class PlainText:
    """One text in three variants of the same length, character by character.

    `words` has digits, dashes, spaces and full-width forms in ASCII. `places` maps each of its characters to a position
    in the text; None if nothing was removed.
    """

    words: str
    places: Sequence[int] | None = None

    @cached_property
    def digits(self) -> str:
        """Return `words` with the letters of other scripts masked, as they can be directly adjacent to a number."""
        if self.words.isascii():
            return self.words
        return _BESIDE_MASK.sub(lambda found: " " * len(found[0]), self.words.translate(_MASKED))

    @cached_property
    def labels(self) -> str:
        """Return `words` with low lines as spaces: "phone_number" announces a number, too."""
        return self.words.replace("_", " ")

    def place(self, span: Span) -> Span:
        """Convert a span of this reading to a span of the text."""
        start, end = span
        return span if self.places is None else (self.places[start], self.places[end - 1] + 1)

    def find(self, span: Span) -> Span:
        """Convert a span of the text to a span of this reading; the inverse of `place`."""
        start, end = span
        return span if self.places is None else (bisect_left(self.places, start), bisect_left(self.places, end))


def read(text: str) -> PlainText:
    """Leave out what is not seen and what only emphasises, and spell the rest plainly."""
    places: Sequence[int] | None = None
    if _INVISIBLE_OR_MARK.search(text):
        for pattern in (_INVISIBLE, _EMPHASIS):
            text, places = _remove_pattern(text, places, pattern)
    return PlainText(in_latin(plain(text)).replace("\t", " "), places)


def _remove_pattern(
    text: str, places: Sequence[int] | None, pattern: re.Pattern[str]
) -> tuple[str, Sequence[int] | None]:
    cuts = [match.span() for match in pattern.finditer(text)]
    if not cuts:
        return text, places
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    indexes = [index for start, end in zip(starts, ends, strict=True) for index in range(start, end)]
    bare = "".join(text[start:end] for start, end in zip(starts, ends, strict=True))
    return bare, indexes if places is None else [places[index] for index in indexes]


def _masked_char(char: str) -> str:
    if char.isascii() or not (char.isalpha() or unicodedata.category(char)[0] == "M"):
        return char
    return char if "LATIN" in unicodedata.name(char, "") else MASK


_MASKED = CharTable(_masked_char)

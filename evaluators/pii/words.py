"""Split a text into words and compute hashed features of their form and neighbours, without a dictionary of names."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

from evaluators.base import Span

N_FEATURES = 1 << 15

_WORD = re.compile(r"[^\W_]+")
# A word that is longer than this is none.
_LONGEST = 30


def find_words(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Return the spans of runs of letters and digits in a part of the text, as offsets into the complete text."""
    return [match.span() for match in _WORD.finditer(text, start, len(text) if end is None else end)]


def compute_features(text: str, words: Sequence[Span]) -> list[list[int]]:
    """Return each word's features as numbers below N_FEATURES; `words` are neighbours in one stretch of the text."""
    cased = any(text[start : start + _LONGEST] != text[start : start + _LONGEST].lower() for start, _ in words)
    forms = [_Form(text, span, cased) for span in words]
    return [[_number(name) for name in _names(forms, index)] for index in range(len(forms))]


class _Form:
    """How a word looks: itself in lower case, its shape, and the characters around it."""

    __slots__ = ("after", "before", "lower", "shape")

    def __init__(self, text: str, span: Span, cased: bool) -> None:
        start, end = span
        word = text[start : min(end, start + _LONGEST)]
        self.lower = word.lower()
        self.shape = _shape(word) if cased else "caseless " + _shape(word)
        self.before = _kind(text[max(start - 2, 0) : start])
        self.after = _kind(text[end : end + 2])


def _names(forms: Sequence[_Form], index: int) -> Iterator[str]:
    def form_at(offset: int) -> _Form:
        place = index + offset
        return forms[place] if 0 <= place < len(forms) else _EDGE

    this, before, after = form_at(0), form_at(-1), form_at(1)
    yield "bias"
    yield f"w={this.lower}"
    yield f"s={this.shape}"
    yield f"s={this.shape} l={min(len(this.lower), 12)}"
    for size in (2, 3, 4):
        yield f"p{size}={this.lower[:size]}"
        yield f"e{size}={this.lower[-size:]}"
    yield f"b={this.before} s={this.shape}"
    yield f"a={this.after} s={this.shape}"
    yield f"w-1={before.lower} s={this.shape}"
    yield f"w+1={after.lower} s={this.shape}"
    yield f"w-2={form_at(-2).lower} {before.lower}"
    yield f"w+2={after.lower} {form_at(2).lower}"
    yield f"s-1={before.shape} b={this.before} s={this.shape}"
    yield f"s+1={after.shape} a={this.after} s={this.shape}"
    yield f"s-1s+1={before.shape} {this.shape} {after.shape}"
    yield f"e-1={before.lower[-3:]} s={this.shape}"
    yield f"e+1={after.lower[-3:]} s={this.shape}"


def _shape(word: str) -> str:
    if any(map(str.isdigit, word)):
        return "digits" if word.isdigit() else "mixed"
    if word.isupper():
        return "X" if len(word) == 1 else "XX"
    if word.islower():
        return "x"
    if word[:1].isupper():
        return "Xx" if word[1:].islower() else "XxX"
    return "other"


def _kind(between: str) -> str:
    """Classify the text next to a word, so that a capital at the start of a sentence is not taken for a name."""
    bare = between.strip(" ")
    if not between:
        return "edge"
    if not bare:
        return "space"
    return "line" if bare in "\r\n" else bare[:1] if bare.isascii() else "sign"


def _number(name: str) -> int:
    # `hash` differs from process to process.
    return zlib.crc32(name.encode("utf-8", "replace")) % N_FEATURES


_EDGE = _Form(" ", (0, 0), cased=True)

"""Check whether a quote occurs in the data: a cheap test of whether the judge has read them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain

from evaluators.base import Span
from evaluators.grounding.sentences import split_sentences
from evaluators.text.tokens import UnicodeTokenizer

LEAST_WORDS = 3
"""Of a quote that is not the whole text or sentence: fewer stand in many texts. Characters of unspaced scripts count as
words."""
_MAX_SHORT_CHARS = 200
LEAST_BYTES = 3
"""Of a quote's letters and digits: fewer stand in every text. One Chinese character has as many."""
_marks = re.compile(r"[\W_]+")
_cuts = re.compile(r"\[?(?:\.\.\.|…)\]?")
_digits = re.compile(r"\d")
_runs = re.compile(r"[^\W_]+")
_tokenizer = UnicodeTokenizer()


class Quotable:
    """The texts that a judge may quote; `holds` checks a quote against them.

    Strictly, everything except spaces must match. `loosely` tolerates what models change when they copy: case, the
    forms of quotation marks, dashes and digits, and omissions that the quote marks with dots. A quote of fewer words
    than `least_words`, one after the other, counts only as a whole text or sentence.
    """

    def __init__(self, texts: Sequence[str], *, loosely: bool = False, least_words: int = 0) -> None:
        """Take the data as they were shown."""
        self._loosely = loosely
        self._texts = tuple(map(_fold if loosely else _squeeze, texts))
        self._originals = texts
        self._least_words = least_words

    def holds(self, quote: str) -> bool:
        """Return whether one of the texts contains the quote; an empty or too short quote does not count."""
        return self._contains(quote) and not self._is_short(quote)

    def is_too_short(self, quote: str) -> bool:
        """Return whether a quote stands in the texts, but has too few words to count."""
        return self._contains(quote) and self._is_short(quote)

    def _is_short(self, quote: str) -> bool:
        n_words = max(len(_tokenizer.tokenize(part)) for part in _cuts.split(quote))
        return n_words < self._least_words and tuple(_tokenizer.tokenize(quote)) not in self._short_passages

    @cached_property
    def _short_passages(self) -> set[tuple[str, ...]]:
        sentences = (text[slice(*span)] for text in self._originals for span in split_sentences(text))
        passages = (passage for passage in chain(self._originals, sentences) if len(passage) <= _MAX_SHORT_CHARS)
        return {tuple(_tokenizer.tokenize(passage)) for passage in passages}

    def _contains(self, quote: str) -> bool:
        if self._loosely:
            parts = [_fold(part) for part in _cuts.split(quote)]
            return _are_long(parts) and any(_has_order(parts, text) for text in self._texts)
        squeezed = _squeeze(quote)
        return bool(squeezed) and any(squeezed in text for text in self._texts)


def locate(quote: str, text: str) -> Span | None:
    """Return the span of the first exact occurrence of the quote in the text, or None."""
    return next(occurrences(quote, text), None)


def occurrences(quote: str, text: str) -> Iterator[Span]:
    """Yield the spans of the quote's exact, non-overlapping occurrences in the text; none for an empty quote."""
    needle = quote.strip()
    start = text.find(needle) if needle else -1
    while start >= 0:
        yield start, start + len(needle)
        start = text.find(needle, start + len(needle))


class Passages:
    """Locate passages in a text regardless of case and of the marks and spaces between letters and digits."""

    def __init__(self, text: str) -> None:
        """Read the text once, for any number of passages."""
        matches = list(_runs.finditer(_plain_digits(text)))
        runs = [_lower(run[0]) for run in matches]
        self._starts = [run.start() for run in matches]
        self._offsets = [0, *accumulate(map(len, runs))]
        self._joined = "".join(runs)

    def find(self, passage: str) -> Iterator[Span]:
        """Yield the spans of the passage. A match does not start or end inside a word or number of ASCII characters."""
        needle = "".join(map(_lower, _runs.findall(_plain_digits(passage))))
        start = self._joined.find(needle) if needle else -1
        while start >= 0:
            end = start + len(needle)
            if not self._continues(start) and not self._continues(end):
                yield self._place(start), self._place(end - 1) + 1
            start = self._joined.find(needle, end)

    def _place(self, index: int) -> int:
        run = bisect_right(self._offsets, index) - 1
        return self._starts[run] + index - self._offsets[run]

    def _continues(self, index: int) -> bool:
        """Return whether a word or a number goes on from the character before the index."""
        if index in (0, len(self._joined)) or self._place(index) != self._place(index - 1) + 1:
            return False
        before, after = self._joined[index - 1], self._joined[index]
        return before.isascii() and after.isascii() and before.isdigit() == after.isdigit()


def _lower(run: str) -> str:
    lowered = run.lower()
    return lowered if len(lowered) == len(run) else run


def _plain_digits(text: str) -> str:
    """Convert the digits of all scripts to 0 to 9; the length of the text does not change."""
    return text if text.isascii() else _digits.sub(lambda found: str(unicodedata.digit(found[0])), text)


def _are_long(parts: Sequence[str]) -> bool:
    """Return whether the parts together are long enough to tell."""
    return len("".join(parts).replace(" ", "").encode("utf-8", "replace")) >= LEAST_BYTES


def _has_order(parts: Sequence[str], text: str) -> bool:
    start = 0
    for part in parts:
        start = text.find(part, start)
        if start < 0:
            return False
        start += len(part)
    return True


def _fold(text: str) -> str:
    normalized = _plain_digits(unicodedata.normalize("NFKC", text).casefold())
    return _marks.sub(" ", normalized).strip()


def _squeeze(text: str) -> str:
    return " ".join(text.split())

"""Passages of a text: an insult is not diluted by the long polite answer around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evaluators.base import Span
from evaluators.grounding.sentences import split_sentences

WINDOW_CHARS = 280
MAX_WINDOWS = 2_500
MAX_SENTENCES = 5_000
SENTENCE_CHARS = range(8, WINDOW_CHARS)
"""A shorter sentence says too little by itself, and a longer one is read in windows anyway."""
MAX_WORD = 40
MAX_READ = 48
"""Windows of a text that the sentence model reads, some 25 milliseconds each."""


def windows_of(text: str) -> Iterator[Span]:
    """Cut into windows that overlap by half; longer texts get longer windows, never more than MAX_WINDOWS of them."""
    size = max(WINDOW_CHARS, math.ceil(2 * len(text) / MAX_WINDOWS))
    step = size // 2
    for start in range(0, max(len(text) - size + step, 1), step):
        yield _at_spaces(text, start, min(start + size, len(text)))


def windows_and_sentences(text: str) -> list[Span]:
    """Cut into windows, and add the sentences: even a window's other sentences can hide an insult among them.

    Of more than MAX_SENTENCES, some spread evenly. A text of one sentence is its windows.
    """
    sentences = [span for span in split_sentences(text) if span[1] - span[0] in SENTENCE_CHARS]
    windows = list(windows_of(text))
    if len(sentences) < 2 and len(windows) < 2:
        return windows
    step = math.ceil(max(len(sentences), 1) / MAX_SENTENCES)
    return [*windows, *sentences[::step]]


def worth_reading(chances: Sequence[float]) -> list[int]:
    """Choose the windows for the sentence model: all of few, else the worst by their words and some spread evenly."""
    if len(chances) <= MAX_READ:
        return list(range(len(chances)))
    half = MAX_READ // 2
    worst = sorted(range(len(chances)), key=lambda index: -chances[index])[:half]
    spread = (place * (len(chances) - 1) // (half - 1) for place in range(half))
    return sorted({*worst, *spread})


def _at_spaces(text: str, start: int, end: int) -> Span:
    """Move a window's ends back to a space near by: half a word can be an insult that nobody wrote."""
    return _space_before(text, start), end if end == len(text) else _space_before(text, end)


def _space_before(text: str, index: int) -> int:
    for place in range(index, max(index - MAX_WORD, 0), -1):
        if text[place - 1].isspace():
            return place
    return 0 if index <= MAX_WORD else index

"""Passages of a text: an insult is not diluted by the long polite answer around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evaluators.base import Span
from evaluators.grounding.sentences import split_sentences

WINDOW_CHARS = 280
MAX_WINDOWS = 2_500
MAX_SENTENCES = 5_000
SHORTEST_SENTENCE = 8
"""Characters below which a sentence says too little by itself."""
MAX_WORD = 40
MAX_READ = 48
"""Passages of a text that the sentence model reads, some 5 to 25 milliseconds each."""


def split_windows(text: str, span: Span | None = None) -> Iterator[Span]:
    """Cut into windows that overlap by half; longer texts get longer windows, never more than MAX_WINDOWS of them."""
    first, last = span or (0, len(text))
    size = max(WINDOW_CHARS, math.ceil(2 * (last - first) / MAX_WINDOWS))
    step = size // 2
    for start in range(first, max(last - size + step, first + 1), step):
        yield _trim_to_spaces(text, start, min(start + size, last), (first, last))


def split_passages(text: str) -> list[Span]:
    """Split into sentences: a window's other sentences can hide an insult. Each word is read once.

    A short sentence is joined with the next one, and a long one is split into windows; a text of one sentence is split
    into windows. Beyond MAX_SENTENCES, an evenly spaced selection is read, in addition to windows over the complete
    text.
    """
    sentences = _join_sentences(split_sentences(text))
    if len(sentences) < 2:
        return list(split_windows(text))
    if len(sentences) > MAX_SENTENCES:
        return [*split_windows(text), *sentences[:: math.ceil(len(sentences) / MAX_SENTENCES)]]
    return [passage for sentence in sentences for passage in split_windows(text, sentence)]


def _join_sentences(sentences: Sequence[Span]) -> list[Span]:
    """Join what is shorter than a sentence to the next one, and at the end to the one before."""
    spans: list[Span] = []
    start = None
    for sentence in sentences:
        start = sentence[0] if start is None else start
        if sentence[1] - start >= SHORTEST_SENTENCE:
            spans.append((start, sentence[1]))
            start = None
    if start is not None:
        spans[-1:] = [(spans[-1][0] if spans else start, sentences[-1][1])]
    return spans


def worth_reading(chances: Sequence[float], most: int = MAX_READ) -> list[int]:
    """Choose the windows for the sentence model: all of few, else the worst by their words and some spread evenly."""
    if len(chances) <= most:
        return list(range(len(chances)))
    half = most // 2
    worst = sorted(range(len(chances)), key=lambda index: -chances[index])[:half]
    indexes = (place * (len(chances) - 1) // (half - 1) for place in range(half))
    return sorted({*worst, *indexes})


def _trim_to_spaces(text: str, start: int, end: int, within: Span) -> Span:
    """Move a window's bounds back to a nearby space, since half a word can be an insult by accident."""
    first, last = within
    return _space_before(text, start, first), end if end == last else _space_before(text, end, first)


def _space_before(text: str, index: int, first: int) -> int:
    for place in range(index, max(index - MAX_WORD, first), -1):
        if text[place - 1].isspace():
            return place
    return first if index <= first + MAX_WORD else index

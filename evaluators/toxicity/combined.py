"""Combine sentences and windows: a sentence cannot hide an insult, and a window provides a sentence's context."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evaluators.base import Span
from evaluators.text.unmarked import unmarked
from evaluators.toxicity.groups import get_harmless_logit, replace_group_names
from evaluators.toxicity.models import meaning_logits, word_logits
from evaluators.toxicity.senses import replace_harmless_senses
from evaluators.toxicity.windows import (
    MAX_READ,
    SHORTEST_SENTENCE,
    WINDOW_CHARS,
    split_passages,
    split_windows,
    worth_reading,
)

MAX_WINDOWS_READ = 24
"""Windows that the sentence model reads besides sentences, some 25 milliseconds each."""
READ_WHOLE = 4
"""Sentences that the sentence model reads with all layers, if names are excused: the worst after half of them."""
WINDOWS_AROUND = 2
"""Windows around these that it reads then, beside the worst by words."""
PER_DOUBLING = 0.1
"""What is taken off for each doubling of a text's length: the worst of many harmless passages looks worse."""
ALONE = 0.75
"""What is taken off a sentence that decides by itself, whatever it stands in."""
# Text after a colon might be a quotation of another speaker.
_ANNOUNCED = re.compile(r"(?<=\w): (?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class CombinedReading:
    """Logits of being offensive: of the whole, of its worst sentence by each model, of sentences and of windows."""

    logit: float
    by_words: float
    by_meaning: float
    by_sentences: float
    by_windows: float
    span: Span
    n_passages: int
    n_read: int


@dataclass(frozen=True, slots=True)
class _Passage:
    span: Span
    words: float
    meaning: float

    @property
    def logit(self) -> float:
        return (self.words + self.meaning) / 2


def read_both_ways(text: str, *, excuses_names: bool = False) -> CombinedReading:
    """Read a text as sentences and as windows; `span` is its worst sentence.

    The mean of both counts, less a little in long texts, or the worst sentence alone where that is much worse. With
    `excuses_names`, a passage that is offensive only for the name of a group is read without that name; it is newer,
    and reads fewer passages with all layers.
    """
    sentences, windows = split_passages(text), _side_by_side(text)
    spans = [*sentences, *_split_at_colons(text, sentences)]
    read, n_read = _read(text, spans, MAX_READ, excuses_names=excuses_names)
    worst = max(read, key=lambda passage: passage.logit)
    # A text of one sentence is its windows, and the same both ways.
    is_same = set(windows) <= set(sentences)
    if not is_same:
        windows = _choose_windows(text, windows, read) if excuses_names else windows
        read, _ = _read(text, windows, MAX_WINDOWS_READ, excuses_names=excuses_names)
    by_windows = max(passage.logit for passage in read)
    together = (worst.logit + by_windows) / 2 - PER_DOUBLING * math.log2(max(1.0, len(text) / WINDOW_CHARS))
    return CombinedReading(
        max(together, worst.logit - ALONE),
        worst.words,
        worst.meaning,
        worst.logit,
        by_windows,
        worst.span,
        len(sentences),
        n_read,
    )


def _side_by_side(text: str) -> list[Span]:
    # The sentences see to what an edge cuts; windows that overlap cost twice as much and found no more.
    windows = list(split_windows(text))
    return [*windows[:-1:2], windows[-1]]


def _split_at_colons(text: str, sentences: Sequence[Span]) -> list[Span]:
    """Return the text after an announcing clause: "An example for the course: ..." is just as rude without it."""
    matches = ((_ANNOUNCED.search(text, start, end), end) for start, end in sentences)
    return [(colon.end(), end) for colon, end in matches if colon and end - colon.end() >= SHORTEST_SENTENCE]


def _choose_windows(text: str, windows: Sequence[Span], read: Sequence[_Passage]) -> list[Span]:
    """Return the windows around the worst sentences, and the worst window by its words."""
    worst = sorted(read, key=lambda passage: -passage.logit)
    around = [
        window for start, end in (passage.span for passage in worst) for window in windows if _meet(window, start, end)
    ]
    words = word_logits([unmarked(text[start:end]) for start, end in windows])
    by_words = windows[max(range(len(windows)), key=words.__getitem__)]
    return list(dict.fromkeys([*list(dict.fromkeys(around))[:WINDOWS_AROUND], by_words]))


def _meet(window: Span, start: int, end: int) -> bool:
    return window[0] < end and start < window[1]


def _read(text: str, spans: Sequence[Span], most: int, *, excuses_names: bool) -> tuple[list[_Passage], int]:
    """Return the passages that were read with all layers, and how many were read at all."""
    passages = [unmarked(text[start:end]) for start, end in spans]
    words = word_logits(passages)
    indexes = worth_reading(words, most)
    n_read = len(indexes)
    if excuses_names and n_read > READ_WHOLE:
        early = meaning_logits([passages[index] for index in indexes], is_early=True)
        logits = {index: words[index] + logit for index, logit in zip(indexes, early, strict=True)}
        indexes = sorted(indexes, key=lambda index: -logits[index])[:READ_WHOLE]
    meanings = meaning_logits([passages[index] for index in indexes])
    read = [_Passage(spans[index], words[index], meaning) for index, meaning in zip(indexes, meanings, strict=True)]
    return ([_excuse(text, passage) for passage in read] if excuses_names else read), n_read


def _excuse(text: str, passage: _Passage) -> _Passage:
    """Return an offensive passage without names of groups and words in harmless senses, if it is harmless then."""
    if passage.logit <= 0:
        return passage
    plain = unmarked(text[slice(*passage.span)])
    sensible = replace_harmless_senses(plain)
    replaced = replace_group_names(sensible or plain) or sensible
    if replaced is None:
        return passage
    other = _Passage(passage.span, word_logits([replaced])[0], float(meaning_logits([replaced])[0]))
    return other if other.logit < get_harmless_logit(plain) else passage

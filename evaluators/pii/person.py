"""People's names: each word's chance of being part of one, from its looks, its neighbours and MiniLM's view of it.

The head is a logistic regression over hashed features and the 384 numbers of a word's mean word piece. It is made by
training/person.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.base import Span
from evaluators.minilm import SIZE, embed_tokens
from evaluators.pii.entities import overlaps
from evaluators.pii.words import N_FEATURES, compute_features, find_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADS = Path(__file__).parents[1] / "heads"
BY_ORIGIN, FORMER = "person-origins", "person"
"""The heads since 2026-11-28, which was also trained on names of many origins, and of before."""
THRESHOLD = 0.5
"""A name needs a word of this chance."""
BESIDE = {FORMER: 0.3, BY_ORIGIN: 0.17}
"""A word next to such a word belongs to the name from this chance on; 0.3 less what is taken off the newer logits."""
WINDOW_CHARS = 480
"""What is read at once: short of what the model reads of a text."""
MAX_WINDOWS = 96
"""Windows of one text that are read, some 20 milliseconds each; the first ones that hold a capital letter."""

_BETWEEN = re.compile(r"[ \t.'\u2019-]{1,2}")
_EMPTY_LINES = re.compile(r"\n[ \t]*\n")
_CUT = re.compile(r"\n|[.!?][\"')]?\s|\s")
# Forms of address, which are not part of the name.
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "madam", "doctor"})
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class NameHead:
    """Weights of the hashed features, and of a word's vector."""

    looks: NDArray[np.float32]
    sense: NDArray[np.float32]

    def chances(self, features: Sequence[Sequence[int]], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return each word's chance of being part of a person's name."""
        import numpy as np

        looks = np.array([self.looks[list(numbers)].sum() for numbers in features], np.float32)
        # Sums of products instead of `@`: a word's probability must not depend on the batch size.
        logits = looks + (vectors * self.sense).sum(axis=1)
        return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), np.float32)


def find_persons(
    text: str, taken: Sequence[Span] = (), *, blocks_apart: bool = False, head: str = BY_ORIGIN
) -> tuple[list[Span], int]:
    """Return the spans of names, none of them inside `taken`, and the number of characters that were read.

    With `blocks_apart`, blocks separated by blank lines are read separately: text above a name does not hide it.
    """
    windows = list(_windows_to_read(text, blocks_apart=blocks_apart))
    spans: list[Span] = []
    for start, end in windows:
        words = [word for word in find_words(text, start, end) if not overlaps(taken, *word)]
        if words:
            chances = word_chances(text, (start, end), words, head)
            spans += _names(text, words, chances, BESIDE[head])
    return spans, sum(end - start for start, end in windows)


def word_chances(text: str, window: Span, words: Sequence[Span], head: str = BY_ORIGIN) -> NDArray[np.float32]:
    """Return the chance of each of a window's words to be part of a person's name."""
    return load_head(head).chances(compute_features(text, words), word_vectors(text, window, words))


def word_vectors(text: str, window: Span, words: Sequence[Span]) -> NDArray[np.float32]:
    """Return the mean of each word's word pieces, zero where the model did not read it."""
    import numpy as np

    start, end = window
    (pieces,) = embed_tokens([text[start:end]])
    vectors = np.zeros((len(words), SIZE), np.float32)
    counts = np.zeros((len(words), 1), np.float32)
    ends = np.array([word_end for _, word_end in words])
    index = np.searchsorted([word_start for word_start, _ in words], pieces.offsets[:, 0] + start, side="right") - 1
    is_inside = (index >= 0) & (pieces.offsets[:, 0] + start < ends[index])
    np.add.at(vectors, index[is_inside], pieces.states[is_inside])
    np.add.at(counts, index[is_inside], 1)
    vectors /= np.maximum(counts, 1)
    return vectors


def name_windows(text: str) -> Iterator[Span]:
    """Cut a text into windows at a line's or sentence's end, or else between words."""
    start = 0
    while len(text) - start > WINDOW_CHARS:
        end = _cut(text, start)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _cut(text: str, start: int) -> int:
    best = (0, start + WINDOW_CHARS)
    for match in _CUT.finditer(text, start + 1, start + WINDOW_CHARS):
        rank = 2 if match[0] != " " else 1
        best = max(best, (rank, match.end())) if rank >= best[0] else best
    return best[1]


def _windows_to_read(text: str, *, blocks_apart: bool) -> Iterator[Span]:
    windows = list(_windows_of_blocks(text) if blocks_apart else name_windows(text))
    if len(windows) > MAX_WINDOWS:
        windows = [(start, end) for start, end in windows if any(map(str.isupper, text[start:end]))]
    yield from windows[:MAX_WINDOWS]


def _windows_of_blocks(text: str) -> Iterator[Span]:
    starts = [0, *(match.end() for match in _EMPTY_LINES.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if text[start:end].strip():
            yield from ((start + first, start + last) for first, last in name_windows(text[start:end]))


def _names(text: str, words: Sequence[Span], chances: NDArray[np.float32], beside: float) -> Iterator[Span]:
    """Join adjacent words that could belong to a name into names with at least one likely word."""
    run: list[int] = []
    for index in range(len(words) + 1):
        goes_on = index < len(words) and chances[index] >= beside and not _is_title(text, words[index])
        apart = run and index < len(words) and not _BETWEEN.fullmatch(text, words[run[-1]][1], words[index][0])
        if run and (apart or not goes_on):
            if max(chances[place] for place in run) >= THRESHOLD:
                yield words[run[0]][0], words[run[-1]][1]
            run = []
        if goes_on:
            run.append(index)


def _is_title(text: str, word: Span) -> bool:
    start, end = word
    return end - start < 10 and text[start:end].lower() in _TITLES


def load_head(name: str) -> NameHead:
    """Return a shipped head, which is read once."""
    with _loading:
        return _load(name)


@cache
def _load(name: str) -> NameHead:
    import numpy as np

    with np.load(HEADS / f"{name}.npz", allow_pickle=False) as archive:
        looks, sense = archive["looks"].astype(np.float32), archive["sense"].astype(np.float32)
    if looks.shape != (N_FEATURES,) or sense.shape != (SIZE,):
        raise ValueError(f"{name} is not of this version")
    return NameHead(looks, sense)

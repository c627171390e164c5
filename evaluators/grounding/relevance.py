"""How near texts are to a question: the small model's cosine, and the share of the question's words they have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluators.base import Span
from evaluators.grounding.support import content_stems
from evaluators.grounding.words import Stems, split_words

WINDOW_TOKENS = 200
WINDOW_OVERLAP = 50
MAX_WINDOWS = 32
"""Windows that the model reads for one sample. Of more, those that have most of the question's words are read."""
MAX_QUESTION_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near one window is to the question. `index` is that of its text, `span` its place there."""

    index: int
    span: Span
    cosine: float
    coverage: float

    def value(self, weight: float) -> float:
        """Weigh the cosine as 1 and the coverage as `weight`; between 0 and 1."""
        return (self.cosine + weight * self.coverage) / (1 + weight)


@dataclass(frozen=True, slots=True)
class Nearest:
    """The windows that the model has read, and how many there were."""

    windows: tuple[Nearness, ...]
    n_windows: int


def has_words(text: str) -> bool:
    """Return whether a text has a letter or digit at all."""
    return any(map(str.isalnum, text))


def measure_nearness(
    question: str, texts: Sequence[str], *, tokens: int = WINDOW_TOKENS, overlap: int = WINDOW_OVERLAP
) -> Nearest:
    """Measure every window of the texts against the question, in one batch of the small model.

    The order of the texts changes no number. Texts without words have no windows. Raises what the model raises
    (CannotScore) when it is not installed.
    """
    from evaluators.minilm import embed, windows

    question_text = question[:MAX_QUESTION_CHARS]
    places = [
        (index, span)
        for index, text in enumerate(texts)
        if has_words(text)
        for span in windows(text, tokens=tokens, overlap=overlap)
    ]
    stems = Stems()
    question_stems = content_stems(split_words(question_text), stems)
    covered = [(index, span, _coverage(texts[index][slice(*span)], question_stems, stems)) for index, span in places]
    candidates = _choose_windows(covered, texts)
    vectors = embed([question_text, *(texts[index][slice(*span)] for index, span, _ in candidates)])
    nearest = [
        # Summed with fsum instead of a matrix product, whose last bits can depend on the batch.
        Nearness(index, span, _clamped(math.fsum((vectors[0] * vector).tolist())), coverage)
        for (index, span, coverage), vector in zip(candidates, vectors[1:], strict=True)
    ]
    return Nearest(tuple(nearest), len(places))


def _choose_windows(covered: list[tuple[int, Span, float]], texts: Sequence[str]) -> list[tuple[int, Span, float]]:
    if len(covered) <= MAX_WINDOWS:
        return covered
    # Ties are broken by the words and not by the place, so that the order of the texts changes nothing.
    covered = sorted(covered, key=lambda each: (-each[2], texts[each[0]][slice(*each[1])]))
    return covered[:MAX_WINDOWS]


def _coverage(text: str, wanted: Sequence[str], stems: Stems) -> float:
    if not wanted:
        return 0.0
    present = {stems[word] for word in split_words(text)}
    return sum(word in present for word in wanted) / len(wanted)


def _clamped(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0) if math.isfinite(cosine) else 0.0

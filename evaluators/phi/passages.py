"""Passages of a text that the head reads one by one."""

from __future__ import annotations

from evaluators.base import Span
from evaluators.grounding.sentences import split_sentences
from evaluators.minilm import windows
from evaluators.phi.words import MEDICAL, PERSONAL, likely_names

MAX_PASSAGES = 64
"""Passages of 254 word pieces that are read of a text, some 60 milliseconds each."""
RUN_CHARS = 220
"""Sentences that begin within so many characters are read together."""
MAX_RUNS = 64
"""Runs of sentences that are read besides, some 12 milliseconds each."""


def pick_passages(text: str, *, alone: bool = False) -> tuple[list[Span], int]:
    """Return the passages to read, and how many the text has; of too many, some spread evenly are read.

    Passages are windows that hold the whole text, and then the runs of sentences where a medical term and a reference
    to a person meet: one clinical sentence is diluted by the others of its window. With `alone`, such a sentence is
    read by itself too: it is diluted even by its neighbours.
    """
    spans, runs = windows(text), runs_of(text)
    runs += [each for each in sentences_alone(text) if each not in runs] if alone else []
    return [*_spread(spans, MAX_PASSAGES), *_spread(runs, MAX_RUNS)], len(spans) + len(runs)


def runs_of(text: str) -> list[Span]:
    """Return the runs of about one to three sentences that speak of a person and of medicine; none of a single run."""
    runs: list[Span] = []
    for start, end in split_sentences(text):
        if runs and end - runs[-1][0] <= RUN_CHARS:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [(start, end) for start, end in runs if _is_suspect(text[start:end])] if len(runs) > 1 else []


def sentences_alone(text: str) -> list[Span]:
    """Return the sentences that speak of a person and of medicine; none of a text of one sentence."""
    sentences = split_sentences(text)
    return [span for span in sentences if _is_suspect(text[slice(*span)])] if len(sentences) > 1 else []


def _is_suspect(run: str) -> bool:
    # Without this, abstracts of studies would have more sentences that look clinical by themselves than whole.
    return bool(MEDICAL.search(run) and (PERSONAL.search(run) or likely_names(run)))


def _spread(spans: list[Span], most: int) -> list[Span]:
    if len(spans) <= most:
        return spans
    return [spans[index * (len(spans) - 1) // (most - 1)] for index in range(most)]

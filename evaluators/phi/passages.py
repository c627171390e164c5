"""Passages of a text that the head reads one by one."""

from __future__ import annotations

import re

from evaluators.base import Span
from evaluators.grounding.sentences import split_sentences
from evaluators.minilm import windows
from evaluators.phi.words import MEDICAL, PERSONAL, likely_names

MAX_PASSAGES = 64
"""Passages of 254 word pieces that are read of a text, some 60 milliseconds each."""
RUN_CHARS = 220
"""Sentences that begin within so many characters are read together."""
COLON = re.compile(r":\s+")
SHORTEST = 20
"""Characters behind a colon that are read by themselves."""
MAX_RUNS = 64
"""Runs of sentences that are read besides, some 12 milliseconds each."""


def pick_passages(text: str, *, alone: bool = False) -> tuple[list[Span], int]:
    """Return the passages to read and how many the text has; if there are too many, an evenly spaced selection is
    read.

    Passages are windows that cover the complete text, followed by the runs of sentences with both a medical term and a
    reference to a person: a single clinical sentence is diluted by the rest of its window. With `alone`, such a
    sentence is also read separately, since even its neighbours dilute it.
    """
    spans, runs = windows(text), find_runs(text)
    runs += [sentence for sentence in sentences_alone(text) if sentence not in runs] if alone else []
    return [*_sample_evenly(spans, MAX_PASSAGES), *_sample_evenly(runs, MAX_RUNS)], len(spans) + len(runs)


def find_runs(text: str) -> list[Span]:
    """Return the runs of about one to three sentences that speak of a person and of medicine; none of a single run."""
    runs: list[Span] = []
    for start, end in split_sentences(text):
        if runs and end - runs[-1][0] <= RUN_CHARS:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [(start, end) for start, end in runs if _is_suspect(text[start:end])] if len(runs) > 1 else []


def sentences_alone(text: str) -> list[Span]:
    """Return the sentences with both a person and a medical term, and the text after a colon in such sentences.

    Returns an empty list for a single sentence without a colon, which is read as a unit anyway.
    """
    parts = [part for span in split_sentences(text) for part in (span, *_split_at_colons(text, span))]
    return [span for span in parts if _is_suspect(text[slice(*span)])] if len(parts) > 1 else []


def _split_at_colons(text: str, span: Span) -> list[Span]:
    # The text before a colon might introduce an example, a story or a form.
    start, end = span
    return [(match.end(), end) for match in COLON.finditer(text, start, end) if end - match.end() >= SHORTEST]


def _is_suspect(run: str) -> bool:
    # Without this, abstracts of studies would have more sentences that look clinical by themselves than whole.
    return bool(MEDICAL.search(run) and (PERSONAL.search(run) or likely_names(run)))


def _sample_evenly(spans: list[Span], most: int) -> list[Span]:
    if len(spans) <= most:
        return spans
    return [spans[index * (len(spans) - 1) // (most - 1)] for index in range(most)]

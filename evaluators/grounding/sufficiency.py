"""Whether contexts contain an answer: its words if it is known, else a passage that addresses the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluators.base import JSONValue
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.kinds import find_asked_kind, has_kind
from evaluators.grounding.relevance import measure_nearness
from evaluators.grounding.support import NUMBER_WEIGHT, content_stems
from evaluators.grounding.words import split_words

PASSAGE_TOKENS = 48
PASSAGE_OVERLAP = 16
"""Short windows: an answer is a sentence, and a paragraph about the same thing without it looks much alike."""

NEAR_WEIGHT = 0.25
WITHOUT_KIND = 0.75


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """How far the contexts suffice, from 0 to 1, by the `gold` answer or the `question`, and why."""

    value: float
    basis: str
    because: str
    parts: Mapping[str, JSONValue]


def says_something(gold: str) -> bool:
    """Return whether a gold answer has words that contexts could contain; a plain yes or no does not."""
    words = split_words(gold)
    return bool(words) and words not in (["yes"], ["no"], ["true"], ["false"])


def support_of_gold(gold: str, question: str, evidence: Evidence) -> Sufficiency:
    """Measure whether the contexts contain the gold answer's words, in order, together, and near the question's.

    The gold answer must not be empty of content. The work is linear in the length of the texts. Supports any script.
    """
    words = split_words(evidence.in_its_words(gold))
    stems = [evidence.stems[word] for word in words]
    content = content_stems(words, evidence.stems)
    share = sum(stem in evidence.words for stem in content) / len(content)
    pairs = sum(pair in evidence.pairs for pair in pairwise(stems)) / (len(stems) - 1) if len(stems) > 1 else share
    together = evidence.most_together(content) / len(content)
    n_missing = len(evidence.missing_numbers(gold, (0, len(gold))))
    question_stems = content_stems(split_words(question), evidence.stems, else_all=False)
    stems_needed = list(dict.fromkeys([*content, *question_stems]))
    near = evidence.most_together(stems_needed) / len(stems_needed)
    value = (share + pairs + together) / 3 * (1 - NUMBER_WEIGHT * n_missing / (n_missing + 1))
    return Sufficiency(
        value * (1 - NEAR_WEIGHT + NEAR_WEIGHT * near),
        "gold",
        f"the contexts have {share:.0%} of the gold answer's words, {pairs:.0%} of its word pairs",
        {"words": share, "pairs": pairs, "together": together, "near_question": near, "n_numbers_missing": n_missing},
    )


def question_in_contexts(question: str, contexts: Sequence[str]) -> Sufficiency:
    """Measure whether some passage addresses the question and has the kind of answer that it calls for, in English.

    The passage does not necessarily contain the answer: this is a heuristic for samples without a gold answer.
    """
    nearest = measure_nearness(question, contexts, tokens=PASSAGE_TOKENS, overlap=PASSAGE_OVERLAP)
    cosine = max(window.cosine for window in nearest.windows)
    evidence = Evidence(contexts)
    question_stems = content_stems(split_words(question), evidence.stems)
    covered = evidence.most_together(question_stems) / len(question_stems)
    kind = find_asked_kind(question)
    is_there = kind is None or any(has_kind(context, kind, question) for context in contexts)
    return Sufficiency(
        (cosine + covered) / 2 * (1.0 if is_there else WITHOUT_KIND),
        "question",
        f"without a gold answer to look for, a passage has {covered:.0%} of the question's words "
        f"and a similarity of {cosine:.2f}" + ("" if is_there else f", and no {kind} is seen"),
        {
            "cosine": cosine,
            "question_words": covered,
            "asks_for": None if kind is None else str(kind),
            "has_what_is_asked_for": is_there,
            "n_windows": nearest.n_windows,
        },
    )

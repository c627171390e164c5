"""Which sentences of an answer claim anything that the contexts would have to support."""

from __future__ import annotations

import re

from evaluators.base import Span
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.refusals import find_refusal
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.support import content_stems
from evaluators.grounding.words import FUNCTION_WORDS, Stems, split_words, word_set

_BARE = frozenset({"yes", "no", "yeah", "yep", "yup", "nope", "correct", "right", "true", "indeed"})
_TURNS = frozenset({"but", "however", "though", "although", "still", "yet", "nevertheless"})
_OF_A_REFUSAL = word_set(
    """
    answer question context passage document text information detail enough provide provided give given mention sorry
    unfortunately help know find available based sufficient specific unable assist request able don doesn isn
    """
)
_COURTESY = re.compile(
    r"\b(?:let me know|feel free|hopes? (?:this|that|it) help|(?:happy|glad|pleased|love) to (?:help|assist)"
    r"|(?:great|good|excellent|wonderful) question|anything else i can|re welcome|my pleasure)"
)
_POLITE = word_set(
    """
    great good excellent wonderful question questions happy glad pleased pleasure help helps helpful assist hope hopes
    let know feel free ask need want like would anything else further other more information details welcome love re
    """
)


def claiming_sentences(output: str, question: str) -> list[Span]:
    """Return the sentences that may claim something: not those that decline, nor mere politeness.

    A sentence that declines may repeat words of the question; with others ("I don't know, but ...") it claims.
    `measure_support` leaves out what is a mere "yes" or "sure".
    """
    return [
        span
        for span in split_sentences(output)
        if not (_is_polite(output, span) or only_declines(output, span, question))
    ]


def _is_polite(output: str, span: Span) -> bool:
    """Return whether a sentence has none but words of politeness: "Great question!", "Let me know if you need more"."""
    words = split_words(output[slice(*span)])
    has_others = any(word not in FUNCTION_WORDS and word not in _POLITE for word in words)
    return not has_others and _COURTESY.search(" ".join(words)) is not None


def only_declines(output: str, span: Span, question: str) -> bool:
    """Return whether a sentence declines, and has besides only words of the question or of declining."""
    refusal = find_refusal(output, span)
    if refusal is None:
        return False
    stems = Stems()
    words_around = split_words(output[span[0] : refusal[0]]) + split_words(output[refusal[1] : span[1]])
    if not _TURNS.isdisjoint(words_around):
        return False
    excused = {stems[word] for word in (*split_words(question), *_OF_A_REFUSAL)}
    return excused.issuperset(content_stems(words_around, stems, else_all=False))


def is_bare_verdict(output: str) -> bool:
    """Return whether an output without claims of its own answers the question with yes or no."""
    return not _BARE.isdisjoint(split_words(output)[:2])


def question_coverage(question: str, evidence: Evidence) -> float | None:
    """Return the share of the question's different content words that the contexts have; None when it has none."""
    content = content_stems(split_words(question), evidence.stems, else_all=False)
    return sum(word in evidence.words for word in content) / len(content) if content else None

"""Clauses that deny the sentence which follows: "It is a myth that ...", "No source confirms that ...".

Known by their words and not by whole phrases, as frames are: a clause before "that" which has nothing but words of
talking about statements denies what follows if it negates an odd number of times. "There is no doubt that" is none.
"""

from __future__ import annotations

import re

from evaluators.base import Span
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, split_words, word_set
from evaluators.hallucination.turns import BEFORE_T, FAILURES, NEGATIONS

TEXTS = word_set(
    """
    context contexts passage passages document documents text texts excerpt excerpts article articles source sources
    information info material materials content contents detail details data paragraph paragraphs snippet snippets
    search results result page pages documentation documents transcript conversation evidence reference references
    knowledge base background file files section sections record records
    """
)
TELLING = word_set(
    """
    states stated state stating says said say saying mentions mentioned mention mentioning indicates indicated indicate
    notes noted note explains explained explain reports reported describes described describe shows shown show tells
    told tell confirms confirmed confirm specifies specified specify reveals revealed discusses highlights highlighted
    outlines outlined according based read reads reading reviewed reviewing looking learn learned see seen find found
    understand infer inferred conclude concluded gather gathered determine determined clear clearly evident explicitly
    directly specifically solely only purely strictly entirely exactly
    """
)
_UNTRUE = word_set(
    """
    false untrue incorrect wrong inaccurate mistaken fictional unfounded baseless misleading myth lie misconception
    fallacy rumor rumour falsehood misunderstanding mistake error hoax fabrication fiction legend impossible unlikely
    improbable implausible doubtful dubious questionable wrongly falsely mistakenly incorrectly erroneously
    """
)
_DENYING = word_set(
    """
    deny denies denied denying dispute disputes disputed refute refutes refuted disprove disproves disproved disproven
    reject rejects rejected doubt doubts doubted contradict contradicts contradicted contest contests contested
    debunk debunks debunked dismiss dismisses dismissed
    """
)
_STATEMENTS = word_set(
    """
    true correct right accurate case fact truth claim claims claimed idea notion view belief statement assertion
    suggestion thought theory hypothesis evidence proof indication sign support supports supported basis reason data
    suggest suggests suggested believe believes believed think thinks assume assumes assumed argue argues argued show
    shown prove proves proved proven establish established demonstrate demonstrated verify verified hold holds held
    confirm confirms possible likely plausible
    """
)
_PEOPLE = word_set(
    """
    people person researchers scientists experts critics authors author study studies report reports anyone anybody
    somebody everyone many most some few
    """
)
_LINKING = word_set("ever seriously really simply just still widespread common popular old far means whatsoever at all")
_NEGATING = (NEGATIONS | FAILURES | _UNTRUE | _DENYING | {"little"}) - {"without", "nor"}
_SAYING = TELLING | _STATEMENTS | _UNTRUE | _DENYING
_VOCABULARY = FUNCTION_WORDS | INTERJECTIONS | TEXTS | _SAYING | _NEGATING | _PEOPLE | _LINKING | BEFORE_T
_THAT = re.compile(
    r"\b(?:that|whether)\b[\s,:]+(?!(?:is|are|was|were|has|have|had|can|could|will|would|may|might)\b)", re.I
)
_NOTHING = re.compile(r"\W*nothing happens (?:when|if|once|after|while)\s+", re.IGNORECASE)
_WRAPPED = re.compile(
    r"\W*the (?:\w+ ){0,2}(?:claim|idea|notion|view|belief|statement|assertion|suggestion) that\s+", re.I
)
_VERDICT = re.compile(r"\s(?:is|was|has|'s)(?=\W)")
MOST_OF_A_NAME = 3
"""Words of who denies a statement: "The board of directors rejected the claim that"."""
LONGEST_CLAUSE = 120
"""Characters of a clause before or behind what it denies."""


def find_denied(text: str, span: Span) -> Span | None:
    """Return the part of a sentence that a clause before or around it denies; None where no such clause is there."""
    start, end = span
    if (nothing := _NOTHING.match(text, start, end)) is not None:
        return nothing.end(), end
    if (wrapped := _WRAPPED.match(text, start, end)) is not None:
        verdicts = list(_VERDICT.finditer(text, max(wrapped.end(), end - LONGEST_CLAUSE), end))
        is_denied = bool(verdicts) and _denies(text[verdicts[-1].start() : end])
        return (wrapped.end(), verdicts[-1].start()) if is_denied else None
    that = _THAT.search(text, start, min(end, start + LONGEST_CLAUSE))
    return (that.end(), end) if that is not None and that.end() < end and _denies(text[start : that.start()]) else None


def _denies(clause: str) -> bool:
    words = split_words(clause)
    n_others = sum(word not in _VOCABULARY and not word.endswith("ly") for word in words)
    if _SAYING.isdisjoint(words) or n_others > (MOST_OF_A_NAME if not _DENYING.isdisjoint(words) else 0):
        return False
    return sum(word in _NEGATING for word in words) % 2 == 1

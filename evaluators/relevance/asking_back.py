"""Answers that return a question instead of answering: "Could you please clarify your question?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evaluators.base import Span
from evaluators.grounding.refusals import find_refusal
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, split_words, word_set

MAX_BESIDE = 40
"""Words that an output may have beside the sentences that ask back, and still ask back as a whole."""
MAX_CHARS = 600
"""Longer sentences are not searched: who asks back is brief, and the search stays linear."""

_TELL = (
    r"(?:clarify|rephrase|reformulate|specify|elaborate|explain\s+(?:what|which|your)|be\s+(?:a\s+(?:bit|little)\s+)?more\s+"
    r"(?:specific|precise)|(?:provide|give|share|tell)\s+(?:me\s+|us\s+)?(?:(?:with\s+)?(?:some\s+|a\s+(?:bit|little)\s+)?"
    r"(?:more|additional|further)\b|(?:the|some)\s+(?:context|details)))"
)
_ASKS = re.compile(
    rf"\b(?:could|can|would|will)\s+you\s+(?:\w+\s+){{0,3}}?{_TELL}|\bplease\s+(?:\w+\s+)?{_TELL}"
    r"|\bwhat\s+(?:exactly\s+)?(?:do|did)\s+you\s+mean\b|\b(?:which|what)\s+(?:\w+\s+){1,4}?(?:do\s+you\s+mean|are\s+you\s+"
    r"(?:referring|asking|talking|interested))|\bwhat\s+(?:would\s+you\s+like|do\s+you\s+want)\s+to\s+know\b"
    r"|\b(?:i\s+(?:don['\u2019]?t|do\s+not)|i['\u2019]m\s+not\s+sure\s+(?:that\s+)?i)\s+(?:fully\s+|quite\s+|really\s+)?"
    r"understand\b|\bnot\s+sure\s+what\s+you(?:['\u2019]re|\s+are|\s+mean)|\byour\s+question\s+is\s+(?:not\s+clear|unclear"
    r"|ambiguous|(?:a\s+(?:bit|little)\s+)?(?:vague|broad))|\bneed\s+(?:a\s+(?:bit|little)\s+|some\s+)?more\s+"
    r"(?:information|context|details?)\b|\bhow\s+(?:can|may)\s+i\s+(?:help|assist)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[:\"\u201c\u00ab]")
_TURN = re.compile(r"(?i)\b(?:but|however|that\s+said|in\s+the\s+meantime|if\s+you\s+(?:mean|meant|are\s+asking))\b")
_WANTS_QUESTIONS = re.compile(
    r"(?i)\b(?:questions?|ask|quiz|riddles?|rephrase|rewrite|paraphrase|translate|interview|survey|clarify|prompts?)\b"
)
_POLITE = word_set(
    """
    sorry apologies apologize afraid great good nice interesting question questions thank thanks appreciate glad happy
    help assist sure hello hi order better best answer understand request hear
    """
)


def asks_back(output: str, question: str) -> bool:
    """Return whether an output as a whole is a question to the user, in common English wordings.

    An output that answers first and then poses a question is not, and neither is a reply to a request for questions.
    """
    spans = split_sentences(output)
    if _WANTS_QUESTIONS.search(question):
        return False
    asking = [span for span in spans if _is_asking(output, span)]
    if not asking:
        return question.rstrip().endswith("?") and _are_questions(output, spans)
    before = [span for span in spans if span[1] <= asking[0][0] and _has_content(output, span)]
    others = sum(len(split_words(output[slice(*span)])) for span in spans if span not in asking)
    return not before and others <= MAX_BESIDE and not _TURN.search(output, asking[0][1])


def _is_asking(output: str, span: Span) -> bool:
    start, end = span
    match = _ASKS.search(output, start, end) if end - start <= MAX_CHARS else None
    # After a colon or in quotes, the question is not the output's own: "You could write: ...".
    return match is not None and not _QUOTED.search(output, start, match.start())


def _has_content(output: str, span: Span) -> bool:
    """Return whether a sentence is more than politeness or a refusal."""
    words = split_words(output[slice(*span)])
    content_words = [word for word in words if word not in FUNCTION_WORDS | INTERJECTIONS | _POLITE]
    return bool(content_words) and find_refusal(output, span) is None


def _are_questions(output: str, spans: Sequence[Span]) -> bool:
    question_spans = [span for span in spans if _has_content(output, span)]
    return bool(question_spans) and all(
        output[:end].rstrip("')*_ ").endswith("?") and not _QUOTED.search(output, start, end)
        for start, end in question_spans
    )

"""Answers that decline: "I don't know", "the context does not say", "I cannot help with that"."""

from __future__ import annotations

import re

from evaluators.base import Span

_NOT = r"(?:\s*not|n['\u2019]t|nt)"
_MAYBE = r"(?:\s+(?:really|currently|just|simply|honestly|unfortunately|sorry|afraid|but|that|actually|i)){0,4},?"
_CANNOT = rf"(?:cannot|can['\u2019]?t|can\s+not|could{_NOT}|will\s+not|won['\u2019]?t)"
_AM = r"(?:['\u2019]m|\s+am)"
# A bare "results" or "data" is what a finding speaks of: these must be called "provided" or the like.
_GIVEN = r"(?:provided|given|supplied|retrieved|available|above|attached)"
_SOURCE = (
    rf"(?:(?:the|this|these|your)\s+(?:{_GIVEN}\s+)?(?:context|passages?|documents?|texts?|excerpts?|articles?|sources?)"
    rf"|(?:the\s+)?{_GIVEN}\s+(?:information|knowledge|materials?|results?|data|search\s+results?)"
    rf"|the\s+(?:information|search\s+results?)(?=\s+{_GIVEN})|the\s+search\s+results?)(?:\s+{_GIVEN})?"
)
_SAY = (
    r"(?:contain|mention|say|state|specify|provide|include|give|indicate|discuss|address|answer|cover|describe|explain"
    r"|tell|have|list|reveal|disclose|offer|allow|support)"
)
_SAID = (
    r"(?:mentioned|stated|specified|provided|given|included|indicated|discussed|covered|described|found|listed"
    r"|disclosed|answered|contained|available)"
)
_HELP = r"(?:answer|help|assist|provide|comply|share|discuss|fulfil+|give|tell|offer|engage|respond)"
_FIND = r"(?:find|determine|say|see|locate|verify|speak|access|be\s+sure|infer)"
_PATTERNS = (
    rf"\bi(?:\s+do{_NOT}|\s+don['\u2019]?t|\s+{_CANNOT}){_MAYBE}\s+know\b",
    r"\b(?:i|we)(?:\s+do\s*not|\s+don['\u2019]?t)\s+(?:currently\s+)?have\s+(?:\w+\s+){0,3}(?:information|knowledge|data"
    r"|access|details|context|answer)\b",
    rf"\bi{_AM}{_MAYBE}\s+(?:not\s+(?:able|sure|certain|aware|allowed|familiar)|unable|unsure)\b",
    rf"\b(?:we\s+are|we['\u2019]re){_MAYBE}\s+(?:unable|not\s+able)\s+to\s+{_HELP}\b",
    rf"\bi\s+{_CANNOT}{_MAYBE}\s+(?:{_HELP}|{_FIND})\b",
    rf"\bi\s+(?:did{_NOT}|could{_NOT}|do{_NOT}|don['\u2019]?t){_MAYBE}\s+(?:find|see)\b",
    rf"\bwe\s+{_CANNOT}{_MAYBE}\s+(?:answer|help|assist|comply|share)\b",
    r"\b(?:i|we)\s+(?:must|have\s+to|will\s+have\s+to)\s+(?:respectfully\s+)?(?:decline|refuse)\b",
    r"\b(?:i\s+have|i['\u2019]ve)\s+no\s+(?:idea|information|knowledge|access|clue)\b",
    rf"\b{_SOURCE}\s+(?:do(?:es)?|did|has|have){_NOT}(?:\s+\w+)?\s+{_SAY}",
    rf"\b{_SOURCE}\s+(?:lacks?|is\s+silent|makes?\s+no\s+mention|(?:has|have|contains?|gives?|provides?|includes?)\s+no)\b",
    rf"\b(?:is|are|was|were|isn|aren|wasn){_NOT}(?:\s+\w+)?\s+{_SAID}\s+(?:in|by|from|within)\s+{_SOURCE}",
    r"\bthere\s+(?:is|was)(?:\s+no|\s+not\s+enough|\s+insufficient|n['\u2019]t\s+(?:any|enough))\s+(?:\w+\s+)?"
    r"(?:information|mention|answer)\b",
    r"\b(?:not\s+enough|insufficient)\s+(?:\w+\s+)?(?:information|context)\b",
    r"\b(?:question|this|that|it)\s+(?:cannot|can['\u2019]t|can\s+not|could\s+not|couldn['\u2019]t)\s+be\s+(?:\w+\s+)?"
    r"(?:answered|determined)\b",
    r"\bas\s+an?\s+(?:ai|artificial\s+intelligence)\b",
    r"\A\W*(?:unknown|no\s+answer|no\s+idea|unanswerable|n/?a|(?:not|none)\s+(?:known|available|specified|mentioned"
    r"|stated|provided|given|found))\W*\Z",
)
# Every refusal contains a word with such an ending, and few other sentences do: searching for it first takes a tenth of
# the time. In lower case, and without the preceding text, because both would make the search slow.
_HINT = re.compile(
    r"(?:n['\u2019]?t|no|not|none|cannot|cant|unable|unsure|unknown|unanswerable|decline|refuse|lacks?|silent"
    r"|insufficient|n/?a|as\s+an?)\b"
)
_REFUSAL = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)
MAX_CHARS = 600
"""Longer sentences are not searched: who declines is brief, and the search stays linear."""


def find_refusal(text: str, span: Span | None = None) -> Span | None:
    """Find the words that decline within a sentence; None when nothing does, or the sentence is longer than MAX_CHARS.

    Known are common English wordings; other languages are not.
    """
    start, end = span or (0, len(text))
    if end - start > MAX_CHARS:
        return None
    sentence = text[start:end]
    match = _REFUSAL.search(sentence) if _HINT.search(sentence.lower()) else None
    return (start + match.start(), start + match.end()) if match else None

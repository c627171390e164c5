"""Bare names and numbers as answers: any of the contexts' would be supported, so it has to be the one asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evaluators.grounding.evidence import Evidence
from evaluators.grounding.nearness import measure_question_distance
from evaluators.grounding.words import FUNCTION_WORDS, split_words

MOST_WORDS = 4
MOST_CANDIDATES = 12
"""Names or numbers of the contexts that are compared with the answer; with more of them it is a guess."""
AHEAD = 0.1
"""How much nearer to the question's words an answer stands than any other name or number of the contexts."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"\b[A-Z][\w'\u2019-]+(?:(?: (?:of|the|de|van|von))? [A-Z][\w'\u2019-]+)*")
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|far|tall|high|long|deep|wide|big|large|heavy|fast|often)\b"
    r"|\b(?:what|which) (?:year|number|percentage|share|age)\b|\bwhen\b",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(r"\b(?:who(?:m|se)?|where)\b|\b(?:what|which) (?:city|country|town|person|place)\b", re.I)


def is_any_of_several(output: str, question: str, contexts: Sequence[str], evidence: Evidence) -> bool:
    """Return whether a bare name or number answers a question no better than another one of the contexts would.

    It does if it is not of the kind that is asked for, or another one stands as near to the question's words.
    """
    is_number = _NUMBER.fullmatch(output.strip(" .")) is not None
    if not is_number and not _is_name(output):
        return False
    if (_ASKS_NAME if is_number else _ASKS_NUMBER).search(question):
        return True
    others = list(dict.fromkeys(_find_others(_NUMBER if is_number else _NAME, output, question, contexts)))
    if len(others) > MOST_CANDIDATES:
        return True
    near = measure_question_distance(output, question, contexts, evidence) or 0.0
    distances = (measure_question_distance(other, question, contexts, evidence) or 0.0 for other in others)
    return any(near < distance + AHEAD for distance in distances)


def _is_name(output: str) -> bool:
    words = [word for word in output.strip(" .").split() if word.lower() not in FUNCTION_WORDS]
    return 0 < len(words) <= MOST_WORDS and all(word[0].isupper() for word in words)


def _find_others(kind: re.Pattern[str], output: str, question: str, contexts: Sequence[str]) -> Iterator[str]:
    """Yield the names or numbers of the contexts that neither the answer nor the question has."""
    known = {*split_words(output), *split_words(question), *FUNCTION_WORDS}
    for context in contexts:
        for match in kind.finditer(context):
            if not known.issuperset(words := split_words(match[0])) and known.isdisjoint(words):
                yield match[0]

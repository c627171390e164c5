"""Kinds of short answers: the kind that a question calls for, and whether a text has one.

The kinds are a name, a place, a date or a number.
"""

from __future__ import annotations

import re
from enum import StrEnum

from evaluators.grounding.claims import find_names
from evaluators.grounding.words import FUNCTION_WORDS, Stems, split_words, word_set

MAX_CHARS = 20_000
"""Of a text that is searched for a name or number; what answers a question stands near the beginning."""
SHORT = 6
"""Words of an answer that may be nothing but the name or number that was asked for."""


class AnswerKind(StrEnum):
    """What would answer the question."""

    PERSON = "person"
    PLACE = "place"
    TIME = "time"
    NUMBER = "number"
    YES_OR_NO = "yes or no"


_ASKS = (
    (
        AnswerKind.NUMBER,
        re.compile(r"\bhow\s+(?:many|much|long|old|far|tall|high|deep|wide|big|large|heavy|often|fast)\b"),
    ),
    (AnswerKind.NUMBER, re.compile(r"\bwhat\s+(?:percent(?:age)?|number|amount)\b")),
    (AnswerKind.TIME, re.compile(r"\b(?:when|(?:what|which)\s+(?:year|date|day|month|century|decade|time))\b")),
    (
        AnswerKind.PLACE,
        re.compile(r"\b(?:where|(?:what|which)\s+(?:city|country|state|place|town|continent|county))\b"),
    ),
    (AnswerKind.PERSON, re.compile(r"\b(?:who|whom|whose)\b")),
)
_YES_OR_NO = re.compile(
    r"\A\W*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|might|must|am)\b"
)
_ONLY_A_YEAR = re.compile(r"(?:in )?(?:1[5-9]|20)\d\d\.?", re.IGNORECASE)
_QUESTION_CHARS = 500
_WORD_OF_TIME = word_set(
    """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday today yesterday tomorrow century centuries year years month months week weeks day
    days hour hours minute minutes morning noon evening night midnight spring summer autumn fall winter
    """
)
_WORD_OF_NUMBER = word_set("hundred thousand million billion dozen half third quarter once twice several none many few")
_WORD_OF_PERSON = word_set("man woman men women people person president king queen author team company group")


def find_asked_kind(question: str) -> AnswerKind | None:
    """Return the kind of answer that an English question calls for; None if its words do not determine it."""
    text = question[:_QUESTION_CHARS].lower()
    for kind, pattern in _ASKS:
        if pattern.search(text):
            return kind
    return AnswerKind.YES_OR_NO if _YES_OR_NO.match(text) else None


def has_kind(text: str, kind: AnswerKind, question: str) -> bool:
    """Return whether a text has a candidate for the answer: one that the question has not named itself."""
    text = text[:MAX_CHARS]
    if kind is AnswerKind.YES_OR_NO:
        return True
    words, question_words = split_words(text), set(split_words(question))
    if kind in (AnswerKind.TIME, AnswerKind.NUMBER):
        return _has_number(words, question_words, _WORD_OF_TIME if kind is AnswerKind.TIME else _WORD_OF_NUMBER)
    # Without a single capital letter, or with no other, capitals tell no names.
    if text == text.lower() or text == text.upper():
        return True
    names = {name for _, name in find_names(text, (0, len(text)))}
    first = words[0] if words and words[0] not in FUNCTION_WORDS else ""
    is_person = kind is AnswerKind.PERSON and not _WORD_OF_PERSON.isdisjoint(words)
    return is_person or not question_words.issuperset(names | ({first} if first else set()))


def is_brief_answer(text: str, kind: AnswerKind | None, question: str) -> bool:
    """Return whether a text can be a short answer: a few words, of the requested kind ("1998", "Yes")."""
    words = split_words(text)
    if len(words) > SHORT:
        return False
    if kind is AnswerKind.YES_OR_NO:
        return words[:1] in (["yes"], ["no"])
    has_digit = any(map(str.isdigit, text))
    if kind is AnswerKind.NUMBER and _ONLY_A_YEAR.fullmatch(text.strip()):
        return False
    return kind is None or (
        has_kind(text, kind, question) and not (has_digit and kind in (AnswerKind.PERSON, AnswerKind.PLACE))
    )


def _has_number(words: list[str], asked: set[str], others: frozenset[str]) -> bool:
    stems = Stems()
    return any(
        (word[0].isdigit() or stems[word][0].isdigit() or word in others) and word not in asked for word in words
    )

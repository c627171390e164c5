"""Answers that are numbers or booleans, compared as what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from evaluators.base import AnswerText
from evaluators.values import is_plain

MAX_LITERAL = 400
"""Characters of a text that may be a number: the longest that a float prints is shorter."""
_TRUTH = re.compile(
    r"(?:(?<![^\W_])(?P<not>not|never|\w{2,6}n['\u2019]t)\s+(?:[a-z]{3,12}\s+)?)?"
    r"(?<![^\W_])(?P<word>true|false|yes|no)(?![^\W_])",
    re.IGNORECASE,
)
_NOUN_BEHIND = re.compile(r"[ \t]+[^\W_]")
_VERDICT_BEFORE = re.compile(
    r"(?:\A|[^\w\s'\u2019]|\n|\b(?:answers?|answered|say|says|said"
    r"|(?:answer|verdict|conclusion|response|result)\b[^.?!\n]{0,40}\b(?:is|was|be)))[\s*_\"'\u201c\u2018(]*\Z",
    re.IGNORECASE,
)
TRUTH_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def same_value(one: AnswerText, other: AnswerText, *, reads_words: bool = True) -> bool:
    """Return whether two answers, at least one of them a number or a boolean, have the same value.

    42, 42.0 and the text "42" are equal; a boolean is not a number, so true is not 1. A boolean equals the words for
    it, `true` and `yes` or `false` and `no`, in capitals or not; without `reads_words`, only JSON's `true` and `false`.
    Any other text that is not a JSON number has no value, so "forty-two" is not 42.
    """
    left, right = (typed_value(answer, reads_words=reads_words) for answer in (one, other))
    if left is None or right is None or isinstance(left, bool) is not isinstance(right, bool):
        return False
    return left == right


def typed_value(answer: AnswerText, *, reads_words: bool = True) -> float | bool | None:
    """Return the number or the boolean that an answer is, or that its text spells; None when it is neither."""
    if answer.value is not None:
        return answer.value
    if len(answer.text) > MAX_LITERAL:
        return None
    if reads_words and (truth := TRUTH_WORDS.get(answer.text.strip().casefold())) is not None:
        return truth
    try:
        value = json.loads(answer.text)
    except (ValueError, RecursionError):
        return None
    return value if is_plain(value) else None


def holds_truth(text: str, value: bool) -> bool:
    """Return whether a text gives a boolean by a word for it, and does not give the opposite too.

    "That is not true" gives false. The *no* of "no doubt" gives nothing.
    """
    return {TRUTH_WORDS[match["word"].casefold()] is not bool(match["not"]) for match in _find_truths(text)} == {value}


def _find_truths(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _TRUTH.finditer(text) if match["word"].casefold() != "no" or _is_verdict(text, match))


def _is_verdict(text: str, no: re.Match[str]) -> bool:
    before = text[max(0, no.start() - 80) : no.start()]
    return _NOUN_BEHIND.match(text, no.end()) is None or _VERDICT_BEFORE.search(before) is not None

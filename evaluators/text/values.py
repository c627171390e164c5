"""Answers that are numbers or booleans, compared as what they are."""

from __future__ import annotations

import json
from collections.abc import Callable

from evaluators.base import AnswerText
from evaluators.samples import is_plain

MAX_LITERAL = 400
"""Characters of a text that may be a number: the longest that a float prints is shorter."""
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


def holds_truth(text: str, value: bool, *, is_held: Callable[[str, str], bool]) -> bool:
    """Return whether a text holds a word for a boolean, and none for the opposite."""
    words = {word for word in TRUTH_WORDS if is_held(text, word)}
    return {TRUTH_WORDS[word] for word in words} == {value}

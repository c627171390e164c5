"""Answers that are numbers or booleans, compared as what they are."""

from __future__ import annotations

import json

from evaluators.base import AnswerText
from evaluators.samples import is_plain

MAX_LITERAL = 400
"""Characters of a text that may be a number: the longest that a float prints is shorter."""


def same_value(one: AnswerText, other: AnswerText) -> bool:
    """Return whether two answers, at least one of them a number or a boolean, have the same value.

    42, 42.0 and the text "42" are equal; a boolean is not a number, so true is not 1; a text that is neither a JSON
    number nor a JSON boolean does not have a value, so "forty-two" is not 42.
    """
    left, right = typed_value(one), typed_value(other)
    if left is None or right is None or isinstance(left, bool) is not isinstance(right, bool):
        return False
    return left == right


def typed_value(answer: AnswerText) -> float | bool | None:
    """Return the number or the boolean that an answer is, or that its text spells in JSON; None when it is neither."""
    if answer.value is not None:
        return answer.value
    if len(answer.text) > MAX_LITERAL:
        return None
    try:
        value = json.loads(answer.text)
    except (ValueError, RecursionError):
        return None
    return value if is_plain(value) else None

"""Texts with `{{names}}` in them, filled by plain replacement: what is put in is never read again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evaluators.base import CannotScore, Field, Sample

MAX_TOKENS = 50
"""Names in one text. Each may stand for a whole output."""
MAX_TEMPLATE_CHARS = 50_000
MAX_FILLED_CHARS = 2_000_000
FIELDS = {
    "output": Field.OUTPUT,
    "input": Field.INPUT,
    "gold": Field.GOLD,
    "context": Field.CONTEXT,
    "system_prompt": Field.SYSTEM_PROMPT,
}
"""The inputs of a sample by the names that checks use."""
_token = re.compile(r"\{\{([^{}]*)\}\}")


def tokens(text: str) -> list[str]:
    """List the names in a text, in order."""
    return [token.strip() for token in _token.findall(text)]


def fill(text: str, value_of: Callable[[str], str]) -> str:
    """Put values in the place of names. Raises CannotScore("input_too_long") when the result would be too large."""
    room = MAX_FILLED_CHARS

    def substitute(match: re.Match[str]) -> str:
        nonlocal room
        value = value_of(match[1].strip())
        room -= len(value)
        if room < 0:
            raise CannotScore("input_too_long", f"A filled template is longer than {MAX_FILLED_CHARS} characters.")
        return value

    return _token.sub(substitute, text)


def sole_token(text: str) -> str | None:
    """Return the name that a text consists of, or None when there is more to it."""
    match = _token.fullmatch(text.strip())
    return match[1].strip() if match else None


def size_problems(text: str) -> Iterator[str]:
    """Return what makes a template too large to be filled."""
    if len(text) > MAX_TEMPLATE_CHARS:
        yield f"must be at most {MAX_TEMPLATE_CHARS} characters"
    elif len(_token.findall(text)) > MAX_TOKENS:
        yield f"must name at most {MAX_TOKENS} values"


def field_text(sample: Sample, field: Field) -> str:
    """Return an input as one text; retrieved contexts are joined by empty lines, accepted answers by line ends."""
    if field is Field.GOLD and len(sample.gold_texts) > 1:
        return "\n".join(sample.gold_texts)
    value = sample.value_of(field)
    if value is None:
        raise CannotScore("missing_input", f"The check reads `{field}`, and it was not sent.")
    return value if isinstance(value, str) else "\n\n".join(value)

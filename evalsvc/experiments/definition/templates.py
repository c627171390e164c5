"""Fill `{{input.question}}` and the like from an example. Data is never read as a template, and no code is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

ROOTS = ("input", "contexts", "metadata", "id")
# Blanks belong to the match and are taken off it: a pattern that skips them itself can take hours over many blanks.
_token = re.compile(r"\{\{([^{}]{1,250})\}\}")


class UnknownField(Exception):
    """A template names something that this example does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The template names `{{{{{name}}}}}`, which this example does not have.")
        self.name = name


def template_names(template: object) -> Iterator[str]:
    """List the names that a text, or any JSON with texts in it, refers to."""
    if isinstance(template, str):
        yield from (match[1].strip() for match in _token.finditer(template))
    elif isinstance(template, Mapping):
        for key, value in template.items():
            yield from template_names(key)
            yield from template_names(value)
    elif isinstance(template, list):
        for value in template:
            yield from template_names(value)


def problem_with(name: str) -> str | None:
    """Return what is wrong with a name in a template, before there is an example; None when nothing is."""
    root = name.split(".", 1)[0]
    if root == "expected":
        return "`expected` is what the answer is compared with: a prompt that shows it would answer for the model."
    if root not in ROOTS:
        return f"`{{{{{name}}}}}` is none of {', '.join('{{' + root + '}}' for root in ROOTS)} and their fields."
    return None


def fill_text(template: str, fields: Mapping[str, Any]) -> str:
    """Replace every token in one pass, so that braces in the data stay what they are."""
    return _token.sub(lambda match: prompt_text(field_value(match[1].strip(), fields)), template)


def fill_json(template: object, fields: Mapping[str, object]) -> object:
    """Fill the texts of a JSON template; a text that is one token only becomes the value itself."""
    if isinstance(template, str):
        full_match = _token.fullmatch(template)
        return field_value(full_match[1].strip(), fields) if full_match else fill_text(template, fields)
    if isinstance(template, Mapping):
        return {fill_text(key, fields): fill_json(value, fields) for key, value in template.items()}
    if isinstance(template, list):
        return [fill_json(value, fields) for value in template]
    return template


def get_sole_name(template: str) -> str | None:
    """Return the name that a text consists of, or None where there is more to it."""
    match = _token.fullmatch(template.strip())
    return match[1].strip() if match else None


def field_value(name: str, fields: Mapping[str, object]) -> object:
    """Return the value at a dotted name; list items are named by their index. Raises UnknownField."""
    value: Any = fields
    for part in name.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise UnknownField(name)
    return value


def prompt_text(value: object) -> str:
    """Write a value into a prompt: texts as they are, lists of texts or passages as numbered paragraphs, else JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and value:
        texts = [item.get("text", item.get("content")) if isinstance(item, Mapping) else item for item in value]
        if all(isinstance(text, str) for text in texts):
            return "\n\n".join(f"[{i}] {text}" for i, text in enumerate(texts, 1))
    return orjson.dumps(value).decode()

"""Shared parts of the checks: the input that they read, and the texts that they compare with."""

from __future__ import annotations

from collections.abc import Iterator

from evaluators.base import Field, JSONValue, Sample, Settings, SettingsProblem
from evaluators.checks.templates import FIELDS, field_text, fill, size_problems, tokens

COMMON: dict[str, JSONValue] = {
    "type": {"type": "string"},
    "name": {"type": "string", "maxLength": 100},
    "field": {"type": "string", "enum": list(FIELDS)},
}
"""Settings that every check of a text takes."""
TEXT: dict[str, JSONValue] = {"type": "string"}


def get_field(settings: Settings) -> Field:
    """Return the input that a check reads; the output by default."""
    return FIELDS[str(settings.get("field", "output"))]


def subject(settings: Settings, sample: Sample) -> str:
    """Return the text that a check judges."""
    return field_text(sample, get_field(settings))


def shows_spans(settings: Settings) -> bool:
    """Return whether places in the judged text are places in the output."""
    return get_field(settings) is Field.OUTPUT


def filled(text: str, sample: Sample) -> str:
    """Put the sample's inputs in the place of their `{{names}}`."""
    return fill(text, lambda token: field_text(sample, FIELDS[token]))


def template_problems(text: str, pointer: str) -> Iterator[SettingsProblem]:
    """Yield the references of a template that cannot be resolved."""
    yield from (SettingsProblem(pointer, problem) for problem in size_problems(text))
    for token in tokens(text):
        if token not in FIELDS:
            names = ", ".join(f"{{{{{name}}}}}" for name in FIELDS)
            yield SettingsProblem(
                pointer, f"names {{{{{token[:60]}}}}}; known are {names}. A regex check can look for braces themselves"
            )

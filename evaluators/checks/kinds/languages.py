"""Language checks: is a text in the language that it should be in?"""

from __future__ import annotations

from collections.abc import Iterator

from evaluators.base import CannotScore, Sample, Settings, SettingsProblem
from evaluators.checks.outcome import CheckKind, Outcome, verdict
from evaluators.checks.templates import sole_token
from evaluators.checks.words import COMMON, filled, subject, template_problems
from evaluators.settings import object_schema
from evaluators.text.detect import LANGUAGES, detect_language

SCHEMA = object_schema({**COMMON, "value": {"type": "string", "minLength": 2, "maxLength": 100}}, required=["value"])


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Yield a problem if the value is neither a supported language nor a reference to an input."""
    value = str(settings["value"])
    if sole_token(value) is not None:
        yield from template_problems(value, f"{pointer}/value")
    elif value not in LANGUAGES:
        languages = ", ".join(LANGUAGES)
        yield SettingsProblem(
            f"{pointer}/value", f"must be one of {languages}, or an input in that language: {{{{input}}}}"
        )


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Compare languages. Raises CannotScore("unsupported_language") if one of them cannot be detected."""
    value = str(settings["value"])
    expected = value
    if (name := sole_token(value)) is not None:
        expected = _detect(filled(value, sample), f"`{name}`")
    detected = _detect(subject(settings, sample), f"`{settings.get('field', 'output')}`")
    because = (
        f"the text is in {detected}, as it should be"
        if detected == expected
        else f"the text is in {detected}, not {expected}"
    )
    return verdict(detected == expected, because, language=detected, wanted_language=expected)


def _detect(text: str, what: str) -> str:
    language = detect_language(text)
    if language is None:
        detail = f"The language of {what} cannot be told: it is too short or mixed, or none of {', '.join(LANGUAGES)}."
        raise CannotScore("unsupported_language", detail)
    return language


KIND = CheckKind(SCHEMA, _problems, _run)

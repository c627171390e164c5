"""Numeric checks: compare a number of the text with another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from decimal import Decimal

from evaluators.base import CannotScore, JSONValue, Sample, Settings, SettingsProblem
from evaluators.checks.outcome import CheckKind, Outcome, verdict
from evaluators.checks.words import COMMON, filled, shows_spans, subject, template_problems
from evaluators.settings import is_finite, object_schema
from evaluators.text.numbers import Number, apart, first_number, last_number, sole_number

DEFAULT_TOLERANCE = 0.000001
_ORDER: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_WORDS = {"eq": "equal to", "ne": "other than", "lt": "below", "le": "at most", "gt": "above", "ge": "at least"}
_PICK: dict[str, Callable[[str], Number | None]] = {"last": last_number, "first": first_number, "only": sole_number}
SCHEMA = object_schema(
    {
        **COMMON,
        "operation": {"type": "string", "enum": [*_WORDS, "between"]},
        "value": {},
        "min": {"type": "number"},
        "max": {"type": "number"},
        "tolerance": {"type": "number", "minimum": 0},
        "pick": {"type": "string", "enum": list(_PICK)},
    },
    required=["operation"],
)


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Return what settings of the right types still lack."""
    if settings["operation"] == "between":
        yield from _range_problems(settings, pointer)
        return
    value = settings.get("value")
    if isinstance(value, str):
        yield from template_problems(value, f"{pointer}/value")
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or not is_finite(value):
        yield SettingsProblem(f"{pointer}/value", "must be a number, or a text that holds one, as {{gold}}")


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Compare; a text without a number fails. Raises CannotScore when there is nothing to compare it with."""
    number = _PICK[str(settings.get("pick", "last"))](subject(settings, sample))
    if number is None:
        return verdict(False, "the text holds no such number")
    passed, what = _compare(settings, number.value, sample)
    spans = (number.span,) if shows_spans(settings) else ()
    return verdict(passed, f"the number is {'' if passed else 'not '}{what}", spans=spans)


def _compare(settings: Settings, number: Decimal, sample: Sample) -> tuple[bool, str]:
    kind = str(settings["operation"])
    if kind == "between":
        return _decimal(settings["min"]) <= number <= _decimal(settings["max"]), "within the range"
    expected = _get_expected(settings["value"], sample)
    if kind in _ORDER:
        return _ORDER[kind](number, expected), f"{_WORDS[kind]} the value"
    near = apart(number, expected) <= _decimal(settings.get("tolerance", DEFAULT_TOLERANCE))
    return near is (kind == "eq"), f"{_WORDS[kind]} the value"


def _get_expected(value: JSONValue, sample: Sample) -> Decimal:
    if not isinstance(value, str):
        return _decimal(value)
    number = last_number(filled(value, sample))
    if number is None:
        raise CannotScore("missing_input", "What the check compares with holds no number in this sample.")
    return number.value


def _decimal(value: JSONValue) -> Decimal:
    return Decimal(str(value))


def _range_problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    low, high = settings.get("min"), settings.get("max")
    for name, value in (("min", low), ("max", high)):
        if value is None:
            yield SettingsProblem(f"{pointer}/{name}", "is required for between")
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
        yield SettingsProblem(f"{pointer}/min", "must not be above max")


KIND = CheckKind(SCHEMA, _problems, _run)

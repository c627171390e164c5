"""Numeric checks: compare a number of the text with another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TypeAlias

from evaluators.base import CannotScore, JSONValue, Sample, Settings, SettingsProblem
from evaluators.checks.outcome import CheckKind, Outcome, verdict
from evaluators.checks.words import COMMON, filled, shows_spans, subject, template_problems
from evaluators.settings import is_finite, object_schema
from evaluators.text.expressions import Expression, is_near, read_answer, read_first, read_sole
from evaluators.text.numbers import Number, first_number, last_number, sole_number

FIRST_TOLERANCE = Decimal("0.000001")
NUMBERS: dict[str, JSONValue] = {"numbers": "expressions"}
"""The setting of ids since 2026-11-28: numbers are read as by `exact-match-numeric-2026-11-28`."""
Reader: TypeAlias = Callable[[str], Expression | None]
_ORDER: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_WORDS = {"eq": "equal to", "ne": "other than", "lt": "below", "le": "at most", "gt": "above", "ge": "at least"}
_PICK: dict[str, Reader] = {"last": read_answer, "first": read_first, "only": read_sole}
_FIRST_PICK: dict[str, Callable[[str], Number | None]] = {
    "last": last_number,
    "first": first_number,
    "only": sole_number,
}
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
    number = _get_reader(settings, str(settings.get("pick", "last")))(subject(settings, sample))
    if number is None or not number.values:
        return verdict(False, "the text holds no such number")
    passed, what = _compare(settings, number, sample)
    spans = (number.span,) if shows_spans(settings) else ()
    return verdict(passed, f"the number is {'' if passed else 'not '}{what}", spans=spans)


def _get_reader(settings: Settings, pick: str) -> Reader:
    if NUMBERS.items() <= settings.items():
        return _PICK[pick]

    def read(text: str) -> Expression | None:
        number = _FIRST_PICK[pick](text)
        return None if number is None else Expression((number.value,), (), number.span)

    return read


def _compare(settings: Settings, number: Expression, sample: Sample) -> tuple[bool, str]:
    kind = str(settings["operation"])
    if kind == "between":
        low, high = _decimal(settings["min"]), _decimal(settings["max"])
        return all(low <= value <= high for value in number.values), "within the range"
    expected = _get_expected(settings, sample)
    if kind in ("eq", "ne"):
        near = is_near(number, expected, _get_tolerance(settings))
        return near is (kind == "eq"), f"{_WORDS[kind]} the value"
    return _is_in_order(kind, number, expected), f"{_WORDS[kind]} the value"


def _is_in_order(kind: str, number: Expression, expected: Expression) -> bool:
    """Return whether a number is below or above another; of a range, a list or a date, whether all its numbers are."""
    return all(_ORDER[kind](value, other) for value in number.values for other in expected.values)


def _get_tolerance(settings: Settings) -> Decimal | None:
    if "tolerance" in settings:
        return _decimal(settings["tolerance"])
    return None if NUMBERS.items() <= settings.items() else FIRST_TOLERANCE


def _get_expected(settings: Settings, sample: Sample) -> Expression:
    value = settings["value"]
    if not isinstance(value, str):
        return Expression((_decimal(value),), (), (0, 0))
    number = _get_reader(settings, "last")(filled(value, sample))
    if number is None or not number.values:
        raise CannotScore("missing_input", "What the check compares with holds no number in this sample.")
    return number


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

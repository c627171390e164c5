"""Numbers as quantities: value, unit and place. Dates are read as dates, however they are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evaluators.base import Span
from evaluators.grounding.words import NUMBER_WORDS
from evaluators.hallucination.units import UNITS, Unit, unit_after
from evaluators.text.tokens import is_unspaced

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = {name[:length]: n for n, name in enumerate(_MONTHS, 1) for length in (3, 4, len(name))}
_NAME = rf"(?P<month>{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_DAY, _YEAR = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        rf"(?<![\w.,-]){_DAY}(?: of|-|,)?[ -]{_NAME}(?: ?,?[ -]+(?:of )?{_YEAR})?(?!\w)",
        rf"(?<!\w){_NAME} {_DAY}(?: ?,? {_YEAR})?(?!\w)",
        rf"(?<!\w){_NAME} ?,? (?:of )?{_YEAR}(?!\w)",
        r"(?<!\d)(?:(?P<year>\d{4})\s?\u5e74\s?)?(?P<month>[01]?\d)\s?\u6708(?:\s?(?P<day>[0-3]?\d)\s?\u65e5)?",
        r"(?<![\w.,/-])(?P<year>\d{4})[-/.](?P<month>[01]?\d)[-/.](?P<day>[0-3]?\d)(?![\w-])",
        r"(?<![\w.,/-])(?P<day>[0-3]?\d)[-/.](?P<month>[0-3]?\d)[-/.](?P<year>\d{4})(?![\w-])",
    )
)
_SLASHED = re.compile(r"\d[-/.]\d{1,2}[-/.]\d")
_MONTH_SIGN = "\u6708"
"""The month of dates in Chinese and Japanese."""
_MONTH_STARTS = tuple(name[:3] for name in _MONTHS)

_POWERS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mn": 6, "bn": 9, "tn": 12}
_TENS = [word for word, value in NUMBER_WORDS.items() if len(value) == 2 and value[1] == "0" and value != "10"]
_ONES = [word for word, value in NUMBER_WORDS.items() if value != "0" and word not in _TENS]
_SPELLED = re.compile(
    rf"(?<![\w-])(?:(?P<hundreds>a|{'|'.join(_ONES)})[ -]hundred(?: and)?(?=\W))?[ -]?"
    rf"(?:(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<ones>{'|'.join(_ONES)}))?|(?P<small>{'|'.join(_ONES)}))?(?![\w-])",
    re.IGNORECASE,
)
_WORDS = frozenset({*_ONES, *_TENS, "hundred"})
_LETTERS_ONLY = re.compile(r"[a-z]+")
_SPELLED_START = re.compile(rf"(?<![\w-])(?=(?:a hundred|{'|'.join([*_ONES, *_TENS])})\b)", re.IGNORECASE)
_DIGITS = re.compile(
    r"(?P<whole>\d{1,3}(?:,\d{3}){1,9}(?!\d)|\d{1,40})(?P<rest>\.\d{1,20})?"
    r"(?:(?P<scale>[kmb](?!\w))|[\s-]?(?P<power>thousand|million|billion|trillion|bn|mn|tn)\b)?",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:(?P<money>us\$|[$\u20ac\u00a3\u00a5\u20b9]|\b(?:usd|eur|gbp|chf|inr))\s?)?(?P<sign>(?<![\w.)-])-)?\Z", re.I
)
_HAS_DIGIT = re.compile(r"\d")
_POWER_AFTER = re.compile(r"[\s-](thousand|million|billion|trillion)\b", re.IGNORECASE)
_LETTERS = {"k": 3, "m": 6, "b": 9}
# The 19 in 2018-19 is a year and is read as part of the range.
_IN_A_SPAN = re.compile(r"\d{4}[-\u2013/]\Z")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, if it has one next to it."""

    span: Span
    value: Decimal
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Date:
    """A complete or partial date; a missing part is 0. `swapped` means that 3/4 can also be read in reverse order."""

    span: Span
    year: int
    month: int
    day: int
    swapped: bool = False

    def fits(self, other: Date) -> bool:
        """Return whether the other date includes every part that this date states."""
        theirs = [(other.month, other.day)] + ([(other.day, other.month)] if other.swapped else [])
        mine = [(self.month, self.day)] + ([(self.day, self.month)] if self.swapped else [])
        year_fits = self.year in (0, other.year)
        return year_fits and any(m in (0, om) and d in (0, od) for m, d in mine for om, od in theirs)


def may_have_figures(said: str, words: Iterable[str]) -> bool:
    """Return whether a sentence with these words may have a number or a date; to look for them takes much longer."""
    return _HAS_DIGIT.search(said) is not None or not _WORDS.isdisjoint(words)


def find_dates(text: str, span: Span) -> list[Date]:
    """Find the dates within a span, in their order and without overlaps."""
    found_dates = [date for pattern in _patterns(text[slice(*span)]) for date in _read_dates(pattern, text, span)]
    dates: list[Date] = []
    for date in sorted(found_dates, key=lambda each: (each.span[0], -each.span[1])):
        if not dates or date.span[0] >= dates[-1].span[1]:
            dates.append(date)
    return dates


def _patterns(text: str) -> Iterator[re.Pattern[str]]:
    """Yield the patterns that can match the text; testing the others would take ten times as long."""
    if _HAS_DIGIT.search(text) is None:
        return
    lowered = text.lower()
    yield from _DATES[:3] if any(start in lowered for start in _MONTH_STARTS) else ()
    yield from _DATES[3:4] if _MONTH_SIGN in text else ()
    yield from _DATES[4:] if _SLASHED.search(text) else ()


def _read_dates(pattern: re.Pattern[str], text: str, span: Span) -> Iterator[Date]:
    for match in pattern.finditer(text, *span):
        parts = match.groupdict()
        is_named = not parts["month"].isdigit()
        month = _MONTH[parts["month"].lower()[:3]] if is_named else int(parts["month"])
        year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
        swaps = not is_named and not match[0][:4].isdigit() and _MONTH_SIGN not in match[0]
        if _is_date(month, day) or (swaps and _is_date(day, month)):
            yield Date(match.span(), year, month, day, swaps)


def _is_date(month: int, day: int) -> bool:
    return 1 <= month <= 12 and day <= 31


def find_quantities(text: str, span: Span, dates: Sequence[Date] | None = None) -> list[Quantity]:
    """Find the numbers in a span that are not part of a date, in digits or spelled out, with their units."""
    quantities = [*_find_digits(text, span), *_spelled(text, span)]
    inside = [date.span for date in (find_dates(text, span) if dates is None else dates)] if quantities else []
    outside = (quantity for quantity in quantities if not any(start <= quantity.span[0] < end for start, end in inside))
    return sorted(outside, key=lambda each: each.span)


def _find_digits(text: str, span: Span) -> Iterator[Quantity]:
    for match in _DIGITS.finditer(text, *span):
        start = match.start()
        if not _is_part_of_a_word(text, start, match):
            before = _BEFORE.search(text[max(0, start - 5) : start])
            yield _quantity(
                text, match, (before["money"] or "").lower() if before else "", bool(before and before["sign"])
            )


def _is_part_of_a_word(text: str, start: int, found: re.Match[str]) -> bool:
    """Return whether digits are compared as words, of a name or a place (B12, 3rd), or are of a year, as in 2018-19."""
    before = text[start - 1] if start else " "
    is_ordinal = text[found.end() : found.end() + 2].lower() in ("st", "nd", "rd", "th")
    in_a_span = len(found["whole"]) == 2 and _IN_A_SPAN.search(text[max(0, start - 5) : start]) is not None
    # Chinese, Japanese and Thai have no spaces around a number.
    is_glued = before.isalpha() and not is_unspaced(before)
    return is_glued or (before == "." and text[start - 2 : start - 1].isdigit()) or is_ordinal or in_a_span


def _quantity(text: str, found: re.Match[str], money: str, is_negative: bool) -> Quantity:
    # 5m is five metres, and $5m five million.
    scale = found["scale"].lower() if found["scale"] and (money or found["scale"] in "kK") else ""
    power = _LETTERS.get(scale, 0) + (_POWERS[found["power"].lower()] if found["power"] else 0)
    value = _decimal(found["whole"].replace(",", "") + (found["rest"] or "")).scaleb(power).normalize()
    unit, end = unit_after(text, found.start("scale") if found["scale"] and not scale else found.end())
    span = (found.start() - is_negative, max(end, found.end()))
    return Quantity(span, -value if is_negative else value, UNITS.get(money, unit))


def _decimal(digits: str) -> Decimal:
    if digits.isascii():
        return Decimal(digits)
    return Decimal("".join(str(unicodedata.digit(char, 0)) if char.isdigit() else char for char in digits))


def _spelled(text: str, span: Span) -> Iterator[Quantity]:
    if _WORDS.isdisjoint(_LETTERS_ONLY.findall(text[slice(*span)].lower())):
        return
    place = span[0]
    while (start_match := _SPELLED_START.search(text, place, span[1])) is not None:
        match = _SPELLED.match(text, start_match.start(), span[1])
        place = max(match.end() if match else 0, start_match.start() + 1)
        value = _spelled_value(match) if match else None
        if match is None or value is None:
            continue
        scaled = _POWER_AFTER.match(text, match.end(), span[1])
        end = scaled.end() if scaled else match.end()
        unit, after = unit_after(text, end)
        power = _POWERS[scaled[1].lower()] if scaled else 0
        # "One" is mostly no number, and neither is "a hundred" a claim of exactly so many.
        if value == 1 and unit is None and not power:
            continue
        yield Quantity((match.start(), max(after, end)), Decimal(value).scaleb(power).normalize(), unit)


def _spelled_value(found: re.Match[str]) -> int | None:
    if not any(found.groupdict().values()):
        return None
    hundreds = found["hundreds"]
    total = 100 * (1 if hundreds.lower() == "a" else int(NUMBER_WORDS[hundreds.lower()])) if hundreds else 0
    return total + sum(int(NUMBER_WORDS[found[part].lower()]) for part in ("tens", "ones", "small") if found[part])

"""Telephone numbers: the earlier rules in any script, labels in many languages, and East Asian mobile numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evaluators.base import Span
from evaluators.pii.anywhere import labels
from evaluators.pii.anywhere.labels import HAN, HANGUL, KANA, AnnouncedSpans
from evaluators.pii.phones import CANDIDATE, MAX_LOOKUPS, WORDS, is_in_a_plan, may_be_phone
from evaluators.pii.phones import find_phones as find_first_phones
from evaluators.pii.plain_text import PlainText

_AROUND = 40
_BEGIN, _END = r"(?<![A-Za-z0-9.+$€£¥])(?<![0-9][,-])", r"(?![A-Za-z0-9%]|[.,:/-][0-9])"
_PARTED_CHINESE = re.compile(_BEGIN + r"(?:\+?86[ -]?)?1[3-9][0-9]-[0-9]{4}-[0-9]{4}" + _END)
# In one piece they are telephones only among the letters of their country.
_MOBILES = tuple(
    (re.compile(f"{_BEGIN}(?:{shape}){_END}"), re.compile(f"[{script}]"))
    for shape, script in (
        (r"(?:86)?1[3-9][0-9](?:[0-9]{8}| [0-9]{4} [0-9]{4})|09[0-9]{2}[ -]?[0-9]{3}[ -]?[0-9]{3}", HAN),
        (r"01[016-9][ ]?[0-9]{3,4}[ ]?[0-9]{4}", HANGUL),
        (r"0[5789]0[ ]?[0-9]{4}[ ]?[0-9]{4}", HAN + KANA),
    )
)


def phones_in(reading: PlainText) -> Iterator[Span]:
    """Yield telephone numbers; spans may overlap."""
    for start, end in find_first_phones(reading.digits):
        if not (reading.digits[start:end].isdigit() and _is_other(reading, start)):
            yield start, end
    yield from (match.span() for match in _PARTED_CHINESE.finditer(reading.digits))
    yield from _mobiles(reading)
    yield from _announced(reading)


def _mobiles(reading: PlainText) -> Iterator[Span]:
    if reading.words.isascii():
        return
    for shape, script in _MOBILES:
        for match in shape.finditer(reading.digits):
            start, end = match.span()
            around = reading.words[max(start - _AROUND, 0) : end + _AROUND]
            if script.search(around) and not _is_other(reading, start):
                yield start, end


def _announced(reading: PlainText) -> Iterator[Span]:
    candidates = [match for match in CANDIDATE.finditer(reading.digits) if may_be_phone(match[0])]
    yield from _find_bracketed(candidates)
    spans = [match.span() for match in candidates]
    announced = [AnnouncedSpans(label, reading.labels, spans) for label in (WORDS, labels.PHONE)]
    for start, end in spans:
        if any(spans_near.is_near(start, end) for spans_near in announced) and not _is_other(reading, start):
            yield start, end


def _find_bracketed(candidates: Sequence[re.Match[str]]) -> Iterator[Span]:
    """Yield numbers with a country code whose plus follows a bracket: "(+44 20 7946 0018)"."""
    bracketed = [match for match in candidates if match[0].startswith("(+")]
    for match in bracketed[:MAX_LOOKUPS]:
        if is_in_a_plan(re.sub("[()]", "", match[0]), ()):
            yield match.start() + (")" not in match[0]), match.end()


def _is_other(reading: PlainText, start: int) -> bool:
    return labels.NOT_PHONE.search(reading.labels, max(start - labels.WITHIN, 0), start) is not None

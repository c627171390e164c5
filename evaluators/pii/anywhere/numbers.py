"""Payment cards, US social security numbers, and numbers that identify a person elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from evaluators.base import Span
from evaluators.pii import recognisers as first
from evaluators.pii.anywhere import labels
from evaluators.pii.anywhere.labels import AnnouncedSpans
from evaluators.pii.numbers import (
    is_card,
    is_chinese_identity,
    is_codice_fiscale,
    is_korean_registration,
    is_luhn,
    is_nino,
)
from evaluators.pii.plain_text import PlainText

_BEGIN = r"(?<![A-Za-z0-9.])(?<![0-9]-)"
_END = r"(?![A-Za-z0-9]|[-.][0-9])"

# Groups of any length, since users group digits as they like.
_LONG_NUMBER = re.compile(_BEGIN + r"[0-9](?:[ .\-/]{0,2}[0-9]){11,24}" + _END)
# Few other numbers are written in four groups of four; issuers of 35... use more than their registered range.
_CARD_SHAPE = re.compile(_BEGIN + r"(?:[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}|35[0-9]{14})" + _END)
# Right behind a word for a card, and right before a word of letters alone: an identifier mixes letters and digits, and
# a digest has letters up to "f".
_ADJACENT_WORDS = re.compile(
    rf"(?:{_BEGIN}|(?<=card)|(?<=visa)|(?<=amex)|(?<=maestro)|(?<=number)|(?<=\bcc)|(?<=\bpan))"
    r"(?:[0-9]{12,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5})"
    rf"(?:{_END}|(?=exp|cv[cv]|(?![a-f]+(?![a-z]))[a-z]{{2,20}}(?![a-z0-9])))",
    re.IGNORECASE,
)
_USUAL_LENGTHS = (15, 16)
_GROUP_END = re.compile(r"[0-9](?![0-9])")
_CARD_LENGTHS = range(13, 20)

_SSN = re.compile(r"(?<![A-Za-z0-9.-])[0-9]{3}([ .-]?)[0-9]{2}\1[0-9]{4}" + _END)

_US_PASSPORT = re.compile(r"(?<![A-Za-z0-9.-])[A-Za-z]?[0-9]{8,9}(?![A-Za-z0-9-])")
_IDENTITY = re.compile(
    r"(?<![A-Za-z0-9.-])[A-Za-z]{0,3}[0-9][A-Za-z0-9]{0,19}(?:[ .\-/][A-Za-z]?[0-9][A-Za-z0-9]{0,9}){0,6}" + _END
)
_AFTER_LABEL = 20
_MIN_DIGITS = 6
# Text between a label and its number that ends a sentence or announces a date.
_PARTED = re.compile(r"(?i)[。!?\n]|\.\s|\b(?:expir\w*|valid|until|since|issued|date|born)\b|期限|有效期|만료|유효")
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[-/. ][01]?[0-9][-/. ][0-3]?[0-9]|[0-3]?[0-9][-/. ][0-3]?[0-9][-/. ](?:19|20)?[0-9]{2}\b"
)
_NINO = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}(?:[ -]?[0-9]{2}){3}[ -]?[A-Da-d](?![A-Za-z0-9])")
_NINO_GROUPS = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}(?: [0-9]{2}){3} [A-D](?![A-Za-z0-9])")
_SIN = re.compile(r"(?<![A-Za-z0-9.-])[0-9]{3}([ -]?)[0-9]{3}\1[0-9]{3}" + _END)
_CODICE_FISCALE = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z]{6}[0-9LMNP-V]{2}[A-EHLMPR-Ta-ehlmpr-t][0-9LMNP-V]{2}[A-Za-z][0-9LMNP-V]{3}[A-Za-z](?![A-Za-z0-9])"
)
_CHINESE = re.compile(r"(?<![A-Za-z0-9])[1-9][0-9]{16}[0-9Xx](?![A-Za-z0-9])")
_KOREAN = re.compile(r"(?<![A-Za-z0-9-])[0-9]{6}-[1-8][0-9]{6}(?![A-Za-z0-9-])")


def cards_in(reading: PlainText) -> Iterator[Span]:
    """Yield what the earlier rules take for a card, and any number with a card's last digit that is called one."""
    yield from first.find_cards(reading.digits)
    for match in _CARD_SHAPE.finditer(reading.digits):
        start, end = match.span()
        if _trim_to_luhn(match) == (start, end) and not _is_other(reading, start):
            yield start, end
    proposed = [span for match in _LONG_NUMBER.finditer(reading.digits) if (span := _trim_to_luhn(match))]
    for start, end in _called(labels.CARD, proposed, reading):
        if not _is_other(reading, start):
            yield start, end


def cards_next_to_words_in(reading: PlainText) -> Iterator[Span]:
    """Yield payment cards also where a word is glued to them: "4012888888881881exp 12/26"."""
    yield from cards_in(reading)
    spans = [match.span() for match in _ADJACENT_WORDS.finditer(reading.digits) if is_card(_digits(match[0]))]
    usual = [span for span in spans if len(_digits(reading.digits[slice(*span)])) in _USUAL_LENGTHS]
    for start, end in (*usual, *_called(labels.CARD, spans, reading)):
        if not _is_other(reading, start):
            yield start, end


def ssns_in(reading: PlainText) -> Iterator[Span]:
    """Yield social security numbers; one that is called so counts also where it was never issued."""
    yield from first.find_ssns(reading.digits)
    proposed = [match.span() for match in _SSN.finditer(reading.digits) if len(set(match[0])) > 2]
    yield from _called(labels.SSN, proposed, reading)


def passports_in(reading: PlainText) -> Iterator[Span]:
    """Yield numbers of the form of US passports that follow a word for a passport."""
    yield from first.find_passports(reading.digits)
    yield from _find_after(labels.PASSPORT, _US_PASSPORT, reading)


def identities_in(reading: PlainText) -> Iterator[Span]:
    """Yield national numbers: of China and Korea by their form and digits, others behind a word for them."""
    for pattern, is_one in _BY_FORM:
        yield from (match.span() for match in pattern.finditer(reading.digits) if is_one(match[0]))
    for label in (labels.IDENTITY, labels.PASSPORT):
        for start, end in _find_after(label, _IDENTITY, reading):
            digits = reading.digits[start:end]
            is_of_us = label is labels.PASSPORT and _US_PASSPORT.fullmatch(digits)
            if not is_of_us and not _DATE.match(digits):
                yield start, end


_BY_FORM: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
    (_CHINESE, is_chinese_identity),
    (_KOREAN, is_korean_registration),
)


def identities_of_more_countries_in(reading: PlainText) -> Iterator[Span]:
    """Yield what `identities_in` does, and numbers of Italy by their form, of Britain and Canada by form and label.

    A British one in five groups needs no label, a Canadian one has nine digits and, behind a bare SIN, a Luhn digit.
    """
    yield from identities_in(reading)
    for match in _CODICE_FISCALE.finditer(reading.digits):
        if is_codice_fiscale(match[0]):
            yield match.span()
    for match in _NINO_GROUPS.finditer(reading.digits):
        if is_nino(match[0].replace(" ", "")):
            yield match.span()
    yield from _find_after(labels.NINO, _NINO, reading)
    yield from _find_after(labels.SOCIAL_INSURANCE, _SIN, reading)
    for start, end in _find_after(labels.SIN, _SIN, reading):
        if is_luhn(re.sub("[^0-9]", "", reading.digits[start:end])):
            yield start, end


def _trim_to_luhn(found: re.Match[str]) -> Span | None:
    """Return the longest stretch from the start to the end of a group that has a card's length and last digit."""
    start, end = found.span()
    for last in reversed([group.end() for group in _GROUP_END.finditer(found.string, start, end)]):
        digits = re.sub("[^0-9]", "", found.string[start:last])
        if len(digits) in _CARD_LENGTHS and len(set(digits)) > 1 and is_luhn(digits):
            return start, last
    return None


def _is_other(reading: PlainText, start: int) -> bool:
    return labels.NOT_CARD.search(reading.labels, max(start - labels.WITHIN, 0), start) is not None


def _called(label: re.Pattern[str], spans: Sequence[Span], reading: PlainText) -> Iterator[Span]:
    announced = AnnouncedSpans(label, reading.labels, spans)
    for start, end in spans:
        if announced.is_near(start, end):
            yield start, end


def _find_after(label: re.Pattern[str], number: re.Pattern[str], reading: PlainText) -> Iterator[Span]:
    """Yield the numbers directly after a label, with at most a word or two in between."""
    spans = [match.span() for match in number.finditer(reading.digits) if _n_digits(match[0]) >= _MIN_DIGITS]
    announced = AnnouncedSpans(label, reading.labels, spans)
    for start, end in spans:
        behind = announced.end_before(start, _AFTER_LABEL)
        if behind and not _PARTED.search(reading.labels, behind, start):
            yield start, end


def _digits(written: str) -> str:
    return written.replace(" ", "").replace("-", "")


def _n_digits(written: str) -> int:
    return sum(map(str.isdigit, written))

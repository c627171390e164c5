"""What a label alone makes personal: birth dates, bank accounts, medical records and plates of vehicles.

Forms: sort codes and account numbers of UK banks have six and eight digits (Pay.UK, "Validating account numbers");
plates of Britain since 2001 have two letters, two digits and three letters, never I or Q (DVLA, INF104). Numbers of
medical records have no standard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evaluators.base import Span
from evaluators.pii.anywhere import labels
from evaluators.pii.anywhere.labels import AnnouncedSpans
from evaluators.pii.numbers import is_day
from evaluators.pii.plain_text import PlainText

_BEGIN, _END = r"(?<![A-Za-z0-9.-])", r"(?![A-Za-z0-9]|[-./][0-9])"
_MONTH = (
    r"(?:jan|ene|gen|feb|fév|fev|mar|mär|maa|apr|abr|avr|may|mai|mag|mei|maj|jun|jui|giu|jul|lug|aug|aoû|ago|sep|set|oct|okt"
    r"|ott|out|nov|dec|déc|dez|dic)[^\W\d_]{0,7}\.?"
)
_DATE = re.compile(
    _BEGIN + r"(?:(?P<y>[0-9]{4})([-/. ])(?P<m>[0-9]{1,2})\2(?P<d>[0-9]{1,2})"
    r"|(?P<a>[0-9]{1,2})([-/. ])(?P<b>[0-9]{1,2})\6(?P<c>[0-9]{4}|[0-9]{2})"
    rf"|[0-3]?[0-9](?:st|nd|rd|th|\.|er)?[ -](?:of |de )?{_MONTH},?[ -](?:de )?(?:19|20)[0-9]{{2}}"
    rf"|{_MONTH} [0-3]?[0-9](?:st|nd|rd|th)?,? (?:19|20)[0-9]{{2}}"
    r"|(?:19|20)[0-9]{2} ?[年년] ?[01]?[0-9] ?[月월] ?[0-3]?[0-9] ?[日일])" + _END,
    re.IGNORECASE,
)
_AFTER_BIRTH, _AFTER_LABEL = 25, 24
_NEXT_SENTENCE = re.compile(
    r"(?i)[。!?;]|[^\W\d_]{4}\.\s|\n\s*\n|\b(?:died|death|founded|married|expir\w*|issued|since|until)\b"
)

_SORT_CODE = re.compile(_BEGIN + r"[0-9]{2}([- ]?)[0-9]{2}\1[0-9]{2}" + _END)
_UK_ACCOUNT = re.compile(_BEGIN + r"[0-9]{4} ?[0-9]{4}" + _END)
_ACCOUNT = re.compile(_BEGIN + r"[0-9](?:[ -]?[0-9]){5,16}" + _END)
_NEAR_SORT_CODE, _BEHIND_SORT_CODE = 120, 12
_RECORD = re.compile(_BEGIN + r"(?<!&#)[A-Za-z]{0,4}-?[0-9][A-Za-z0-9]{0,9}(?:-[A-Za-z0-9]{1,8}){0,3}" + _END)
_PLATE = re.compile(r"(?<![A-Za-z0-9])[A-ZÄÖÜ0-9]{1,4}(?:[ -][A-ZÄÖÜ0-9]{1,4}){0,3}(?![A-Za-z0-9])|\b[A-Z0-9]{5,8}\b")
_UK_PLATE = re.compile(r"(?i)(?<![a-z0-9])[a-hj-pr-z]{2}[0-9]{2} ?[a-hj-pr-z]{3}(?![a-z0-9])")
_NO_PLATE = re.compile(r"(?i)\b(?:part|product|model|code|order|serial|item|sku|flight|version)\b[^0-9.!?\n]{0,16}$")
# What may stand between a label and its value.
_LINK = re.compile(
    r"(?i)[\W_]{0,6}(?:(?:number|no|num|nr|id|is|was|are|of|the|it|with|her|his|my|their|and|lautet|ist|est|es|è|é|är)[\W_]{1,4}){0,4}"
    r"[はは는은是为為]?[\W_]{0,3}"
)


def birth_dates_in(reading: PlainText) -> Iterator[Span]:
    """Yield dates with day, month and year that follow a word for birth in their sentence."""
    spans = [match.span() for match in _DATE.finditer(reading.words) if _is_date(match)]
    announced = AnnouncedSpans(labels.BIRTH, reading.labels, spans)
    for start, end in spans:
        behind = announced.end_before(start, _AFTER_BIRTH)
        if behind is not None and not _NEXT_SENTENCE.search(reading.labels, behind, start):
            yield start, end


def bank_accounts_in(reading: PlainText) -> Iterator[Span]:
    """Yield sort codes that are called so, the account numbers beside them, and numbers of a named bank account."""
    sort_codes = list(_find_behind(labels.SORT_CODE, _SORT_CODE, reading))
    yield from sort_codes
    accounts = [*_find_behind(labels.BANK_ACCOUNT, _UK_ACCOUNT, reading)] if sort_codes else []
    for start, end in sort_codes:
        yield from (span for span in accounts if span[0] < end + _NEAR_SORT_CODE and start - _NEAR_SORT_CODE < span[1])
        following = _UK_ACCOUNT.search(reading.digits, end)
        if following and following.start() <= end + _BEHIND_SORT_CODE:
            yield following.span()
    yield from _find_behind(labels.NAMED_BANK_ACCOUNT, _ACCOUNT, reading)


def medical_records_in(reading: PlainText) -> Iterator[Span]:
    """Yield numbers of at least five digits behind a word for a medical record."""
    yield from _find_behind(labels.MEDICAL_RECORD, _RECORD, reading, _is_record)


def plates_in(reading: PlainText) -> Iterator[Span]:
    """Yield what mixes capitals and digits behind a word for a plate, and British plates near a word for a vehicle."""
    yield from _find_behind(labels.PLATE, _PLATE, reading, _is_plate)
    spans = [match.span() for match in _UK_PLATE.finditer(reading.digits)]
    announced = AnnouncedSpans(labels.VEHICLE, reading.labels, spans)
    for start, end in spans:
        if announced.is_near(start, end) and not _NO_PLATE.search(reading.labels, max(start - 24, 0), start):
            yield start, end


def _find_behind(
    label: re.Pattern[str], value: re.Pattern[str], reading: PlainText, is_one: Callable[[str], bool] = bool
) -> Iterator[Span]:
    """Yield the values that a label announces with nothing but small words in between."""
    spans = [match.span() for match in value.finditer(reading.digits) if is_one(match[0])]
    announced = AnnouncedSpans(label, reading.labels, spans)
    for start, end in spans:
        behind = announced.end_before(start, _AFTER_LABEL)
        if behind is not None and _LINK.fullmatch(reading.labels, behind, start):
            yield start, end


def _is_date(match: re.Match[str]) -> bool:
    """Return whether there is such a day; of two numbers below 13 either may be the month."""
    year, month, day = match["y"], match["m"], match["d"]
    if year:
        return is_day(year, month, day)
    if not match["c"]:
        return True
    year = match["c"] if len(match["c"]) == 4 else f"19{match['c']}"
    return is_day(year, match["b"], match["a"]) or is_day(year, match["a"], match["b"])


def _is_record(written: str) -> bool:
    return sum(map(str.isdigit, written)) >= 5


def _is_plate(written: str) -> bool:
    compact = re.sub("[ -]", "", written)
    return 4 <= len(compact) <= 10 and sum(map(str.isdigit, compact)) >= 2 and any(map(str.isalpha, compact))

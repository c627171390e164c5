"""Telephone numbers: by shape, by a word beside them, or by the numbering plan of a country."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from evaluators.base import Span

REGIONS = ("GB", "FR", "AU", "NL", "BE", "CH")
"""Countries whose numbering plan a number without a country code is tried against."""

MAX_LOOKUPS = 400
"""Candidates per text that are tried against numbering plans, a tenth of a millisecond each; shapes need no look-up."""

# A number's own characters may not go on before or after it.
_BEGIN = r"(?<![\w.+(])(?<![0-9][,-])"
_END = r"(?![\w%]|[.,:/-][0-9])"
_EXTENSION = r"(?: ?(?:x|ext\.?|extension) ?[0-9]{1,6})?"
_CANDIDATE = re.compile(_BEGIN + r"(?<!&#)[+(]{0,2}[0-9](?:[ ().\-/]{0,2}[0-9]){5,16}" + _EXTENSION + _END)
_NORTH_AMERICAN = re.compile(
    _BEGIN
    + r"(?:(?:\+|00)?1[ .-]?)?(?:\([0-9]{3}\) ?[0-9]{3}[-. ]|[0-9]{3}([-.])[0-9]{3}\1)[0-9]{4}"
    + _EXTENSION
    + _END
)
_WORDS = re.compile(
    r"(?i)(?:\b(?:tele)?phones?|\btel|\bcall(?:ed|ing)?|\bfax|\bmobile|\bcell|\breach|\bcontact|\bdial|\btext me|\bsms"
    r"|\bwhatsapp|\banswering|\bhotline|\boffice|\bland\s?line|\bvoicemail|\bpager)\b"
)
_OTHER_NUMBER = re.compile(
    # Dates, with or without an hour; years; amounts; fractions and probabilities.
    r"(?:19|20)[0-9]{2}[-/. ][01]?[0-9][-/. ][0-3]?[0-9](?: .*)?"
    r"|[0-3]?[0-9][-/. ][0-3]?[0-9][-/. ](?:19|20)?[0-9]{2}(?: .*)?"
    r"|(?:19|20)[0-9]{2} ?[-/] ?(?:19|20)[0-9]{2}|[0-9]{1,3} [0-9]{3}|[0-9]{1,3}(?: [0-9]{3})* 000|[0-9]+\.[0-9]+"
    r"|\(?[01]\.[0-9].*"
    # The shape of a social security number, whether one was issued or not.
    r"|[0-9]{3}-[0-9]{2}-[0-9]{4}"
)
# What is worth asking a numbering plan about when no word announces it. Plans alone are too generous: Germany's takes
# most runs of digits that start with a zero, such as two postcodes or a row of probabilities.
_DIALLED = re.compile(
    r"\+[1-9].*|00[1-9][0-9]{0,2}[ -].*"
    r"|0[1-9](?:([ .])[0-9]{2})(?:\1[0-9]{2}){3}|\(?0[0-9]{1,4}\)? [0-9]{3,4} [0-9]{3,4}"
)
_THREE_PAIRS = re.compile(r"[0-9]{2}([ .-])[0-9]{2}\1[0-9]{2}")
_BEFORE, _AFTER = 40, 12


def find_phones(text: str) -> Iterator[Span]:
    """Yield telephone numbers in a text whose digits are ASCII; spans may overlap."""
    for shaped in _NORTH_AMERICAN.finditer(text):
        yield shaped.span()
    near = _near_words(text)
    n_lookups = 0
    for found in _CANDIDATE.finditer(text):
        written = found.group()
        n_digits = _count_digits(written)
        # Two groups of six digits in all are more often a house and a postcode.
        if not 6 <= n_digits <= 15 or (n_digits == 6 and not _THREE_PAIRS.fullmatch(written)):
            continue
        if _OTHER_NUMBER.fullmatch(written):
            continue
        if near(*found.span()):
            yield found.span()
        elif n_digits >= 8 and _DIALLED.fullmatch(written) and n_lookups < MAX_LOOKUPS:
            n_lookups += 1
            if _is_in_a_plan(written):
                yield found.span()


def _near_words(text: str) -> Callable[[int, int], bool]:
    """Return a question: does a word that announces a telephone number stand just before or after this span?"""
    spans = [found.span() for found in _WORDS.finditer(text)]
    starts, ends = [start for start, _ in spans], [end for _, end in spans]

    def near(start: int, end: int) -> bool:
        before = bisect_left(ends, start - _BEFORE) < bisect_right(ends, start)
        return before or bisect_left(starts, end) < bisect_right(starts, end + _AFTER)

    return near


def _count_digits(written: str) -> int:
    number = re.split(r"[xe]", written, maxsplit=1)[0]
    return sum(map(str.isdigit, number))


def _is_in_a_plan(written: str) -> bool:
    # 0.3 s to import, so only when a text needs it.
    import phonenumbers

    international = "+" + written[2:] if written.startswith("00") else written
    for region in (None,) if international[0] == "+" else REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(international, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False

"""Telephone numbers: by shape, by a word next to them, or by the numbering plan of a country."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from evaluators.base import Span

if TYPE_CHECKING:
    import phonenumbers

MAX_LOOKUPS = 400
"""Candidates per text that are tried against numbering plans, a tenth of a millisecond each; shapes need no look-up."""

# A number's own characters may not go on before or after it; a sign of money makes it an amount.
_BEGIN = r"(?<![\w.+($€£¥])(?<![0-9][,-])"
_END = r"(?![\w%]|[.,:/-][0-9])"
_EXTENSION = r"(?: ?(?:x|ext\.?|extension) ?[0-9]{1,6})?"
CANDIDATE = re.compile(_BEGIN + r"(?<!&#)[+(]{0,2}[0-9](?:[ ().\-/]{0,2}[0-9]){5,16}" + _EXTENSION + _END)
_NORTH_AMERICAN = re.compile(
    _BEGIN
    + r"(?:(?:\+|00)?1[ .-]?)?(?:\([0-9]{3}\) ?[0-9]{3}[-. ]|[0-9]{3}([-.])[0-9]{3}\1)[0-9]{4}"
    + _EXTENSION
    + _END
)
WORDS = re.compile(
    r"(?i)(?:\b(?:tele)?phones?|\btel|\bcall(?:ed|ing)?|\bfax|\bmobile?|\bcell|\breach|\bcontact|\bdial|\btext me|\bsms"
    r"|\bwhatsapp|\banswering|\bhotline|\bland\s?line|\bvoicemail|\bpager|\ba ring|\bt[eé]l(?:[eé]phone|[eé]fono|efon)?"
    r"|\bm[oó]vil|\bcellulare|\brufnummer"
    r"|(?:\b(?:my|your|his|her|our|their|new|registered|emergency)|['\u2019]s) number)\b"
)
# Words that announce a number only right before it, and letters as business cards have them.
_LABEL = re.compile(r"(?:\b(?i:office|desk|text|registered|ph|mob|direct)\b[ .:#-]{1,4}|\b[TMFPHWO][.:] ?)$")
_LABEL_AFTER = re.compile(r"(?i)\W{0,3}(?:office|desk|home|work)\b")
_SENTENCE_END = re.compile(r"[a-z]{4}[.!?]\s")
_OTHER_NUMBER = re.compile(
    # Dates, with or without an hour; years; amounts; fractions and probabilities.
    r"(?:19|20)[0-9]{2}[-/. ][01]?[0-9][-/. ][0-3]?[0-9](?: .*)?"
    r"|[0-3]?[0-9][-/. ][0-3]?[0-9][-/. ](?:19|20)[0-9]{2}(?: .*)?"
    r"|[0-3]?[0-9][-/.][0-3]?[0-9][-/.][0-9]{2}(?: .*)?|[0-3]?[0-9] [0-3]?[0-9] [0-9]{2}"
    r"|(?:19|20)[0-9]{2} ?[-/] ?(?:19|20)[0-9]{2}|[0-9]{1,3} [0-9]{3}|[0-9]{1,3}(?: [0-9]{3})* 000|[0-9]+\.[0-9]+"
    r"|[0-9]{3,6}000|\(?[01]\.[0-9].*"
    # The shape of a social security number, whether one was issued or not.
    r"|[0-9]{3}-[0-9]{2}-[0-9]{4}"
)
_PLUS = re.compile(r"\+[1-9].*")
_ABROAD = re.compile(r"00[1-9][0-9]{0,2}[ -].*")
# What is worth asking a country's plan about when no word announces it. Plans alone are too generous: Germany's takes
# most runs of digits that start with a zero, such as two postcodes or a row of probabilities.
_DIALLED = tuple(
    (re.compile(pattern), tuple(regions.split()))
    for pattern, regions in (
        (r"0[1-9](?:([ .])[0-9]{2})(?:\1[0-9]{2}){3}|\(?0[0-9]{1,4}\)? [0-9]{3,4} [0-9]{3,4}", "GB FR AU NL BE CH"),
        (r"\(0[1-9][0-9]{2,3}\) ?[0-9]{6}|0[1-9][0-9]{3} [0-9]{6}|07[0-9]{3} [0-9]{3} [0-9]{3}|07[0-9]{9}", "GB"),
        (r"\(0[1-9][0-9]{1,3}\)[ -]?[0-9]{4,8}|0[1-9][0-9]{1,4}/ ?[0-9]{5,8}|01[5-7][0-9][ /-][0-9]{7,8}", "DE AT"),
        (r"0[1-9][0-9]{1,2} [0-9]{3} [0-9]{2} [0-9]{2}", "CH TR"),
        (r"0[1-9][0-9]{0,2}-[0-9]{2,3} [0-9]{2,3} [0-9]{2}", "SE"),
        (r"06[ -][0-9]{8}", "NL"),
        (r"0[1-9]0?-[0-9]{4}-[0-9]{4}", "JP KR"),
        (r"\([1-9][0-9]\) ?(?!(?:19|20)[0-9]{2}-)9?[0-9]{4}-[0-9]{4}", "BR"),
        (r"8[ -]\(?[0-9]{3}\)?[ -][0-9]{3}-[0-9]{2}-[0-9]{2}", "RU"),
        (r"\(0[1-9]\) ?[0-9]{4} [0-9]{4}|04[0-9]{2} [0-9]{3} [0-9]{3}", "AU"),
    )
)
_THREE_PAIRS = re.compile(r"[0-9]{2}([ .-])[0-9]{2}\1[0-9]{2}")
_BEFORE, _AFTER = 40, 12


def find_phones(text: str) -> Iterator[Span]:
    """Yield telephone numbers in a text whose digits are ASCII; spans can overlap."""
    for shaped in _NORTH_AMERICAN.finditer(text):
        yield shaped.span()
    candidates = [match for match in CANDIDATE.finditer(text) if may_be_phone(match.group())]
    if not candidates:
        # The words take longer to look for than the numbers, and most texts have none.
        return
    near = _build_near_check(text)
    n_lookups = 0
    for match in candidates:
        number_text = match.group()
        if near(*match.span()):
            yield match.span()
        elif (
            _count_digits(number_text) >= 8
            and n_lookups < MAX_LOOKUPS
            and (regions := _regions(number_text)) is not None
        ):
            n_lookups += 1
            if is_in_a_plan(number_text, regions):
                yield match.span()


def may_be_phone(written: str) -> bool:
    """Return whether a number has as many digits as a telephone number and is not a date, year, amount or similar."""
    n_digits = _count_digits(written)
    # Two groups of six digits in all are more often a house and a postcode.
    if not 6 <= n_digits <= 15 or (n_digits == 6 and not _THREE_PAIRS.fullmatch(written)):
        return False
    return not _OTHER_NUMBER.fullmatch(written)


def _build_near_check(text: str) -> Callable[[int, int], bool]:
    """Return a predicate: does a word that announces a telephone number occur just before or after a span?"""
    spans = [match.span() for match in WORDS.finditer(text)]
    starts, ends = [start for start, _ in spans], [end for _, end in spans]

    def is_near(start: int, end: int) -> bool:
        last = bisect_right(ends, start) - 1
        if last >= 0 and ends[last] >= start - _BEFORE and not _SENTENCE_END.search(text, ends[last], start):
            return True
        if bisect_left(starts, end) < bisect_right(starts, end + _AFTER):
            return True
        return bool(_LABEL.search(text[max(start - 15, 0) : start]) or _LABEL_AFTER.match(text, end))

    return is_near


def _count_digits(written: str) -> int:
    number = re.split(r"[xe]", written, maxsplit=1)[0]
    return sum(map(str.isdigit, number))


def _regions(written: str) -> tuple[str, ...] | None:
    """Return the regions to check for a number's shape: () if it has a country code, None for an unknown shape."""
    if _PLUS.fullmatch(written) or _ABROAD.fullmatch(written):
        return ()
    return next((regions for shape, regions in _DIALLED if shape.fullmatch(written)), None)


def is_in_a_plan(written: str, regions: tuple[str, ...]) -> bool:
    """Return whether a number is one of these countries' plans, or of the country that it names itself."""
    # 0.3 s to import, so only when a text needs it.
    import phonenumbers

    international = "+" + written[2:] if written.startswith("00") else written
    for region in regions or (None,):
        try:
            number = phonenumbers.parse(international, region)
        except phonenumbers.NumberParseException:
            continue
        # A plus and a country code leave little doubt, so a length of that country does; its blocks change every year.
        if phonenumbers.is_valid_number(number) or (written[0] == "+" and _has_valid_length(number)):
            return True
    return False


def _has_valid_length(number: phonenumbers.PhoneNumber) -> bool:
    import phonenumbers

    reason = phonenumbers.is_possible_number_with_reason(number)
    return reason == phonenumbers.ValidationResult.IS_POSSIBLE

"""The numbers in a text, as people write answers."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from dataclasses import dataclass
from decimal import Context, Decimal

from evaluators.base import Span

_CONTEXT = Context(prec=60)
_LOOK_ALIKES = str.maketrans("\u2212\u2010\u2011\uff0d", "----")
# Lengths are bounded, so that a text of digits alone is neither one endless number nor work without end.
_NUMBER = re.compile(
    r"(?P<sign>[-+])?(?:[$€£¥₹]\s?)?(?P<inner>[-+])?"
    r"(?P<digits>(?<!\d)\d{1,3}(?:,\d{3}){1,100}(?!\d)|(?<!\d)\d{1,300}(?!\d))"
    r"(?P<rest>\.\d{1,300})?(?P<power>[eE][-+]?\d{1,3}(?!\w))?"
    r"|(?P<bare_sign>[-+])?(?P<bare>(?<![\w.])\.\d{1,300})"
)
_MARKED = re.compile(r"####\s?(?P<sign>-)?[$€£¥₹]?(?P<digits>\d[\d,]{0,300}(?:\.\d{1,300})?)")


@dataclass(frozen=True, slots=True)
class Number:
    """A number and the characters that it takes in the text, a sign included."""

    value: Decimal
    span: Span


def last_number(text: str) -> Number | None:
    """Return the answer of a text: the number after the first `####`, else the last number; None without one.

    `####` marks the answer in GSM8K, where commas are dropped. Elsewhere a comma separates thousands; a point separates
    decimals. Currency and per cent signs do not count: 50% is 50. A minus after a letter or a digit is a dash: 10-5
    ends with 5.
    """
    normalized = fold_digits(text)
    marked = _MARKED.search(normalized)
    if marked is not None:
        value = Decimal(marked["digits"].replace(",", ""))
        return Number(-value if marked["sign"] else value, marked.span())
    matches = deque(_NUMBER.finditer(normalized), maxlen=1)
    return _number(normalized, matches[0]) if matches else None


def first_number(text: str) -> Number | None:
    """Return the first number of a text; None without one."""
    normalized = fold_digits(text)
    match = _NUMBER.search(normalized)
    return None if match is None else _number(normalized, match)


def sole_number(text: str) -> Number | None:
    """Return the number that makes up a text, apart from spaces, signs and a final point; None for other content."""
    normalized = fold_digits(text)
    match = _NUMBER.search(normalized)
    around = normalized if match is None else normalized[: match.start()] + normalized[match.end() :]
    return None if match is None or around.strip(" \t\r\n%.") else _number(normalized, match)


def apart(one: Decimal, other: Decimal) -> Decimal:
    """Return the distance of two numbers, exact to 60 digits."""
    return abs(_CONTEXT.subtract(one, other))


def fold_digits(text: str) -> str:
    """Write the digits and signs of any script in ASCII, and blanks of any width as one, at the same offsets."""
    # Character by character, for offsets to stay; NFKC as a whole could change lengths.
    return text if text.isascii() else "".join(map(_fold_char, text))


def _fold_char(char: str) -> str:
    if char.isascii():
        return char
    digit = unicodedata.digit(char, None) if unicodedata.category(char) == "Nd" else None
    if digit is not None:
        return str(digit)
    normalized = unicodedata.normalize("NFKC", char).translate(_LOOK_ALIKES)
    # Superscripts and fractions are separate numbers in Unicode, and x² does not contain a plain 2.
    return normalized if len(normalized) == 1 and not char.isnumeric() else char


def _number(text: str, match: re.Match[str]) -> Number:
    start = match.start()
    if match["bare"]:
        sign, digits = match["bare_sign"], "0" + match["bare"]
    else:
        sign = match["sign"] or match["inner"]
        digits = match["digits"].replace(",", "") + (match["rest"] or "") + (match["power"] or "")
    # After a letter, a digit or a closing bracket, it joins or subtracts.
    if match["sign"] and start and (text[start - 1].isalnum() or text[start - 1] in ")]"):
        sign, start = match["inner"], start + 1
    value = Decimal(digits)
    return Number(-value if sign == "-" else value, (start, match.end()))

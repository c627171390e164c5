"""What a recogniser finds, and the text it reads."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluators.base import Span
from evaluators.text.table import CharTable


class Entity(StrEnum):
    """Kinds of personal data that this package knows."""

    EMAIL = "EMAIL"
    PHONE = "PHONE"
    CREDIT_CARD = "CREDIT_CARD"
    IBAN = "IBAN"
    US_SSN = "US_SSN"
    US_PASSPORT = "US_PASSPORT"
    US_DRIVER_LICENSE = "US_DRIVER_LICENSE"
    NATIONAL_ID = "NATIONAL_ID"
    IP_ADDRESS = "IP_ADDRESS"
    MAC_ADDRESS = "MAC_ADDRESS"
    CRYPTO_WALLET = "CRYPTO_WALLET"
    SECRET = "SECRET"  # noqa: S105  the name of a kind
    BIRTH_DATE = "BIRTH_DATE"
    BANK_ACCOUNT = "BANK_ACCOUNT"
    MEDICAL_RECORD = "MEDICAL_RECORD"
    LICENSE_PLATE = "LICENSE_PLATE"
    ADDRESS = "ADDRESS"
    PERSON = "PERSON"


STRUCTURED = tuple(entity for entity in Entity if entity not in (Entity.ADDRESS, Entity.PERSON))
"""Kinds whose form can be checked, which makes them worth failing an output for without a reader."""

KINDS_OF_NOVEMBER = tuple(
    entity
    for entity in Entity
    if entity
    not in (Entity.SECRET, Entity.BIRTH_DATE, Entity.BANK_ACCOUNT, Entity.MEDICAL_RECORD, Entity.LICENSE_PLATE)
)
"""What the evaluators of 2026-11-23 look for when a profile names no kinds."""
STRUCTURED_OF_NOVEMBER = tuple(entity for entity in STRUCTURED if entity in KINDS_OF_NOVEMBER)

FIRST_KINDS = tuple(entity for entity in KINDS_OF_NOVEMBER if entity is not Entity.NATIONAL_ID)
"""What the evaluators of before 2026-11-23 look for when a profile names no kinds."""
FIRST_STRUCTURED = tuple(entity for entity in STRUCTURED if entity in FIRST_KINDS)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Personal data at half-open character offsets; the value itself is never stored."""

    start: int
    end: int
    entity: Entity


def _plain_char(char: str) -> str:
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    category = unicodedata.category(char)
    if category == "Pd":
        return "-"
    if category == "Zs":
        return " "
    wide = unicodedata.normalize("NFKC", char)
    return wide if len(wide) == 1 and "!" <= wide <= "~" else char


_PLAIN = CharTable(_plain_char)


def plain(text: str) -> str:
    """Spell digits, dashes, spaces and full-width forms in ASCII without moving any character."""
    return text if text.isascii() else text.translate(_PLAIN)


def words_near(text: str, start: int, end: int, words: re.Pattern[str], *, before: int, after: int = 0) -> bool:
    """Return whether the pattern matches within the given number of characters before or after a span."""
    return bool(words.search(text[max(start - before, 0) : start]) or words.search(text[end : end + after]))


def overlaps(taken: Sequence[Span], start: int, end: int) -> bool:
    """Return whether a span shares a character with one of `taken`, which are disjoint and in order."""
    place = bisect_left(taken, (start, start))
    before = place > 0 and taken[place - 1][1] > start
    return before or (place < len(taken) and taken[place][0] < end)

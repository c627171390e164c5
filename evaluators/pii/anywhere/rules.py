"""One recogniser per kind, in the order in which they may claim a stretch of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evaluators.base import Span
from evaluators.pii import recognisers as first
from evaluators.pii.anywhere import labels
from evaluators.pii.anywhere.addresses import addresses_in
from evaluators.pii.anywhere.credentials import secrets_in
from evaluators.pii.anywhere.numbers import (
    cards_in,
    cards_next_to_words_in,
    identities_in,
    identities_of_more_countries_in,
    passports_in,
    ssns_in,
)
from evaluators.pii.anywhere.phones import phones_in
from evaluators.pii.anywhere.records import bank_accounts_in, birth_dates_in, medical_records_in, plates_in
from evaluators.pii.entities import Entity
from evaluators.pii.plain_text import PlainText

Recogniser = Callable[[PlainText], Iterator[Span]]

_SPELLED = re.compile(
    r"(?i)(?<![A-Za-z0-9._%+-])[a-z0-9][a-z0-9._%+-]{0,63} ?[\[({] ?at ?[\])}] ?[a-z0-9-]{1,63}"
    r"(?:(?: ?[\[({] ?dot ?[\])}] ?|\.)[a-z0-9-]{2,63}){1,4}"
)
# What stands before it in a URL may be encoded as well: "%3D" is the equals sign of a parameter.
_PERCENT_ENCODED = re.compile(
    r"(?i)(?:(?<=%3d)|(?<=%3a)|(?<=%20)|(?<=%2f)|(?<=%26)|(?<=%22)|(?<=%3c)|(?<=%2c)|(?<![a-z0-9._%+-]))"
    r"(?=[a-z0-9])(?:[a-z0-9._+-]|%2b|%2e|%5f|%2d){1,64}%(?:25){0,2}40"
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}([a-z]{2,24})(?![a-z0-9-])"
)


def emails_in(reading: PlainText) -> Iterator[Span]:
    """Yield addresses in Latin letters first; those in other scripts cannot be separated from the sentence."""
    latin = [*first.find_emails(reading.digits), *(match.span() for match in _SPELLED.finditer(reading.digits))]
    yield from latin
    if not reading.words.isascii():
        for start, end in first.find_emails(reading.words):
            if not any(start < stop and begin < end for begin, stop in latin):
                yield start, end


def encoded_emails_in(reading: PlainText) -> Iterator[Span]:
    """Yield addresses as `emails_in` does, and those of URLs, whose at sign is percent-encoded (RFC 3986)."""
    yield from emails_in(reading)
    for match in _PERCENT_ENCODED.finditer(reading.digits) if "%" in reading.digits else ():
        if match[1].lower() not in first.FILE_ENDINGS:
            yield match.span()


def ip_addresses_in(reading: PlainText) -> Iterator[Span]:
    """Yield IP addresses, unless a word in another language marks the number as a version."""
    for start, end in first.find_ip_addresses(reading.digits):
        if not labels.VERSION.search(reading.labels[max(start - 24, 0) : start]):
            yield start, end


def _wrap_any_script(find: Callable[[str], Iterator[Span]]) -> Recogniser:
    return lambda reading: find(reading.digits)


RECOGNISERS: dict[Entity, Recogniser] = {
    Entity.EMAIL: emails_in,
    Entity.IBAN: _wrap_any_script(first.find_ibans),
    Entity.NATIONAL_ID: identities_in,
    Entity.CREDIT_CARD: cards_in,
    Entity.CRYPTO_WALLET: _wrap_any_script(first.find_wallets),
    Entity.MAC_ADDRESS: _wrap_any_script(first.find_mac_addresses),
    Entity.IP_ADDRESS: ip_addresses_in,
    Entity.US_DRIVER_LICENSE: _wrap_any_script(first.find_licences),
    Entity.US_PASSPORT: passports_in,
    Entity.US_SSN: ssns_in,
    Entity.ADDRESS: addresses_in,
    Entity.PHONE: phones_in,
}

MORE_KINDS: dict[Entity, Recogniser] = {
    Entity.SECRET: secrets_in,
    Entity.EMAIL: encoded_emails_in,
    Entity.IBAN: _wrap_any_script(first.find_ibans),
    Entity.NATIONAL_ID: identities_of_more_countries_in,
    Entity.CREDIT_CARD: cards_next_to_words_in,
    # A label says more than the shape of the kinds below.
    Entity.BIRTH_DATE: birth_dates_in,
    Entity.BANK_ACCOUNT: bank_accounts_in,
    Entity.MEDICAL_RECORD: medical_records_in,
    Entity.LICENSE_PLATE: plates_in,
    Entity.CRYPTO_WALLET: _wrap_any_script(first.find_wallets),
    Entity.MAC_ADDRESS: _wrap_any_script(first.find_mac_addresses),
    Entity.IP_ADDRESS: ip_addresses_in,
    Entity.US_DRIVER_LICENSE: _wrap_any_script(first.find_licences),
    Entity.US_PASSPORT: passports_in,
    Entity.US_SSN: ssns_in,
    Entity.ADDRESS: addresses_in,
    Entity.PHONE: phones_in,
}
"""The rules since 2026-11-28: more kinds, and a word glued to a card does not hide it."""

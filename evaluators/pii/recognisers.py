"""One recogniser per kind: a linear pattern proposes, a validator confirms.

Every pattern either repeats a bounded number of times or starts only where a run of its own characters starts, so the
time grows with the length of the text and with nothing else.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

from evaluators.base import Span
from evaluators.pii.addresses import find_addresses
from evaluators.pii.entities import Entity, words_near
from evaluators.pii.numbers import iban_length, is_base58_wallet, is_bech32_wallet, is_card, is_iban, is_ssn
from evaluators.pii.phones import find_phones

_EMAIL = re.compile(
    r"(?<![\w.%+-])[\w.%+-]{1,64}@((?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}([^\W\d_]{2,24}))(?![\w-])",
)
# "icon@2x.png" and "app@1.2.js" are files, git@host: a login that everybody shares.
FILE_ENDINGS = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "ts", "json", "html", "pdf"})

_CARD = re.compile(
    r"(?<![\w.])(?<![0-9]-)"
    r"(?:[0-9]{12,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5})"
    r"(?!\w|[-.][0-9])"
)
_CARD_WORDS = re.compile(r"(?i)card|\bcc\b|credit|debit|visa|maestro|amex|\bpan\b|charge|pay")

_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?= ?[A-Za-z0-9]{4})")
_IBAN_REST = re.compile(r"(?: ?[A-Za-z0-9]){1,40}")

_SSN = re.compile(r"(?<![\w.-])([0-9]{3})([ -]?)([0-9]{2})\2([0-9]{4})(?![\w]|[-.][0-9])")
_SSN_WORDS = re.compile(r"(?i)\bssns?\b|social\s+security|\bss\s?(?:#|no\b|number)")

_LICENCE = re.compile(r"(?<![\w.-])[A-Za-z]{0,3}[0-9][A-Za-z0-9-]{3,18}(?![\w-])")
_LICENCE_WORDS = re.compile(r"(?i)\bdriv(?:er|ing)\W{0,2}s?\W{0,2}licen[cs]e|\bDL ?(?:#|no\b|number)")
_PASSPORT = re.compile(r"(?<![\w.-])[A-Za-z]?[0-9]{8,9}(?![\w-])")
_PASSPORT_WORDS = re.compile(r"(?i)\bpassports?\b")
_WITHIN = 40

# With a length of prefix it is a network, and with a dash and letters a release.
_IPV4 = re.compile(r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w]|\.[0-9]|-[A-Za-z0-9]|/[0-9]{1,2}(?![\w.]))")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{6,39}(?![\w:]|/[0-9]{1,3}(?![\w.]))")
_ADDRESS_WORDS = re.compile(r"(?i)\bips?\b|address|host|server|network|gateway|\bdns\b|\bping|\bfrom\b|connect")
# What counts releases or sections, or names an object of X.500.
_VERSION_WORDS = re.compile(r"(?i)(?:\bv|version|release|section|chapter|§|identifier|\boid|[0-9]:)[_.:=\s(\"']*$")

_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![\w]|[:-][0-9A-Fa-f])")

_BASE58 = re.compile(r"(?<!\w)[13][1-9A-HJ-NP-Za-km-z]{25,34}(?!\w)")
_BECH32 = re.compile(r"(?<!\w)(?:bc1[02-9ac-hj-np-z]{11,71}|BC1[02-9AC-HJ-NP-Z]{11,71})(?!\w)")
_ETHEREUM = re.compile(r"(?<!\w)0x[0-9A-Fa-f]{40}(?!\w)")


def find_emails(text: str) -> Iterator[Span]:
    """Yield email addresses whose domain does not end in a file name extension."""
    for match in _EMAIL.finditer(text):
        if match[2].lower() not in FILE_ENDINGS and not match[0].lower().startswith("git@"):
            yield match.start() + len(match[0]) - len(match[0].lstrip(".%+-")), match.end()


def find_cards(text: str) -> Iterator[Span]:
    """Yield payment cards; a length that few issuers use needs a word about paying near by."""
    for match in _CARD.finditer(text):
        digits = re.sub("[ -]", "", match[0])
        usual = len(digits) in (15, 16) or (len(digits) == 14 and digits[:2] in ("30", "36", "38"))
        if is_card(digits) and (usual or _announced(text, *match.span(), _CARD_WORDS)):
            yield match.span()


def find_ibans(text: str) -> Iterator[Span]:
    """Yield IBANs, in one piece or in groups parted by single spaces."""
    for match in _IBAN_START.finditer(text):
        length = iban_length(match[0])
        tail = _IBAN_REST.match(text, match.end())
        if length is None or tail is None:
            continue
        end = _find_end(text, match.start(), tail.end(), length)
        if end is not None and is_iban(text[match.start() : end].replace(" ", "")):
            yield match.start(), end


def find_ssns(text: str) -> Iterator[Span]:
    """Yield US social security numbers; without dashes they need to be called so."""
    for match in _SSN.finditer(text):
        is_announced = match[2] == "-" or _announced(text, *match.span(), _SSN_WORDS)
        if is_announced and is_ssn(match[1] + match[3] + match[4]):
            yield match.span()


def find_licences(text: str) -> Iterator[Span]:
    """Yield what follows the words for a driving licence and has the digits of one."""
    for start, end in _find_after_words(text, _LICENCE_WORDS, _LICENCE):
        if sum(map(str.isdigit, text[start:end])) >= 5:
            yield start, end


def find_passports(text: str) -> Iterator[Span]:
    """Yield US passport numbers that follow the word."""
    return _find_after_words(text, _PASSPORT_WORDS, _PASSPORT)


def find_ip_addresses(text: str) -> Iterator[Span]:
    """Yield IP addresses; loopback, unspecified and broadcast ones are excluded, as they do not identify anyone."""
    for match in _IPV4.finditer(text):
        if _is_telling_address(match[0]) and not _is_version(text, *match.span()):
            yield match.span()
    for match in _IPV6.finditer(text):
        if match[0].count(":") > 2 and any(map(str.isdigit, match[0])) and _is_telling_address(match[0]):
            yield match.span()


def find_mac_addresses(text: str) -> Iterator[Span]:
    """Yield hardware addresses, unless all their digits are the same."""
    for match in _MAC.finditer(text):
        if len(set(match[0]) - {match[1]}) > 1:
            yield match.span()


def find_wallets(text: str) -> Iterator[Span]:
    """Yield Bitcoin addresses with a right checksum, and anything of an Ethereum address' shape."""
    for pattern, is_wallet in ((_BASE58, is_base58_wallet), (_BECH32, is_bech32_wallet)):
        for match in pattern.finditer(text):
            if is_wallet(match[0]):
                yield match.span()
    for match in _ETHEREUM.finditer(text):
        if len(set(match[0])) > 8:
            yield match.span()


# The first recogniser to match a stretch of text claims it.
RECOGNISERS: dict[Entity, Callable[[str], Iterator[Span]]] = {
    Entity.EMAIL: find_emails,
    Entity.IBAN: find_ibans,
    Entity.CREDIT_CARD: find_cards,
    Entity.CRYPTO_WALLET: find_wallets,
    Entity.MAC_ADDRESS: find_mac_addresses,
    Entity.IP_ADDRESS: find_ip_addresses,
    Entity.US_DRIVER_LICENSE: find_licences,
    Entity.US_PASSPORT: find_passports,
    Entity.US_SSN: find_ssns,
    # Two numbers before a street would do for a telephone.
    Entity.ADDRESS: find_addresses,
    Entity.PHONE: find_phones,
}


def _announced(text: str, start: int, end: int, words: re.Pattern[str]) -> bool:
    return words_near(text, start, end, words, before=_WITHIN, after=_WITHIN // 2)


def _find_after_words(text: str, words: re.Pattern[str], number: re.Pattern[str]) -> Iterator[Span]:
    for word in words.finditer(text):
        match = number.search(text, word.end(), word.end() + _WITHIN)
        # `search` treats the limit of its window as the end of the text; match again without the limit.
        full_match = number.match(text, match.start()) if match else None
        if full_match:
            yield full_match.span()


def _find_end(text: str, start: int, limit: int, n_chars: int) -> int | None:
    """Return the end of the n-th non-space character, or None unless a word ends there too."""
    n_seen = 0
    for index in range(start, limit):
        n_seen += text[index] != " "
        if n_seen == n_chars:
            end = index + 1
            return end if end == len(text) or not (text[end].isascii() and text[end].isalnum()) else None
    return None


def _is_telling_address(written: str) -> bool:
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or written.startswith("255."))


def _is_version(text: str, start: int, end: int) -> bool:
    """Return whether four numbers count releases: called so, or all small with no word about networks near by."""
    if _VERSION_WORDS.search(text[max(start - 24, 0) : start]):
        return True
    parts = [int(part) for part in text[start:end].split(".")]
    small = all(part < 32 for part in parts) or parts[:2] in ([2, 5], [1, 2], [1, 3])
    return small and not _announced(text, start, end, _ADDRESS_WORDS)

"""Check digits and numbering rules: what tells a card, an account or a wallet from any other string."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from functools import reduce

_LUHN_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

# Lowest and highest first four digits, and lengths. The first matching range applies.
_CARD_RANGES: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    (4000, 4999, (13, 16, 19)),
    (5100, 5599, (16,)),
    (2221, 2720, (16,)),
    (3400, 3499, (15,)),
    (3700, 3799, (15,)),
    (3000, 3059, (14, 16, 19)),
    (3600, 3699, (14, 16, 19)),
    (3800, 3999, (14, 16, 19)),
    (3528, 3589, (16, 17, 18, 19)),
    (1800, 1800, (15,)),
    (2131, 2131, (15,)),
    # Maestro, Discover and UnionPay share the rest.
    (5000, 6999, (12, 13, 16, 17, 18, 19)),
    (8100, 8199, (16, 17, 18, 19)),
)

# ISO 13616: total length by country.
_IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_RESULTS = frozenset({1, 0x2BC830A3})

_NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]")
_NINO_UNUSED = frozenset({"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"})

_ODD_PLACES = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_OMOCODE = str.maketrans("LMNPQRSTUV", "0123456789")

# Published in advertisements, and therefore never issued.
_SSN_EXAMPLES = frozenset({"078051120", "219099999", "123456789", "987654321"})


def is_luhn(digits: str) -> bool:
    """Check a number's last digit by the Luhn rule."""
    total = sum(int(digit) for digit in digits[-1::-2]) + sum(_LUHN_DOUBLED[int(digit)] for digit in digits[-2::-2])
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Check length, issuer range and check digit of a payment card, without separators."""
    return len(digits) in _card_lengths(digits) and len(set(digits)) > 1 and is_luhn(digits)


def _card_lengths(digits: str) -> tuple[int, ...]:
    """Return the lengths that the issuer range of these digits allows."""
    number = int(digits[:4])
    return next((lengths for low, high, lengths in _CARD_RANGES if low <= number <= high), ())


def iban_length(start: str) -> int | None:
    """Return the length of an IBAN that starts with this country's letters; None where there is none."""
    return _IBAN_LENGTHS.get(start[:2].upper())


def is_iban(compact: str) -> bool:
    """Check country, length and check digits (ISO 7064, mod 97) of an IBAN written without spaces."""
    upper = compact.upper()
    if iban_length(upper) != len(upper):
        return False
    number = "".join(str(int(char, 36)) for char in upper[4:] + upper[:4])
    return int(number) % 97 == 1


def is_ssn(digits: str) -> bool:
    """Check nine digits against the numbers that the US Social Security Administration can have issued."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    if digits in _SSN_EXAMPLES or area in ("000", "666") or area[0] == "9":
        return False
    return group != "00" and serial != "0000"


def is_chinese_identity(written: str) -> bool:
    """Check day of birth and last character (ISO 7064, mod 11-2) of a resident identity number of China."""
    total = sum(int(digit) << 17 - place for place, digit in enumerate(written[:17]))
    last = "10X98765432"[total % 11]
    return is_day(written[6:10], written[10:12], written[12:14]) and written[17].upper() == last


def is_korean_registration(written: str) -> bool:
    """Check the day of birth of a Korean resident registration number; since 2020 its last digit checks nothing."""
    century = "19" if written[7] in "1256" else "20"
    return is_day(century + written[:2], written[2:4], written[4:6])


def is_nino(written: str) -> bool:
    """Check prefix and suffix of a UK National Insurance number without spaces.

    Source: HMRC National Insurance Manual, NIM39110: neither letter is D, F, I, Q, U or V, the second is not O, and BG,
    GB, KN, NK, NT, TN and ZZ are not issued. It has no check digit.
    """
    return bool(_NINO.fullmatch(written.upper())) and written[:2].upper() not in _NINO_UNUSED


def is_codice_fiscale(written: str) -> bool:
    """Check the day of birth and the last letter of an Italian codice fiscale.

    Source: Decreto ministeriale of 23 December 1976: letters and digits in odd places weigh as the table says, those in
    even places their own value, and the sum modulo 26 is the last letter. Seven digits may be replaced by letters.
    """
    upper = written.upper()
    day = int(upper[9:11].translate(_OMOCODE))
    total = sum(
        _ODD_PLACES[_place_value(char)] if place % 2 == 0 else _place_value(char)
        for place, char in enumerate(upper[:15])
    )
    return (1 <= day <= 31 or 41 <= day <= 71) and chr(ord("A") + total % 26) == upper[15]


def _place_value(char: str) -> int:
    return int(char) if char.isdigit() else ord(char) - ord("A")


def is_day(year: str, month: str, day: str) -> bool:
    """Return whether there is such a day in the years from 1900 to 2099."""
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return 1900 <= int(year) <= 2099


def is_base58_wallet(text: str) -> bool:
    """Check the double SHA-256 of a Bitcoin address of the older kind."""
    value = 0
    for char in text:
        value = value * 58 + _BASE58.index(char)
    if value.bit_length() > 200:
        return False
    raw = value.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def is_bech32_wallet(text: str) -> bool:
    """Check the BCH code of a segregated-witness address (BIP 173 and 350)."""
    prefix, _, data = text.lower().rpartition("1")
    values = [ord(char) >> 5 for char in prefix] + [0] + [ord(char) & 31 for char in prefix]
    values += [_BECH32.index(char) for char in data]
    return reduce(_bech32_step, values, 1) in _BECH32_RESULTS


def _bech32_step(checksum: int, value: int) -> int:
    top = checksum >> 25
    stepped = (checksum & 0x1FFFFFF) << 5 ^ value
    return reduce(
        lambda mixed, pair: mixed ^ pair[1] if top >> pair[0] & 1 else mixed, enumerate(_BECH32_GENERATORS), stepped
    )

"""Check digits, by known good numbers and by single mistakes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.pii.numbers import (
    iban_length,
    is_base58_wallet,
    is_bech32_wallet,
    is_card,
    is_iban,
    is_luhn,
    is_ssn,
)

CARDS = [
    "4111111111111111",
    "4012888888881881",
    "4222222222222",
    "5555555555554444",
    "5105105105105100",
    "2223003122003222",
    "378282246310005",
    "371449635398431",
    "6011111111111117",
    "3530111333300000",
    "30569309025904",
    "38520000023237",
    "6304000000000000",
    "6200000000000005",
]
IBANS = [
    "GB82WEST12345698765432",
    "DE89370400440532013000",
    "FR1420041010050500013M02606",
    "NO9386011117947",
    "BE68539007547034",
    "CH9300762011623852957",
    "NL91ABNA0417164300",
    "ES9121000418450200051332",
    "IT60X0542811101000000123456",
    "MT84MALT011000012345MTLCAST001S",
    "SA0380000000608010167519",
    "SE4550000000058398257466",
]


@pytest.mark.parametrize(
    ("digits", "right"), [("0", True), ("18", True), ("79927398713", True), ("79927398710", False)]
)
def test_luhn(digits: str, right: bool) -> None:
    assert is_luhn(digits) is right


@given(st.text("0123456789", min_size=1, max_size=20))
def test_exactly_one_last_digit_is_right(digits: str) -> None:
    assert sum(is_luhn(digits + last) for last in "0123456789") == 1


@given(st.text("0123456789", min_size=2, max_size=20), st.data())
def test_luhn_notices_one_wrong_digit(digits: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(digits) - 1))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != digits[place]]))
    assert not (is_luhn(digits) and is_luhn(digits[:place] + other + digits[place + 1 :]))


@pytest.mark.parametrize("digits", CARDS)
def test_cards_of_every_scheme(digits: str) -> None:
    assert is_card(digits)


@pytest.mark.parametrize(
    "digits",
    [
        "0000000000000000",
        "4111111111111112",
        "411111111111111",
        "1111111111111117",
        "9999999999999995",
        "7992739871300000",
        "41111111111111111",
    ],
)
def test_no_card(digits: str) -> None:
    assert not is_card(digits)


@pytest.mark.parametrize("iban", IBANS)
def test_ibans(iban: str) -> None:
    assert is_iban(iban)
    assert is_iban(iban.lower())
    assert iban_length(iban) == len(iban)


@pytest.mark.parametrize("iban", IBANS)
def test_an_iban_with_one_wrong_character(iban: str) -> None:
    rng = random.Random(iban)
    for place in range(2, len(iban)):
        wrong = rng.choice([char for char in "0123456789" if char != iban[place]])
        assert not is_iban(iban[:place] + wrong + iban[place + 1 :])


@pytest.mark.parametrize("iban", ["", "GB", "GB82", "XX82WEST12345698765432", "GB82WEST123456987654321"])
def test_no_iban(iban: str) -> None:
    assert not is_iban(iban)


@pytest.mark.parametrize("digits", ["536904399", "001010001", "899999999"])
def test_ssns(digits: str) -> None:
    assert is_ssn(digits)


@pytest.mark.parametrize(
    "digits", ["000123456", "666123456", "900123456", "999123456", "123004567", "123450000", "078051120", "123456789"]
)
def test_no_ssn(digits: str) -> None:
    assert not is_ssn(digits)


@pytest.mark.parametrize("address", ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"])
def test_base58_wallets_and_their_misspellings(address: str) -> None:
    assert is_base58_wallet(address)
    assert not is_base58_wallet(address[:-1] + ("b" if address[-1] != "b" else "c"))
    assert not is_base58_wallet(address[:10] + address[11] + address[10] + address[12:])


def test_a_number_too_large_for_a_wallet_is_none() -> None:
    assert not is_base58_wallet("z" * 40)


@pytest.mark.parametrize(
    "address",
    [
        "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
        "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
        "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    ],
)
def test_bech32_wallets_and_their_misspellings(address: str) -> None:
    assert is_bech32_wallet(address)
    for place in range(4, len(address)):
        other = "q" if address[place].lower() != "q" else "p"
        assert not is_bech32_wallet(address[:place] + other + address[place + 1 :])

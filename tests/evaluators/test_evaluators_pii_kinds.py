"""Secrets, encoded addresses, national numbers by form, and what a label makes personal; and traps for each."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import pytest

from evaluators.base import Score, effective_settings
from evaluators.pii.entities import KINDS_OF_NOVEMBER, STRUCTURED, Entity
from evaluators.pii.find import find_entities, find_entities_of_november
from evaluators.pii.numbers import is_codice_fiscale, is_nino
from evaluators.registry import find_evaluator
from tests.evaluators.samples import make_sample

# The parts keep scanners of repositories from taking these samples for secrets of ours.
TOKENS = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ASIA" + "Q3EGRTFB5ZLKMNOP",
    "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a",
    "gho" + "_16C7e42F292c6912E7710c838347Ae178B4a",
    "github" + "_pat_11ABCDEFG0abcdefghijkl_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXY",
    "glpat" + "-ABCdefGHIjklMNOpqrST",
    "xoxb" + "-123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
    "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "rk_" + "test_4eC39HqLyjWDarjtT1zdp7dc",
    "sk-" + "abcdefghijklmnopqrst1234567890uvwxyzABCD1234",
    "sk-" + "proj-abcDEF123456ghiJKL7890mnoPQR",
    "sk-" + "ant-api03-abcDEF_123-xyz890abcdefghijkl",
    "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "npm" + "_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi" + "-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4LTEyMzQtMTIzNC0xMjM0LTEyMzQ1Njc4OTAxMgACKlszLCJh",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
]
KEY = "-----BEGIN {0} KEY-----\nMIIEowIBAAKCAQEAu5J+3w4x\nQ29weXJpZ2h0/Zm9v\n-----END {0} KEY-----"

# What stands between braces is found, whole and alone.
FOUND = [
    (Entity.SECRET, "password: {hunter2}"),
    (Entity.SECRET, "Password: {P@ssw0rd}, please change it"),
    (Entity.SECRET, "The password is {Tr0ub4dor&3}."),
    (Entity.SECRET, "My wifi password is {BlueHorse42} and the network is Home"),
    (Entity.SECRET, "pwd={Sommer2024}"),
    (Entity.SECRET, "DB_PASSWORD={qwe123rty}"),
    (Entity.SECRET, "**Passwort:** `{Geheim!9}`"),
    (Entity.SECRET, "mot de passe : {abc-123-def}"),
    (Entity.SECRET, "密码：{abc12345}"),
    (Entity.SECRET, "passcode: {4821}"),
    (Entity.SECRET, "api_key = {9f86d081884c7d659a2feaa0c55ad015}"),
    (Entity.SECRET, "Authorization: Bearer {abcdef0123456789abcdef}"),
    (Entity.SECRET, "aws_secret_access_key = {wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY}"),
    (Entity.EMAIL, "ask {jo%40example.org} today"),
    (Entity.EMAIL, "https://example.com/reset?email={jo.bloggs%40example.org}&x=1"),
    (Entity.EMAIL, "https://example.com/?u=%2Fa%3Femail%3D{jo%2Btag%40mail.example.org}"),
    (Entity.NATIONAL_ID, "My NI number is {AB123456C}"),
    (Entity.NATIONAL_ID, "NINO: {QQ 12 34 56 C}"),
    (Entity.NATIONAL_ID, "National Insurance number {AB 12 34 56 D}"),
    (Entity.NATIONAL_ID, "The form names {AB 12 34 56 C} twice"),
    (Entity.NATIONAL_ID, "SIN: {046 454 286}"),
    (Entity.NATIONAL_ID, "her SIN number is {046454286}"),
    (Entity.NATIONAL_ID, "my social insurance number is {123-456-789}"),
    (Entity.NATIONAL_ID, "Its owner is {RSSMRA85T10A562S}."),
    (Entity.NATIONAL_ID, "codice fiscale: {MRTMTT25D09F205Z}"),
    (Entity.BIRTH_DATE, "Date of birth: {12/03/1985}"),
    (Entity.BIRTH_DATE, "DOB {1985-03-12}, London"),
    (Entity.BIRTH_DATE, "| DOB (dd/mm/yy) | {12/03/85} |"),
    (Entity.BIRTH_DATE, "I was born in Leeds on {12 March 1985}."),
    (Entity.BIRTH_DATE, "her birthday is {March 12th, 1985}"),
    (Entity.BIRTH_DATE, "geboren am {12.03.1985} in Ulm"),
    (Entity.BIRTH_DATE, "Geburtsdatum: {12. März 1985}"),
    (Entity.BIRTH_DATE, "née le {3 mars 1990}"),
    (Entity.BIRTH_DATE, "生年月日：{1985年3月12日}"),
    (Entity.BANK_ACCOUNT, "sort code {20-00-00}"),
    (Entity.BANK_ACCOUNT, "Bank account number: {1234567890}"),
    (Entity.MEDICAL_RECORD, "MRN: {00123456}"),
    (Entity.MEDICAL_RECORD, "medical record number {8847-2231}"),
    (Entity.MEDICAL_RECORD, "Patient ID is {A5567812}."),
    (Entity.LICENSE_PLATE, "License plate: {7ABC123}"),
    (Entity.LICENSE_PLATE, "her number plate is {AB12 CDE}"),
    (Entity.LICENSE_PLATE, "The car {AB12CDE} was parked outside"),
    (Entity.LICENSE_PLATE, "Kennzeichen {B-MW 1234}"),
    (Entity.LICENSE_PLATE, "vehicle registration {KA 01 AB 1234}"),
]

TRAPS = [
    "my password: see the manual",
    "password: required",
    "Password: ********",
    'password = getpass("Password: ")',
    'password=os.environ["PASSWORD_1"]',
    "password: <your-password-1>",
    "password: ${DB_PASSWORD1}",
    "password: {{ password1 }}",
    "password: self.password1",
    '"password": "string"',
    "The password is wrong.",
    "Your password is required to be changed every 90 days.",
    "Password: 8-16 characters",
    "password: 12 characters or more",
    "The password is SHA-256 hashed",
    "the password is base64 encoded",
    "Reset your password: https://example.org/reset1",
    "Password hash: $2b$12$KIXQ9vJ0w0mZ9",
    "forgot your password? 2 ways to reset it",
    "The pwd command prints the working directory",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 851791f4c2d41d8cd98f00b204e9800998ecf842",
    "the key is 550e8400-e29b-41d4-a716-446655440000",
    'class="sk-circle-fade-dot sk-folding-cube-animation1"',
    "ghp_" + "x" * 36,
    "AKIA" + "X" * 16,
    "pk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "xoxo-from-your-friend",
    "api key: your_api_key_here_1234",
    "api_key=process.env.API_KEY_1",
    "The access token expires in 3600 seconds",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "https://example.com/a%40b",
    "100%40 of it",
    "sprite%402x.png",
    "The order number is AB123456C",
    "part AB123456C is out of stock",
    "GB 12 34 56 C",
    "SIN is the airport of Singapore",
    "SIN(0.5) = 0.479",
    "His greatest sin: 046 454 286 times",
    "SIN 046 454 287",
    "RSSMRA85T10A562T",
    "ABCDEF12G34H567I",
    "ISBN 978-3-16-148410-0",
    "born in 1985",
    "The company was founded on 12 March 1985",
    "She was born in Leeds. On 12 March 1985 the bridge opened.",
    "Born in 1990, the band toured until 12/03/2015",
    "He was born on 27 January 1756.",
    "Date of birth: 31.02.1985",
    "The birthday paradox needs 23 people",
    "order 20-00-00",
    "version 20.00.00",
    "The sort code of a bank has 6 digits",
    "Your customer account 55779911 is open",
    "bank accounts grew by 1234567 in 2020",
    "medical records of 12345 patients",
    "The medical record was updated on 2024-10-12",
    "hospital numbers rose to 123456",
    "in this hospital &#128514;&#128514;",
    "Product code AB12 CDE is discontinued",
    "part number AB12CDE for the car",
    "I like cars. The code is AB12 CDE",
    "plate number 4 of the atlas",
    "number plates cost 25 pounds",
    "company registration no SC123456",
]


def marked(text: str) -> tuple[str, str]:
    start, end = text.index("{"), text.rindex("}")
    return text[:start] + text[start + 1 : end] + text[end + 1 :], text[start + 1 : end]


def found_in(text: str) -> list[tuple[str, Entity]]:
    return [(text[found.start : found.end], found.entity) for found in find_entities(text)]


def score(evaluator: str, output: str) -> Score:
    found = find_evaluator(evaluator)
    assert found is not None
    family, spec = found
    return family.score(make_sample(output=output), effective_settings(spec, {}))


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("text", ["{}", "export KEY={}", 'use "{}", please', "`{}`", "鍵は{}です"])
def test_a_token_of_a_provider_is_a_secret(text: str, token: str) -> None:
    assert found_in(text.format(token)) == [(token, Entity.SECRET)]


@pytest.mark.parametrize("kind", ["RSA PRIVATE", "PRIVATE", "OPENSSH PRIVATE", "ENCRYPTED PRIVATE"])
def test_a_private_key_is_a_secret_from_its_first_line_to_its_last(kind: str) -> None:
    key = KEY.format(kind)

    assert found_in(f"Here it is:\n{key}\nKeep it.") == [(key, Entity.SECRET)]


@pytest.mark.parametrize(("entity", "text"), FOUND, ids=[text for _, text in FOUND])
def test_it_is_found_whole_and_alone(entity: Entity, text: str) -> None:
    bare, value = marked(text)

    assert found_in(bare) == [(value, entity)]


@pytest.mark.parametrize(
    "text",
    [
        "Sort code 20-00-00, account number 55779911",
        "account number: 55779911, sort code: 20-00-00",
        "Sort code: 20-00-00\nAccount: 55779911",
        "sort code 20-00-00 55779911",
    ],
)
def test_a_sort_code_shows_the_account_beside_it(text: str) -> None:
    assert sorted(found_in(text)) == [("20-00-00", Entity.BANK_ACCOUNT), ("55779911", Entity.BANK_ACCOUNT)]


@pytest.mark.parametrize("text", TRAPS)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert found_in(text) == []


# Check characters


def test_the_last_letter_of_a_codice_fiscale_checks_the_others() -> None:
    right = "RSSMRA85T10A562S"
    assert [last for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if is_codice_fiscale(right[:15] + last)] == ["S"]
    assert is_codice_fiscale("rssmra80a01h501u")
    assert not is_codice_fiscale("RSSMRA85T10A652S")


def test_some_prefixes_of_a_national_insurance_number_are_not_issued() -> None:
    assert [prefix for prefix in ("AB", "GB", "QQ", "AO", "NK", "ZY") if is_nino(f"{prefix}123456C")] == ["AB", "ZY"]
    assert not is_nino("AB123456E")


# Evaluators


@pytest.mark.parametrize("evaluator", ["pii", "pii-broad"])
def test_the_new_kinds_fail_by_default_and_the_former_ids_keep_their_verdicts(evaluator: str) -> None:
    for output in ("SIN: 046 454 286 is listed.", "Your MRN: 00123456 is listed.", "Set password: hunter2 again."):
        assert not score(evaluator, output).passed
        assert not find_entities_of_november(output)
        assert score(f"{evaluator}-2026-11-23", output).passed


def test_the_structured_kinds_have_the_new_ones_and_november_does_not() -> None:
    new = {Entity.SECRET, Entity.BIRTH_DATE, Entity.BANK_ACCOUNT, Entity.MEDICAL_RECORD, Entity.LICENSE_PLATE}

    assert new <= set(STRUCTURED)
    assert set(Entity) - set(KINDS_OF_NOVEMBER) == new


UNITS = [
    *("password: ", "password:a1", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "xoxb-1", "sk-", "sk-a", "%40", "a%40", "a%40a."),
    *("AB 12 34 56 ", "RSSMRA", "SIN 046 454 286 ", "born on ", "born 12 March 1985 ", "12/03/1985 ", "sort code 20-00-00 "),
    *("account 12345678 ", "MRN 12345-", "license plate AB 12 ", "A1 ", "plate ", "bearer ", "api_key=", "secret key = a1"),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", UNITS)
def test_hostile_lengths_are_read_in_linear_steps(unit: str) -> None:
    text = (unit * 120_000)[:120_000]
    assert all(0 <= finding.start < finding.end <= len(text) for finding in find_entities(text))

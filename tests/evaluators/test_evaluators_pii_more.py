"""More of what each recogniser finds, and near misses that it must leave to nobody."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import pytest

from evaluators.pii.entities import FIRST_STRUCTURED, Entity
from evaluators.pii.find import find_entities, find_first_entities

# What stands between braces is found, whole and alone.
FOUND = {
    Entity.EMAIL: [
        "{x@example.museum}",
        "{1234@example.com}",
        "{a.very.long.name.with.many.parts@example.com}",
        '"Jo" <{jo@example.com}>, hello',
        "{jo@a.b.c.d.example.com}.",
        "[{jo@example.com}](mailto)",
        "one,{jo@example.com},two",
        "{jo＠example.com}",
        "ask {иван@пример.рус} today",
    ],
    Entity.CREDIT_CARD: [
        "{4012888888881881}",
        "{5105-1051-0510-5100}",
        "({371449635398431})",
        "{3714 496353 98431}",
        "card:{38520000023237}",
        "{6011 0009 9013 9424}",
        "{4111\u00a01111\u00a01111\u00a01111}",
        "{4111–1111–1111–1111}",
        "charge {630400000000} to Maestro"
    ],
    Entity.IBAN: [
        "{BE68 5390 0754 7034}",
        "{CH93 0076 2011 6238 5295 7}!",
        "IBAN:{NL91ABNA0417164300}",
        "{it60x0542811101000000123456}",
        "{ES91 2100 0418 4502 0005 1332}, thanks",
        "{SE4550000000058398257466}",
        "({SA0380000000608010167519})",
    ],
    Entity.US_SSN: ["{001-01-0001}", "({899-99-9999})", "SSN {001010001}", "social  security {536 90 4399}"],
    Entity.US_PASSPORT: ["Passport: {A12345678}", "passports {123456780} and so on", "PASSPORT NUMBER {c01234567}."],
    Entity.US_DRIVER_LICENSE: [
        "driver license {S12345678}",
        "Drivers License: {F255-921-50-094}",
        "driving license no {12345678}",
        "DL number {A1234567}",
    ],
    Entity.IP_ADDRESS: [
        "ping {8.8.8.8}",
        "{172.16.254.1}, then",
        "[{198.51.100.7}]",
        "http://{203.0.113.80}/path",
        "server {1.2.3.4}",
        "{fe80::1ff:fe23:4567:890a}",
        "[{2001:db8:0:1:1:1:1:1}]:443",
    ],
    Entity.MAC_ADDRESS: ["{de:ad:be:ef:00:01}", "({0A-1B-2C-3D-4E-5F})", "mac={3c:22:fb:00:00:01},"],
    Entity.CRYPTO_WALLET: [
        "send to {bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0}.",
        "bitcoin:{1BoatSLRHtKNngkdXEeobR76b53LETtpyT}",
        "{0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae}!",
    ],
    Entity.PHONE: [
        "{1-800-555-0199}",
        "{+1 (212) 555-0187}",
        "tel: {+33 1 42 68 53 00}",
        "WhatsApp {07911 123456}",
        "{+41 44 668 18 00}",
        "{212-555-0187}, or write",
        "my cell is {5550187123}",
        "{212–555–0187}",
    ],
}  # fmt: skip

# Nothing of this kind is found, though something of another kind may be.
NOT = {
    Entity.EMAIL: [
        "jo@", "@jo", "jo@@example.org", "jo@example.c", "jo@-example.org", "jo@example..org", "jo @example.org",
        "jo(at)example.org", "sprite@3x.webp", "bundle@1.0.js", "jo@127.0.0.1", "jo@example.123", "GIT@example.org",
        "decorate @property.setter", "x@example.org_",
    ],
    Entity.CREDIT_CARD: [
        "4012888888881882", "4111 1111 1111 111", "4111-1111 1111-1111", "4111.1111.1111.1111", "a4111111111111111",
        "4111111111111111a", "4111111111111111.5", "7-4111111111111111", "0000000000000000", "5105105105105101",
        "order 630400000000", "9111111111111111", "41111111 11111111", "4111  1111  1111  1111",
    ],
    Entity.IBAN: [
        "BE68539007547035", "BE6853900754703", "BE685390075470340", "B168539007547034", "BE68  5390  0754  7034",
        "XBE68539007547034", "BE68-5390-0754-7034", "US68539007547034", "GB82 WEST 1234 5698 7654 3", "BE",
    ],
    Entity.US_SSN: [
        "000-01-0001", "666-01-0001", "912-34-5678", "001-00-0001", "001-01-0000", "219-09-9999", "536-90-439",
        "536-9-04399", "536.90.4399", "536-90 4399", "a536-90-4399", "536-90-4399-1", "001010001", "SSN unknown",
    ],
    Entity.US_PASSPORT: [
        "A12345678", "passport AB1234567", "passport 1234567", "passport 1234567890", "passportless 123456780",
        "passport " + "x " * 25 + "A12345678", "A12345678 passport",
    ],
    Entity.US_DRIVER_LICENSE: [
        "S12345678", "driver license S123", "licensed driver S12345678", "fishing license 12345678", "DL 12345678",
        "driver license " + "x " * 25 + "S12345678", "screwdriver licensing 12345678",
    ],
    Entity.IP_ADDRESS: [
        "127.1.2.3", "224.0.0.1", "300.1.2.3", "1.2.3", "192.168.1", "192.168.1.1.5", "a192.168.1.1",
        "version: 192.168.1.1", "release 10.20.30.40", "section 1.2.3.4", "1.2.3.4", "::", "12:34:56:78", "::ffff",
        "192.168.001.1", "fe80::12345", "1::2::3",
    ],
    Entity.MAC_ADDRESS: [
        "00:00:00:00:00:00", "de:ad:be:ef:00", "de:ad:be:ef:00:01:02", "de:ad-be:ef-00:01", "dg:ad:be:ef:00:01",
        "deadbeef0001", "d:ad:be:ef:00:01", "xde:ad:be:ef:00:01",
    ],
    Entity.CRYPTO_WALLET: [
        "1BoatSLRHtKNngkdXEeobR76b53LETtpyU", "1BoatSLRHtKNngkdXEeobR76b53LETtpy", "bc1qar0srrr7xfkvy5l643lydnw",
        "Bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "0xde0b295669a9fd93d5f28d9ec85e40f4cb697ba",
        "0xde0b295669a9fd93d5f28d9ec85e40f4cb697baef", "0x1111111111111111111111111111111111111111",
        "de0b295669a9fd93d5f28d9ec85e40f4cb697bae", "x1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    ],
    Entity.PHONE: [
        "2024-11-20", "20.11.2024 12.30", "1 000 000", "call 112", "212-555.0187", "212-555-018", "212-555-01877",
        "$212-555-0187.50", "0.1234567", "10.1000/182", "536-90-4399", "+999 1234567", "1234567", "12,345,678",
        "ISBN 0-306-40615-2", "1990-2000", "212-555-0187%", "v212-555-0187", "call me in 1999-2004",
    ],
}  # fmt: skip

# The rules of today leave Markdown's emphasis out, and read this disguise.
FOUND_SINCE = {"x@example.org_", "jo(at)example.org"}

found_cases = [(entity, text) for entity, texts in FOUND.items() for text in texts]
miss_cases = [(entity, text) for entity, texts in NOT.items() for text in texts]


def marked(text: str) -> tuple[str, int, int]:
    start, end = text.index("{"), text.index("}") - 1
    return text.replace("{", "").replace("}", ""), start, end


def test_every_kind_has_both_tables() -> None:
    assert set(FOUND) == set(NOT) == set(FIRST_STRUCTURED)


@pytest.mark.parametrize(("entity", "text"), found_cases)
def test_it_is_found_whole_and_alone(entity: Entity, text: str) -> None:
    bare, start, end = marked(text)

    assert [(found.start, found.end, found.entity) for found in find_entities(bare)] == [(start, end, entity)]


@pytest.mark.parametrize(("entity", "text"), found_cases)
def test_it_is_found_on_a_line_of_its_own_between_astral_lines(entity: Entity, text: str) -> None:
    bare, start, end = marked(text)
    around = f"😀𝔘 漢\n{bare}\n😀"

    assert [around[found.start : found.end] for found in find_entities(around, [entity])] == [bare[start:end]]


@pytest.mark.parametrize(("entity", "text"), found_cases)
def test_nobody_else_finds_it(entity: Entity, text: str) -> None:
    assert find_entities(marked(text)[0], [other for other in Entity if other is not entity]) == []


@pytest.mark.parametrize(("entity", "text"), miss_cases)
def test_a_near_miss_is_left_alone(entity: Entity, text: str) -> None:
    assert find_first_entities(text, [entity]) == []
    assert text in FOUND_SINCE or find_entities(text, [entity]) == []

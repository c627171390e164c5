"""Personal data: what is found, what is left alone, and where it is."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import json
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators.base import JSONValue, Score
from evaluators.families.pii import Pii
from evaluators.pii import phones
from evaluators.pii.entities import STRUCTURED, Entity, Finding, plain
from evaluators.pii.find import find_entities
from evaluators.pii.recognisers import RECOGNISERS
from tests.evaluators.samples import make_sample

FAMILY = Pii()

# Test numbers of card schemes, banks' documentation, RFC 5737/3849/2606 and the North American 555-01xx block.
FOUND = [
    (Entity.EMAIL, "Write to {jo@example.org}."),
    (Entity.EMAIL, "{jo.oneil@example.org}"),
    (Entity.EMAIL, "<{first.last+tag@mail.example.co.uk}>"),
    (Entity.EMAIL, "mailto:{a_b-c%d@x-y.example}"),
    (Entity.EMAIL, "{jürgen@example.de} schreibt"),
    (Entity.EMAIL, "{JO@EXAMPLE.ORG}!"),
    (Entity.EMAIL, "{jo@münchen.example}"),
    (Entity.EMAIL, "({jo@example.org})"),
    (Entity.EMAIL, "'{jo@example.org}'"),
    (Entity.EMAIL, "...{jo@example.org}"),
    (Entity.PHONE, "Call {212-555-0187} now"),
    (Entity.PHONE, "It rings at {(212) 555-0187}."),
    (Entity.PHONE, "{(212)555-0187x123}"),
    (Entity.PHONE, "{212.555.0187}"),
    (Entity.PHONE, "{+1-212-555-0187}"),
    (Entity.PHONE, "{001-212-555-0187 ext. 12}"),
    (Entity.PHONE, "{+44 20 7946 0018}"),
    (Entity.PHONE, "{+4930123456} ist neu"),
    (Entity.PHONE, "Phone: {030 901820}"),
    (Entity.PHONE, "{785 8949} mobile"),
    (Entity.PHONE, "{50-98-28-96}-Office"),
    (Entity.PHONE, "reach me at {73 448 266}"),
    (Entity.PHONE, "call {2125550187}"),
    (Entity.PHONE, "fax {02.27.96.63.08}"),
    (Entity.PHONE, "Ask at {020 7946 0018}, they know"),
    (Entity.PHONE, "{0044 20 7946 0018}"),
    (Entity.PHONE, "{(020) 7946 0018}"),
    (Entity.PHONE, "{01 42 68 53 00}"),
    (Entity.PHONE, "{0412 345 678}"),
    (Entity.PHONE, "My number is {6391 0442}"),
    (Entity.PHONE, "Jo's number: {030 901820}"),
    (Entity.PHONE, "the message to my registered {5550187123}"),
    (Entity.PHONE, "Text {785 8949} for more"),
    (Entity.PHONE, "Ph. {785 8949}"),
    (Entity.PHONE, "F: 12\nM: {785 8949}"),
    (Entity.PHONE, "call {06 12 34 56 78}"),
    (Entity.PHONE, "phone {27 25 81 65}"),
    (Entity.PHONE, "teléfono {912 34 56 78}"),
    (Entity.PHONE, "Rufnummer {0 30 901820}"),
    (Entity.PHONE, "note {+44(0)1632 960123} down"),
    (Entity.PHONE, "note {+7 (495) 123-45-67} down"),
    (Entity.PHONE, "note {(01224) 960123} down"),
    (Entity.PHONE, "note {07911 123456} down"),
    (Entity.PHONE, "note {030/23125000} down"),
    (Entity.PHONE, "note {044 668 18 00} down"),
    (Entity.PHONE, "note {03-3224-5000} down"),
    (Entity.PHONE, "note {(11) 3224-5000} down"),
    (Entity.PHONE, "tel. {０３０ ９０１８２０}"),
    (Entity.CREDIT_CARD, "{4111111111111111}"),
    (Entity.CREDIT_CARD, "{4111 1111 1111 1111}"),
    (Entity.CREDIT_CARD, "{4111-1111-1111-1111}"),
    (Entity.CREDIT_CARD, "{378282246310005}"),
    (Entity.CREDIT_CARD, "{3782 822463 10005}"),
    (Entity.CREDIT_CARD, "{5555555555554444}, expires 12/27"),
    (Entity.CREDIT_CARD, "{5555 5555 5555 4444} 12/27"),
    (Entity.CREDIT_CARD, "{2223003122003222}"),
    (Entity.CREDIT_CARD, "{30569309025904}"),
    (Entity.CREDIT_CARD, "{6011111111111117}"),
    (Entity.CREDIT_CARD, "{3530111333300000}"),
    (Entity.CREDIT_CARD, "my visa card is {4222222222222}"),
    (Entity.CREDIT_CARD, "{４１１１１１１１１１１１１１１１}"),
    (Entity.IBAN, "{GB82WEST12345698765432}"),
    (Entity.IBAN, "{GB82 WEST 1234 5698 7654 32} thanks"),
    (Entity.IBAN, "{DE89370400440532013000}"),
    (Entity.IBAN, "{de89 3704 0044 0532 0130 00}."),
    (Entity.IBAN, "{FR1420041010050500013M02606}"),
    (Entity.IBAN, "{NO9386011117947},"),
    (Entity.IBAN, "pay {MT84MALT011000012345MTLCAST001S} 20 euro"),
    (Entity.US_SSN, "{536-90-4399}"),
    (Entity.US_SSN, "my SSN is {536 90 4399}"),
    (Entity.US_SSN, "social security number: {536904399}"),
    (Entity.US_PASSPORT, "Passport no. {C03005988}"),
    (Entity.US_PASSPORT, "her passport is {340007237}"),
    (Entity.US_DRIVER_LICENSE, "My driver's license number is {D6101407}"),
    (Entity.US_DRIVER_LICENSE, "driver’s license: {LH329609T}"),
    (Entity.US_DRIVER_LICENSE, "driving licence {A123-456-78-901}"),
    (Entity.US_DRIVER_LICENSE, "DL# {50473044}"),
    (Entity.IP_ADDRESS, "{192.0.2.44} was blocked"),
    (Entity.IP_ADDRESS, "from {10.1.2.3}."),
    (Entity.IP_ADDRESS, "{203.0.113.9}:8080"),
    (Entity.IP_ADDRESS, "{2001:db8:85a3:8d3:1319:8a2e:370:7348}"),
    (Entity.IP_ADDRESS, "{2001:db8::8a2e:370:7334} up"),
    (Entity.MAC_ADDRESS, "{00:1B:44:11:3A:B7}"),
    (Entity.MAC_ADDRESS, "{00-1b-44-11-3a-b7}."),
    (Entity.CRYPTO_WALLET, "{1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa}"),
    (Entity.CRYPTO_WALLET, "{3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy}"),
    (Entity.CRYPTO_WALLET, "{bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq}"),
    (Entity.CRYPTO_WALLET, "{BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4}"),
    (Entity.CRYPTO_WALLET, "{0x52908400098527886E0F7030069857D2E4169EE7}"),
]

LEFT_ALONE = [
    "",
    "A plain sentence about nobody.",
    "Albert Einstein lived in Princeton.",
    "icon@2x.png and react@18.2.0",
    "git clone git@example.org:team/repo",
    "@mention @another",
    "a @ b . com",
    "jo@localhost",
    "@example.org",
    "jo@example",
    "4111111111111112",
    "1111111111111111",
    "4111 1111-1111 1111",
    "14111111111111111",
    "order 41111111111111119999",
    "4222222222222",
    "GB82WEST12345698765433",
    "GB82WEST1234569876543",
    "GB82WEST123456987654321",
    "ZZ82WEST12345698765432",
    "000-12-3456",
    "666-12-3456",
    "900-12-3456",
    "123-00-4567",
    "123-45-0000",
    "078-05-1120",
    "536 90 4399",
    "536904399",
    "536-90-43991",
    "1536-90-4399",
    "The driver's license was INTRODUCTORY",
    "software license number 12345678",
    "her passport expired in 2024",
    "340007237",
    "version 192.168.1.1",
    "v4.9.0.1 and 1.0.0.3",
    "256.1.1.1",
    "1.2.3.4.5",
    "127.0.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "std::vector and dead::beef",
    "12:30:45",
    "::1",
    "ab:cd",
    "FF:FF:FF:FF:FF:FF",
    "00:1B:44:11:3A",
    "00:1B-44:11-3A:B7",
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdx",
    "0x0000000000000000000000000000000000000000",
    "0x52908400098527886E0F7030069857D2E4169E",
    "On 2024-10-12 and 12/10/2024",
    "call on 2024-10-12",
    "from 1999-2004",
    "contact us in 2015-2019",
    "It cost 1 000 000 kroner",
    "call it 10 000 000",
    "pi is 3.14159265358979",
    "call 3.14159265",
    "ISBN 978-3-16-148410-0",
    "The population is 1,234,567,890.",
    "1234567890",
    "&#128064;&#128553; call me",
    "room 12 34",
    "call 911",
    "a taxi to 03 2657 Koontz Lane, call one",
    "12345678901234567890",
    "It grew 1234567% in 2020",
    "p = 0.24 0.3700 0.6 0.6056",
    "95% CI (0.912-0.348)",
    "am 05.12.2015 00.13",
    "call on 05.12.2015 00.13",
    "05424-3913",
    "06515 44633",
    "0-161-22743-7",
    "(1/2)(3/4)(2/1)(0.5053)",
    "0-9 1-2 2-3 3-3 4-5",
    "0 77 14 28 38",
    "0890-33893",
    "5 + 7 = 12, 12 * 12 = 144, 144 / 12 = 12",
    "Our office is at 17031 2202 Castle St",
    "the call was removed. (merge 7063693 tidy)",
    "reach 1500000 people",
    "$2125550187 called",
    "call on 05 12 20",
    "1234 5678",
    "213 163 166",
    "Phys. (23) 1990-1995",
    "+10000000",
    'ObjectIdentifier("2.5.29.32")',
    "1.3.101.112",
    "10.20.0.0/16",
    "2001:db8::/32",
    "255.255.240.0",
    '__version__ = "3.50.0.1"',
    "kernel 5.10.102.1-standard",
]


def marked(text: str) -> tuple[str, tuple[int, int]]:
    start, end = text.index("{"), text.index("}") - 1
    return text.replace("{", "").replace("}", ""), (start, end)


def score(output: str, **settings: JSONValue) -> Score:
    return FAMILY.score(make_sample(output=output), settings)


@pytest.mark.parametrize(("entity", "text"), FOUND, ids=[text for _, text in FOUND])
def test_it_finds(entity: Entity, text: str) -> None:
    text, (start, end) = marked(text)
    assert find_entities(text) == [Finding(start, end, entity)]


@pytest.mark.parametrize("text", LEFT_ALONE, ids=LEFT_ALONE)
def test_it_leaves_alone(text: str) -> None:
    assert find_entities(text) == []


@pytest.mark.parametrize(
    "prefix", ["", "é", "😀", "👩‍👩‍👧 ", "𝔘𝔫𝔦 ", "漢字 ", "مرحبا ", "\u202e", "\x00", "\ud800 ", "e\u0301 "]
)
@pytest.mark.parametrize("value", ["jo@example.org", "4111111111111111", "212-555-0187", "192.0.2.44"])
def test_offsets_count_characters(prefix: str, value: str) -> None:
    text = f"{prefix} {value} {prefix}"
    [finding] = find_entities(text)
    assert text[finding.start : finding.end] == value


def test_full_width_text_keeps_its_offsets() -> None:
    text = "😀 ｊｏ＠ｅｘａｍｐｌｅ．ｏｒｇ 😀"
    assert find_entities(text) == [Finding(2, len(text) - 2, Entity.EMAIL)]


@given(st.text(max_size=100))
@settings(max_examples=200, deadline=None)
def test_reading_in_ascii_moves_no_character(text: str) -> None:
    assert len(plain(text)) == len(text)


def test_several_findings_come_in_reading_order() -> None:
    text = "Card 4111111111111111, mail jo@example.org, phone 212-555-0187, from 192.0.2.44"
    assert [finding.entity for finding in find_entities(text)] == [
        Entity.CREDIT_CARD,
        Entity.EMAIL,
        Entity.PHONE,
        Entity.IP_ADDRESS,
    ]


@given(st.lists(st.sampled_from([marked(text)[0] for _, text in FOUND] + LEFT_ALONE), max_size=6))
@settings(max_examples=150, deadline=None)
def test_findings_never_overlap(parts: list[str]) -> None:
    text = " ; ".join(parts)
    findings = find_entities(text)
    assert all(one.end <= other.start for one, other in pairwise(findings))
    assert all(0 <= finding.start < finding.end <= len(text) for finding in findings)


def test_a_card_is_not_a_telephone_even_for_who_looks_for_telephones() -> None:
    assert find_entities("Call about card 4111-1111-1111-1111", [Entity.PHONE]) == []


def test_every_kind_has_a_recogniser() -> None:
    assert set(RECOGNISERS) == set(Entity) - {Entity.PERSON}
    assert {entity for entity, _ in FOUND} == set(STRUCTURED)


# The family


def test_a_clean_output_passes() -> None:
    found = score("Nothing to see.")
    assert (found.value, found.passed, found.spans) == (1.0, True, None)
    assert found.extra == {"entities": []}
    assert found.explanation == "The output holds no personal data of the kinds looked for."


def test_personal_data_fails_with_kinds_and_places() -> None:
    found = score("Mail jo@example.org or al@example.org, or 212-555-0187.")
    assert (found.value, found.passed) == (0.0, False)
    assert found.spans == ((5, 19), (23, 37), (42, 54))
    assert found.extra == {
        "entities": [
            {"type": "EMAIL", "start": 5, "end": 19},
            {"type": "EMAIL", "start": 23, "end": 37},
            {"type": "PHONE", "start": 42, "end": 54},
        ]
    }
    assert found.explanation == "The output holds personal data: EMAIL (2), PHONE (1)."


@pytest.mark.parametrize(("entity", "text"), FOUND, ids=[text for _, text in FOUND])
def test_no_value_is_repeated(entity: Entity, text: str) -> None:
    text, (start, end) = marked(text)
    answer = json.dumps(score(text).extra) + str(score(text).explanation)
    assert text[start:end] not in answer


def test_a_profile_can_narrow_the_kinds() -> None:
    text = "Mail jo@example.org from 192.0.2.44"
    assert score(text, entities=["IP_ADDRESS"]).spans == ((25, 35),)
    assert score(text, entities=["PHONE"]).passed is True
    assert score(text, entities=["PHONE", "EMAIL"]).passed is False


@pytest.mark.parametrize(
    ("entities", "pointers"),
    [
        (["EMAIL"], []),
        ([str(entity) for entity in Entity], []),
        ([], ["/entities"]),
        (["EMAIL", "EMAIL"], ["/entities"]),
        (["SURNAME"], ["/entities/0"]),
        (["email"], ["/entities/0"]),
        ("EMAIL", ["/entities"]),
        (None, ["/entities"]),
    ],
)
def test_it_checks_the_kinds(entities: JSONValue, pointers: list[str]) -> None:
    assert [problem.pointer for problem in FAMILY.check_settings({"entities": entities})] == pointers


# Telephone numbers and the plans of countries


def test_a_number_without_a_word_or_a_shape_needs_a_valid_plan() -> None:
    assert find_entities("see 020 7946 0018")
    assert not find_entities("see 000 0000 0000")


def test_a_plus_needs_a_country() -> None:
    assert find_entities("+44 20 7946 0018")
    assert not find_entities("+999 20 7946 0018")


def test_look_ups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(phones, "MAX_LOOKUPS", 3)
    monkeypatch.setattr(phones, "_is_in_a_plan", lambda written, _: asked.append(written))
    find_entities("020 7946 0018, " * 50)
    assert len(asked) == 3


def test_shapes_are_found_beyond_the_bound_of_look_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phones, "MAX_LOOKUPS", 0)
    assert len(find_entities("212-555-0187, " * 50)) == 50


def test_a_word_too_far_away_announces_nothing() -> None:
    assert find_entities("phone 785 8949")
    assert not find_entities("phone" + " and so on" * 6 + " 785 8949")


# Hostile lengths: each would take minutes if a pattern could backtrack over it.

UNITS = [
    *("a", "1", "1 ", "12345 ", "a@", "a.", "a-", "@", "1.", "1:", "f:", "a:1", "AA11 ", "AA11", "0x", "00:", "(1)"),
    *("+1", "+", "1-", "(", "1 (", "01/", "\x00", " ", "😀", "１", "a@b.", "bc1q", "1.1.1.1 ", "1111 ", "%+-"),
    *("driver license ", "driver license 12345678 ", "phone 1234567 ", "passport 1", "ssn 123 45 6789 ", "call "),
    *("020 7946 0018 ", "+44 20 7946 0018 ", "4111 1111 1111 1111 ", "GB29 NWBK", "3J98t1WpEZ73CNmQviecrnyiWrnqRh "),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", UNITS)
def test_hostile_lengths_are_read_in_linear_steps(unit: str) -> None:
    text = (unit * 120_000)[:120_000]
    assert all(0 <= finding.start < finding.end <= len(text) for finding in find_entities(text))


@pytest.mark.timeout(60)
def test_the_longest_request_is_read() -> None:
    text = ("The quick brown fox, 12 years old, jumps over 3.5 lazy dogs in 1999. " * 7_000)[
        :480_000
    ] + " jo@example.org"
    assert score(text).spans == ((480_001, 480_015),)


def count_steps(text: str) -> int:
    """Count the Python calls that a text costs: a measure of work that does not depend on the machine."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        find_entities(text)
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize("unit", ["12345 ", "phone 1234567 ", "jo@example.org ", "4111111111111111 ", "192.0.2.44 "])
def test_work_grows_with_the_length_and_no_faster(unit: str) -> None:
    find_entities(unit)
    short, long = count_steps(unit * 100), count_steps(unit * 400)
    assert long <= 4.5 * short + 500

"""Personal data: what is found, what is left alone, and where it is."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import json
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import JSONValue
from evaluators.pii import phones
from evaluators.pii.anywhere.rules import MORE_KINDS, RECOGNISERS
from evaluators.pii.entities import FIRST_STRUCTURED, KINDS_OF_NOVEMBER, Entity, Finding, plain
from evaluators.pii.find import find_entities, find_first_entities
from evaluators.pii.recognisers import RECOGNISERS as FIRST_RECOGNISERS
from tests.evaluators.pii_examples import FAMILY, FOUND, LEFT_ALONE, marked, score


@pytest.mark.parametrize(("entity", "text"), FOUND, ids=[text for _, text in FOUND])
def test_it_finds(entity: Entity, text: str) -> None:
    text, (start, end) = marked(text)
    assert find_entities(text) == find_first_entities(text) == [Finding(start, end, entity)]


@pytest.mark.parametrize("text", LEFT_ALONE, ids=LEFT_ALONE)
def test_it_leaves_alone(text: str) -> None:
    assert find_entities(text) == find_first_entities(text) == []


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
def test_findings_never_overlap(parts: list[str]) -> None:
    text = " ; ".join(parts)
    findings = find_entities(text)
    assert all(one.end <= other.start for one, other in pairwise(findings))
    assert all(0 <= finding.start < finding.end <= len(text) for finding in findings)


def test_a_card_is_not_a_telephone_even_for_who_looks_for_telephones() -> None:
    assert find_entities("Call about card 4111-1111-1111-1111", [Entity.PHONE]) == []


def test_every_kind_has_a_recogniser() -> None:
    assert set(MORE_KINDS) == set(Entity) - {Entity.PERSON}
    assert set(RECOGNISERS) == set(KINDS_OF_NOVEMBER) - {Entity.PERSON}
    assert set(FIRST_RECOGNISERS) == set(RECOGNISERS) - {Entity.NATIONAL_ID}
    assert {entity for entity, _ in FOUND} == set(FIRST_STRUCTURED)


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
    monkeypatch.setattr(phones, "is_in_a_plan", lambda written, _: asked.append(written))
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

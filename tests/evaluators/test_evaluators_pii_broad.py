"""Names of people and postal addresses: the broad variant of pii."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators import minilm
from evaluators.base import CannotScore, JSONValue, Lane, Score, effective_settings
from evaluators.families import pii
from evaluators.families.pii import Pii
from evaluators.pii import person
from evaluators.pii.addresses import find_addresses
from evaluators.pii.entities import Entity
from evaluators.pii.find import find_entities
from evaluators.pii.words import N_FEATURES, compute_features, find_words
from tests.evaluators.samples import make_sample

FAMILY = Pii()
[STRUCTURED_SPEC, BROAD_SPEC] = [spec for spec in FAMILY.evaluators if {"pii", "pii-broad"} & {*spec.aliases}]
needs_model = pytest.mark.skipif(not minilm.is_installed(), reason="the small model is not installed")

ADDRESSES = [
    "He lives at {12 Main Street} now",
    "Send it to {221 W. 42nd Street}, please",
    "{4 St. James Sq.} is closed",
    "{64/72 Coronation Ave} it is",
    "{17031 2202 Rissik St} is the office",
    "{12 rue de la Paix}, Paris",
    "{3 bis} and {29 Avenue du Parc}",
    "Wir wohnen in der {Hauptstraße 12}.",
    "{Gumpendorfer Strasse 44}",
    "{Ziegelgasse 19}, Wien",
    "{Oude Kerkstraat 7}",
    "{Storgatan 25}",
    "{Calle Mayor 14}, Madrid",
    "{Rua das Flores 1213}",
    "{Via Garibaldi 3}",
    "{ul. Grochowa 80}",
    "{P.O. Box 104}",
    "{PSC 6477, Box 2981}",
    "{FPO AP 93757}",
    "{Apt. 678}",
    "{Springfield, IL 62704}",
    "{Oxford OX1 2JD} in England",
    "My zip code is {62704}",
    "my new address is {07 Celso Emilio 23}, thanks",
    "At the {corner of Fifth and Main Street} stands a post.",
]

NO_ADDRESS = [
    "",
    "In 1929 Wall Street fell.",
    "The 9 Supreme Court judges met.",
    "A brigade 12 men strong during 2012 in spring 5.",
    "There are 3 people on the street.",
    "I use Windows 11 and Office 2019.",
    "Meet me at Gate 12.",
    "The address is on page 12.",
    "She walked 5 miles down the road.",
    "The train arrived at Platform 9.",
    "We have 2 Hard Drives and 1 USB Drive left.",
    "Chapter 4 Section 2",
    "He ran 100 metres in 9.58 seconds.",
    "x = 12 * row + 4",
    "The answer is 42.",
]

NAMED = [
    "My name is {Maria Gonzalez} and I need help.",
    "Please ask {Robert Johnson} to call me back.",
    "{Anna} said that she would be late.",
    "Thanks, {Peter}",
    "The manager, {Laura Schmidt}, approved it.",
    "Dr. {Kumar} will see you at noon.",
    "I want to add {James Miller} as a beneficiary.",
    "The film was directed by {John Carter}.",
]

NAMELESS = [
    "The meeting is on Monday in September.",
    "London and Paris are large cities in Europe.",
    "Water boils at 100 degrees.",
    "The function returns a list of integers.",
    "Python and Java are programming languages.",
    "Natalia sold 48/2 = 24 clips.".replace("Natalia", "The shop"),
    "The patient was given 20 mg of the drug once a day.",
    "First, preheat the oven. Then mix the flour and the butter.",
    "def add(a, b): return a + b",
    "Therefore, the total is 42. However, it may change.",
]


def marked(text: str) -> tuple[str, list[tuple[int, int]]]:
    bare, spans = "", []
    for part in text.split("{"):
        inside, brace, rest = part.partition("}")
        if brace:
            spans.append((len(bare), len(bare) + len(inside)))
        bare += inside + rest
    return bare, spans


def broad(output: str, **profile: JSONValue) -> Score:
    return FAMILY.score(make_sample(output=output), effective_settings(BROAD_SPEC, profile))


def kinds(score: Score) -> list[str]:
    listed = score.extra["entities"]
    assert isinstance(listed, list)
    return [str(one["type"]) for one in listed if isinstance(one, dict)]


# Addresses


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_is_found(text: str) -> None:
    bare, spans = marked(text)
    start, end = spans[-1]
    assert any(begin < end and start < stop for begin, stop in find_addresses(bare))


@pytest.mark.parametrize("text", NO_ADDRESS)
def test_what_is_no_address_is_left_alone(text: str) -> None:
    assert list(find_addresses(text)) == []


def test_numbers_of_a_street_are_no_telephone_for_anybody() -> None:
    text = "The office is at 17031 2202 Rissik St today"
    assert find_entities(text) == []
    assert [found.entity for found in find_entities(text, [Entity.ADDRESS])] == [Entity.ADDRESS]


UNITS = [
    *("1 A ", "12 Main ", "Aa ", "address ", "address is 1 ", "corner of a and ", "12 Rue de la ", "Calle A ", "str ", "aaaastr"),
    *("Abc, ", "Unit 1 ", "p.o. box ", "zip code ", "1 1 ", "12/", "[", "der de la ", "meet me at 12 Aa ", "astrasse "),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", UNITS)
def test_hostile_lengths_are_searched_for_addresses_in_linear_steps(unit: str) -> None:
    text = (unit * 60_000)[:120_000]
    assert all(0 <= start < end <= len(text) for start, end in find_addresses(text))


# Words and their features


@given(st.text(max_size=200))
def test_every_word_has_features_that_the_head_knows(text: str) -> None:
    words = find_words(text)
    assert all(0 <= number < N_FEATURES for numbers in compute_features(text, words) for number in numbers)
    assert all(one[1] <= other[0] for one, other in pairwise(words))


def test_features_are_the_same_in_every_process() -> None:
    [first, *_] = compute_features("Ask Jo", find_words("Ask Jo"))
    assert first[:3] == FIRST_FEATURES


FIRST_FEATURES = [27227, 22604, 2303]


def test_a_word_without_end_is_read_in_part() -> None:
    [numbers] = compute_features("A" * 480_000, find_words("A" * 480_000))
    assert len(numbers) < 40


@given(st.text(alphabet="aB .\n", max_size=2_000))
def test_windows_cover_the_text_and_are_short(text: str) -> None:
    windows = list(person.name_windows(text))
    assert "".join(text[start:end] for start, end in windows) == text
    assert all(0 < end - start <= person.WINDOW_CHARS for start, end in windows)


def test_windows_end_with_sentences() -> None:
    text = "This is a sentence of some length. " * 40
    ends = [text[start:end][-2:] for start, end in person.name_windows(text)]
    assert set(ends) == {". "}


# Names


@needs_model
@pytest.mark.parametrize("text", NAMED)
def test_a_name_is_found(text: str) -> None:
    bare, spans = marked(text)
    found = broad(bare)
    assert kinds(found) == ["PERSON"]
    assert found.spans == tuple(spans)
    assert found.passed is False


@needs_model
@pytest.mark.parametrize("text", NAMELESS)
def test_a_text_without_a_name_passes(text: str) -> None:
    assert broad(text).passed is True


@needs_model
def test_everything_is_found_in_reading_order() -> None:
    found = broad("Maria Gonzalez lives at 12 Main Street; mail her at maria@example.org.")
    assert kinds(found) == ["PERSON", "ADDRESS", "EMAIL"]
    assert found.explanation == "The output holds personal data: ADDRESS (1), EMAIL (1), PERSON (1)."


@needs_model
def test_a_name_inside_an_address_is_part_of_the_address() -> None:
    assert kinds(broad("Write to 24 Clarke Avenue or to anna.schmidt@example.org.")) == ["ADDRESS", "EMAIL"]


@needs_model
def test_the_mail_address_is_the_longest_span() -> None:
    text = "My email is jo.smith@example.org and my name is Jo."
    spans = broad(text).spans or ()
    assert max(spans, key=lambda span: span[1] - span[0]) == (12, 32)


@needs_model
def test_no_name_is_repeated() -> None:
    found = broad("My name is Maria Gonzalez.")
    assert "Gonzalez" not in json.dumps(dict(found.extra)) + str(found.explanation)


@needs_model
def test_it_says_how_much_was_read_for_names() -> None:
    text = "Maria is here. " * 10_000
    read = broad(text).extra["person_chars_read"]
    assert isinstance(read, int)
    assert 0 < read <= person.MAX_WINDOWS * person.WINDOW_CHARS


@needs_model
def test_the_model_is_asked_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = person.embed_tokens  # type: ignore[attr-defined]  # as it is patched
    monkeypatch.setattr(person, "MAX_WINDOWS", 3)
    monkeypatch.setattr(person, "embed_tokens", lambda texts: asked.append(len(texts)) or real(texts))
    broad("Maria is here. " * 1_000)
    assert sum(asked) == 3


@needs_model
def test_long_texts_are_read_where_they_hold_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "MAX_WINDOWS", 2)
    text = "nothing to see here. " * 200 + "My name is Maria Gonzalez."
    assert kinds(broad(text)) == ["PERSON"]


@needs_model
def test_hostile_text_is_scored_in_little_memory() -> None:
    tracemalloc.start()
    try:
        assert broad("1" * 480_000).passed is True
        assert tracemalloc.get_traced_memory()[1] < 300e6
    finally:
        tracemalloc.stop()


# Other scripts


def test_a_text_in_another_script_is_declined() -> None:
    with pytest.raises(CannotScore) as refusal:
        broad("Меня зовут Иван, и я живу в Москве.")
    assert refusal.value.code == "unsupported_language"


def test_structured_kinds_count_in_every_script() -> None:
    found = broad("Меня зовут Иван, пишите на ivan@example.org")
    assert kinds(found) == ["EMAIL"]
    assert found.extra["person"] == "unsupported_language"


def test_what_does_not_count_does_not_excuse_a_script() -> None:
    with pytest.raises(CannotScore):
        broad("Меня зовут Иван, пишите на ivan@example.org", entities=["PERSON"])


@pytest.mark.parametrize("text", ["", " \n", "42 + 1 = 43", "!?"])
def test_a_text_without_letters_passes_without_the_model(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "embed_tokens", None)
    found = broad(text)
    assert found.passed is True
    assert found.extra["person_chars_read"] == 0


# Variants


def test_the_variants_differ_in_kinds_and_lane() -> None:
    assert STRUCTURED_SPEC.aliases == ("pii",)
    assert FAMILY.lane_of(effective_settings(STRUCTURED_SPEC, {})) is Lane.INLINE
    assert FAMILY.lane_of(effective_settings(BROAD_SPEC, {})) is Lane.CPU


def test_names_cost_a_worker_only_where_they_count() -> None:
    assert FAMILY.lane_of(effective_settings(BROAD_SPEC, {"entities": ["ADDRESS", "EMAIL"]})) is Lane.INLINE
    assert FAMILY.lane_of(effective_settings(STRUCTURED_SPEC, {"entities": ["PERSON"]})) is Lane.CPU


def test_the_structured_variant_passes_names_and_addresses() -> None:
    found = FAMILY.score(make_sample(output="Maria Gonzalez, 12 Main Street"), effective_settings(STRUCTURED_SPEC, {}))
    assert found.passed is True
    assert found.extra == {"entities": []}


def test_a_profile_may_add_addresses_to_the_structured_variant() -> None:
    chosen = effective_settings(STRUCTURED_SPEC, {"entities": ["ADDRESS"]})
    assert FAMILY.score(make_sample(output="12 Main Street"), chosen).passed is False


def test_an_answer_lists_a_bounded_number_of_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pii, "MAX_LISTED", 3)
    found = FAMILY.score(make_sample(output="jo@example.org, " * 5), {})
    assert len(kinds(found)) == 3
    assert found.extra["n_entities"] == 5
    assert len(found.spans or ()) == 5

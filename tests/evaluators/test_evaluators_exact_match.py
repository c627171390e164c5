"""Exact match, strict and normalised."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import EvaluatorSpec, Family, Score, effective_settings
from evaluators.registry import find_evaluator
from evaluators.text.normalise import normalise_answer, squad_normalise
from tests.evaluators.samples import make_sample


def resolve(name: str) -> tuple[Family, EvaluatorSpec]:
    pair = find_evaluator(name)
    assert pair is not None
    return pair


def score(name: str, output: str, gold: str) -> Score:
    family, spec = resolve(name)
    return family.score(make_sample(output=output, gold=gold), effective_settings(spec, {}))


def strict(output: str, gold: str) -> float:
    return score("exact-match", output, gold).value


def normalised(output: str, gold: str) -> float:
    return score("exact-match-normalised", output, gold).value


@pytest.mark.parametrize("text", ["", "a", "a b", "Straße", "😀", "\x00", "\ud800", " "])
def test_strict_equals_itself(text: str) -> None:
    assert strict(text, text) == 1.0


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("Paris", "paris"),
        ("Paris", "Paris "),
        ("Paris", "Paris."),
        ("Paris", ""),
        ("42", "42.0"),
        ("a  b", "a b"),
        ("e\u0301", "\u00e9"),
        ("\uff11", "1"),
        ("a\n", "a\r\n"),
        ("don't", "don’t"),
        ("a", "а"),
    ],
)
def test_strict_counts_every_character(output: str, gold: str) -> None:
    assert strict(output, gold) == 0.0


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("Paris", "paris"),
        ("Paris", " Paris. "),
        ("The cat", "cat"),
        ("a cat sat on an apple", "cat sat on apple"),
        ("\uff30aris", "Paris"),
        ("e\u0301tude", "étude"),
        ("STRASSE", "straße"),
        ("yes!", "Yes"),
        ('"quoted"', "quoted"),
        ("“quoted”", "quoted"),
        ("don't", "don’t"),
        ("1,000", "1000"),
        ("3.14.", "3.14"),
        ("**bold**", "bold"),
        ("`code`", "code"),
        ("one\n\ttwo", "one two"),
        ("\u22125", "-5"),
        ("U.S.A.", "USA"),
        ("ﬁne", "fine"),
        ("١٢", "١٢"),
        ("A", "a"),
        ("", ""),
        ("The", "the"),
        ("non\u2011stop", "non-stop"),
        ("x = y;", "x = y"),
    ],
)
def test_normalised_forgives(output: str, gold: str) -> None:
    assert normalised(output, gold) == 1.0


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("-5", "5"),
        ("+5", "5"),
        ("5%", "5"),
        ("$5", "5"),
        ("€5", "$5"),
        ("3.14", "314"),
        ("C++", "C"),
        ("<5", ">5"),
        ("A", ""),
        ("A", "the"),
        ("?", "!"),
        ("?", ""),
        ("theatre", "atre"),
        ("another", "nother"),
        ("Paris", "London"),
        ("two words", "twowords"),
        ("x²y", "xy"),
        ("😀", "😢"),
    ],
)
def test_normalised_keeps_apart(output: str, gold: str) -> None:
    assert normalised(output, gold) == 0.0


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("The answer is 72.", "72"),
        ("She pays $1,234.50 in all.", "1234.5"),
        ("5 + 13 = 18", "He has 5 apples and buys 13.\n#### 18"),
        ("#### 18\n\nQuestion: what is 2 + 2?", "#### 18"),
        ("#### 1,000", "1000"),
        ("about 50%", "50"),
        ("x = \u22125", "-5"),
        ("-$5", "$-5"),
        ("10-5", "5"),
        ("0.3333333", "0.3333334"),
        ("1e3", "1000"),
        ("٤٢", "42"),
        ("４２", "42"),
        (".5", "0.50"),
        ("GPT-4", "4"),
    ],
)
def test_numeric_reads_the_last_number(output: str, gold: str) -> None:
    assert score("exact-match-numeric", output, gold).value == 1.0


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("72 or 73", "72"),
        ("5", "-5"),
        ("0.33", "0.3333333333"),
        ("1000000001", "1000000000"),
        ("3.14", "314"),
        ("50%", "0.5"),
        ("none", "0"),
        ("", "0"),
        ("72", "seventy-two"),
        ("", ""),
        ("½", "0.5"),
        ("9" * 1000, "9" * 100),
    ],
)
def test_numeric_keeps_apart(output: str, gold: str) -> None:
    assert score("exact-match-numeric", output, gold).value == 0.0


def test_numeric_shows_where_the_number_stands() -> None:
    found = score("exact-match-numeric", "So 2 and 2 is 4.", "4")
    assert found.spans == ((14, 15),)
    assert found.extra == {"output_has_number": True, "gold_has_number": True}


@pytest.mark.parametrize(
    ("output", "gold", "says"),
    [
        ("4", "4", "The last number of the output equals that of the gold answer."),
        ("5", "4", "The last number of the output differs from that of the gold answer."),
        ("four", "4", "The output holds no number."),
        ("4", "four", "The gold answer holds no number."),
    ],
)
def test_numeric_says_why(output: str, gold: str, says: str) -> None:
    assert score("exact-match-numeric", output, gold).explanation == says


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("The capital is Paris.", "paris"),
        ("It lies in New\nYork City", "New York"),
        ("it is 5.", "5"),
        ("the U.S. economy", "US"),
        ("Paris/London", "London"),
        ("the river—wide and slow", "river"),
        ("Paris's mayor", "Paris"),
        ("I don’t know", "don't"),
        ("1,000 men", "1000"),
        ("答案是东京都", "东京"),
        ("option (b)", "B"),
        ("", ""),
        ("the", "The"),
    ],
)
def test_contains_finds_whole_words(output: str, gold: str) -> None:
    assert score("exact-match-contains", output, gold).value == 1.0


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("a party", "art"),
        ("15", "5"),
        ("5.5", "5"),
        ("-5", "5"),
        ("$5", "5"),
        ("1,000", "1"),
        ("London", "Paris"),
        ("Paris", "Paris, France"),
        ("A or C", "a b"),
        ("anything", ""),
        ("", "Paris"),
    ],
)
def test_contains_keeps_apart(output: str, gold: str) -> None:
    found = score("exact-match-contains", output, gold)
    assert found.value == 0.0
    assert found.explanation == "The output does not hold the gold answer after normalisation."


@given(st.text(max_size=40), st.text(max_size=20))
def test_an_answer_contains_what_it_equals(text: str, more: str) -> None:
    assert score("exact-match-contains", text, text).value == 1.0
    if normalised(text, more):
        assert score("exact-match-contains", text, more).value == 1.0


def test_the_mode_comes_from_the_evaluator_s_id() -> None:
    assert score("exact-match-2026-11-01", "Paris", "paris").passed is False
    assert score("exact-match-normalised-2026-11-01", "Paris", "paris").passed is True
    assert score("exact-match-normalized", "Paris", "paris").passed is True


def test_without_a_mode_it_is_strict() -> None:
    family, _ = resolve("exact-match")
    assert family.score(make_sample(output="A", gold="a"), {}).value == 0.0


def test_all_evaluators_share_the_one_managed_profile() -> None:
    family, _ = resolve("exact-match")
    assert [profile.name for profile in family.managed_profiles] == ["exact-match"]
    assert {spec.default_profile for spec in family.evaluators} == {"exact-match"}


@pytest.mark.parametrize(
    ("name", "output", "gold", "says"),
    [
        ("exact-match", "a", "a", "The output equals the gold answer."),
        ("exact-match", "ab", "ac", "The output first differs from the gold answer at character 2."),
        ("exact-match", "abc", "ab", "The output is longer than the gold answer: 3 characters against 2."),
        ("exact-match", "", "ab", "The output is shorter than the gold answer: 0 characters against 2."),
        ("exact-match-normalised", "A b", "a b!", "The output equals the gold answer after normalisation."),
        (
            "exact-match-normalised",
            "cat",
            "dog",
            "The output first differs from the gold answer at character 1 after normalisation.",
        ),
    ],
)
def test_it_says_why(name: str, output: str, gold: str, says: str) -> None:
    assert score(name, output, gold).explanation == says


@given(st.text(max_size=60))
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise_answer(text)
    assert normalise_answer(once) == once


@given(st.text(max_size=60))
def test_an_answer_equals_its_composed_and_shouted_forms(text: str) -> None:
    assert normalise_answer(unicodedata.normalize("NFD", text)) == normalise_answer(unicodedata.normalize("NFC", text))


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_order_of_the_two_does_not_matter(one: str, other: str) -> None:
    assert strict(one, other) == strict(other, one)
    assert normalised(one, other) == normalised(other, one)


@given(st.text(max_size=40), st.text(max_size=40))
def test_what_is_strictly_equal_is_equal_when_normalised(one: str, other: str) -> None:
    assert strict(one, other) <= normalised(one, other)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Cat!", "cat"),
        ("a an the", ""),
        ("U.S.A.", "usa"),
        ("two  spaces", "two spaces"),
        ("“curly”", "“curly”"),
        ("a-b", "ab"),
        ("", ""),
        ("theatre", "theatre"),
        ("Ünï", "ünï"),
    ],
)
def test_squad_s_own_normal_form(text: str, normal: str) -> None:
    assert squad_normalise(text) == normal


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["a ", "a", "１", "\ufdfa", ".", "1.", "1,", "#### ", "-+", "the "])
def test_long_texts_are_compared(unit: str) -> None:
    text = (unit * 480_000)[: 60_000 if unit == "\ufdfa" else 480_000]
    assert score("exact-match-contains", text, text).value == 1.0
    assert score("exact-match-contains", text, text[: len(text) // 2] + " x").value == 0.0
    assert score("exact-match-numeric", text, "1.5").value == 0.0
    assert normalised(text, text) == 1.0
    assert strict(text, text + "x") == 0.0

"""Exact match, strict and normalised."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators.base import EvaluatorSpec, Family, Sample, Score, effective_settings
from evaluators.registry import find_evaluator
from evaluators.text.normalise import normalise_answer, squad_normalise


def resolve(name: str) -> tuple[Family, EvaluatorSpec]:
    pair = find_evaluator(name)
    assert pair is not None
    return pair


def score(name: str, output: str, gold: str) -> Score:
    family, spec = resolve(name)
    return family.score(Sample(output=output, gold=gold), effective_settings(spec, {}))


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


def test_the_mode_comes_from_the_evaluator_s_id() -> None:
    assert score("exact-match-2026-11-01", "Paris", "paris").passed is False
    assert score("exact-match-normalised-2026-11-01", "Paris", "paris").passed is True
    assert score("exact-match-normalized", "Paris", "paris").passed is True


def test_without_a_mode_it_is_strict() -> None:
    family, _ = resolve("exact-match")
    assert family.score(Sample(output="A", gold="a"), {}).value == 0.0


def test_both_evaluators_share_the_one_managed_profile() -> None:
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
@settings(max_examples=200, deadline=None)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise_answer(text)
    assert normalise_answer(once) == once


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_an_answer_equals_its_composed_and_shouted_forms(text: str) -> None:
    assert normalise_answer(unicodedata.normalize("NFD", text)) == normalise_answer(unicodedata.normalize("NFC", text))


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_two_does_not_matter(one: str, other: str) -> None:
    assert strict(one, other) == strict(other, one)
    assert normalised(one, other) == normalised(other, one)


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=100, deadline=None)
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
@pytest.mark.parametrize("unit", ["a ", "１", "\ufdfa", ".", "1.", "the "])
def test_long_texts_are_compared(unit: str) -> None:
    text = (unit * 480_000)[: 60_000 if unit == "\ufdfa" else 480_000]
    assert normalised(text, text) == 1.0
    assert strict(text, text + "x") == 0.0

"""Exact match, strict and normalised."""

# Look-alike characters are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import AnswerText, CannotScore, EvaluatorSpec, Family, Score, effective_settings
from evaluators.registry import find_evaluator
from evaluators.text.expressions import read_answer
from evaluators.text.normalise import normalise_answer, squad_normalise
from tests.evaluators.samples import make_sample


def resolve(name: str) -> tuple[Family, EvaluatorSpec]:
    pair = find_evaluator(name)
    assert pair is not None
    return pair


def score(name: str, output: str, gold: str | bool) -> Score:
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
        ("(3, 4)", "(3,4)"),
        (".5", "0.5"),
        ("10:30!", "10:30"),
        ("**1/2**.", "1/2"),
        ('"C#"', "c#"),
        ("3–5", "3-5"),
        ("1'000", "1000"),
        ("1\u202f000", "1000"),
        ("½", "1/2"),
        ("2½", "2 1/2"),
        ("10²", "10^2"),
        ("m²", "m2"),
        ("H₂O", "H2O"),
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
        ("1/2", "12"),
        ("10:30", "1030"),
        (".5", "5"),
        ("1,2", "12"),
        ("1;2", "12"),
        ("(3,4)", "(34)"),
        ("(3, 400)", "(3400)"),
        ("3–5", "35"),
        ("x/2", "x2"),
        ("2*3", "23"),
        ("C#", "C"),
        ("R&D", "RD"),
        (".NET", "NET"),
        ("x != 5", "x = 5"),
        ("5‰", "5"),
        ("Vitamin A", "Vitamin"),
        ("A, C", "C"),
        ("😀", "😢"),
        ("10²", "102"),
        ("2½", "21/2"),
        ("½", "12"),
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
        ("0.3333333", "0.3333334"),
        ("1e3", "1000"),
        ("٤٢", "42"),
        ("４２", "42"),
        (".5", "0.50"),
        ("GPT-4", "4"),
        ("1 234", "1234"),
        ("1\u202f234\u00a0567", "1234567"),
        ("1'234", "1234"),
        ("1.234,56", "1234.56"),
        ("1,23,456", "123456"),
        ("3,5", "3.5"),
        (r"$1{,}234$", "1234"),
        ("3/4", "0.75"),
        (r"$\frac{1}{2}$", "0.5"),
        ("½", "0.5"),
        ("-3 1/2", "-3.5"),
        (r"3\dfrac{1}{2}", "3.5"),
        ("1/3", "0.333333"),
        ("2^10", "1024"),
        ("2¹⁰", "1024"),
        (r"2.5 \times 10^{-7}", "2.5e-7"),
        (r"2\sqrt{16}", "8"),
        ("1.2 million people", "1,200,000"),
        ("5k", "5000"),
        ("$5m", "5000000"),
        ("5 m", "5"),
        ("1.2万", "12000"),
        (r"\boxed{42} I checked it 2 times.", "42"),
        (r"\boxed{\frac{3}{4}}", "0.75"),
        (r"\boxed{42 \text{ km}^2}", "42"),
        ("Put it in \\boxed{}: 42", "42"),
        ("5 + 13", "18"),
        ("13 - 5", "8"),
        ("1. 42", "42"),
        ("#### Step 2\nIt is 5", "5"),
        ("#### 1. Add\nIt is 5", "5"),
        ("**Answer:** **5**", "5"),
        ("答案是**5**个", "5"),
        ("100 m²", "100"),
        ("5 km/h", "5"),
        ("3–8", "3-8"),
        ("10:30", "at 10:30"),
        (r"\left(3, 4\right)", "(3,4)"),
        ("1, 2 and 3", "1, 2, 3"),
        ("3 1/2 million", "3500000"),
        ("2 and 1/2 cups", "2.5"),
        ("x = - 7", "-7"),
        (r"\frac{-1}{2}", "-0.5"),
        ("minus 7 degrees", "-7"),
        ("Negative 7", "-7"),
        ("10 minus 7", "3"),
        ("5 plus 6", "11"),
        ("10~000", "10000"),
        (r"\boxed{12~345}", "12345"),
        ("1~234~567", "1234567"),
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
        ("2.2e-10", "2.2e-11"),
        ("0.0000004", "0.0000009"),
        ("1e-17", "0"),
        ("1 234", "234"),
        ("3/4", "4"),
        (r"\frac{1}{2}", "2"),
        (r"\frac{x}{2}", "2"),
        (r"\frac{\sqrt{3}}{2}", "2"),
        ("3 1/2", "0.5"),
        ("2^10", "10"),
        ("x^2", "2"),
        ("(-2)^2", "-2"),
        ("2^3^2", "2"),
        ("1.2 million", "1.2"),
        ("5k", "5"),
        (r"\boxed{42} I checked it 2 times.", "2"),
        (r"\boxed{none} of 5", "5"),
        ("10-5", "5"),
        ("3–8", "8"),
        ("10:30", "30"),
        ("10~20", "20"),
        ("100~200", "100200"),
        ("minus 7", "7"),
        ("$2y$", "2"),
        ("2024-01-15", "15"),
        ("1.2.3", "3"),
        ("(3, 4)", "4"),
        (r"\boxed{3, 4}", "4"),
        ("1/2 million", "0.5"),
        ("2 and 1/2 cups", "0.5"),
        ("x = - 7", "7"),
        ("2 × 3", "3"),
        ("1920x1080", "1080"),
        ("2x + 3", "3"),
        ("x+3", "3"),
        ("5 + x", "5"),
        ("sin 30", "30"),
        ("2√3", "3"),
        ("2π", "2"),
        ("5/0", "0"),
        ("9" * 1000, "9" * 100),
    ],
)
def test_numeric_keeps_apart(output: str, gold: str) -> None:
    assert score("exact-match-numeric", output, gold).value == 0.0


@pytest.mark.parametrize("gold", ["", "seventy-two", "see the table", "x + 3", r"\frac{x}{2}"])
def test_a_gold_answer_without_a_number_is_an_error(gold: str) -> None:
    with pytest.raises(CannotScore, match="holds no number") as refusal:
        score("exact-match-numeric", "72", gold)
    assert refusal.value.code == "wrong_type"


def test_other_gold_answers_count_where_one_holds_no_number() -> None:
    family, spec = resolve("exact-match-numeric")
    sample = replace(make_sample(output="72"), golds=(AnswerText("seventy-two"), AnswerText("72")))
    found = family.score(sample, effective_settings(spec, {}))
    assert (found.value, found.extra["gold_index"]) == (1.0, 1)


@given(st.text(alphabet="0123456789.,/^-+:()[]{}$xe \\frac√½²kM%", max_size=30))
def test_any_expression_is_read(text: str) -> None:
    found = read_answer(text)
    assert found is None or all(value.is_finite() for value in found.values)


def test_a_number_is_found_far_from_the_end_of_a_text() -> None:
    assert score("exact-match-numeric", "It is 3/4. " + "Nothing else. " * 1000, "0.75").value == 1.0
    assert score("exact-match-numeric", "1" + " + 1" * 50 + "." + " " * 3900, "51").value == 1.0


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
        ("x + 4", "4", "The last number of the output is a part of a larger expression."),
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
        *((f"The answer is ({letter}).", letter) for letter in "ABCI"),
        ("The answer is A", "A"),
        ("A because it fits", "A"),
        ("A describes it", "A"),
        ("option a is right", "A"),
        ("The answer is I.", "I"),
        ("I choose A because it fits", "A"),
        ("answer: a", "A"),
        ("**A**", "A"),
        ("A\nIt fits", "(A)"),
        ("答案是A。", "A"),
        ("정답은 A입니다", "A"),
        ("Vitamin A deficiency", "Vitamin A"),
        ("The Model A is it", "Model A"),
        ("The answer is 1/2, I think", "1/2"),
        ("It is (3, 4), I think", "(3,4)"),
        ("In 2012, 500 people", "500"),
        ("C# it is", "C#"),
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
        ("A cat sat there.", "A"),
        ("It is a cat", "A"),
        ("It was B. A cat is not it.", "A"),
        ("A: B", "A"),
        ("I think that it is B", "I"),
        ("I'd say B", "D"),
        ("I don't know", "T"),
        ("C# it is", "C"),
        ("U.S.A.", "A"),
        ("A-level", "A"),
        ("At 10:30", "30"),
        ("It is 3/45", "45"),
        ("It is 3,45", "45"),
        ("pages 3–5", "5"),
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


@pytest.mark.parametrize(
    ("id", "output", "gold", "value"),
    [
        ("exact-match-normalised-2026-11-01", "1/2", "12", 1.0),
        ("exact-match-normalised-2026-11-01", "Plan A.", "plan", 1.0),
        ("exact-match-numeric-2026-11-20", "3/4", "4", 1.0),
        ("exact-match-numeric-2026-11-20", "10-5", "5", 1.0),
        ("exact-match-numeric-2026-11-20", "72", "seventy-two", 0.0),
        ("exact-match-contains-2026-11-20", "The answer is (A).", "A", 0.0),
        ("exact-match-contains-2026-11-20", "I'd say B", "D", 1.0),
        ("exact-match-contains-2026-11-20", "1,000 men", "1000", 1.0),
        ("exact-match-2026-11-01", "true", True, 1.0),
        ("exact-match-2026-11-01", "True", True, 0.0),
        ("exact-match-2026-11-01", "Yes", True, 0.0),
        ("exact-match-normalised-2026-11-01", "True", True, 1.0),
        ("exact-match-normalised-2026-11-01", "Yes", True, 0.0),
        ("exact-match-normalised-2026-11-01", "no", False, 0.0),
        ("exact-match-contains-2026-11-20", "It is true.", True, 1.0),
        ("exact-match-contains-2026-11-20", "True, or false?", True, 1.0),
        ("exact-match-contains-2026-11-20", "Yes.", True, 0.0),
    ],
)
def test_earlier_ids_keep_their_verdicts(id: str, output: str, gold: str | bool, value: float) -> None:
    assert score(id, output, gold).value == value


@pytest.mark.parametrize(
    ("mode", "output", "gold", "value"),
    [
        *(("", output, True, 1.0) for output in ("true", "True", "TRUE", "Yes", "yes\n")),
        *(("", output, False, 1.0) for output in ("false", "False", "No")),
        *(("", output, True, 0.0) for output in ("false", "No", "1", "Yes.", "")),
        *(("-normalised", output, True, 1.0) for output in ("Yes.", "**True**", "true")),
        *(("-normalised", output, True, 0.0) for output in ("No.", "Yes, it is", "1")),
        *(("-contains", output, True, 1.0) for output in ("Yes, it is.", "The answer is True.")),
        *(("-contains", output, True, 0.0) for output in ("No.", "True, or false?", "Yesterday", "untrue")),
        *(("-contains", output, True, 0.0) for output in ("Not true.", "It isn\u2019t true", "Yes and no", "no doubt")),
        *(("-contains", output, True, 1.0) for output in ("Yes, there is no doubt.", "It is not false.", "__True__")),
        *(("-contains", output, False, 1.0) for output in ("No, it is not.", "No, that's not true.", "not quite true")),
        *(("-contains", output, False, 1.0) for output in ("The answer is no because of rain", "**No**", "I say no")),
        *(("-contains", output, False, 0.0) for output in ("There is no evidence.", "Yes. No doubt.", "Noah")),
    ],
)
def test_booleans_are_found_in_their_words(mode: str, output: str, gold: bool, value: float) -> None:
    assert score(f"exact-match{mode}", output, gold).value == value
    assert score(f"exact-match{mode}-2026-11-28", output, gold).value == value


def test_the_mode_comes_from_the_evaluator_s_id() -> None:
    assert score("exact-match-2026-11-28", "Paris", "paris").passed is False
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

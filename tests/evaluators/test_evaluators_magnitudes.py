"""Numbers of which a part is written as a word."""

from __future__ import annotations

import pytest

from evaluators.base import Score
from evaluators.families.retrieval.hallucination import WORST_SENTENCE
from evaluators.grounding.magnitudes import find_scaled, in_digits
from evaluators.registry import get_family
from tests.evaluators.samples import make_sample

FAMILY = get_family("retrieval-hallucination")


def score(output: str, context: str) -> Score:
    return FAMILY.score(make_sample(input="How many?", output=output, contexts=(context,)), {"variant": WORST_SENTENCE})


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("7 million", ["7000000"]),
        ("seven million", ["7000000"]),
        ("3.5 billion", ["3500000000"]),
        ("$3,500 million", ["3500000000"]),
        ("2-Million and 4 bn", ["2000000", "4000000000"]),
        ("1.2345 thousand", ["1234.5"]),
        ("0.5 thousand", ["500"]),
        ("millions of 7", []),
        ("7 millions", []),
        ("v1.7 million", []),
    ],
)
def test_a_number_and_what_scales_it_are_one(text: str, digits: list[str]) -> None:
    assert [found for _, found in find_scaled(text)] == digits


def test_texts_are_rewritten_in_digits() -> None:
    assert in_digits("Of 2 million, 15% or 3 % stay.") == "Of 2000000, 15 percent or 3 percent stay."
    assert in_digits("A plain text.") == "A plain text."


@pytest.mark.parametrize(
    ("good", "bad", "context"),
    [
        ("7 million", "8 million", "It has about 7,000,000 visitors a year."),
        ("7,000,000", "8,000,000", "It has about 7 million visitors a year."),
        ("Seven million", "Nine million", "It has about 7000000 visitors a year."),
        ("$3,500 million", "$35 billion", "Revenue was $3.5 billion."),
        ("15 percent", "50 percent", "Of the patients, 15% had headaches."),
        ("the sixteenth president", "the seventeenth president", "He was the 16th president."),
        ("the 16th president", "the 17th president", "He was the sixteenth president."),
    ],
)
def test_a_number_in_another_notation_is_supported_and_another_number_is_not(good: str, bad: str, context: str) -> None:
    right, wrong = score(good, context), score(bad, context)
    assert right.passed
    assert right.value >= 0.95
    assert wrong.value < 0.5
    assert not wrong.passed


def test_the_thousands_of_a_table_need_not_be_repeated() -> None:
    assert score("$3,700 million", "Revenue (in million): $3,700").extra["unsupported_numbers"] == []


def test_unsupported_numbers_stand_where_they_are_written() -> None:
    output = "It has 8 million visitors, and 7 million of them pay."
    assert score(output, "It has 7,000,000 visitors.").extra["unsupported_numbers"] == [[7, 8]]


def test_a_number_spelled_out_counts_as_a_number() -> None:
    context = "Of the patients, 15% had headaches, and one of 2 recovered."
    good, bad = score("Fifteen percent had headaches.", context), score("Fifty percent had headaches.", context)
    assert good.extra["unsupported_numbers"] == []
    assert bad.extra["unsupported_numbers"] == [[0, 5]]
    assert bad.value < good.value
    assert score("Two had headaches, one of the twenty-five did not.", context).extra["unsupported_numbers"] == []

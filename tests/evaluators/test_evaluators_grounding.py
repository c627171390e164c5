"""Sentences, words, numbers, names, negations and refusals: what support is measured by."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.grounding.claims import find_names, find_numbers, negated
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.refusals import find_refusal
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.support import measure_support
from evaluators.grounding.words import split_words, stem


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It is 3.5 km long. Yes.", ["It is 3.5 km long.", "Yes."]),
        ("Dr. No met Mr. Bond. They talked.", ["Dr. No met Mr. Bond.", "They talked."]),
        ("J. K. Rowling wrote it. It sold.", ["J. K. Rowling wrote it.", "It sold."]),
        ("Made in the U.S. by us. Good.", ["Made in the U.S. by us.", "Good."]),
        ("It ended at 5 p.m. Then we left.", ["It ended at 5 p.m.", "Then we left."]),
        ("First line\nsecond line", ["First line", "second line"]),
        ("「本当です。」そうです。", ["「本当です。」", "そうです。"]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ("Wait... What?", ["Wait...", "What?"]),
    ],
)
def test_sentences_end_where_they_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet="aB1. \n!。\"'", max_size=80))
def test_sentences_are_in_order_and_leave_only_blanks_out(text: str) -> None:
    end_before = 0
    for start, end in split_sentences(text):
        assert text[end_before:start].strip() == ""
        assert start < end
        end_before = end
    assert text[end_before:].strip() == ""


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("cities", "city"),
        ("walked", "walking"),
        ("stopped", "stop"),
        ("founded", "founder"),
        ("two", "2"),
        ("uses", "use"),
    ],
)
def test_forms_of_a_word_share_a_stem(left: str, right: str) -> None:
    if right == "founder":
        assert stem(left) == "found"
    else:
        assert stem(left) == stem(right)


@pytest.mark.parametrize("word", ["glass", "is", "a", "größe", "日", "us"])
def test_short_and_foreign_words_stay(word: str) -> None:
    assert stem(word) == word


def test_grouped_digits_are_one_word() -> None:
    assert split_words("1,000 of 12,345,678, or 1,2") == ["1000", "of", "12345678", "or", "1", "2"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [("1,000.50", "1000.5"), ("08", "8"), ("3.0", "3"), ("٤٢", "42"), ("1990s", "1990"), ("00", "0")],
)
def test_numbers_have_one_plain_form(text: str, plain: str) -> None:
    assert [found for _, found in find_numbers(text, (0, len(text)))] == [plain]


def test_names_are_capitals_within_a_sentence() -> None:
    text = "The River Sova meets I and The Mir"
    assert [text[slice(*where)] for where, _ in find_names(text, (0, len(text)))] == ["River", "Sova", "Mir"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it was not founded in rome", [False, False, False, True, True, True]),
        ("they don t swim", [False, False, False, True]),
        ("no it swims", [False, False, False]),
        ("not only rich", [False, False, False]),
    ],
)
def test_negation_reaches_three_words(text: str, expected: list[bool]) -> None:
    assert negated(text.split()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I do not really know the answer.",
        "I'm sorry, but I cannot help with that.",
        "I am unable to answer this question.",
        "I\u2019m not sure.",
        "The context does not contain information about the price.",
        "The provided documents do not mention it.",
        "This is not mentioned in the context.",
        "There is no information about that.",
        "Not enough information.",
        "Unknown",
        "N/A",
        "As an AI language model, I have no opinion.",
        "The question cannot be answered.",
        "The passage doesn't say.",
        "I have no idea.",
        "Sorry, I couldn't find anything.",
        "I must decline.",
    ],
)
def test_declining_is_seen(text: str) -> None:
    assert find_refusal(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Paris is the capital of France.",
        "The results did not show a difference between the groups.",
        "We did not find an association with age.",
        "There is no evidence that the drug reduces pain.",
        "The law allows no personal data to leave the country.",
        "It is not clear whether the treatment works.",
        "We could not confirm the earlier finding.",
        "He did not know that she had left.",
        "Insufficient sleep raises the risk.",
        "The data do not support the hypothesis.",
        "You cannot enter without a ticket.",
    ],
)
def test_findings_and_denials_are_no_refusals(text: str) -> None:
    assert find_refusal(text) is None


def test_evidence_counts_words_that_stand_together() -> None:
    evidence = Evidence(["alpha beta gamma " + "x " * 100 + "delta", "alpha delta"])
    assert evidence.most_together(["alpha", "beta", "gamma", "delta"]) == 3
    assert evidence.most_together(["alpha", "delta"]) == 2
    assert evidence.most_together(["nowhere"]) == 0
    assert Evidence([]).most_together(["alpha"]) == 0


@given(
    contexts=st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=120).map(" ".join), max_size=3),
    asked=st.lists(st.sampled_from("abcdefghz"), max_size=9, unique=True),
)
def test_counting_by_bits_is_counting(contexts: list[str], asked: list[str]) -> None:
    passages = []
    for words in map(str.split, contexts):
        starts = range(0, max(len(words) - 20, min(len(words), 1)), 20)
        passages += [set(words[start : start + 40]) for start in starts]
    expected = max((len(passage & set(asked)) for passage in passages), default=0)
    assert Evidence(contexts).most_together(asked) == expected


def test_evidence_does_not_join_contexts() -> None:
    assert ("beta", "gamma") not in Evidence(["alpha beta", "gamma"]).pairs
    assert Evidence(["alpha beta", "gamma"]).most_together(["beta", "gamma"]) == 1


def test_a_long_sentence_is_as_good_as_its_worst_words() -> None:
    context = "The river Sova flows through three countries before it reaches the sea"
    evidence = Evidence([context])
    alone = measure_support("It was painted by monks", evidence).sentences[0].value
    glued = measure_support(f"{context}, it was painted by monks, {context}", evidence).sentences[0].value
    assert glued < 0.5
    assert alone < 0.5


@pytest.mark.parametrize("template", ["{c}, {b}", "{b}, {c}", "{c} - {b} - {c}", "{c} ({b})", "{c}; {b}; {c}"])
@pytest.mark.parametrize("claim", ["frozen most winters", "it tastes nice", "Danish monks painted it"])
def test_a_short_claim_glued_to_a_copied_sentence_is_weighed_alone(template: str, claim: str) -> None:
    context = "The river Sova flows through three countries before it reaches the sea and many villages on its banks"
    evidence = Evidence([context])
    alone, glued = (measure_support(text, evidence).value for text in (claim, template.format(c=context, b=claim)))
    assert glued <= alone + 0.1
    assert measure_support(f"{context}, {context}", evidence).value > 0.9


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit", ["word ", "a", "a, ((", "a, ", "A b1 not. ", "x, ", "日本。", "I don't know the context does not "]
)
def test_half_a_million_characters_are_measured(unit: str) -> None:
    text = (unit * 240_000)[:240_000]
    started = time.process_time()
    assert measure_support(text, Evidence([text])).sentences
    # Generous: it takes half a second; quadratic work would take hours.
    assert time.process_time() - started < 30

"""ROUGE, SQuAD and the words they count."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from evaluators.text.metrics import overlap as module
from evaluators.text.metrics.overlap import (
    Overlap,
    lcs_length,
    overlap,
    rouge_l,
    rouge_n,
    squad_exact,
    squad_f1,
)
from evaluators.text.tokens import UnicodeTokenizer

tokenize = UnicodeTokenizer().tokenize
LIBRARY = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=UnicodeTokenizer())
ASCII_LIBRARY = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"])

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=40)


def table_lcs(left: list[str], right: list[str]) -> int:
    """The textbook table, to compare with."""
    row = [0] * (len(right) + 1)
    for one in left:
        previous = 0
        for column, other in enumerate(right, start=1):
            previous, row[column] = row[column], previous + 1 if one == other else max(row[column], row[column - 1])
    return row[-1]


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("   ", []),
        (".,!", []),
        ("Hello, World!", ["hello", "world"]),
        ("don't", ["don", "t"]),
        ("snake_case", ["snake", "case"]),
        ("3.14", ["3", "14"]),
        ("Straße Ünï", ["straße", "ünï"]),
        ("e\u0301t\u00e9", ["été"]),
        ("привет мир", ["привет", "мир"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("漢字かな", ["漢", "字", "か", "な"]),
        ("AI漢字", ["ai", "漢", "字"]),
        ("한국어 단어", ["한국어", "단어"]),
        ("𠮷野家", ["𠮷", "野", "家"]),
        ("😀 hi 😀", ["hi"]),
        ("a\x00b", ["a", "b"]),
        ("x\ud800y", ["x", "y"]),
    ],
)
def test_words_of_any_script(text: str, words: list[str]) -> None:
    assert tokenize(text) == words


def test_thai_characters_count_one_by_one_with_their_marks() -> None:
    assert len(tokenize("สวัสดี")) == 4


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=100))
def test_ascii_words_equal_those_of_rouge_score(text: str) -> None:
    assert tokenize(text) == ASCII_LIBRARY._tokenizer.tokenize(text)


@given(st.text(max_size=100))
def test_words_hold_no_space_and_no_capitals(text: str) -> None:
    for word in tokenize(text):
        assert word.split() == [word]


# Longest common subsequence


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [
        ("", "", 0),
        ("a", "", 0),
        ("a", "a", 1),
        ("a", "b", 0),
        ("a b c", "a c", 2),
        ("a b", "b a", 1),
        ("a b c d", "d c b a", 1),
        ("a b c b d a b", "b d c a b a", 4),
        ("the cat sat", "the dog sat", 2),
        ("a a a", "a a", 2),
        ("x a y b z", "a b", 2),
    ],
)
def test_lcs_by_hand(left: str, right: str, length: int) -> None:
    assert lcs_length(left.split(), right.split()) == length


@given(WORDS, WORDS)
def test_lcs_equals_the_table(left: list[str], right: list[str]) -> None:
    assert lcs_length(left, right) == table_lcs(left, right)


@pytest.mark.parametrize("seed", range(5))
def test_lcs_equals_the_table_beyond_one_machine_word(seed: int) -> None:
    rng = random.Random(seed)
    left = [rng.choice("abcdefgh") for _ in range(rng.randint(100, 300))]
    right = [rng.choice("abcdefgh") for _ in range(rng.randint(100, 300))]
    assert lcs_length(left, right) == table_lcs(left, right)


@given(WORDS, WORDS)
def test_lcs_is_symmetric_and_bounded(left: list[str], right: list[str]) -> None:
    found = lcs_length(left, right)
    assert found == lcs_length(right, left)
    assert found <= min(len(left), len(right))


@given(WORDS)
def test_lcs_with_itself_is_everything(words: list[str]) -> None:
    assert lcs_length(words, words) == len(words)


def test_lcs_does_not_change_its_arguments() -> None:
    left, right = ["a", "b"], ["a", "c"]
    lcs_length(left, right)
    assert (left, right) == (["a", "b"], ["a", "c"])


# ROUGE


@given(st.text(alphabet="abc .", max_size=80), st.text(alphabet="abc .", max_size=80))
def test_rouge_equals_the_library(output: str, gold: str) -> None:
    theirs = LIBRARY.score(gold, output)
    said, wanted = tokenize(output), tokenize(gold)
    for name, ours in (
        ("rouge1", rouge_n(said, wanted, 1)),
        ("rouge2", rouge_n(said, wanted, 2)),
        ("rougeL", rouge_l(said, wanted)),
    ):
        assert ours is not None
        assert (ours.precision, ours.recall) == (theirs[name].precision, theirs[name].recall)
        assert ours.f1 == pytest.approx(theirs[name].fmeasure, abs=1e-15)


@given(st.text(max_size=60), st.text(max_size=60))
def test_rouge_equals_the_library_on_any_script(output: str, gold: str) -> None:
    theirs = LIBRARY.score(gold, output)["rougeL"]
    ours = rouge_l(tokenize(output), tokenize(gold))
    assert ours is not None
    assert ours.f1 == pytest.approx(theirs.fmeasure, abs=1e-15)


def test_rouge_by_hand() -> None:
    said, wanted = tokenize("The cat was found under the bed."), tokenize("The cat was under the bed.")
    assert rouge_n(said, wanted, 1) == overlap(6, 7, 6)
    assert rouge_n(said, wanted, 2) == overlap(4, 6, 5)
    assert rouge_l(said, wanted) == overlap(6, 7, 6)


def test_repeated_words_count_as_often_as_both_have_them() -> None:
    assert rouge_n(["a", "a", "a"], ["a", "b"], 1) == overlap(1, 3, 2)


@pytest.mark.parametrize(("said", "wanted"), [([], []), (["a"], []), ([], ["a"]), (["a"], ["b"])])
def test_nothing_in_common_is_zero(said: list[str], wanted: list[str]) -> None:
    zero = Overlap(0.0, 0.0, 0.0)
    assert [rouge_n(said, wanted, 1), rouge_n(said, wanted, 2), rouge_l(said, wanted)] == [zero, zero, zero]


def test_rouge_l_declines_a_table_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LCS_CELLS", 5)
    assert rouge_l(["a"] * 2, ["a"] * 2) is not None
    assert rouge_l(["a"] * 2, ["a"] * 3) is None


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_overlap_is_a_harmonic_mean(common: int, more_said: int, more_wanted: int) -> None:
    found = overlap(common, common + more_said, common + more_wanted)
    exact = Fraction(2 * common, 2 * common + more_said + more_wanted) if common else Fraction(0)
    assert found.f1 == pytest.approx(float(exact), abs=1e-12)
    assert 0.0 <= min(found.precision, found.recall) <= found.f1 + 1e-12
    assert found.f1 <= max(found.precision, found.recall) + 1e-12 <= 1.0 + 1e-12


# SQuAD


@pytest.mark.parametrize(
    ("output", "gold", "exact", "f1"),
    [
        ("", "", 1.0, 1.0),
        ("the", "an", 1.0, 1.0),
        ("", "x", 0.0, 0.0),
        ("x", "", 0.0, 0.0),
        ("x", "the", 0.0, 0.0),
        ("The Cat.", "cat", 1.0, 1.0),
        ("cat dog", "cat", 0.0, 2 / 3),
        ("cat cat", "cat", 0.0, 2 / 3),
        ("cat", "dog", 0.0, 0.0),
        ("in 1990 in Paris", "Paris 1990", 0.0, 2 / 3),
        ("dog cat", "cat dog", 0.0, 1.0),
        ("U.S.", "us", 1.0, 1.0),
    ],
)
def test_squad_by_hand(output: str, gold: str, exact: float, f1: float) -> None:
    assert squad_exact(output, gold) == exact
    assert squad_f1(output, gold).f1 == pytest.approx(f1, abs=1e-15)


def test_squad_f1_keeps_precision_and_recall() -> None:
    found = squad_f1("cat dog bird", "cat")
    assert (found.precision, found.recall) == (1 / 3, 1.0)


@given(st.text(max_size=60), st.text(max_size=60))
def test_an_exact_match_has_full_f1(output: str, gold: str) -> None:
    if squad_exact(output, gold):
        assert squad_f1(output, gold).f1 == 1.0

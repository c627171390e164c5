"""Toxicity by sentences and windows: harmless kinds of text, kinds of hate, disguises, and long texts."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import Score, effective_settings
from evaluators.families import toxicity as module
from evaluators.families.toxicity import Toxicity
from evaluators.registry import find_evaluator
from evaluators.text.unmarked import unmarked
from evaluators.toxicity.combined import MAX_WINDOWS_READ, READ_WHOLE, WINDOWS_AROUND, _side_by_side, read_both_ways
from evaluators.toxicity.models import meaning_logits
from evaluators.toxicity.windows import MAX_READ
from tests.evaluators import toxicity_functional as functional
from tests.evaluators.samples import make_sample
from tests.evaluators.toxicity_examples import GROUP_HATE, GROUP_TALK, HARMLESS, TOXIC

FAMILY = Toxicity()
KIND = ("You can reset your password from the settings page. ", "Our support team will reply within two days. ") * 8
POLITE = "".join(KIND)


def score(output: str) -> Score:
    found = find_evaluator("toxicity")
    assert found is not None
    return FAMILY.score(make_sample(output=output), effective_settings(found[1], {}))


def share_failed(texts: list[str] | tuple[str, ...]) -> float:
    return sum(not score(text).passed for text in texts) / len(texts)


# Disguises


@pytest.mark.parametrize("insult", functional.INSULTS)
def test_no_disguise_turns_an_insult_into_a_pass(insult: str) -> None:
    assert [text for text in functional.disguised(insult) if score(text).passed] == []


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("_idiot_", "idiot"),
        ("you __stupid__ *pig*", "you stupid pig"),
        ("snake_case_name", "snake case name"),
        ("5 * 3 = 15", "5 3 = 15"),
        ("`code` and ~~gone~~", "code and gone"),
        ("> quoted\n> lines", "quoted\nlines"),
        ("# Heading", "Heading"),
        ("[a link](https://example.org/x)", "a link"),
        ("<b>bold</b> &amp; more", "bold & more"),
        ('"All of it is said."', "All of it is said."),
        ('He said "idiot" to me.', 'He said "idiot" to me.'),
        ("id\u200biot", "idiot"),
        ("\u0456diot and \u043f\u0440\u0438\u0432\u0435\u0442", "idiot and \u043f\u0440\u0438\u0432\u0435\u0442"),
        ("i.d.i.o.t", "idiot"),
        ("y o u", "you"),
        ("U.S. and e.g. this", "U.S. and e.g. this"),
        ("a well-known fact", "a well-known fact"),
        ("", ""),
    ],
)
def test_marks_go_and_words_stay(text: str, plain: str) -> None:
    assert unmarked(text) == plain


@given(st.text(max_size=300))
def test_any_text_can_be_unmarked(text: str) -> None:
    once = unmarked(text)
    assert isinstance(once, str)
    assert not {"_", "\u200b", "\u00ad"} & set(once)


# Kinds of text. The bounds are what was found, and one more.


@pytest.mark.parametrize(
    ("texts", "most"),
    [
        (HARMLESS, 0.02),
        (functional.POLITICS, 0.2),
        (functional.DEATH_AND_HEALTH, 0.17),
        (functional.REFERENCES, 0.13),
        (functional.ENTHUSIASM, 0.67),
        (functional.NEGATED, 0.75),
        (functional.QUOTED, 0.5),
        (functional.COUNTER, 0.375),
        (functional.RECLAIMED, 0.75),
        (GROUP_TALK, 0.15),
    ],
    ids=["scary", "politics", "death", "references", "swearing", "negated", "quoted", "counter", "reclaimed", "talk"],
)
def test_few_harmless_texts_fail(texts: tuple[str, ...], most: float) -> None:
    assert share_failed(texts) <= most


@pytest.mark.parametrize(("texts", "least"), [(TOXIC, 0.9), (GROUP_HATE, 0.45), (functional.INSULTS, 1.0)])
def test_most_offensive_texts_fail(texts: tuple[str, ...], least: float) -> None:
    assert share_failed(texts) >= least


# Long texts


@pytest.mark.parametrize(
    "insult", ["You are a worthless idiot.", "What a pathetic loser you are.", "You stupid bitch."]
)
def test_one_rude_sentence_among_many_kind_ones_is_found(insult: str) -> None:
    found = score(f"{POLITE}{insult} {POLITE}")
    assert not found.passed
    assert found.spans == ((len(POLITE), len(POLITE) + len(insult)),)


def test_harmless_text_does_not_look_worse_for_being_long() -> None:
    values = [score(POLITE * n).value for n in (1, 4, 16)]
    assert values == sorted(values)
    assert values[0] > 0.5


def test_the_parts_are_shown() -> None:
    extra = score(f"{POLITE}You are a worthless idiot. {POLITE}").extra
    for name in ("clean_by_words", "clean_by_meaning", "clean_by_sentences", "clean_by_windows"):
        value = extra[name]
        assert isinstance(value, float)
        assert 0.0 <= value <= 1.0
    assert extra["language"] == {"detected": "en", "p": pytest.approx(0.9, abs=0.1)}


def test_a_text_of_one_passage_is_read_once() -> None:
    found = read_both_ways("You are a worthless idiot.")
    assert found.by_sentences == found.by_windows == found.logit
    assert (found.n_passages, found.n_read) == (1, 1)


def test_a_bounded_number_of_passages_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "evaluators.toxicity.combined.meaning_logits", lambda texts: asked.append(len(texts)) or [0.0] * len(texts)
    )
    read_both_ways(POLITE * 100)
    assert asked[0] == MAX_READ
    assert MAX_WINDOWS_READ // 2 < asked[1] <= MAX_WINDOWS_READ


def test_few_passages_are_read_by_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[bool, list[str]] = {False: [], True: []}

    def count(texts: list[str], *, is_early: bool = False) -> list[float]:
        asked[is_early] += texts
        return meaning_logits(texts, is_early=is_early)

    monkeypatch.setattr("evaluators.toxicity.combined.meaning_logits", count)
    insult = "You are a worthless idiot."
    harmless = [f"On day {day} the library opens at nine, and the museum an hour later." for day in range(30)]
    text = " ".join([*harmless[:17], insult, *harmless[17:]])
    found = read_both_ways(text, excuses_names=True)
    assert len(asked[True]) == found.n_read == 31
    assert insult in asked[False][:READ_WHOLE]
    assert len(asked[False]) <= READ_WHOLE + WINDOWS_AROUND + 1
    assert any(insult in window for window in asked[False][READ_WHOLE:])
    assert text[slice(*found.span)] == insult
    assert found.by_sentences == read_both_ways(text).by_sentences


@pytest.mark.parametrize("length", [1, 280, 281, 421, 700, 5_000, 100_001])
def test_windows_side_by_side_leave_nothing_out(length: int) -> None:
    spans = _side_by_side(("word and more " * length)[:length])
    assert (spans[0][0], spans[-1][1]) == (0, length)
    assert all(after[0] <= before[1] for before, after in pairwise(spans))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("unit", ["the word ", "[a](", "*_", "&amp; a "])
def test_the_longest_request_is_scored(unit: str) -> None:
    assert 0.0 <= module._both_ways((unit * 480_000)[:480_000]).clean <= 1.0


@pytest.mark.parametrize("text", ["", " ", "12345", "\u200b\u200b", "***"])
def test_text_without_letters_is_clean(text: str) -> None:
    assert score(text).value == 1.0


@pytest.mark.parametrize("text", ["_a_", "\u200ba", "<b></b>", "[](x)", "```a```"])
def test_text_that_is_hardly_more_than_marks_is_scored(text: str) -> None:
    assert math.isfinite(score(text).value)


def test_eight_threads_score_as_one_does() -> None:
    texts = [f"Number {n} is {word}." for n, word in enumerate(("fine", "stupid", "late", "a bastard") * 3)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(score, texts)) == [score(text) for text in texts]

"""Names of people of many origins, none of which was trained on, and words of their languages that are no names."""

from __future__ import annotations

import random

import pytest

from benchmarks.personal_data import NAMED, named_by_origin, nameless_words
from evaluators import minilm
from evaluators.base import Score, effective_settings
from evaluators.pii.person import BY_ORIGIN, FORMER, HEADS
from evaluators.registry import find_evaluator
from tests.evaluators.samples import make_sample
from training.origins import HELD_OUT, NAMED_FRAMES, NO_NAMES, ORIGINS, TRAINED, fill_frame, select_side, swap_names

needs_model = pytest.mark.skipif(not minilm.is_installed(), reason="the small model is not installed")
NAMES_OF_HERE = [
    "Ask Zhao Mingyuan to sign the lease.",
    "The parcel is for Seo Da-eun.",
    "Our nurse Tran Bich Ngan is on leave.",
    "Adaobi Nwankwo paid in March.",
    "We hired Thulani Mahlangu last week.",
    "The witness was Gülcan Topal.",
]


def score(evaluator: str, output: str) -> Score:
    found = find_evaluator(evaluator)
    assert found is not None
    family, spec = found
    return family.score(make_sample(output=output), effective_settings(spec, {}))


@needs_model
@pytest.mark.parametrize("origin", ORIGINS)
def test_most_names_of_each_origin_are_found(origin: str) -> None:
    texts = named_by_origin()[origin][:40]

    assert sum(not score("pii-broad", text).passed for text in texts) >= 0.8 * len(texts)


@needs_model
def test_most_words_that_are_no_names_pass() -> None:
    texts = nameless_words()

    assert sum(bool(score("pii-broad", text).passed) for text in texts) >= 0.8 * len(texts)


@needs_model
@pytest.mark.parametrize("text", NAMES_OF_HERE)
def test_a_name_that_was_written_for_this_test_is_found(text: str) -> None:
    assert not score("pii-broad", text).passed


@needs_model
def test_the_former_ids_keep_their_head() -> None:
    text = "Please forward the contract to Dawei Qian before Friday."

    assert not score("pii-broad", text).passed
    assert score("pii-broad-2026-11-23", text).passed
    assert score("pii-broad-2026-11-20", text).passed


def test_the_newer_head_is_small() -> None:
    assert (HEADS / f"{BY_ORIGIN}.npz").stat().st_size < 100_000
    assert (HEADS / f"{FORMER}.npz").exists()


# What it was trained on


def test_no_name_sentence_or_word_of_the_benchmark_was_trained_on() -> None:
    trained, held_out = (
        {word.lower() for origin in ORIGINS.values() for word in select_side((*origin.given, *origin.family), side)}
        for side in (TRAINED, HELD_OUT)
    )

    assert not trained & held_out
    assert not set(NAMED) & set(NAMED_FRAMES)
    assert all(not {*select_side(words, TRAINED)} & {*select_side(words, HELD_OUT)} for words in NO_NAMES.values())


def test_each_origin_has_names_enough_on_both_sides() -> None:
    sizes = [
        len(set(select_side(origin.given, side))) * len(set(select_side(origin.family, side)))
        for origin in ORIGINS.values()
        for side in (TRAINED, HELD_OUT)
    ]

    assert len(ORIGINS) >= 10
    assert min(sizes) >= 200


def test_a_frame_says_where_its_names_stand() -> None:
    text, spans = fill_frame("{family} met {other}.", ORIGINS["Korean"], TRAINED, random.Random(0))

    assert [text[start:end] for start, end in spans] == text[:-1].split(" met ")


def test_other_people_take_the_places_of_those_in_a_text() -> None:
    text, spans = swap_names("Ask anna or Bob Hill now", [(4, 8), (12, 20)], random.Random(0))

    (first, second) = (text[start:end] for start, end in spans)
    assert text == f"Ask {first} or {second} now"
    assert first == first.lower()
    assert len(second.split()) > 1

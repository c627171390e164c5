"""Checks that count, that look for repetition, for a language, and for marks in a document."""

from __future__ import annotations

import pytest

from evaluators.base import CannotScore, Field, JSONValue, Score
from evaluators.families.custom import Custom
from evaluators.samples import build_sample

FAMILY = Custom()
Config = dict[str, JSONValue]


def check(config: Config, **fields: object) -> Score:
    assert FAMILY.check_settings(config) == []
    return FAMILY.score(build_sample(fields), config)


def refused(config: Config) -> str:
    (problem, *_) = FAMILY.check_settings(config)
    return problem.pointer


def failed(config: Config, **fields: object) -> str:
    with pytest.raises(CannotScore) as caught:
        check(config, **fields)
    return caught.value.code


# Counts


@pytest.mark.parametrize(("config", "output", "count"), [
    ({"of": "matches", "pattern": r"\[\d+\]"}, "as in [1] and [2], [1]", 3),
    ({"of": "matches", "pattern": "aa"}, "aaaa", 2),
    ({"of": "chars"}, "Übung", 5),
    ({"of": "words"}, "It's 3.5 km.", 5),
    ({"of": "words"}, "三个字", 3),
    ({"of": "sentences"}, "Dr. No came. He left.", 2),
    ({"of": "sentences"}, "", 0),
])  # fmt: skip
def test_it_counts(config: Config, output: str, count: int) -> None:
    for low, high, passed in (
        (count, count, True),
        (count + 1, None, False),
        (None, count, True),
        (None, count - 1, False),
    ):
        bounds: Config = {name: n for name, n in (("min", low), ("max", high)) if n is not None and n >= 0}
        if bounds:
            found = check({"type": "count", **config, **bounds}, output=output)
            assert (found.passed, found.value, found.extra["counts"]) == (passed, float(passed), [count])


def test_the_length_of_contexts_is_counted_for_each_or_for_all() -> None:
    contexts = ["one two", "three", "four five six"]
    cases: tuple[tuple[Config, bool, list[int]], ...] = (
        ({"of": "words", "each": True, "max": 3}, True, [2, 1, 3]),
        ({"of": "words", "each": True, "min": 2}, False, [2, 1, 3]),
        ({"of": "words", "max": 3}, False, [6]),
        ({"of": "texts", "max": 3}, True, [3]),
    )
    for config, passed, counts in cases:
        found = check({"type": "count", "field": "context", **config}, contexts=contexts)
        assert (found.passed, found.extra["counts"]) == (passed, counts)


@pytest.mark.parametrize(("config", "pointer"), [
    ({"of": "matches", "min": 1}, "/pattern"),
    ({"of": "chars", "pattern": "a", "min": 1}, "/pattern"),
    ({"of": "matches", "pattern": "(?=a)", "min": 1}, "/pattern"),
    ({"of": "chars"}, "/min"),
    ({"of": "chars", "min": 2, "max": 1}, "/min"),
    ({"of": "texts", "min": 1}, "/field"),
    ({"of": "chars", "min": 1, "each": True}, "/field"),
    ({"of": "texts", "min": 1, "each": True, "field": "context"}, "/each"),
    ({"of": "letters", "min": 1}, "/of"),
    ({"of": "chars", "min": -1}, "/min"),
])  # fmt: skip
def test_a_count_that_cannot_be_is_refused(config: Config, pointer: str) -> None:
    assert refused({"type": "count", **config}) == pointer


# Duplication


def test_it_finds_what_is_said_twice() -> None:
    output = "Rome is old. It is large. Rome is OLD!"
    found = check({"type": "duplication"}, output=output)

    assert (found.value, found.passed) == (pytest.approx(2 / 3), False)
    assert found.spans is not None
    assert [output[start:end] for start, end in found.spans] == ["Rome is OLD!"]
    assert check({"type": "duplication", "pass_threshold": 0.6}, output=output).passed


def test_it_finds_runs_of_words_within_one_sentence() -> None:
    found = check({"type": "duplication", "unit": "words", "n_words": 3}, output="a b c d a b c e")

    assert (found.value, found.extra["n_units"], found.extra["n_repeated"]) == (pytest.approx(5 / 6), 6, 1)


@pytest.mark.parametrize("output", ["", "?!", "Once."])
def test_what_says_little_repeats_nothing(output: str) -> None:
    assert check({"type": "duplication"}, output=output).value == 1.0


def test_a_number_of_words_is_for_words() -> None:
    assert refused({"type": "duplication", "n_words": 3}) == "/n_words"


# Language

GERMAN, ENGLISH = "Der Zug ist heute nicht gekommen.", "The train has not come today."


def test_it_compares_languages() -> None:
    same: Config = {"type": "language", "value": "{{input}}"}

    assert check(same, input=GERMAN, output="Das ist mir auch nicht klar.").passed
    found = check(same, input=GERMAN, output=ENGLISH)
    assert (found.passed, found.extra["language"], found.extra["wanted_language"]) == (False, "en", "de")
    assert check({"type": "language", "value": "en"}, output=ENGLISH).passed
    assert FAMILY.fields_for(same) == (Field.OUTPUT, Field.INPUT)


@pytest.mark.parametrize("fields", [{"input": "Wien?", "output": GERMAN}, {"input": GERMAN, "output": "Wien"}])
def test_what_it_cannot_tell_is_no_score(fields: dict[str, str]) -> None:
    assert failed({"type": "language", "value": "{{input}}"}, **fields) == "unsupported_language"


@pytest.mark.parametrize("value", ["english", "xx", "{{nothing}}", "de {{input}}"])
def test_a_language_that_is_none_is_refused(value: str) -> None:
    assert refused({"type": "language", "value": value}) == "/value"


# Highlights


def marks(output: object, gold: object, **settings: JSONValue) -> Score:
    return check({"type": "highlight", "pass_threshold": 0.5, **settings}, output=output, gold=gold)


@pytest.mark.parametrize(("said", "wanted", "precision", "recall"), [
    ("[[0, 10]]", "[[0, 10]]", 1, 1),
    ("[[0, 5]]", "[[0, 10]]", 1, 0.5),
    ("[[0, 20]]", "[[0, 10]]", 0.5, 1),
    ("[[0, 6], [4, 10]]", "[[0, 4], [8, 20]]", 0.6, 6 / 16),
    ("[[0, 5]]", "[[5, 10]]", 0, 0),
    ('[{"start": 0, "end": 5, "document_id": "a"}]', '[{"start": 0, "end": 5, "document_id": "b"}]', 0, 0),
    ("[]", "[]", 1, 1),
    ("[]", "[[0, 5]]", 0, 0),
    ("[[0, 5]]", "[]", 0, 0),
])  # fmt: skip
def test_it_scores_marks(said: str, wanted: str, precision: float, recall: float) -> None:
    found = marks(said, wanted)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    assert (found.extra["precision"], found.extra["recall"]) == (pytest.approx(precision), pytest.approx(recall))
    assert found.value == pytest.approx(f1)


def test_beta_weighs_recall() -> None:
    assert marks("[[0, 5]]", "[[0, 10]]", beta=2).value == pytest.approx(5 * 0.5 / (4 + 0.5))
    assert marks("[[0, 5]]", "[[0, 10]]", beta=0.5).value == pytest.approx(1.25 * 0.5 / (0.25 + 0.5))


def test_extractive_answers_are_marks() -> None:
    said = {"text": "Rome", "start": 4, "document_id": "d"}
    wanted = [{"text": "Rome", "start": 4, "document_id": "d"}, {"text": "Ostia", "start": 20, "document_id": "d"}]

    found = check({"type": "highlight", "pass_threshold": 1}, output=said, golds=wanted)
    assert (found.extra["precision"], found.extra["recall"], found.passed) == (1.0, pytest.approx(4 / 9), False)


@pytest.mark.parametrize("output", ["no marks", "{}", "[1, 2]", "[[2, 1]]", "[[0.5, 1]]", '[["a", 1]]', "[[0, 1, 2]]"])
def test_what_holds_no_marks_is_no_score(output: str) -> None:
    assert failed({"type": "highlight", "pass_threshold": 0.5}, output=output, gold="[[0, 1]]") == "wrong_type"


def test_it_needs_what_should_be_marked() -> None:
    assert FAMILY.fields_for({"type": "highlight", "pass_threshold": 0.5}) == (Field.OUTPUT, Field.GOLD)


def test_they_compose() -> None:
    config: Config = {"type": "all", "checks": [
        {"type": "count", "of": "words", "max": 5}, {"type": "duplication"}, {"type": "language", "value": "de"},
    ]}  # fmt: skip
    assert not check(config, output=GERMAN).passed
    assert check(config, output="Das ist mir nicht klar.").passed

"""How JSON values become a sample, and what of them cannot."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import AnswerText, Field, Passage
from evaluators.samples import answer_json, build_sample, passage_json

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(), st.sampled_from(["text", "id", "relevance", "start"])), inner, max_size=4),
    ),
    max_leaves=12,
)


def test_what_was_not_sent_is_none_and_an_empty_text_was_sent() -> None:
    sample = build_sample({"output": "", "gold": None})

    assert (sample.output, sample.gold, sample.contexts, sample.golds, sample.unread) == ("", None, None, None, {})


@pytest.mark.parametrize(
    ("sent", "text", "value"),
    [("a", "a", None), (42, "42", 42), (4.5, "4.5", 4.5), (True, "true", True), (["only"], "only", None)],
)
def test_an_output_is_a_text_a_number_or_a_boolean(sent: Any, text: str, value: Any) -> None:
    sample = build_sample({"output": sent})

    assert sample.output == text
    assert (sample.answer.value if sample.answer else None) == value


def test_an_extractive_answer_keeps_its_place() -> None:
    placed = {"text": "Paris", "document_id": "d1", "start": 4, "end": 9, "score": 0.5}
    sample = build_sample({"output": placed, "gold": {"text": "Paris", "answer_start": 4, "document_id": 1}})

    assert sample.output == "Paris"
    assert sample.answer == AnswerText("Paris", None, "d1", 4, 9, 0.5)
    assert sample.golds == (AnswerText("Paris", None, "1", 4, 9),)
    assert answer_json(sample.answer) == placed


def test_a_reader_s_first_answer_counts() -> None:
    assert build_sample({"output": [{"text": "best"}, {"text": "next"}]}).output == "best"


@pytest.mark.parametrize(
    ("fields", "golds"),
    [
        ({"gold": "a"}, ["a"]),
        ({"gold": ["a", "b"]}, ["a", "b"]),
        ({"golds": ["a", "b"]}, ["a", "b"]),
        ({"gold": "b", "golds": ["a", "b"]}, ["b", "a"]),
        ({"gold": {"answer": "a"}}, ["a"]),
        ({"gold": {"answers": ["a", "b"]}}, ["a", "b"]),
        ({"gold": {"text": ["a", "b"], "answer_start": [1, 2]}}, ["a", "b"]),
        ({"gold": {"answers": {"text": ["a", "b"], "answer_start": [1, 2]}}}, ["a", "b"]),
        ({"gold": {"answers": [{"text": "a", "answer_start": 3}]}}, ["a"]),
        ({"gold": [7, True]}, ["7", "true"]),
        ({"gold": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, ["ab"]),
    ],
)
def test_several_answers_may_be_accepted(fields: dict[str, Any], golds: list[str]) -> None:
    sample = build_sample(fields)

    assert list(sample.gold_texts) == golds
    assert sample.gold == golds[0]
    assert not sample.unread


@pytest.mark.parametrize("sent", [[], {"answers": []}, {"text": []}])
def test_no_accepted_answer_is_no_gold(sent: Any) -> None:
    assert not build_sample({"gold": sent}).has(Field.GOLD)


def test_squads_empty_lists_are_an_unanswerable_question() -> None:
    assert build_sample({"gold": {"text": [], "answer_start": []}}).golds == (AnswerText(""),)


def test_squads_starts_are_kept() -> None:
    golds = build_sample({"gold": {"text": ["a", "bc"], "answer_start": [1, 2]}}).golds

    assert golds == (AnswerText("a", start=1, end=2), AnswerText("bc", start=2, end=4))


@pytest.mark.parametrize(
    ("sent", "passages"),
    [
        ("a", [Passage("a")]),
        ([], []),
        (["a", {"text": "b", "id": "2"}], [Passage("a"), Passage("b", "2")]),
        ([{"id": 7, "relevance": 2}], [Passage("", "7", 2.0)]),
        ([{"content": "a", "meta": {"k": 1}, "score": 0.5}], [Passage("a", None, 0.5, {"k": 1})]),
        ({"text": "a"}, [Passage("a")]),
        ({"d1": 2, "d2": 0}, [Passage("", "d1", 2.0), Passage("", "d2", 0.0)]),
    ],
)
@pytest.mark.parametrize("name", ["contexts", "gold_contexts", "top_k_contexts"])
def test_passages_are_texts_or_objects(name: str, sent: Any, passages: list[Passage]) -> None:
    assert getattr(build_sample({name: sent}), name) == tuple(passages)


def test_a_passage_is_written_as_it_may_be_sent() -> None:
    sent = [{"id": "1", "text": "a", "relevance": 1.5, "metadata": {"page": 2}}, "b"]

    assert [passage_json(each) for each in build_sample({"contexts": sent}).contexts or ()] == sent


@pytest.mark.parametrize(
    ("name", "sent", "field", "words"),
    [
        ("output", {"a": 1}, Field.OUTPUT, "an object with `a`"),
        ("output", {"answer": "Paris"}, Field.OUTPUT, "an object with `answer`"),
        ("output", ["a", "b"], Field.OUTPUT, "a list of 2"),
        ("output", [], Field.OUTPUT, "an empty list"),
        ("output", {"text": 5}, Field.OUTPUT, "`text` is the number 5"),
        ("output", {"text": "a", "start": -1}, Field.OUTPUT, "`start` is the number -1"),
        ("output", {"text": "a", "start": 5, "end": 3}, Field.OUTPUT, "before its start"),
        ("output", float("nan"), Field.OUTPUT, "the number nan"),
        ("gold", {"a": 1, "b": 2}, Field.GOLD, "an object with `a`, `b`"),
        ("golds", ["a", None], Field.GOLD, "null"),
        ("golds", {"text": ["a"], "answer_start": []}, Field.GOLD, "1 texts and 0 starts"),
        ("input", {"a": 1, "b": 2}, Field.INPUT, "an object"),
        ("system_prompt", ["a", "b"], Field.SYSTEM_PROMPT, "a list of 2"),
        ("contexts", 5, Field.CONTEXT, "the number 5"),
        ("contexts", {"a": "b"}, Field.CONTEXT, "an object with `a`"),
        ("contexts", ["a", 5], Field.CONTEXT, "entry 1 is the number 5"),
        ("contexts", [{"page": 1}], Field.CONTEXT, "neither `text` nor `id`"),
        ("gold_contexts", [{"text": "a", "relevance": "high"}], Field.GOLD_CONTEXT, "`relevance` is a text"),
        ("gold_contexts", [{"text": "a", "relevance": float("inf")}], Field.GOLD_CONTEXT, "a finite number"),
        ("top_k_contexts", [{"text": "a", "metadata": 5}], Field.TOP_K_CONTEXT, "`metadata`"),
        ("top_k_contexts", [{"id": 1.5}], Field.TOP_K_CONTEXT, "`id` is the number 1.5"),
    ],
)
def test_what_cannot_be_read_is_named(name: str, sent: Any, field: Field, words: str) -> None:
    sample = build_sample({name: sent})

    assert list(sample.unread) == [field]
    assert words in sample.unread[field].why
    assert f"`{field}`" in sample.unread[field].why
    assert not sample.has(field)


@given(st.dictionaries(st.sampled_from(["input", "output", "gold", "golds", "contexts", "gold_contexts"]), JSON))
def test_any_json_makes_a_sample(fields: dict[str, Any]) -> None:
    sample = build_sample(fields)

    assert sample.n_chars >= 0
    assert all(sample.has(name) is False for name in sample.unread)

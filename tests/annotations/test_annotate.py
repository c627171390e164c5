"""POST /v1/annotate: each type as it counts, what does not fit, and whose labels they are."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.annotations.shapes import (
    ANNOTATE,
    CRITERIA,
    TYPES,
    VALUES,
    annotate_body,
    criteria_body,
    history,
    label,
    n_kept,
    new_criteria,
    search,
)
from tests.conftest import Caller, new_caller, scores_of
from tests.experiments.conftest import ok
from tests.rest.shapes import assert_problem

SAMPLE = {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "pii"}], "output": "Paris", "label": "Paris"}
NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("kind", "said", "kept"),
    [
        ("binary", {"value_pass": True}, (1.0, True, None)),
        ("binary", {"value_pass": False}, (0.0, False, None)),
        ("continuous", {"value_score": 0.25}, (0.25, None, None)),
        ("continuous", {"value_score": -7}, (-7.0, None, None)),
        ("continuous", {"value_score": 1e15}, (1e15, None, None)),
        ("discrete", {"value_score": 0.5}, (0.5, None, "fair")),
        ("discrete", {"value_text": "bad"}, (0.0, None, "bad")),
        ("discrete", {"value_text": "bad", "value_score": 0}, (0.0, None, "bad")),
        ("categorical", {"value_text": "good"}, (1.0, None, "good")),
        ("categorical", {"value_score": 1}, (1.0, None, "good")),
        ("text_annotation", {"value_text": "It forgets the date."}, (None, None, "It forgets the date.")),
    ],
)
def test_each_type_is_kept_as_it_counts(
    alice: Caller, kind: str, said: dict[str, Any], kept: tuple[float | None, bool | None, str | None]
) -> None:
    criteria = new_criteria(alice, kind)
    found = label(alice, criteria, "log-1", explanation="I think so.", **said)

    assert (found["score"], found["pass"], found["text_output"]) == kept
    assert found["explanation"] == "I think so."
    assert (found["log_id"], found["project_id"]) == ("log-1", criteria["project_id"])
    assert (found["evaluator_id"], found["criteria"]) == (f"annotation:{criteria['id']}", None)
    assert (found["evaluation_type"], found["status"], found["evaluator_family"]) == ("annotation", "success", None)
    assert (found["metric_name"], found["metric_description"]) == (criteria["name"], criteria["description"])
    assert (found["app"], found["experiment_id"], found["dataset_id"], found["tags"]) == (None, None, None, {})
    assert found["created_at"]
    assert alice.get(f"/v1/evaluations/{found['id']}").json() == {"evaluation": found}
    assert scores_of(alice, "annotation:") == ([] if kept[0] is None else [("", kept[0], int(found["id"]))])


def test_a_category_may_have_no_score_or_no_label(alice: Caller) -> None:
    colours = new_criteria(alice, "categorical", categories=[{"label": "red"}, {"label": "blue", "score": None}])
    stars = new_criteria(alice, "discrete", categories=[{"score": 1}, {"score": 2}])

    red, two = label(alice, colours, value_text="red"), label(alice, stars, value_score=2)

    assert (red["score"], red["text_output"]) == (None, "red")
    assert (two["score"], two["text_output"]) == (2.0, None)
    assert [score for _, score, _ in scores_of(alice, "annotation:")] == [2.0]


@pytest.mark.parametrize(
    ("kind", "said", "pointer"),
    [
        *((kind, {}, f"/{next(iter(VALUES[kind]))}") for kind in TYPES),
        *((kind, {"value_pass": True}, "/value_pass") for kind in TYPES if kind != "binary"),
        *((kind, {"value_score": 1}, "/value_score") for kind in ("binary", "text_annotation")),
        *((kind, {"value_text": "good"}, "/value_text") for kind in ("binary", "continuous")),
        ("binary", {"value_pass": True, "value_score": 1}, "/value_score"),
        ("continuous", {"value_score": 1.1e15}, "/value_score"),
        ("continuous", {"value_score": -1e300}, "/value_score"),
        ("discrete", {"value_score": 0.75}, "/value_score"),
        ("discrete", {"value_text": "Good"}, "/value_text"),
        ("categorical", {"value_text": ""}, "/value_text"),
        ("categorical", {"value_text": "good", "value_score": 0}, "/value_score"),
        ("text_annotation", {"value_text": ""}, "/value_text"),
    ],
)
def test_what_does_not_fit_the_type_is_named(alice: Caller, kind: str, said: dict[str, Any], pointer: str) -> None:
    criteria = new_criteria(alice, kind)
    body = {"annotation_criteria_id": criteria["id"], "log_id": "log"} | said

    assert_problem(alice.post(ANNOTATE, body), "validation_failed", pointer)
    assert n_kept(alice) == (0, 0)


def test_a_score_of_several_categories_says_too_little(alice: Caller) -> None:
    same = [{"label": "rude", "score": 0}, {"label": "wrong", "score": 0}]
    criteria = new_criteria(alice, "categorical", categories=same)

    answer = alice.post(ANNOTATE, annotate_body(criteria, value_score=0))
    assert_problem(answer, "validation_failed", "/value_score")
    assert label(alice, criteria, value_text="wrong", value_score=0)["text_output"] == "wrong"


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"annotation_criteria_id": NOWHERE}, "/annotation_criteria_id"),
        ({"annotation_criteria_id": "7"}, "/annotation_criteria_id"),
        ({"annotation_criteria_id": None}, "/annotation_criteria_id"),
        ({"log_id": None}, "/log_id"),
        ({"log_id": ""}, "/log_id"),
        ({"log_id": 7}, "/log_id"),
        ({"log_id": "x" * 256}, "/log_id"),
        ({"log_id": "a\0"}, "/log_id"),
        ({"value_pass": "true"}, "/value_pass"),
        ({"value_pass": 1}, "/value_pass"),
        ({"value_score": "1"}, "/value_score"),
        ({"value_score": True}, "/value_score"),
        ({"value_text": ["good"]}, "/value_text"),
        ({"explanation": {"a": 1}}, "/explanation"),
        ({"explanation": "a\0"}, "/explanation"),
    ],
)
def test_hostile_fields_are_named_and_leave_nothing(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    body = annotate_body(new_criteria(alice), "log") | fields

    assert_problem(alice.post(ANNOTATE, body), "validation_failed", pointer)
    assert n_kept(alice) == (0, 0)


@pytest.mark.parametrize("number", [b"1e999", b"NaN", b"Infinity", b"-1e400", b"1" * 400])
def test_numbers_that_are_none_are_refused(alice: Caller, number: bytes) -> None:
    criteria = new_criteria(alice, "continuous")
    body = b'{"annotation_criteria_id": "%s", "log_id": "l", "value_score": %s}' % (criteria["id"].encode(), number)

    answer = alice.post(ANNOTATE, raw=body)

    assert answer.status_code in (400, 422), answer.content
    assert n_kept(alice) == (0, 0)


def test_texts_are_kept_as_they_are(alice: Caller) -> None:
    text = ' "; DROP TABLE evaluations_evaluation; -- \u202e שלום \U0001d518 {{ 7 }} ' * 100
    found = label(alice, new_criteria(alice, "text_annotation"), "\U0001d518" * 255, value_text=text, explanation=text)

    assert (found["text_output"], found["explanation"], found["log_id"]) == (text, text, "\U0001d518" * 255)


def test_fields_that_are_not_known_are_ignored(alice: Caller) -> None:
    body = annotate_body(new_criteria(alice), value_pass=True, annotation_metadata={"a": 1})
    assert ok(alice.post(ANNOTATE, body))["evaluation"]["pass"] is True


def test_readers_cannot_annotate_and_can_look(alice: Caller, bob: Caller) -> None:
    criteria = new_criteria(alice)
    found = label(alice, criteria, "log")

    assert_problem(bob.post(ANNOTATE, annotate_body(criteria, "log", value_pass=False)), "read_only_key")
    assert history(bob, criteria)["points"][0]["score"] == found["score"] == 1.0


def test_strangers_can_neither_annotate_nor_look(alice: Caller, charlie: Caller) -> None:
    criteria = new_criteria(alice)
    found = label(alice, criteria, "log")

    foreign, missing = (
        assert_problem(charlie.post(ANNOTATE, body), "validation_failed", "/annotation_criteria_id")["detail"]
        for body in (annotate_body(criteria, "log"), annotate_body(criteria | {"id": NOWHERE}, "log"))
    )
    assert foreign == missing
    assert_problem(charlie.get(f"/v1/evaluations/{found['id']}"), "not_found")
    assert history(charlie, criteria)["n"] == 0
    assert search(charlie, log_id="log") == []


def test_the_same_log_of_two_accounts_is_two_logs(alice: Caller, charlie: Caller) -> None:
    alice.post("/v1/evaluate", SAMPLE | {"app": "alices", "trace_id": "alices", "log_id": "log"})

    found = label(charlie, new_criteria(charlie), "log")

    assert (found["app"], found["trace_id"]) == (None, None)


def test_what_is_not_captured_lends_no_place(alice: Caller) -> None:
    alice.post("/v1/evaluate", SAMPLE | {"app": "cart", "log_id": "log", "capture": "fails-only"})

    assert label(alice, new_criteria(alice), "log")["app"] is None


def test_a_retried_call_is_one_label() -> None:
    caller = new_caller(name="retrying")
    criteria, log = new_criteria(caller), str(uuid.uuid4())
    answers = {caller.post(ANNOTATE, annotate_body(criteria, log)).content for _ in range(3)}

    assert len(answers) == 1
    assert n_kept(caller) == (1, 1)


def test_keys_that_nothing_reads_are_named(alice: Caller) -> None:
    criteria = new_criteria(alice)
    answer = alice.post(ANNOTATE, annotate_body(criteria) | {"explanaton": "x"})
    (warning,) = ok(answer)["warnings"]
    assert (warning["pointer"], warning["did_you_mean"][0]) == ("/explanaton", "explanation")
    made = ok(alice.post(CRITERIA, criteria_body(alice) | {"desciption": "x"}))
    assert made["warnings"][0]["did_you_mean"] == ["description"]
    revised = {"name": "clear", "annotation_type": "binary", "catgories": []}
    put = ok(alice.call("PUT", f"{CRITERIA}/{criteria['id']}", revised))
    assert [each["pointer"] for each in put["warnings"]] == ["/catgories"]

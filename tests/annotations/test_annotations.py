"""/v1/annotations: said of traces, spans, logs and evaluations, said again, listed and searched."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.annotations.shapes import (
    ANNOTATIONS,
    CRITERIA,
    annotation_body,
    history,
    label,
    n_kept,
    new_criteria,
    say,
)
from tests.conftest import Caller
from tests.experiments.conftest import ok
from tests.rest.shapes import assert_problem

KINDS = ("trace", "span", "log", "evaluation")
SAMPLE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}


def evaluated(caller: Caller, **fields: Any) -> str:
    """Evaluate and return the evaluation's id."""
    return str(ok(caller.post("/v1/evaluate", SAMPLE | fields))["results"][0]["evaluation_result"]["id"])


def reference(caller: Caller, kind: str) -> str:
    return evaluated(caller) if kind == "evaluation" else f"{kind}-{uuid.uuid4().hex}"


def found(caller: Caller, *filters: dict[str, Any], **more: Any) -> list[str]:
    answer = ok(caller.post(f"{ANNOTATIONS}/search", {"filters": list(filters), **more}))
    return [row["id"] for row in answer["annotations"]]


def listed(caller: Caller, query: str = "") -> list[str]:
    return [row["id"] for row in ok(caller.get(ANNOTATIONS + query))["annotations"]]


def is_(field: str, value: Any, operation: str = "eq") -> dict[str, Any]:
    return {"field": field, "operation": operation, "value": value}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_kept_and_said_again_it_is_one(alice: Caller, kind: str) -> None:
    criteria, of = new_criteria(alice), reference(alice, kind)
    before = n_kept(alice)[0]
    first = say(alice, criteria, kind, of, value_pass=True, explanation="Fine.")
    second = say(alice, criteria, kind, of, value_pass=False)

    assert (first["type"], first["reference"], first["annotation_criteria"]) == (kind, of, criteria["id"])
    assert (first["value_pass"], first["value_score"], first["value_text"]) == (True, 1.0, None)
    assert (first["explanation"], second["explanation"]) == ("Fine.", None)
    assert first["project_id"] == criteria["project_id"]
    assert uuid.UUID(first["id"]).int == int(first["evaluation_id"])
    assert (second["id"], second["value_pass"], second["value_score"]) == (first["id"], False, 0.0)
    assert first["created_at"] == second["created_at"] < second["updated_at"]
    assert n_kept(alice)[0] == before + 1
    assert (history(alice, criteria)["n"], history(alice, criteria)["points"][0]["score"]) == (1, 0.0)
    assert ok(alice.get(ANNOTATIONS))["annotations"] == [second]


def test_things_of_the_same_id_are_several(alice: Caller) -> None:
    criteria, id = new_criteria(alice), evaluated(alice)
    said = {kind: say(alice, criteria, kind, id)["id"] for kind in KINDS}

    assert len(set(said.values())) == 4
    assert {kind: found(alice, is_("type", kind)) for kind in KINDS} == {kind: [one] for kind, one in said.items()}
    assert set(listed(alice, f"?reference={id}")) == set(said.values())
    assert listed(alice, f"?reference={id}&type=span") == [said["span"]]


def test_a_log_is_the_same_on_both_routes(alice: Caller) -> None:
    criteria = new_criteria(alice)
    older = label(alice, criteria, "log-1", value_pass=True)
    newer = say(alice, criteria, "log", "log-1", value_pass=False)

    assert newer["evaluation_id"] == older["id"]
    assert listed(alice) == [newer["id"]]


def test_it_belongs_where_the_scores_belong(alice: Caller) -> None:
    criteria = new_criteria(alice)
    id = evaluated(alice, trace_id="t-1", log_id="l-1")

    for kind, of in (("trace", "t-1"), ("evaluation", id), ("log", "l-1")):
        assert say(alice, criteria, kind, of)["app"] == "shop"
    on_trace = say(alice, criteria, "trace", "t-1")["evaluation_id"]
    on_span = say(alice, criteria, "span", "s-1")["evaluation_id"]
    assert ok(alice.get(f"/v1/evaluations/{on_trace}"))["evaluation"]["trace_id"] == "t-1"
    assert ok(alice.get(f"/v1/evaluations/{on_span}"))["evaluation"]["span_id"] == "s-1"


def test_a_time_may_be_sent(alice: Caller) -> None:
    sent = say(alice, new_criteria(alice), "trace", "t", created_at="2026-02-01T10:00:00+02:00")

    assert sent["created_at"].startswith("2026-02-01T08:00:00")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"type": "session"}, "/type"),
        ({"type": None}, "/type"),
        ({"type": "trace_insight"}, "/type"),
        ({"reference": ""}, "/reference"),
        ({"reference": "x" * 256}, "/reference"),
        ({"reference": 7}, "/reference"),
        ({"type": "evaluation", "reference": "abc"}, "/reference"),
        ({"type": "evaluation", "reference": "1"}, "/reference"),
        ({"annotation_criteria": str(uuid.UUID(int=0))}, "/annotation_criteria"),
        ({"annotation_criteria": "x"}, "/annotation_criteria"),
        ({"created_at": "0001-01-01T00:00:00Z"}, "/created_at"),
        ({"value_pass": None}, "/value_pass"),
        ({"value_text": "x"}, "/value_text"),
    ],
)
def test_what_does_not_fit_is_named_and_leaves_nothing(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    body = annotation_body(new_criteria(alice), "trace", "t") | fields

    assert_problem(alice.post(ANNOTATIONS, body), "validation_failed", pointer)
    assert n_kept(alice) == (0, 0)


def test_criteria_say_what_they_are_asked_of(alice: Caller) -> None:
    of_spans = new_criteria(alice, resource_types=["span", "trace"])
    of_all = new_criteria(alice)

    assert (of_spans["resource_types"], of_all["resource_types"]) == (["span", "trace"], [])
    refused = alice.post(ANNOTATIONS, annotation_body(of_spans, "log", "l"))
    assert "span, trace" in assert_problem(refused, "validation_failed", "/annotation_criteria")["errors"][0]["detail"]
    say(alice, of_spans, "span", "s")
    say(alice, of_all, "log", "l")
    put = {"name": "other", "annotation_type": "binary", "resource_types": ["log"]}
    changed = ok(alice.call("PUT", f"{CRITERIA}/{of_spans['id']}", put))["annotation_criteria"]
    assert changed["resource_types"] == ["log"]
    wrong = put | {"resource_types": ["logs"]}
    assert_problem(alice.call("PUT", f"{CRITERIA}/{of_spans['id']}", wrong), "validation_failed", "/resource_types/0")


def test_criteria_are_searched(alice: Caller) -> None:
    spans = new_criteria(alice, name="spans", resource_types=["span"])
    every = new_criteria(alice, "categorical", name="every")

    def names(*filters: dict[str, Any], **more: Any) -> list[str]:
        answer = ok(alice.post(f"{CRITERIA}/search", {"filters": list(filters), **more}))
        return [row["name"] for row in answer["annotation_criteria"]]

    assert names() == ["every", "spans"]
    assert names(limit=1) == ["every"]
    assert names(limit=0) == []
    assert names(is_("resource_types", "span")) == ["every", "spans"]
    assert names(is_("resource_types", ["log", "trace"], "in")) == ["every"]
    assert names(is_("name", "sp", "starts_with")) == ["spans"]
    assert names(is_("annotation_type", "binary", "ne")) == ["every"]
    assert names(is_("id", spans["id"])) == ["spans"]
    assert names({"or_": [is_("project_id", every["project_id"]), is_("id", spans["id"])]}) == ["every", "spans"]
    wrong = {"filters": [is_("resource_types", "session")]}
    assert_problem(alice.post(f"{CRITERIA}/search", wrong), "validation_failed", "/filters/0/value")


def test_annotations_are_searched_by_every_field(alice: Caller) -> None:
    stars, other = new_criteria(alice, "continuous"), new_criteria(alice, "text_annotation")
    low = say(alice, stars, "span", "s-1", value_score=2, explanation="Dull.")
    high = say(alice, stars, "span", "s-2", value_score=9)
    text = say(alice, other, "trace", "t-1", value_text="Needs work.")

    asked = {
        "annotation_criteria": (stars["id"], [high["id"], low["id"]]),
        "value_score": (2, [low["id"]]),
        "value_text": ("Needs work.", [text["id"]]),
        "explanation": ("Dull.", [low["id"]]),
        "reference": ("s-2", [high["id"]]),
        "type": ("trace", [text["id"]]),
        "id": (high["id"], [high["id"]]),
        "evaluation_id": (low["evaluation_id"], [low["id"]]),
        "project_id": (other["project_id"], [text["id"]]),
        "created_at": (low["created_at"], [low["id"]]),
        "value_pass": (True, []),
        "app": ("shop", []),
        "experiment_id": ("1", []),
    }
    assert {name: found(alice, is_(name, value)) for name, (value, _) in asked.items()} == {
        name: ids for name, (_, ids) in asked.items()
    }
    assert found(alice, is_("value_score", 2, "gt")) == [high["id"]]
    assert found(alice, is_("id", [low["id"], text["id"]], "in")) == [text["id"], low["id"]]
    assert found(alice, is_("reference", "s-", "starts_with"), is_("value_score", 9, "ne")) == [low["id"]]


def test_pages_go_on_and_a_limit_of_nothing_is_nothing(alice: Caller) -> None:
    criteria = new_criteria(alice)
    ids = [say(alice, criteria, "span", f"s-{i}")["id"] for i in range(5)][::-1]

    first = ok(alice.post(f"{ANNOTATIONS}/search", {"limit": 3}))
    rest = ok(alice.post(f"{ANNOTATIONS}/search", {"limit": 3, "cursor": first["next_cursor"]}))
    assert [row["id"] for row in (*first["annotations"], *rest["annotations"])] == ids
    assert rest["next_cursor"] is None
    assert found(alice, limit=0) == listed(alice, "?limit=0") == []
    assert listed(alice, f"?limit=2&cursor={first['next_cursor']}") == ids[3:]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"filters": [{"field": "colour", "value": 1}]}, "/filters/0/field"),
        ({"filters": [{"field": "type", "operation": "about", "value": "log"}]}, "/filters/0/operation"),
        ({"filters": [{"field": "value_score", "value": "x"}]}, "/filters/0/value"),
        ({"filters": [{"field": "id", "value": "x"}]}, "/filters/0/value"),
        ({"filters": [{"field": "id", "value": "f" * 32}]}, "/filters/0/value"),
        ({"limit": 10_001}, "/limit"),
        ({"limit": -1}, "/limit"),
        ({"cursor": "x"}, "/cursor"),
    ],
)
def test_a_wrong_search_is_named(alice: Caller, body: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post(f"{ANNOTATIONS}/search", body), "validation_failed", pointer)


def test_unknown_keys_are_warned_of(alice: Caller) -> None:
    answer = ok(alice.post(f"{ANNOTATIONS}/search", {"filter": []}))
    (warning,) = answer["warnings"]
    assert (warning["pointer"], warning["did_you_mean"][0]) == ("/filter", "filters")
    assert [each["pointer"] for each in ok(alice.get(f"{ANNOTATIONS}?typ=log"))["warnings"]] == ["/typ"]


def test_readers_look_and_strangers_find_nothing(alice: Caller, bob: Caller, charlie: Caller) -> None:
    criteria, id = new_criteria(alice), evaluated(alice)
    said = say(alice, criteria, "evaluation", id)

    assert listed(bob) == found(bob) == [said["id"]]
    assert_problem(bob.post(ANNOTATIONS, annotation_body(criteria, "span", "s")), "read_only_key")
    assert listed(charlie) == found(charlie) == []
    own = annotation_body(new_criteria(charlie), "evaluation", id)
    assert_problem(charlie.post(ANNOTATIONS, own), "validation_failed", "/reference")
    foreign = annotation_body(criteria, "span", "s")
    assert_problem(charlie.post(ANNOTATIONS, foreign), "validation_failed", "/annotation_criteria")


def test_it_goes_with_its_evaluation(alice: Caller) -> None:
    said = say(alice, new_criteria(alice), "trace", "t")

    assert alice.call("DELETE", f"/v1/evaluations/{said['evaluation_id']}").status_code == 204
    assert listed(alice) == []

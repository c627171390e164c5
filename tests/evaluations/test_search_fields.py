"""What can be searched beside the columns of a verdict: tags, marks, metrics, annotation criteria; and what is shown."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db.models import Q

from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search import tags
from evalsvc.tenancy.scope import account_scope
from tests import leftovers
from tests.conftest import Caller
from tests.factories import make_profile
from tests.rest.shapes import assert_problem

SEARCH = "/v1/evaluations/search"
CRITERIA = "6f1f8a52-0c5c-4c8e-9d59-3f2f3f0a5a11"
ROWS: tuple[dict[str, Any], ...] = (
    {"tags": {"env": "prod", "5": "five", "a.b": "c"}, "span_id": "s0", "metric_name": "bleu", "dataset_sample_id": 7},
    {"tags": {"env": "dev", "x": 'quo"te\\'}, "trace_id": "t1", "criteria": "tone", "metric_name": "rouge"},
    {"tags": {"env": "prod", "x": "é"}, "dataset_id": "d"},
    {},
)


@pytest.fixture(params=[0, 5000], ids=["walked", "looked-up"])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, alice: Caller) -> list[str]:
    """Ids of four scores; tags beside an "or" are found on the way or looked up, as if many or few rows had them."""
    monkeypatch.setattr(tags, "MAX_LISTED", request.param)
    sent = [{"evaluator_id": "mine", "log_id": f"log-{i}", "score": i, **row} for i, row in enumerate(ROWS)]
    answer = alice.post("/v1/evaluations/batch", {"evaluations": sent}).json()
    assert answer["errors"] == []
    return [row["id"] for row in answer["evaluations"]]


def search(caller: Caller, *filters: dict[str, Any]) -> list[str]:
    answer = caller.post(SEARCH, {"filters": list(filters)})
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["evaluations"]]


def change(caller: Caller, id: str, **columns: Any) -> None:
    with account_scope(caller.account.pk):
        assert Evaluation.objects.filter(id=id).update(**columns) == 1


@pytest.mark.parametrize(
    ("field", "operation", "value", "expected"),
    [
        ("tags", "eq", {"env": "prod"}, [0, 2]),
        ("tags", "eq", {"env": "prod", "x": "é"}, [2]),
        ("tags", "eq", {"env": "test"}, []),
        ("tags", "ne", {"env": "prod"}, [1, 3]),
        ("tags", "in", [{"env": "dev"}, {"x": "é"}], [1, 2]),
        ("tags", "in", [], []),
        ("tags", "eq", None, [3]),
        ("tags", "ne", None, [0, 1, 2]),
        ("tags.env", "eq", "prod", [0, 2]),
        ("tags.env", "ne", "prod", [1, 3]),
        ("tags.env", "in", ["dev", "none"], [1]),
        ("tags.env", "starts_with", "pr", [0, 2]),
        ("tags.env", "like", "%e%", [1]),
        ("tags.env", "gt", "dev", [0, 2]),
        ("tags.env", "eq", None, [3]),
        ("tags.5", "eq", "five", [0]),
        ("tags.5", "like", "f%", [0]),
        ("tags.a.b", "eq", "c", [0]),
        ("tags.x", "eq", 'quo"te\\', [1]),
        ("tags.x", "ne", None, [1, 2]),
        ("tags.%s", "eq", "x", []),
        ("tags.' OR 1=1 --", "like", "%", []),
        ("span_id", "eq", "s0", [0]),
        ("span_id", "ne", "s0", [1, 2, 3]),
        ("dataset_sample_id", "eq", "7", [0]),
        ("dataset_sample_id", "in", ["7", "8"], [0]),
        ("metric_name", "eq", "bleu", [0]),
        ("metric_name", "ne", "bleu", [1, 2, 3]),
        ("metric_name", "in", ["bleu", "rouge"], [0, 1]),
        ("metric_name", "ilike", "ROU%", [1]),
        ("metric_name", "eq", None, [2, 3]),
        ("criteria", "eq", None, [0, 2, 3]),
        ("criteria", "ne", None, [1]),
        ("favorite", "eq", False, [0, 1, 2, 3]),
        ("favorite", "eq", True, []),
        ("feedback", "ne", "positive", [0, 1, 2, 3]),
        ("evaluation_type", "eq", "client_evaluation", [0, 1, 2, 3]),
        ("evaluation_type", "eq", "annotation", []),
        ("annotation_criteria_id", "eq", CRITERIA, []),
        ("annotation_criteria_id", "eq", None, [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_it_compares(
    alice: Caller, charlie: Caller, rows: list[str], field: str, operation: str, value: Any, expected: list[int]
) -> None:
    part = {"field": field, "operation": operation, "value": value}

    assert sorted(search(alice, part), key=int) == [rows[i] for i in expected]
    assert search(charlie, part) == []


def test_tags_go_with_other_filters(alice: Caller, rows: list[str]) -> None:
    prod, dev = ({"field": "tags.env", "value": env} for env in ("prod", "dev"))

    assert search(alice, prod, {"field": "score", "operation": "gt", "value": 1}) == [rows[2]]
    assert sorted(search(alice, {"or_": [prod, dev]}), key=int) == rows[:3]
    assert search(alice, {"and_": [prod, dev]}) == []


def test_filters_look_up_so_many_tags_together(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[Any] = []
    monkeypatch.setattr(
        "evalsvc.evaluations.search.filters.build_tag_condition", lambda tags: looked_up.append(tags) or Q()
    )
    parts = [{"field": "tags.env", "operation": "in", "value": [f"{i}-{j}" for j in range(50)]} for i in range(3)]

    assert search(alice, *parts[:2]) == []
    assert len(looked_up) == 100
    refused = assert_problem(alice.post(SEARCH, {"filters": [{"or_": parts}]}), "validation_failed")
    assert refused["errors"][0]["pointer"] == "/filters/0/or_/2/value"
    assert len(looked_up) == 200


def test_tags_are_looked_up_within_the_time_of_a_search(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    execute = psycopg.Cursor.execute

    def noted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(f"{query} {args}")
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    search(alice, {"or_": [{"field": "tags.env", "value": env} for env in ("prod", "dev")]})
    looked_up = [i for i, query in enumerate(seen) if 'FROM "evaluations_evaluationtag"' in query]

    assert len(looked_up) == 2
    assert any("statement_timeout" in query for query in seen[: looked_up[0]])


def test_many_tags_are_found_together(alice: Caller, bob: Caller, charlie: Caller) -> None:
    sent = {"evaluator_id": "mine", "log_id": "log", "score": 1, "tags": {str(i): "x" for i in range(20)}}
    (row,) = alice.post("/v1/evaluations/batch", {"evaluations": [sent]}).json()["evaluations"]
    alice.post("/v1/evaluations/batch", {"evaluations": [sent | {"log_id": "other", "tags": {"1": "x"}}]})
    parts = [{"field": f"tags.{i}", "value": "x"} for i in range(20)]

    assert search(bob, *parts) == search(bob, {"field": "tags", "value": sent["tags"]}) == [row["id"]]
    assert search(bob, *parts, {"field": "tags.1", "value": "y"}) == []
    assert search(charlie, *parts) == []


def test_one_tag_is_no_other_that_reads_the_same(alice: Caller) -> None:
    sent = [
        {"evaluator_id": "mine", "log_id": f"log-{i}", "score": 1, "tags": one}
        for i, one in enumerate(({"a": "b"}, {"ab": ""}, {"": "ab"}, {"1:a": "b"}))
    ]
    rows = [row["id"] for row in alice.post("/v1/evaluations/batch", {"evaluations": sent}).json()["evaluations"]]

    for id, row in zip(rows, sent, strict=True):
        assert search(alice, {"field": "tags", "value": row["tags"]}) == [id]


def test_groups_may_be_spelled_without_the_underscore(alice: Caller, rows: list[str]) -> None:
    parts = [{"field": "span_id", "value": "s0"}, {"field": "trace_id", "value": "t1"}]

    assert sorted(search(alice, {"or": parts}), key=int) == rows[:2]
    assert search(alice, {"and": parts}) == []


def test_nulls_beside_a_filter_mean_nothing(alice: Caller, rows: list[str]) -> None:
    part = {"field": "span_id", "operation": None, "value": "s0", "and_": None, "or_": None}
    group = {"field": None, "operation": None, "value": None, "and_": None, "or_": [part]}

    assert search(alice, part) == search(alice, group) == [rows[0]]


def test_marks_are_found_and_shown(alice: Caller, rows: list[str]) -> None:
    change(alice, rows[1], favorite=True, feedback="negative")
    shown = alice.get(f"/v1/evaluations/{rows[1]}").json()["evaluation"]

    assert search(alice, {"field": "favorite", "value": True}) == [rows[1]]
    assert search(alice, {"field": "feedback", "value": "negative"}) == [rows[1]]
    assert (shown["favorite"], shown["feedback"]) == (True, "negative")


def test_labels_are_found_by_their_criteria(alice: Caller, rows: list[str]) -> None:
    leftovers.spoil(alice.account.pk)
    columns = {"evaluation_type": "annotation", "evaluator_id": f"annotation:{CRITERIA}"}
    change(alice, rows[0], **columns, details={"annotation_criteria_id": CRITERIA})
    shown = alice.get(f"/v1/evaluations/{rows[0]}").json()["evaluation"]

    assert shown["annotation_criteria_id"] == CRITERIA
    for value in (CRITERIA, CRITERIA.upper(), CRITERIA.replace("-", "")):
        assert search(alice, {"field": "annotation_criteria_id", "value": value}) == [rows[0]]
    part = {"field": "annotation_criteria_id", "operation": "in", "value": [CRITERIA]}
    assert search(alice, part) == [rows[0]]
    assert search(alice, part | {"operation": "ne", "value": None}) == [rows[0]]
    assert sorted(search(alice, part | {"operation": "ne", "value": CRITERIA}), key=int) == rows[1:]


@pytest.mark.parametrize(
    ("part", "pointer"),
    [
        ({"field": "tags", "value": {}}, "value"),
        ({"field": "tags", "value": "prod"}, "value"),
        ({"field": "tags", "value": {"env": 1}}, "value"),
        ({"field": "tags", "value": {"env": None}}, "value"),
        ({"field": "tags", "value": {str(i): "x" for i in range(101)}}, "value"),
        ({"field": "tags", "operation": "gt", "value": {"env": "x"}}, "value"),
        ({"field": "tags", "operation": "like", "value": "%"}, "value"),
        ({"field": "tags", "operation": "in", "value": {"env": "x"}}, "value"),
        ({"field": "tags", "operation": "in", "value": [{"env": "x"}, 1]}, "value/1"),
        ({"field": "tags", "value": {"env\0": "x"}}, "value/env\0"),
        ({"field": "tags.", "value": "x"}, "field"),
        ({"field": "tags.env", "value": 1}, "value"),
        ({"field": "tags.env", "value": "\0"}, "value"),
        ({"field": "tags.\0", "value": "x"}, "field"),
        ({"field": "favorite", "value": "yes"}, "value"),
        ({"field": "favorite", "operation": "like", "value": "t%"}, "value"),
        ({"field": "annotation_criteria_id", "value": "x"}, "value"),
        ({"field": "annotation_criteria_id", "operation": "lt", "value": CRITERIA}, "value"),
        ({"field": "annotation_criteria_id", "operation": "starts_with", "value": "6f"}, "value"),
        ({"field": "score", "value": [1]}, "value"),
        ({"field": "score", "value": {}}, "value"),
        ({"field": "experiment_id", "value": 2**64}, "value"),
        ({"or": 1}, "or"),
    ],
)  # fmt: skip
def test_it_points_at_what_makes_no_sense(alice: Caller, part: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post(SEARCH, {"filters": [part]}), "validation_failed", f"/filters/0/{pointer}")


@pytest.mark.parametrize("value", [b"1e400", b"-1e400", b"NaN", b'"\\ud800"'])
def test_what_no_json_holds_is_refused(alice: Caller, value: bytes) -> None:
    body = b'{"filters": [{"field": "score", "value": ' + value + b"}]}"

    assert alice.post(SEARCH, raw=body).status_code in (400, 422)


def test_one_evaluation_shows_the_settings_it_was_made_with(alice: Caller, bob: Caller) -> None:
    public_id = make_profile(alice, "metrics", "mine", metric="bleu")["public_id"]
    made = alice.evaluate("metrics/mine", output="one two", label="one two", capture="all").json()
    alice.post(f"/v1/evaluator-criteria/{public_id}/revision", {"config": {"metric": "rougeL"}})
    id = made["results"][0]["evaluation_result"]["id"]

    assert bob.get(f"/v1/evaluations/{id}").json()["evaluation"]["criteria_config"]["metric"] == "bleu"
    (listed,) = bob.post(SEARCH, {}).json()["evaluations"]
    assert listed["criteria_config"] is None
    assert isinstance(listed["log_id"], str)

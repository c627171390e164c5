"""No search by an indexed field reads a table from end to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

from tests.conftest import Caller, new_caller
from tests.evaluations.plans import (
    SOME_UUID,
    TABLES,
    assert_by_index,
    fill_catalog,
    fill_evaluations,
    function_uuid_at,
    is_,
    plans_of,
    remove_rows,
)


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    """An account with 12 000 evaluations beside another with as many; both go away afterwards."""
    callers = new_caller(name="planned"), new_caller(name="neighbour")
    account_ids = [caller.account.pk for caller in callers]
    with connections["owner"].cursor() as cursor, function_uuid_at(cursor):
        for account_id in account_ids:
            fill_evaluations(cursor, account_id, 12_000)
        fill_catalog(cursor, account_ids[0])
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")
    yield callers[0]
    with connections["owner"].cursor() as cursor:
        remove_rows(cursor, account_ids)
    connections["owner"].close()


SEARCHES: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "nothing": ([], "ix_evaluation_account"),
    "evaluator": ([is_("evaluator_id", "evaluator-3")], "ix_evaluation_evaluator_id"),
    "family": ([is_("evaluator_family", "family-9")], "ix_evaluation_evaluator_id"),
    "family-of-two": ([is_("evaluator_family", "family-3")], None),
    "families": ([is_("evaluator_family", ["family-9", "family-10"], "in")], None),
    "criteria": ([is_("criteria", "profile-3")], "ix_evaluation_profile_name"),
    "criteria-id": ([is_("criteria_id", SOME_UUID)], "ix_evaluation_profile_name"),
    "project": ([is_("project_id", SOME_UUID)], "ix_evaluation_project_id"),
    "app": ([is_("app", "app-3")], "ix_evaluation_app"),
    "experiment": ([is_("experiment_id", 10)], "ix_evaluation_experiment_id"),
    "dataset": ([is_("dataset_id", "dataset-5")], "ix_evaluation_dataset_id"),
    "log": ([is_("log_id", "log-77")], "ix_evaluation_log_id"),
    "trace": ([is_("trace_id", "trace-77")], "ix_evaluation_trace_id"),
    "fails": ([is_("pass", False)], "ix_evaluation_failed"),
    "unscored": ([is_("status", ["error", "validation_error"], "in")], "ix_evaluation_unscored"),
    "errors": ([is_("status", "error")], "ix_evaluation_unscored"),
    "favorites": ([is_("favorite", True)], "ix_evaluation_favorite"),
    "feedback": ([is_("feedback", "negative")], "ix_evaluation_feedback"),
    "made-elsewhere": ([is_("evaluation_type", "client_evaluation")], "ix_evaluation_type"),
    "recent": ([is_("created_at", "2000-01-01", "ge")], None),
    "tag": ([is_("tags.env", "prod")], "ix_evaluationtag_newest"),
    "rare-tag": ([is_("tags.user", "u3")], "ix_evaluationtag_newest"),
    "tags": ([is_("tags.user", ["u3", "u6"], "in")], None),
    "apps": ([is_("app", ["app-3", "app-4"], "in")], None),
    "or": ([{"or_": [is_("app", "app-3"), is_("trace_id", "trace-77")]}], None),
    "app-and-fails": ([is_("app", "app-0"), is_("pass", False)], None),
}
MISSING = {
    field: [is_(field, SOME_UUID.replace("3", "f") if field == "project_id" else "404")]
    for field in ("evaluator_id", "criteria", "project_id", "app", "experiment_id", "log_id", "trace_id", "tags.env")
}


@pytest.mark.parametrize("limit", [10, 1000])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_goes_by_an_index(caller: Caller, name: str, limit: int) -> None:
    filters, index = SEARCHES[name]
    n, nodes = plans_of(caller, {"filters": filters, "limit": limit})

    assert n > 0
    assert_by_index(nodes)
    assert index is None or index in {node.get("Index Name") for node in nodes}


@pytest.mark.parametrize("field", MISSING)
def test_what_is_not_there_is_missed_by_an_index(caller: Caller, field: str) -> None:
    n, nodes = plans_of(caller, {"filters": MISSING[field]})

    assert n == 0
    assert_by_index(nodes)


@pytest.mark.parametrize(
    ("field", "value"), [("evaluator_family", "404"), ("criteria_id", SOME_UUID.replace("3", "f"))]
)
def test_what_the_catalog_does_not_know_is_looked_for_nowhere(caller: Caller, field: str, value: str) -> None:
    assert plans_of(caller, {"filters": [is_(field, value)]}) == (0, [])


def test_a_page_far_inside_goes_by_an_index(caller: Caller) -> None:
    cursor = caller.post("/v1/evaluations/search", {"limit": 1, "offset": 6000}).json()["next_cursor"]
    for place in ({"cursor": cursor}, {"offset": 6000}):
        n, nodes = plans_of(caller, {"limit": 100, **place})

        assert n == 100
        assert_by_index(nodes)
        assert "Sort" not in {node["Node Type"] for node in nodes if node.get("Relation Name") == TABLES[0]}


def test_the_cursor_bounds_the_index(caller: Caller) -> None:
    cursor = caller.post("/v1/evaluations/search", {"limit": 1, "offset": 6000}).json()["next_cursor"]
    _, nodes = plans_of(caller, {"limit": 10, "cursor": cursor})

    (scan,) = (node for node in nodes if node.get("Index Name") == "ix_evaluation_account")
    assert "created_at <=" in scan["Index Cond"]


@pytest.mark.parametrize("beside", [[], [is_("app", "app-0")], [is_("tags.user", "u6")]], ids=["alone", "app", "tag"])
def test_a_search_by_a_tag_asks_no_request(caller: Caller, beside: list[dict[str, Any]]) -> None:
    _, nodes = plans_of(caller, {"filters": [is_("tags.env", "prod"), *beside], "limit": 100})
    asked = [node for node in nodes if node.get("Relation Name") == "evaluations_evaluationrequest"]

    assert "ix_evaluationtag_newest" in {node.get("Index Name") for node in nodes}
    assert_by_index(nodes)
    assert len(asked) == 2  # for what is shown of the page: weighed, then read

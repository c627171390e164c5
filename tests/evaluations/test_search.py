"""POST /v1/evaluations/search: operations, nesting, cursors."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.search.filters import FIELDS, UNORDERED
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

ROWS = (
    {"output": "Paris", "label": "Paris", "app": "shop one", "log_id": "log-1", "trace_id": "t1"},
    {"output": "Paris", "label": "Rome", "app": "shop_two", "log_id": "log-2", "dataset_id": "50%"},
    {"output": "Paris", "label": "Oslo", "app": "Bakery", "dataset_id": "\\"},
)


@pytest.fixture
def rows(alice: Caller) -> list[str]:
    """Ids of three captured evaluations, oldest first."""
    answers = [alice.evaluate("exact-match", **row).json() for row in ROWS]
    return [answer["results"][0]["evaluation_result"]["id"] for answer in answers]


def search(caller: Caller, *filters: dict[str, Any], **fields: Any) -> list[str]:
    answer = caller.post("/v1/evaluations/search", {"filters": list(filters), **fields})
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["evaluations"]]


def is_(field: str, value: Any, operation: str = "eq") -> dict[str, Any]:
    return {"field": field, "operation": operation, "value": value}


def test_it_lists_newest_first(alice: Caller, bob: Caller, rows: list[str]) -> None:
    assert search(alice) == search(bob) == rows[::-1]


def test_it_hides_other_accounts(charlie: Caller, rows: list[str]) -> None:
    assert search(charlie) == []
    assert search(charlie, is_("id", rows, "in")) == []
    assert search(charlie, {"or_": [is_("app", "shop one"), is_("id", rows[0], "ge"), is_("app", None, "ne")]}) == []


@pytest.mark.parametrize(
    ("field", "operation", "value", "expected"),
    [
        ("app", "eq", "Bakery", [2]),
        ("app", "ne", "Bakery", [0, 1]),
        ("app", "starts_with", "shop", [0, 1]),
        ("app", "starts_with", "shop_", [1]),
        ("app", "starts_with", "%", []),
        ("app", "ends_with", "o", [1]),
        ("app", "like", "shop%", [0, 1]),
        ("app", "like", "shop_two", [1]),
        ("app", "like", "shop____", [0, 1]),
        ("app", "like", r"shop\_%", [1]),
        ("app", "like", "SHOP%", []),
        ("app", "ilike", "SHOP%", [0, 1]),
        ("app", "in", ["Bakery", "shop one"], [0, 2]),
        ("app", "in", [], []),
        ("app", "lt", "b", [2]),
        ("app", "eq", "' OR 1=1 --", []),
        ("app", "like", "(a+)+$%" * 200, []),
        ("dataset_id", "like", "%\\%", [1]),
        ("dataset_id", "eq", "\\", [2]),
        ("dataset_id", "like", "\\\\", [2]),
        ("dataset_id", "ne", "50%", [0, 2]),
        ("dataset_id", "eq", None, [0]),
        ("dataset_id", "ne", None, [1, 2]),
        ("log_id", "eq", "log-2", [1]),
        ("score", "gt", 0, [0]),
        ("score_raw", "le", 0.5, [1, 2]),
        ("score", "eq", -1e308, []),
        ("pass", "eq", False, [1, 2]),
        ("pass", "ne", False, [0]),
        ("evaluator_id", "starts_with", "exact-match", [0, 1, 2]),
        ("evaluator_family", "eq", "exact-match", [0, 1, 2]),
        ("criteria", "eq", "patronus:exact-match", [0, 1, 2]),
        ("criteria_revision", "eq", 1, [0, 1, 2]),
        ("criteria_revision", "gt", 2**62, []),
        ("status", "eq", "success", [0, 1, 2]),
        ("experiment_id", "eq", None, [0, 1, 2]),
        ("id", "lt", str(2**63 - 1), [0, 1, 2]),
        ("created_at", "ge", "2026-01-01T00:00:00Z", [0, 1, 2]),
        ("created_at", "lt", "2026-01-01", []),
        ("created_at", "lt", "9999-12-31T23:59:59-23:59", [0, 1, 2]),
        ("created_at", "gt", "0001-01-01T00:00:00+23:59", [0, 1, 2]),
    ],
)  # fmt: skip
def test_it_compares(
    alice: Caller, rows: list[str], field: str, operation: str, value: Any, expected: list[int]
) -> None:
    assert sorted(search(alice, is_(field, value, operation))) == [rows[i] for i in expected]


def test_equality_is_the_default(alice: Caller, rows: list[str]) -> None:
    assert search(alice, {"field": "id", "value": int(rows[1])}) == [rows[1]]


def test_filters_nest(alice: Caller, rows: list[str]) -> None:
    either = {"or_": [is_("app", "Bakery"), {"and_": [is_("app", "shop%", "like"), is_("pass", True)]}]}

    assert sorted(search(alice, either)) == [rows[0], rows[2]]
    assert search(alice, either, is_("pass", False)) == [rows[2]]
    assert search(alice, is_("pass", False) | {"or_": [is_("log_id", "log-2"), is_("log_id", "log-1")]}) == [rows[1]]
    assert search(alice, {"and_": [is_("pass", True), is_("pass", False)]}) == []


def test_the_older_fields_still_filter(alice: Caller, rows: list[str]) -> None:
    assert search(alice, log_id_in=["log-1", "other"]) == [rows[0]]
    assert search(alice, log_id_in=[]) == []
    assert search(alice, trace_id="t1") == [rows[0]]


@pytest.mark.parametrize(
    ("part", "pointer"),
    [
        ({}, "/filters/0"),
        ({"value": 1}, "/filters/0"),
        ({"and_": [], "or_": []}, "/filters/0"),
        ({"or_": [{"field": "app", "value": "x"}, {}]}, "/filters/0/or_/1"),
        ({"or_": [1]}, "/filters/0/or_/0"),
        ({"and_": {"field": "app"}}, "/filters/0/and_"),
        ({"field": "password"}, "/filters/0/field"),
        ({"field": "request__account_id", "value": 1}, "/filters/0/field"),
        ({"field": {"a": 1}}, "/filters/0/field"),
        (is_("app", "x", "regex"), "/filters/0/operation"),
        ({"field": "app", "operation": ["eq"], "value": "x"}, "/filters/0/operation"),
        (is_("app", "x", "in"), "/filters/0/value"),
        (is_("app", [None], "in"), "/filters/0/value/0"),
        (is_("app", ["x"] * 501, "in"), "/filters/0/value"),
        (is_("app", None, "like"), "/filters/0/value"),
        (is_("app", "\\", "like"), "/filters/0/value"),
        (is_("app", "%\\\\\\", "ilike"), "/filters/0/value"),
        (is_("score", "x", "like"), "/filters/0/value"),
        (is_("score", True), "/filters/0/value"),
        (is_("score", 10**400), "/filters/0/value"),
        (is_("pass", 1), "/filters/0/value"),
        (is_("id", 2**63), "/filters/0/value"),
        (is_("id", -1), "/filters/0/value"),
        (is_("id", 1.5), "/filters/0/value"),
        (is_("id", "\uff11"), "/filters/0/value"),
        (is_("criteria_id", "x"), "/filters/0/value"),
        (is_("created_at", "yesterday"), "/filters/0/value"),
        (is_("created_at", "2026-02-30"), "/filters/0/value"),
        (is_("log_id", "a\0"), "/filters/0/value"),
    ],
)
def test_it_points_at_a_filter_that_makes_no_sense(
    alice: Caller, rows: list[str], part: dict[str, Any], pointer: str
) -> None:
    assert_problem(alice.post("/v1/evaluations/search", {"filters": [part]}), "validation_failed", pointer)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"filters": "app"}, "/filters"),
        ({"filters": [1]}, "/filters/0"),
        ({"limit": -1}, "/limit"),
        ({"limit": 10_001}, "/limit"),
        ({"limit": "many"}, "/limit"),
        ({"cursor": "forged"}, "/cursor"),
        ({"cursor": 3}, "/cursor"),
        ({"log_id_in": "log-1"}, "/log_id_in"),
        ({"log_id_in": [["x"]]}, "/log_id_in/0"),
        ({"log_id_in": [f"{i}" for i in range(10_001)]}, "/log_id_in"),
        ({"trace_id": "x" * 256}, "/trace_id"),
    ],
)
def test_it_points_at_a_field_that_makes_no_sense(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post("/v1/evaluations/search", fields), "validation_failed", pointer)


def test_it_bounds_the_number_and_the_depth_of_filters(alice: Caller) -> None:
    deep: dict[str, Any] = is_("app", "x")
    for _ in range(9):
        deep = {"and_": [deep]}
    assert_problem(alice.post("/v1/evaluations/search", {"filters": [deep]}), "validation_failed")
    many = [is_("app", "x")] * 101
    assert_problem(alice.post("/v1/evaluations/search", {"filters": many}), "validation_failed", "/filters/100")


def test_the_largest_search_fits_into_a_statement(alice: Caller) -> None:
    filters = [is_("log_id", [f"{i}-{j}" for j in range(500)], "in") for i in range(100)]
    body = {"filters": [{"or_": filters[:99]}], "log_id_in": [str(i) for i in range(10_000)]}

    assert alice.post("/v1/evaluations/search", body).status_code == 200


def test_every_field_can_be_searched(alice: Caller, rows: list[str]) -> None:
    values: dict[str, Any] = {
        "id": "1",
        "time": "2026-01-01",
        "text": "x",
        "uuid": "0" * 32,
        "bool": True,
        "number": 0.25,
    }
    values |= {"annotation": "0" * 32, "tags": {"a": "b"}}
    for name, field in FIELDS.items():
        for operation in ("eq", "ne") if field.kind in UNORDERED else ("eq", "ne", "lt", "le", "gt", "ge"):
            search(alice, is_(name, values[field.kind], operation))
        search(alice, is_(name, [values[field.kind]], "in"), is_(name, None, "ne"))


def pages(caller: Caller, limit: int) -> list[str]:
    seen, cursor = [], None
    while True:
        answer = caller.post("/v1/evaluations/search", {"limit": limit, "cursor": cursor}).json()
        seen += [row["id"] for row in answer["evaluations"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            return seen
        caller.evaluate("exact-match", **ROWS[0])


def test_pages_are_stable_while_rows_are_added(alice: Caller, rows: list[str]) -> None:
    assert pages(alice, 1) == rows[::-1]


def test_the_last_full_page_says_that_it_is_the_last(alice: Caller, rows: list[str]) -> None:
    assert alice.post("/v1/evaluations/search", {"limit": 3}).json()["next_cursor"] is None


def test_a_cursor_is_good_for_its_list_and_its_account_only(alice: Caller, charlie: Caller, rows: list[str]) -> None:
    cursor = alice.post("/v1/evaluations/search", {"limit": 1}).json()["next_cursor"]
    body, signature = cursor.rsplit(":", 1)

    assert_problem(charlie.post("/v1/evaluations/search", {"cursor": cursor}), "validation_failed", "/cursor")
    assert_problem(alice.get(f"/v1/history?evaluator=exact-match&cursor={cursor}"), "validation_failed", "/cursor")
    for forged in (f"{body}:{signature[::-1]}", f"x{cursor}", body, ":", "é:a:b", "." + cursor):
        assert_problem(alice.post("/v1/evaluations/search", {"cursor": forged}), "validation_failed", "/cursor")


@pytest.mark.parametrize("operation", ["like", "ilike"])
def test_the_longest_pattern_is_not_too_deep(alice: Caller, operation: str) -> None:
    rows = [{"evaluator_id": "mine", "log_id": "one", "text_output": "a" * 20_000}]
    assert alice.post("/v1/evaluations/batch", {"evaluations": rows}).json()["errors"] == []

    def ask(pattern: str) -> Any:
        filters = [{"field": "text_output", "operation": operation, "value": pattern}]
        return alice.post("/v1/evaluations/search", {"filters": filters})

    for pattern in ("%a" * 2000, "%a%b" * 1000, "%_a%" * 1000):
        assert ask(pattern).status_code == 200
    assert_problem(ask("%a" * 2001), "validation_failed")

"""/v1/saved-searches: searches that a key saves for its account."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from evalsvc.evaluations.saved import services
from evalsvc.evaluations.saved.parser import read_search
from tests.conftest import Caller
from tests.console.evaluations import kept
from tests.factories import ok
from tests.rest.shapes import assert_problem

SEARCHES = "/v1/saved-searches"
WEEK = {"period": "7d", "app": "shop", "result": "fail"}


def save(caller: Caller, name: str = "week", **query: str) -> dict[str, Any]:
    made: dict[str, Any] = ok(caller.post(SEARCHES, {"name": name, "query": query or WEEK}), 201)["saved_search"]
    return made


def test_its_filters_find_what_the_page_finds(alice: Caller) -> None:
    kept(alice, "exact-match", output="yes", gold_answer="yes")
    (failed,) = kept(alice, "exact-match", output="no", gold_answer="yes")
    made = save(alice)

    found = ok(alice.post("/v1/evaluations/search", {"filters": made["filters"]}))["evaluations"]
    assert (made["query"], made["problem"]) == (WEEK, None)
    assert [one["id"] for one in found] == [failed]


def test_a_relative_time_stays_relative() -> None:
    read = [read_search({"period": "7d"}, datetime(2026, 11, day, 12, tzinfo=UTC)).filters for day in (10, 26)]
    assert [filters and filters[0]["value"] for filters in read] == [
        "2026-11-03T12:00:00+00:00",
        "2026-11-19T12:00:00+00:00",
    ]


def test_what_a_release_has_no_more_is_said() -> None:
    now = datetime(2026, 11, 26, tzinfo=UTC)
    gone, unread = read_search({"colour": "red"}, now), read_search({"period": "90d"}, now)

    assert (gone.filters, gone.problem) == (None, "This release has no filter called colour.")
    assert unread.filters is None and "period: One of: 1h, 24h, 7d, 30d." in str(unread.problem)


def test_it_lists_changes_and_forgets(alice: Caller, bob: Caller) -> None:
    made = save(alice)
    changed = ok(alice.call("PATCH", f"{SEARCHES}/{made['id']}", {"name": "day", "query": {"period": "24h"}}))[
        "saved_search"
    ]
    (listed,) = ok(bob.get(SEARCHES))["saved_searches"]

    assert (changed["name"], changed["query"]) == ("day", {"period": "24h"})
    assert (listed["id"], listed["name"]) == (made["id"], "day")
    assert alice.call("DELETE", f"{SEARCHES}/{made['id']}").status_code == 204
    assert ok(alice.get(SEARCHES))["saved_searches"] == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": " ", "query": WEEK}, "/name"),
        ({"name": "a\u202eb", "query": WEEK}, "/name"),
        ({"name": "x" * 101, "query": WEEK}, "/name"),
        ({"name": "x", "query": {}}, "/query"),
        ({"name": "x", "query": {"perid": "7d"}}, "/query/perid"),
        ({"name": "x", "query": {"period": "9d"}}, "/query/period"),
        ({"name": "x", "query": {"min": "many"}}, "/query/min"),
        ({"name": "x", "query": {"q": "x", "since": "2020-01-01T00:00"}}, "/query/q"),
        ({"name": "x", "query": {"app": "x" * 5000}}, "/query"),
        ({"name": "x", "query": {"app": 7}}, "/query/app"),
    ],
)
def test_what_the_page_could_not_show_is_refused(alice: Caller, body: Any, pointer: str) -> None:
    assert_problem(alice.post(SEARCHES, body), "validation_failed", pointer)


def test_a_name_is_there_once(alice: Caller) -> None:
    save(alice)
    other = save(alice, "other")

    assert_problem(alice.post(SEARCHES, {"name": "week", "query": WEEK}), "already_exists", "/name")
    assert_problem(alice.call("PATCH", f"{SEARCHES}/{other['id']}", {"name": "week"}), "already_exists", "/name")


def test_there_are_so_many_at_most(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_SHARED", 1)
    save(alice)
    assert_problem(alice.post(SEARCHES, {"name": "more", "query": WEEK}), "validation_failed", "")


def test_a_stranger_finds_none(alice: Caller, charlie: Caller) -> None:
    made = save(alice)
    assert ok(charlie.get(SEARCHES))["saved_searches"] == []
    assert_problem(charlie.call("PATCH", f"{SEARCHES}/{made['id']}", {"name": "x"}), "not_found")

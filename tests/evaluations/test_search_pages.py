"""Pages of a search: by time and then by id, with a cursor or an offset, few queries, and an end to what takes too long."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from evalsvc.evaluations.search import pages
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

SEARCH = "/v1/evaluations/search"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_numbers = itertools.count()


def keep(caller: Caller, *hours: float, **fields: Any) -> list[str]:
    """Keep scores made elsewhere, so many hours before noon, and return their ids."""
    rows = [
        {"evaluator_id": "mine", "log_id": f"log-{next(_numbers)}", "score": 1, **fields}
        | {"created_at": (NOON - timedelta(hours=hour)).isoformat()}
        for hour in hours
    ]
    answer = caller.post("/v1/evaluations/batch", {"evaluations": rows})
    assert answer.json()["errors"] == []
    return [row["id"] for row in answer.json()["evaluations"]]


def search(caller: Caller, **body: Any) -> dict[str, Any]:
    answer = caller.post(SEARCH, body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def ids(answer: dict[str, Any]) -> list[str]:
    return [row["id"] for row in answer["evaluations"]]


@contextmanager
def counted() -> Iterator[list[str]]:
    """Note the statements that read evaluations, their requests and their settings."""
    noted: list[str] = []

    def note(execute: Any, statement: Any, params: Any, many: bool, context: Any) -> Any:
        if any(table in str(statement) for table in ("evaluations_", "catalog_")):
            noted.append(str(statement))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(note):
        yield noted


def test_an_older_score_that_comes_in_late_takes_its_place_in_time(alice: Caller) -> None:
    newest, oldest = keep(alice, 1, 9)
    (middle,) = keep(alice, 5)

    assert ids(search(alice)) == [newest, middle, oldest]


def test_of_one_moment_the_higher_id_comes_first(alice: Caller) -> None:
    same = keep(alice, 2, 2, 2)

    assert ids(search(alice)) == sorted(same, key=int, reverse=True)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
def test_a_cursor_walks_through_all_even_within_one_moment(alice: Caller, limit: int) -> None:
    wanted = sorted(keep(alice, 1, 2, 2, 2, 3, 3, 4), key=int)
    seen: list[str] = []
    cursor = None
    for _ in range(9):
        page = search(alice, limit=limit, cursor=cursor)
        seen, cursor = seen + ids(page), page["next_cursor"]
        if cursor is None:
            break
        keep(alice, 0)  # newer than what was shown: on no later page

    assert sorted(seen, key=int) == wanted
    assert seen == sorted(seen, key=lambda id: [row["id"] for row in search(alice)["evaluations"]].index(id))


def test_a_late_score_of_an_earlier_time_is_on_a_later_page(alice: Caller) -> None:
    first, last = keep(alice, 1, 9)
    page = search(alice, limit=1)
    (late,) = keep(alice, 5)

    assert ids(page) == [first]
    assert ids(search(alice, cursor=page["next_cursor"])) == [late, last]


def test_an_offset_skips_so_many(alice: Caller, bob: Caller) -> None:
    kept = keep(alice, 1, 2, 3, 4)

    assert ids(search(bob, limit=2, offset=1)) == kept[1:3]
    assert ids(search(alice, offset=0)) == kept
    assert ids(search(alice, offset=4)) == ids(search(alice, offset=100_000)) == []


def test_a_page_by_offset_says_where_the_next_one_begins(alice: Caller) -> None:
    kept = keep(alice, 1, 2, 3, 4)
    page = search(alice, limit=1, offset=1)

    assert ids(search(alice, cursor=page["next_cursor"])) == kept[2:]


def test_cursor_and_offset_do_not_go_together(alice: Caller) -> None:
    keep(alice, 1, 2)
    cursor = search(alice, limit=1)["next_cursor"]

    assert_problem(alice.post(SEARCH, {"cursor": cursor, "offset": 1}), "validation_failed", "/offset")


@pytest.mark.parametrize("offset", [-1, 100_001, "x", 1.5, [], 2**63])
def test_an_offset_has_bounds(alice: Caller, offset: Any) -> None:
    assert_problem(alice.post(SEARCH, {"offset": offset}), "validation_failed", "/offset")


@pytest.mark.parametrize("body", [{}, {"filters": None}, {"filters": []}, {"cursor": None, "offset": None}], ids=str)
def test_a_search_may_ask_for_nothing_in_particular(alice: Caller, body: dict[str, Any]) -> None:
    kept = keep(alice, 1, 2)

    assert ids(search(alice, **body)) == kept


def test_a_stranger_sees_nothing_by_any_page(alice: Caller, charlie: Caller) -> None:
    keep(alice, 1, 2, 3, tags={"env": "prod"})
    cursor = search(alice, limit=1)["next_cursor"]

    assert ids(search(charlie)) == ids(search(charlie, offset=1)) == []
    assert ids(search(charlie, filters=[{"field": "tags.env", "value": "prod"}])) == []
    assert_problem(charlie.post(SEARCH, {"cursor": cursor}), "validation_failed", "/cursor")


@pytest.mark.parametrize("n", [1, 30])
def test_a_page_takes_two_reads_of_evaluations_and_one_of_requests(alice: Caller, n: int) -> None:
    alice.evaluate("exact-match", output="x", label="x", capture="all", tags={"env": "prod"})
    keep(alice, *range(n))
    with counted() as statements:
        search(alice)

    assert len(statements) == 3
    # That an output is not null is in the row's header.
    texts = [statement.replace('"output" IS NOT NULL', "") for statement in statements]
    assert not any(f'"{column}"' in text for text in texts for column in ("input", "output", "contexts", "gold"))


def test_a_page_leaves_nothing_to_the_garbage_collector(alice: Caller) -> None:
    """What a cycle keeps is there until the collector walks it, in the midst of somebody's answer."""
    keep(alice, *range(20))
    gc.collect()
    gc.disable()
    try:
        search(alice)
        left = [found for found in gc.get_objects() if type(found) is dict and "evaluator_family" in found]
    finally:
        gc.enable()

    # The client's copy has texts for times.
    assert [row["id"] for row in left if isinstance(row.get("created_at"), datetime)] == []


def test_an_empty_page_takes_one_read(alice: Caller) -> None:
    with counted() as statements:
        search(alice)

    assert len(statements) == 1


def test_a_search_that_takes_too_long_says_what_to_add(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(alice, *range(300), explanation="a" * 10_000)
    monkeypatch.setattr(pages, "TIMEOUT_SECONDS", 0.001)
    slow = {"field": "explanation", "operation": "like", "value": "%a" * 60 + "b"}
    answer = alice.post(SEARCH, {"filters": [slow]})

    problem = assert_problem(answer, "search_too_slow")
    assert "created_at" in problem["remedy"]
    assert "evaluator_id" in problem["remedy"]


def test_the_bound_ends_with_the_search(alice: Caller) -> None:
    search(alice)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('statement_timeout'), current_setting('max_parallel_workers_per_gather')"
        )
        assert cursor.fetchone() == ("0", "2")

"""The start page reads a bounded number of rows, however many gates and reviews an account has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections

from evalsvc.gates.models import Gate
from evalsvc.gates.selectors import list_gates
from evalsvc.reviews.models import Review, ReviewItem
from evalsvc.reviews.selectors import open_reviews
from evalsvc.tenancy.scope import account_scope, id_at
from tests.conftest import Caller

NOW = datetime.now(UTC)
N_GATES = 3000


def add_gates(caller: Caller, n: int, *, began_at: datetime) -> None:
    rows = (began_at + timedelta(seconds=i) for i in range(n))
    Gate.objects.using("system").bulk_create(
        Gate(
            id=id_at(at) + caller.account.pk % 4_000_000, account_id=caller.account.pk, outcome="pass", evidence={},
            actor="key:1", created_at=at,
        )
        for at in rows
    )  # fmt: skip


def nodes_of(statement: str, params: Any) -> Iterator[dict[str, Any]]:
    """Each step that the database has taken for an answer."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", params)
        (plan,) = cursor.fetchone()
    waiting = [(json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        yield node


def n_read(rows: Any) -> int:
    """How many rows the database has looked at for an answer."""
    nodes = nodes_of(*rows.query.sql_with_params())
    return sum(int((one["Actual Rows"] + one.get("Rows Removed by Filter", 0)) * one["Actual Loops"]) for one in nodes)


def test_gates_of_today_are_looked_for_among_todays(alice: Caller, charlie: Caller) -> None:
    add_gates(alice, N_GATES, began_at=NOW - timedelta(days=9))
    add_gates(alice, 2, began_at=NOW - timedelta(seconds=60))
    # A stranger has as many: an account that had nearly all gates there are would be read past those of others.
    add_gates(charlie, N_GATES, began_at=NOW - timedelta(days=9))
    add_gates(charlie, 50, began_at=NOW - timedelta(seconds=60))
    # Gates that other tests have left of the last hour change the statistics, and with them the plan.
    Gate.objects.using("system").exclude(account__in=[alice.account, charlie.account]).delete()
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE gates_gate")

    with account_scope(alice.account.pk):
        today = list_gates(account=alice.account, since=NOW - timedelta(hours=1)).order_by("-id")[:9]
        assert n_read(today) <= 20
        assert len(today) == 2


def add_review(caller: Caller, *, n_items: int, n_complete: int, age: int) -> Review:
    made = Review.objects.using("system").create(
        account_id=caller.account.pk, name=f"r{age}", kind="output", source={}, sample={}, n_answers=1, seed=1,
        n_items=n_items, created_by="key:1", created_at=NOW - timedelta(minutes=age),
    )  # fmt: skip
    ReviewItem.objects.using("system").bulk_create(
        ReviewItem(
            account_id=caller.account.pk, review=made, position=i, subject_id=i, probability=1.0,
            n_answered=int(i < n_complete),
        )
        for i in range(n_items)
    )  # fmt: skip
    return made


def looked_at(caller: Caller, limit: int) -> tuple[list[str], int]:
    """The reviews that wait, and of how many the items were counted."""
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        asked.append((statement, params))
        return execute(statement, params, many, context)

    with account_scope(caller.account.pk):
        with connection.execute_wrapper(note):
            found = open_reviews(account=caller.account, limit=limit)
        ((statement, params),) = asked
        counts = [one for one in nodes_of(statement, params) if one["Node Type"] == "Aggregate"]
    return [one.review.name for one in found], counts[0]["Actual Loops"]


@pytest.fixture
def reviewed(alice: Caller, charlie: Caller) -> Iterator[Caller]:
    """Alice, and a stranger with a review; what they have is written past the service, and goes again."""
    add_review(charlie, n_items=3, n_complete=0, age=0)
    yield alice
    accounts = [alice.account.pk, charlie.account.pk]
    ReviewItem.objects.using("system").filter(account_id__in=accounts).delete()
    Review.objects.using("system").filter(account_id__in=accounts).delete()


def test_items_are_counted_of_the_newest_reviews_alone(reviewed: Caller) -> None:
    alice = reviewed
    add_review(alice, n_items=3, n_complete=3, age=0)
    for age in range(1, 40):
        add_review(alice, n_items=3, n_complete=age % 3, age=age)

    names, n = looked_at(alice, 7)

    assert names == [f"r{age}" for age in range(1, 8)]
    assert n == 8, "one of them is complete"


def test_it_gives_up_behind_many_that_are_complete(reviewed: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = reviewed
    monkeypatch.setattr("evalsvc.reviews.selectors.MAX_LOOKED_AT", 10)
    for age in range(12):
        add_review(alice, n_items=2, n_complete=0 if age in (8, 11) else 2, age=age)

    names, n = looked_at(alice, 3)

    assert (names, n) == (["r8"], 10)

"""What a batch costs: a few messages for each part of a hundred samples, and a permit for each sample."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection

from evalsvc.accounts.models import Account
from evalsvc.evaluations.bulk import use_case
from tests.conftest import Caller, scores_of
from tests.evaluations.bulk.shapes import BATCH, exact, rows_of, statuses, stream_of

FULL = {"confidence_interval_strategy": "full-history"}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], int]:
    """Count the exchanges with the database in what is called, by this thread."""
    seen: list[None] = []
    wait, me = psycopg.Connection.wait, threading.get_ident()

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        if threading.get_ident() == me:
            seen.append(None)
        return wait(self, *args, **options)

    monkeypatch.setattr(psycopg.Connection, "wait", noted)

    def count(act: Callable[[], Any]) -> int:
        before = len(seen)
        act()
        return len(seen) - before

    return count


def test_a_hundred_samples_cost_what_two_do(alice: Caller, counted: Callable[[Callable[[], Any]], int]) -> None:
    rows_of(alice.post(BATCH, exact(2, **FULL)))

    def send(n: int) -> int:
        return counted(lambda: rows_of(alice.post(BATCH, exact(n, **FULL))))

    few, many, most = send(2), send(100), send(300)

    # A connection from the pool, which looks whether it is alive, and the capture.
    assert few == many <= 2
    assert most <= 3 * 2
    assert len(scores_of(alice, "exact-match")) == 404


def test_a_key_adds_a_few_messages_to_a_part_and_none_to_a_sample(
    alice: Caller, counted: Callable[[Callable[[], Any]], int]
) -> None:
    rows_of(alice.post(BATCH, exact(2, **FULL)))

    def send(n: int, key: str) -> int:
        return counted(lambda: rows_of(alice.post(BATCH, exact(n, **FULL), Idempotency_Key=key)))

    few, many, three_parts = send(2, "a"), send(100, "b"), send(300, "c")
    assert few == many <= 20
    assert three_parts - few <= 2 * 7
    # They are read, and nothing is written.
    assert send(300, "c") - send(100, "b") <= 2 * 7
    assert len(scores_of(alice, "exact-match")) == 404


def test_what_leaves_nothing_behind_reads_its_histories_once(
    alice: Caller, counted: Callable[[Callable[[], Any]], int]
) -> None:
    body = exact(100, **FULL) | {"capture": "none"}

    rows_of(alice.post(BATCH, body))

    assert counted(lambda: rows_of(alice.post(BATCH, body))) <= 2
    assert scores_of(alice, "exact-match") == []


def test_samples_above_the_rate_limit_are_refused_one_by_one(alice: Caller) -> None:
    Account.objects.using("owner").filter(pk=alice.account.pk).update(rpm_limit=5)
    from evalsvc.accounts.access.rate_limiter import bump_epoch

    bump_epoch(alice.account.pk)
    response = alice.post(BATCH, exact(8), Idempotency_Key="k")
    rows = rows_of(response)

    assert statuses(rows) == [200] * 5 + [429] * 3
    assert {row["problem"]["code"] for row in rows[5:]} == {"too_many_requests"}
    assert all(1 <= row["retry_after"] <= 60 for row in rows[5:])
    assert response["x-ratelimit-rpm-remaining-requests"] == "0"
    assert alice.post(BATCH, exact(8), Idempotency_Key="k").status_code == 429
    assert len(scores_of(alice, "exact-match")) == 5


def test_an_answer_in_one_piece_has_an_end(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(use_case, "MAX_ANSWER_BYTES", 150_000)
    rows = rows_of(alice.post(BATCH, exact(300), Idempotency_Key="k"))

    done = statuses(rows).count(200)
    assert 100 <= done < 300
    assert statuses(rows) == [200] * done + [413] * (300 - done)
    assert "application/x-ndjson" in rows[-1]["problem"]["detail"]
    # Nothing was done of what was not answered; line by line there is no end.
    assert len(scores_of(alice, "exact-match")) == done
    again = stream_of(alice.post(BATCH, exact(300), Idempotency_Key="k", Accept="application/x-ndjson"))
    assert statuses(again) == [200] * 300
    assert len(scores_of(alice, "exact-match")) == 300


def test_no_connection_is_held_while_a_row_is_handed_over(alice: Caller) -> None:
    response = alice.post(BATCH, exact(250), Accept="application/x-ndjson", Idempotency_Key="k")

    n_rows = 0
    for _ in response.streaming_content:
        n_rows += 1
        assert connection.connection is None
    assert n_rows == 250


@pytest.mark.parametrize(("limit", "most"), [("SECONDS_AT_ONCE", 0.0), ("BYTES_AT_ONCE", 1), ("ROWS_AT_ONCE", 1)])
def test_a_part_ends_early_where_its_samples_are_slow_or_large(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, limit: str, most: float
) -> None:
    monkeypatch.setattr(use_case, limit, most)
    response = alice.post(BATCH, exact(3), Accept="application/x-ndjson")

    rows = []
    for line in response.streaming_content:
        rows.append(line)
        assert len(scores_of(alice, "exact-match")) == len(rows)
    assert len(rows) == 3

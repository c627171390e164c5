"""What a process remembers of a history equals what the database holds, whatever commits in between."""

from __future__ import annotations

import itertools
import random
import threading
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections

from evalsvc.evaluations.database.round_trips import call_function
from evalsvc.evaluations.history import cache, store
from evalsvc.evaluations.models import HistoryScore
from evalsvc.projects.services import remember_app
from evalsvc.tenancy.scope import account_scope
from tests import leftovers
from tests.conftest import Caller

PAIR = ("exact-match-2026-11-28", "patronus:exact-match")


@pytest.fixture(autouse=True)
def forget() -> None:
    cache._memory.clear()


def connect() -> psycopg.Connection[Any]:
    return psycopg.connect(settings.DATABASE_SYSTEM_URL, autocommit=False)


def add(connection: psycopg.Connection[Any], account_id: int, score: float) -> None:
    leftovers.spoil(account_id)
    connection.execute(
        "INSERT INTO evaluations_historyscore (account_id, evaluator_id, profile_name, score, source, source_id)"
        " VALUES (%s, %s, %s, %s, 'import', next_id())",
        [account_id, *PAIR, score],
    )


def read(caller: Caller, epoch: str | None = "1") -> list[float]:
    (history,) = store.read_histories(caller.account.pk, [PAIR], epoch=epoch)
    assert history is not None
    return history.scores.tolist()


def test_a_row_that_commits_late_is_not_missed(alice: Caller) -> None:
    with connect() as early, connect() as late:
        add(early, alice.account.pk, 0.1)  # has the lower id, and commits last
        add(late, alice.account.pk, 0.2)
        late.commit()
        assert read(alice) == [0.2]

        early.commit()

        assert read(alice) == [0.2, 0.1]
        assert read(alice) == [0.2, 0.1]


def test_a_row_that_rolls_back_is_never_seen(alice: Caller) -> None:
    with connect() as writer:
        add(writer, alice.account.pk, 0.1)
        assert read(alice) == []
        writer.rollback()
        assert read(alice) == []


def test_it_reads_only_what_is_new(alice: Caller) -> None:
    with connect() as writer:
        for score in range(5):
            add(writer, alice.account.pk, score)
    read(alice)

    held = cache._memory.find((alice.account.pk, *PAIR))
    assert held is not None
    row = call_function(
        "SELECT ids, are_new FROM newest_scores(%s, %s::text[], %s::text[], %s::text[], NULL)",
        [alice.account.pk, [PAIR[0]], [PAIR[1]], [held.value.snapshot]],
    )

    assert row == ([None], [True])


def test_a_transaction_that_has_written_hands_no_snapshot_out(alice: Caller) -> None:
    read(alice)
    with account_scope(alice.account.pk):
        remember_app(alice.account.pk, "a new app")  # gives this transaction its id
        with connect() as other:
            add(other, alice.account.pk, 0.2)
        assert read(alice) == [0.2]
        HistoryScore.objects.create(
            account=alice.account,
            evaluator_id=PAIR[0],
            profile_name=PAIR[1],
            score=0.1,
            source="import",
            source_id=alice.account.pk,
        )

    assert sorted(read(alice)) == [0.1, 0.2]
    assert sorted(read(alice, None)) == [0.1, 0.2]


def test_rows_restored_from_another_cluster_count_once(alice: Caller) -> None:
    with connect() as writer:
        for score in (0.1, 0.2, 0.3):
            add(writer, alice.account.pk, score)
        sql = "UPDATE evaluations_historyscore SET xact = '9000000000' WHERE account_id = %s"
        writer.execute(sql, [alice.account.pk])

    assert [read(alice) for _ in range(4)] == [[0.3, 0.2, 0.1]] * 4


def test_another_epoch_reads_everything_again(alice: Caller) -> None:
    with connect() as writer:
        add(writer, alice.account.pk, 0.1)
    assert read(alice, "1") == [0.1]
    with connections["system"].cursor() as cursor:
        cursor.execute("DELETE FROM evaluations_historyscore WHERE account_id = %s", [alice.account.pk])

    assert read(alice, "2") == []


def test_without_an_epoch_nothing_is_remembered(alice: Caller) -> None:
    with connect() as writer:
        add(writer, alice.account.pk, 0.1)

    assert read(alice, None) == [0.1]
    assert len(cache._memory) == 0


def test_a_stranger_has_a_memory_of_his_own(alice: Caller, charlie: Caller) -> None:
    with connect() as writer:
        add(writer, alice.account.pk, 0.1)

    assert read(alice) == [0.1]
    assert read(charlie) == []


def test_more_than_a_thousand_new_rows_are_read_anew(alice: Caller) -> None:
    read(alice)
    with connect() as writer:
        for i in range(1100):
            add(writer, alice.account.pk, i)

    assert read(alice) == [float(i) for i in range(1099, 99, -1)]


def test_it_equals_a_full_read_while_eight_writers_commit_out_of_order(alice: Caller) -> None:
    compared_enough = threading.Event()

    def write(seed: int) -> None:
        rng = random.Random(seed)
        with connect() as writer:
            for i in itertools.takewhile(lambda i: i < 120 or not compared_enough.is_set(), range(10_000)):
                add(writer, alice.account.pk, seed * 1000 + i)
                if rng.random() < 0.3:
                    writer.commit() if rng.random() < 0.8 else writer.rollback()
            writer.commit()

    writers = [threading.Thread(target=write, args=[seed]) for seed in range(8)]
    for writer in writers:
        writer.start()
    n_compared = 0
    while any(writer.is_alive() for writer in writers):
        n_compared += compare_within_one_snapshot(alice)
        if n_compared > 5:
            compared_enough.set()
    for writer in writers:
        writer.join()

    compare_within_one_snapshot(alice)
    assert n_compared > 5


def compare_within_one_snapshot(caller: Caller) -> int:
    """Bring the memory up to date and read all, both as one snapshot sees it."""
    with connections["default"].cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        remembered = store.read_histories(caller.account.pk, [PAIR], epoch="1")[0]
        everything = store.read_histories(caller.account.pk, [PAIR])[0]
        cursor.execute("COMMIT")
    assert remembered is not None
    assert everything is not None
    assert remembered.ids.tolist() == everything.ids.tolist()
    assert remembered.scores.tolist() == everything.scores.tolist()
    return 1

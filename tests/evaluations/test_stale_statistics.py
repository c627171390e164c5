"""No plan depends on fresh statistics: those of before an account had rows, and none at all, read as few rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.history import store
from evalsvc.tenancy.scope import account_scope
from tests import services
from tests.conftest import Caller, new_caller
from tests.evaluations.plans import (
    TABLES,
    assert_by_index,
    fill_catalog,
    fill_evaluations,
    function_uuid_at,
    is_,
    plans_of,
    remove_rows,
)

N_OLD, N_ROWS = 10, 12_000
N_HISTORY = N_ROWS // 60
PARTITIONS = "SELECT relid::regclass::text FROM unnest(%s::text[]) t, pg_partition_tree(t::regclass) WHERE isleaf"
FORGET = (
    "DELETE FROM pg_statistic s USING unnest(%s::text[]) t, pg_partition_tree(t::regclass) p WHERE s.starelid = p.relid"
)
# With one, PostgreSQL takes an account to have one: every index that begins with the account seems to be as good.
ALL_BUT_ONE_TAG = """
DELETE FROM evaluations_evaluationtag
WHERE (evaluation_id, digest) <> (SELECT evaluation_id, digest FROM evaluations_evaluationtag WHERE account_id = %s LIMIT 1)
"""
READ = "SELECT coalesce(sum(seq_tup_read), 0), coalesce(sum(idx_tup_fetch), 0) FROM pg_stat_xact_user_tables WHERE relname LIKE 'evaluations!_%%' ESCAPE '!'"
PAIR = ("evaluator-3", "profile-3")
SEARCHES: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "nothing": ([], "ix_evaluation_account"),
    "evaluator": ([is_("evaluator_id", "evaluator-3")], "ix_evaluation_evaluator_id"),
    "criteria": ([is_("criteria", "profile-3")], "ix_evaluation_profile_name"),
    "app": ([is_("app", "app-3")], "ix_evaluation_app"),
    "app and score": ([is_("app", "app-3"), is_("score", 0.5, "ge")], "ix_evaluation_app"),
    "app and time": ([is_("app", "app-3"), is_("created_at", "2000-01-01", "ge")], "ix_evaluation_app"),
    # By the index of fails or that of the account: both have the order, and the statistics may say that all rows fail.
    "fails": ([is_("pass", False)], None),
    "text": ([is_("explanation", "%x%", "ilike")], "ix_evaluation_account"),
    "tag": ([is_("tags.env", "prod")], "ix_evaluationtag_newest"),
}
FOUND_FIRST = {
    "log": ([is_("log_id", "log-77")], "ix_evaluation_log_id"),
    "trace": ([is_("trace_id", "trace-77")], "ix_evaluation_trace_id"),
}
WINDOWS: dict[str, dict[str, Any]] = {
    "app": {"include": "none", "app": "app-3"},
    "experiments": {"include": "all"},
    "tag": {"include": "none", "tags": {"env": "prod"}},
    "revision": {"include": "promoted", "revision": 1},
}


@pytest.fixture(scope="module", params=["analyzed before", "analyzed with one tag", "none"])
def caller(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """An account with many rows, of which the statistics of the tables tell nothing."""
    callers = new_caller(name="planned"), new_caller(name="neighbour")
    account_ids = [caller.account.pk for caller in callers]
    with connections["owner"].cursor() as cursor, function_uuid_at(cursor):
        cursor.execute(PARTITIONS, [list(TABLES)])
        partitions = [partition for (partition,) in cursor.fetchall()]
        for partition in partitions:
            cursor.execute(f"ALTER TABLE {partition} SET (autovacuum_enabled = off)")
        fill_evaluations(cursor, account_ids[1], N_OLD)
        if request.param == "analyzed with one tag":
            cursor.execute(ALL_BUT_ONE_TAG, [account_ids[1]])
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        fill_evaluations(cursor, account_ids[0], N_ROWS)
        fill_catalog(cursor, account_ids[0])
    if request.param == "none":
        forget_statistics(services.servers.postgres.url)
    # Plans of an earlier test may be of fresh statistics.
    connection.close()
    yield callers[0]
    with connections["owner"].cursor() as cursor:
        remove_rows(cursor, account_ids)
        for partition in partitions:
            cursor.execute(f"ALTER TABLE {partition} RESET (autovacuum_enabled)")
    connections["owner"].close()


def forget_statistics(admin_url: str) -> None:
    name = connections["owner"].settings_dict["NAME"]
    with psycopg.connect(admin_url, dbname=name, autocommit=True) as administrator:
        administrator.execute(FORGET, [list(TABLES)])


def n_read(caller: Caller, act: Callable[[], object]) -> tuple[int, int]:
    """Return how many rows of our tables PostgreSQL reads from end to end, and by indexes."""
    with account_scope(caller.account.pk), connection.cursor() as cursor:
        cursor.execute(READ)
        before = cursor.fetchone()
        act()
        cursor.execute(READ)
        after = cursor.fetchone()
    return after[0] - before[0], after[1] - before[1]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_reads_a_page_in_the_order_of_its_index(caller: Caller, name: str) -> None:
    filters, index = SEARCHES[name]
    _, nodes = plans_of(caller, {"filters": filters, "limit": 10})

    assert_by_index(nodes)
    assert index is None or index in {node.get("Index Name") for node in nodes}
    (seq, by_index) = n_read(caller, lambda: caller.post("/v1/evaluations/search", {"filters": filters, "limit": 10}))
    assert seq == 0
    assert by_index < 300 or name == "text"  # no row has one: all are read


@pytest.mark.parametrize("name", FOUND_FIRST)
def test_what_few_rows_have_is_found_first_and_sorted(caller: Caller, name: str) -> None:
    filters, index = FOUND_FIRST[name]
    n, nodes = plans_of(caller, {"filters": filters, "limit": 10})

    assert n > 0
    assert_by_index(nodes)
    assert index in {node.get("Index Name") for node in nodes}


def test_a_page_of_results_is_read_by_an_index(caller: Caller) -> None:
    n, nodes = plans_of(caller, {"app": "app-3", "limit": 10}, "/v1/evaluation-results/search")

    assert n == 10
    assert_by_index(nodes)


@pytest.mark.parametrize("again", [False, True], ids=["new", "sent again"])
def test_an_import_reads_its_own_rows(caller: Caller, again: bool) -> None:
    rows = [{"evaluator_id": "tone", "log_id": f"log-{again}-{i}", "score": 0.5} for i in range(500)]
    for n in range(3):  # among as many of the same hour
        caller.post(
            "/v1/evaluations/batch", {"evaluations": [row | {"log_id": f"{n}-{row['log_id']}"} for row in rows]}
        )
    if again:
        rows = [row | {"log_id": f"0-{row['log_id']}"} for row in rows]

    seq, by_index = n_read(caller, lambda: caller.post("/v1/evaluations/batch", {"evaluations": rows}))

    assert seq == 0
    assert by_index < 10 * len(rows)


def test_captures_and_histories_read_what_they_show(caller: Caller) -> None:
    def capture(number: int) -> None:
        evaluation = {
            "position": 0, "evaluator_id": PAIR[0], "family": "family-3", "explain_strategy": "always",
            "profile_name": PAIR[1], "profile_revision": 1, "status": "success", "score": 1.0, "passed": True,
            "captured": True, "in_history": True, "lane": "inline",
        }  # fmt: skip
        request = {"capture": "all", "strategy": "none", "fingerprint": number, "app": "app-3", "tags": {"env": "prod"}}
        captures.capture(caller.account.pk, request, [evaluation], [PAIR], epoch=None, lease_seconds=60)

    numbers = itertools.count()
    for _ in range(2):
        seq, by_index = n_read(caller, lambda: capture(next(numbers)))
        assert seq == 0
        assert by_index < 2 * N_HISTORY


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_of_a_history_reads_what_it_shows(caller: Caller, name: str) -> None:
    seq, by_index = n_read(caller, lambda: store.read_scoped(caller.account.pk, [PAIR], WINDOWS[name]))

    assert seq == 0
    # Of each tag so many evaluations are counted that the rarest leads.
    assert by_index < 5 * N_HISTORY + (N_ROWS // 6 if "tags" in WINDOWS[name] else 0)

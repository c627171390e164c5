"""No plan depends on fresh statistics: those of before an account had rows, and none at all, read as few rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connections

from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.history import store
from tests import services
from tests.conftest import Caller
from tests.evaluations.plans import (
    N_ROWS,
    TABLES,
    assert_by_index,
    filled_after_analyze,
    is_,
    n_read,
    plans_of,
)

N_HISTORY = N_ROWS // 60
FORGET = (
    "DELETE FROM pg_statistic s USING unnest(%s::text[]) t, pg_partition_tree(t::regclass) p WHERE s.starelid = p.relid"
)
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


@pytest.fixture(scope="module", params=["analyzed before", "none"])
def caller(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """An account with many rows, of which the statistics of the tables tell nothing."""
    with filled_after_analyze() as caller:
        if request.param == "none":
            forget_statistics(services.servers.postgres.url)
        yield caller


def forget_statistics(admin_url: str) -> None:
    name = connections["owner"].settings_dict["NAME"]
    with psycopg.connect(admin_url, dbname=name, autocommit=True) as administrator:
        administrator.execute(FORGET, [list(TABLES)])


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

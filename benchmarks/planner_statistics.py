"""Imports, captures, searches and histories while PostgreSQL's statistics are stale: the planner must not need them.

    python -m benchmarks.planner_statistics                     10^5 evaluations
    python -m benchmarks.planner_statistics --rows 1000000      10^6

The same rows are planned for with fresh statistics, with none, and with those of the table's first ten rows; then an
account that has no rows imports into tables that were empty when they were analyzed. Every figure is also divided by
that of fresh statistics. CPU time is of this process and of the servers.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil

from benchmarks.search_pages import EVALUATIONS as SEARCH
from benchmarks.search_pages import RESULTS, filters
from benchmarks.search_rows import DRAW, EVALUATIONS, REQUESTS, SHARES, TAGS, say
from benchmarks.stack import cpu_seconds, stack

IMPORT = "/v1/evaluations/batch"
ROWS_A_CALL = 1000
TABLES = (
    "evaluations_evaluation",
    "evaluations_evaluationrequest",
    "evaluations_evaluationtag",
    "evaluations_historyscore",
)
SCORES = """
INSERT INTO evaluations_historyscore (id, account_id, evaluator_id, profile_name, revision, score, passed, source,
  source_id, app, project_id, experiment_id, created_at)
SELECT e.id, e.account_id, e.evaluator_id, e.profile_name, e.profile_revision, e.score, e.passed, 'evaluation', e.id,
  e.app, e.project_id, e.experiment_id, e.created_at FROM evaluations_evaluation e WHERE e.score IS NOT NULL
ON CONFLICT DO NOTHING
"""
PARTITIONS = "SELECT relid::regclass::text FROM pg_partition_tree(%s::regclass) WHERE isleaf"
FORGET = """
DELETE FROM pg_statistic s USING unnest(%s::text[]) t, pg_partition_tree(t::regclass) p WHERE s.starelid = p.relid
"""
PAIR = ("evaluator-1", "profile-1")
WINDOWS: dict[str, dict[str, Any]] = {
    "history of an app": {"include": "none", "app": "app-0"},
    "history of a tag": {"include": "none", "tags": {"env": "prod"}},
    "history since a revision": {"include": "promoted", "revision": 1},
}


@dataclass(frozen=True)
class Cost:
    """Milliseconds of an act."""

    wall: float
    cpu: float


def main() -> None:
    """Run the benchmark; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="captured evaluations (default 10^5)")
    parser.add_argument("--imports", type=int, default=20_000, help="finished scores to import (default 20 000)")
    parser.add_argument("--repeats", type=int, default=20, help="calls of each kind of search (default 20)")
    options = parser.parse_args()
    # The tests' helpers, without the servers that tests start.
    os.environ["EVALSVC_TEST_SERVICES"] = "0"
    with stack() as made:
        found = {name: measure(prepare, made.postgres.url, options) for name, prepare in STATES.items()}
    rows = [as_row(name, found) for name in found["fresh"]]
    print(
        f"{'milliseconds of wall time, CPU time':<44}" + "".join(f"{state:>18}" for state in found) + "   ÷ fresh (CPU)"
    )
    for row in rows:
        cells = "".join(f"{'-' if c is None else f'{c.wall:.1f}, {c.cpu:.1f}':>18}" for c in row["costs"])
        print(f"{row['name']:<44}{cells}   {row['ratios']}")
    for state, costs in found.items():
        seconds = costs["import"].wall / 1000
        print(f"import, statistics {state}: {options.imports / seconds:.0f} rows/s")
    ratios = {row["name"]: row["ratios"] for row in rows}
    print(json.dumps({"benchmark": "planner_statistics", "rows": options.rows, "ratios_of_cpu": ratios}))


def as_row(name: str, found: dict[str, dict[str, Cost]]) -> dict[str, Any]:
    """Return the costs of an act in each state, and the CPU time of each divided by that with fresh statistics."""
    costs = [costs.get(name) for costs in found.values()]
    fresh = max(found["fresh"][name].cpu, 1.0)
    return {"name": name, "costs": costs, "ratios": [round(cost.cpu / fresh, 2) for cost in costs if cost]}


def measure(prepare: Callable[..., None], admin_url: str, options: argparse.Namespace) -> dict[str, Cost]:
    """Make the rows and their statistics, and time everything with them, once."""
    from django.db import connections

    from tests.conftest import new_account, new_caller

    caller = new_caller(name="planned")
    accounts = [caller.account.pk, *(new_account(f"other {i}").pk for i in range(4))]
    prepare(admin_url, accounts, options.rows)
    connections.close_all()
    costs = {}
    if prepare is not empty:
        costs = {name: taken(act, options.repeats) for name, act in reads(caller).items()}
        costs["200 captures"] = taken(functools.partial(capture_many, caller), 1)
    bodies = [import_body(i) for i in range(options.imports // ROWS_A_CALL)]
    costs["import"] = taken(lambda: [post(caller, IMPORT, body) for body in bodies], 1)
    costs["import of 1000, sent again"] = taken(lambda: post(caller, IMPORT, bodies[0]), 1)
    return costs


def taken(act: Callable[[], object], repeats: int) -> Cost:
    """Return the milliseconds of one call, the mean of several: the CPU clock of processes ticks each 10 ms."""
    me = psutil.Process()  # and the servers, which are its children
    used, began = cpu_seconds(me), time.perf_counter()
    for _ in range(repeats):
        act()
    wall, cpu = time.perf_counter() - began, cpu_seconds(me) - used
    return Cost(wall * 1000 / repeats, cpu * 1000 / repeats)


def reads(caller: Any) -> dict[str, Callable[[], object]]:
    """Return the searches and the histories, by name."""
    from evalsvc.evaluations.history import store

    acts: dict[str, Callable[[], object]] = {
        f"search: {name}": functools.partial(post, caller, SEARCH, {"filters": wanted, "limit": 100})
        for name, wanted in filters()
        if not name.startswith("pass = true")
    }
    acts["results: by sample"] = functools.partial(
        post, caller, RESULTS, {"order": "-dataset_sample_id", "dataset_id": "dataset-7"}
    )
    acts["history"] = functools.partial(store.read_histories, caller.account.pk, [PAIR])
    for name, window in WINDOWS.items():
        acts[name] = functools.partial(store.read_scoped, caller.account.pk, [PAIR], window)
    return acts


def post(caller: Any, path: str, body: dict[str, Any]) -> Any:
    """Send a body through every middleware."""
    answer = client().post(path, json.dumps(body), content_type="application/json", HTTP_X_API_KEY=caller.key)
    if answer.status_code != 200:
        raise SystemExit(f"{path}: {answer.status_code} {answer.content[:500]!r}")
    return answer


@functools.cache
def client() -> Any:
    """Return the one client: each loads every middleware anew."""
    from django.test import Client

    return Client(headers={"host": "localhost"})


def import_body(number: int) -> dict[str, Any]:
    """Return a call with a thousand scores of ten histories."""
    return {
        "evaluations": [
            {
                "evaluator_id": "tone", "log_id": f"import-{number}-{i}", "criteria": f"profile-{i % 10}",
                "score": i % 7 / 6, "pass": i % 7 > 2,
            }
            for i in range(ROWS_A_CALL)
        ]
    }  # fmt: skip


def capture_many(caller: Any) -> None:
    """Capture evaluations as the view does, one a call, each with its history."""
    from evalsvc.evaluations.evaluate import captures

    evaluation = {
        "position": 0, "evaluator_id": PAIR[0], "family": "family-1", "explain_strategy": "always",
        "profile_id": "00000000-0000-4000-9000-000000000001", "profile_name": PAIR[1], "status": "success",
        "profile_revision": 1, "score": 1.0, "passed": True, "captured": True, "in_history": True, "lane": "inline",
    }  # fmt: skip
    request = {"capture": "all", "strategy": "none", "output": "y" * 200, "app": "app-0", "tags": {"env": "prod"}}
    for i in range(200):
        captures.capture(
            caller.account.pk, request | {"fingerprint": i}, [evaluation], [PAIR], epoch=None, lease_seconds=60
        )


def fill(cursor: Any, accounts: list[int], n_rows: int) -> None:
    """Add rows with all indexes in place, as calls do."""
    from psycopg import sql

    values = {"n": n_rows // 2, "accounts": accounts, "shares": SHARES}
    cursor.execute("DROP TABLE IF EXISTS drawn")
    cursor.execute(sql.SQL(DRAW).format(**{name: sql.Literal(value) for name, value in values.items()}))
    for statement in (REQUESTS, EVALUATIONS, TAGS, SCORES):
        cursor.execute(statement)


def clear(admin_url: str) -> None:
    """Empty the tables, forget their statistics, and let no autovacuum make others."""
    import psycopg
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(TABLES)}")
        for table in TABLES:
            cursor.execute(PARTITIONS, [table])
            for (partition,) in cursor.fetchall():
                cursor.execute(f"ALTER TABLE {partition} SET (autovacuum_enabled = off)")
    # Only the administrator may.
    name = connections["owner"].settings_dict["NAME"]
    with psycopg.connect(admin_url, dbname=name, autocommit=True) as connection:
        connection.execute(FORGET, [list(TABLES)])


def fresh(admin_url: str, accounts: list[int], n_rows: int) -> None:
    """Analyze all rows."""
    begin_state("fresh", admin_url, accounts, n_rows, last="VACUUM ANALYZE")


def unknown(admin_url: str, accounts: list[int], n_rows: int) -> None:
    """Analyze nothing."""
    begin_state("none", admin_url, accounts, n_rows)


def first_ten(admin_url: str, accounts: list[int], n_rows: int) -> None:
    """Analyze ten rows, of another account, and add the others."""
    begin_state("of ten rows", admin_url, accounts, n_rows, n_first=10)


def empty(admin_url: str, accounts: list[int], n_rows: int) -> None:
    """Analyze empty tables."""
    begin_state("empty", admin_url, accounts, 0, last="VACUUM ANALYZE")


def begin_state(
    name: str, admin_url: str, accounts: list[int], n_rows: int, *, n_first: int = 0, last: str = ""
) -> None:
    """Fill the tables; analyze after the first rows, or in the end."""
    from django.db import connections

    say(f"statistics {name}: {n_rows} evaluations")
    clear(admin_url)
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT setseed(0.5)")
        if n_first:
            fill(cursor, accounts[1:2] * 5, n_first)
            cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        if n_rows:
            fill(cursor, accounts, n_rows)
        if last:
            cursor.execute(f"{last} {', '.join(TABLES)}")


STATES: dict[str, Callable[..., None]] = {"fresh": fresh, "none": unknown, "of ten rows": first_ten, "empty": empty}

if __name__ == "__main__":
    main()

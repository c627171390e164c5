"""POST /v1/evaluations/search over 10^6 captured evaluations: each kind of page through the real view, and its plan.

Five accounts, the one that searches has most of the rows; 50 apps, 20 evaluators, 30 profiles, 5 % fails, 90 days, and
5 % scores that were imported late. Also: what the indexes of searches cost POST /v1/evaluate where it captures.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
from psycopg import sql

from benchmarks.search_rows import TABLES, fill, say
from benchmarks.stack import cpu_seconds, stack

GOAL_MS = 50
NOW = datetime.now(UTC)


def main() -> None:
    """Run the benchmark; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="captured evaluations (default 10^6)")
    parser.add_argument("--repeats", type=int, default=9, help="calls per kind of page (default 9)")
    parser.add_argument("--captures", type=int, default=400, help="captures per round, 0 for none (default 400)")
    options = parser.parse_args()
    with stack():
        from tests.conftest import new_account, new_caller

        caller = new_caller(name="searching")
        fill([caller.account.pk, *(new_account(f"other {i}").pk for i in range(4))], options.rows)
        scans = sequential_scans()
        table = [measure(caller, *page, options.repeats) for page in pages(caller)]
        report(table)
        scans = sequential_scans() - scans
        print(f"sequential scans of both tables that PostgreSQL has counted meanwhile: {scans}")
        cost = capture_cost(caller, options.captures) if options.captures else None
    print(json.dumps({"benchmark": "search", "goal_ms": GOAL_MS, "scans": scans, "rows": table, "capture_cost": cost}))


def is_(field: str, value: Any, operation: str = "eq") -> dict[str, Any]:
    """Write a filter."""
    return {"field": field, "operation": operation, "value": value}


def days_ago(days: float) -> str:
    """Write a time."""
    return (NOW - timedelta(days=days)).isoformat()


def filters() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each kind of search with its filters."""
    yield "nothing", []
    yield "evaluator, common", [is_("evaluator_id", "evaluator-0")]
    yield "evaluator, rare", [is_("evaluator_id", "evaluator-19")]
    yield "evaluator of one's own", [is_("evaluator_id", "external:mine-4")]
    yield "criteria", [is_("criteria", "profile-29")]
    yield "criteria_id", [is_("criteria_id", "00000000-0000-4000-9000-000000000003")]
    yield "family", [is_("evaluator_family", "family-7")]
    yield "app, common", [is_("app", "app-0")]
    yield "app, rare", [is_("app", "app-49")]
    yield "project", [is_("project_id", "00000000-0000-4000-8000-000000000009")]
    yield "experiment", [is_("experiment_id", 1039)]
    yield "dataset", [is_("dataset_id", "dataset-7")]
    yield "log_id", [is_("log_id", "log-100")]
    yield "trace_id", [is_("trace_id", "trace-5000")]
    yield "pass = false", [is_("pass", False)]
    yield "pass = true", [is_("pass", True)]
    yield "favorite", [is_("favorite", True)]
    yield "feedback", [is_("feedback", "negative")]
    yield "type = client", [is_("evaluation_type", "client_evaluation")]
    yield "created_at, last day", [is_("created_at", days_ago(1), "ge")]
    yield "created_at, an old day", [is_("created_at", days_ago(80), "ge"), is_("created_at", days_ago(79), "lt")]
    yield "tag, common", [is_("tags.env", "prod")]
    yield "tag, rare", [is_("tags.user", "u1234")]
    yield "two tags", [is_("tags", {"env": "dev", "user": "u77"})]
    yield "app ne", [is_("app", "app-0", "ne")]
    yield "in: 3 apps", [is_("app", ["app-7", "app-30", "app-49"], "in")]
    yield "in: 3 evaluators", [is_("evaluator_id", ["evaluator-19", "evaluator-18", "none"], "in")]
    yield "in: 500 log ids", [is_("log_id", [f"log-{i * 7}" for i in range(500)], "in")]
    yield "in: nothing there", [is_("app", ["none", "nor-this"], "in")]
    yield "app and pass = false", [is_("app", "app-3"), is_("pass", False)]
    yield "app and evaluator", [is_("app", "app-12"), is_("evaluator_id", "evaluator-9")]
    yield (
        "app, evaluator, criteria, fails",
        [*(is_("app", "app-12"), is_("evaluator_id", "evaluator-9"), is_("criteria", "profile-3"), is_("pass", False))],
    )
    yield "app and an old day", [is_("app", "app-3"), is_("created_at", days_ago(75), "lt")]
    yield "app and tag", [is_("app", "app-5"), is_("tags.env", "staging")]
    yield "or_: 2 apps", [{"or_": [is_("app", "app-8"), is_("app", "app-49")]}]
    yield "or_: log or trace", [{"or_": [is_("log_id", "log-100"), is_("trace_id", "trace-5000")]}]
    yield (
        "or_ of and_",
        [
            {
                "or_": [
                    {"and_": [is_("app", "app-40"), is_("pass", False)]},
                    {"and_": [is_("app", "app-45"), is_("favorite", True)]},
                ]
            }
        ],
    )
    yield "app that is not there", [is_("app", "none")]
    yield "evaluator that is not there", [is_("evaluator_id", "none")]
    yield "log that is not there", [is_("log_id", "none")]
    yield "tag that is not there", [is_("tags.env", "none")]
    yield "evaluator never in this app", [is_("app", "app-9"), is_("evaluator_id", "none")]


def pages(caller: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the bodies that are measured."""
    for name, wanted in filters():
        for limit in (100, 1000):
            yield f"{name}, {limit}", {"filters": wanted, "limit": limit}
    for name, wanted in (("nothing", []), ("app", [is_("app", "app-0")])):
        for limit in (100, 1000):
            yield f"{name}, offset 10 000, {limit}", {"filters": wanted, "limit": limit, "offset": 10_000}
            body = {"filters": wanted, "limit": limit, "cursor": deep_cursor(caller, wanted)}
            yield f"{name}, cursor deep inside, {limit}", body


def deep_cursor(caller: Any, wanted: list[dict[str, Any]]) -> str:
    """Return the cursor of a page half-way through."""
    old = [*wanted, is_("created_at", days_ago(45), "lt")]
    cursor = post(caller, {"filters": old, "limit": 1}).json()["next_cursor"]
    return str(cursor)


def post(caller: Any, body: dict[str, Any]) -> Any:
    """Search through every middleware, and return the answer."""
    answer = client().post(
        "/v1/evaluations/search", json.dumps(body), content_type="application/json", HTTP_X_API_KEY=caller.key
    )
    if answer.status_code != 200:
        raise SystemExit(f"{body}: {answer.status_code} {answer.content[:500]!r}")
    return answer


@functools.cache
def client() -> Any:
    """Return the one client: each loads every middleware anew."""
    from django.test import Client

    return Client(headers={"host": "localhost"})


def measure(caller: Any, name: str, body: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Time one kind of page and look at the plans of its statements."""
    from django.db import connection

    statements: list[tuple[str, Any]] = []

    def noted(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((statement, params))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(noted):
        found = post(caller, body).json()["evaluations"]
    me = psutil.Process()  # and the servers, which are its children
    times, used = [], cpu_seconds(me)
    for _ in range(repeats):
        started = time.perf_counter()
        post(caller, body)
        times.append((time.perf_counter() - started) * 1000)
    used = cpu_seconds(me) - used
    plan = "\n".join(explained(caller, *statement) for statement in statements if "evaluations_" in statement[0])
    return {
        "page": name,
        "n": len(found),
        "p50_ms": round(statistics.median(times), 1),
        "max_ms": round(max(times), 1),
        "cpu_ms": round(used / repeats * 1000, 1),
        "seq_scan": any(f"Seq Scan on {table}" in plan for table in TABLES),
        "plan": plan,
    }


def explained(caller: Any, statement: str, params: Any) -> str:
    """Return the plan of a statement in the account's scope."""
    from django.db import connection

    from evalsvc.tenancy.scope import account_scope

    with account_scope(caller.account.pk), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}", params)
        return "\n".join(line for (line,) in cursor.fetchall())


def sequential_scans() -> int:
    """Return how many sequential scans of the two tables PostgreSQL has counted."""
    from django.db import connections

    connections["default"].close()
    time.sleep(1.5)  # a session tells what it has counted once a second
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE relname = ANY(%s)", [list(TABLES)])
        return int(cursor.fetchone()[0])


def capture_cost(caller: Any, n: int, rounds: int = 5) -> dict[str, float]:
    """Time captures with the indexes of searches, and without those that were added for them; in alternate rounds."""
    from django.db import connections

    say("captures: with and without the indexes of searches")
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, TABLES))))
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND indexname LIKE 'ix_evaluation%%'"
            " AND indexname NOT IN ('ix_evaluation_pending', 'ix_evaluation_account')",
            [TABLES[0]],
        )
        indexes = cursor.fetchall()
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        times[True].append(captures(caller.account.pk, n))
        with connections["owner"].cursor() as cursor:
            for name, _definition in indexes:
                cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
            times[False].append(captures(caller.account.pk, n))
            for _name, definition in indexes:
                cursor.execute(definition)
    ratio = statistics.median(a / b for a, b in zip(times[True], times[False], strict=True))
    with_us, without_us = (round(statistics.median(times[key]), 1) for key in (True, False))
    print(
        f"one capture of one evaluation, its commit included: {with_us} us; without {len(indexes)} indexes {without_us} us;"
    )
    print(f"ratio {ratio:.3f}")
    return {"with_us": with_us, "without_us": without_us, "ratio": round(ratio, 3), "n_indexes": len(indexes)}


def captures(account_id: int, n: int) -> float:
    """Return the median microseconds of a capture as the view makes it: the function's one round trip."""
    from evalsvc.evaluations import store

    request = {"capture": "all", "strategy": "none", "fingerprint": 1, "input": "x" * 200, "output": "y" * 200}
    request |= {"app": "bench", "project_id": "00000000-0000-4000-8000-000000000001"}
    evaluation = {
        "position": 0, "evaluator_id": "exact-match-2026-11-01", "family": "exact-match", "explain_strategy": "always",
        "profile_id": "00000000-0000-4000-9000-000000000001", "profile_name": "patronus:exact-match", "status": "success",
        "profile_revision": 1, "score": 1.0, "passed": True, "captured": True, "in_history": True, "lane": "inline",
    }  # fmt: skip
    times = []
    for i in range(n):
        named = request | {"fingerprint": i, "log_id": f"log-{time.monotonic_ns()}"}
        started = time.perf_counter_ns()
        store.capture(account_id, named, [evaluation], [None], epoch=None, lease_seconds=60)
        times.append((time.perf_counter_ns() - started) / 1000)
    return statistics.median(times)


def report(table: list[dict[str, Any]]) -> None:
    """Print the table for people; the plans of what misses the goal below it."""
    print(f"{'page':<44}  {'rows':>5}  {'p50 ms':>7}  {'max ms':>7}  {'CPU ms':>7}  plan")
    for row in table:
        verdict = ("SEQ SCAN" if row["seq_scan"] else "by index") + (" SLOW" if row["p50_ms"] > GOAL_MS else "")
        print(
            f"{row['page']:<44}  {row['n']:>5}  {row['p50_ms']:>7}  {row['max_ms']:>7}  {row['cpu_ms']:>7}  {verdict}"
        )
    for row in table:
        if row["p50_ms"] > GOAL_MS or row["seq_scan"]:
            print(f"\n{row['page']}\n{row['plan']}")
        del row["plan"]


if __name__ == "__main__":
    main()

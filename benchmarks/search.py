"""POST /v1/evaluations/search and /v1/evaluation-results/search over 10^6 captured evaluations: each kind of page
through the real view, and its plan.

Five accounts, the one that searches has most of the rows; 50 apps, 20 evaluators, 30 profiles, 5 % fails, 90 days, two
tags on 30 %, and 5 % scores that were imported late. What is imported is kept from the garbage collector, as gunicorn's
settings keep it; how long the collector stops a worker of the real server with and without that is measured as well. So
is what the indexes of searches and the table of tags cost POST /v1/evaluate where it captures.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import statistics
import time
from typing import Any

import psutil

from benchmarks.search_cost import capture_cost
from benchmarks.search_pages import EVALUATIONS, RESULTS, pages
from benchmarks.search_pauses import pauses
from benchmarks.search_rows import TABLES, fill
from benchmarks.stack import cpu_seconds, stack

GOAL_MS = 50


def main() -> None:
    """Run the benchmark; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="captured evaluations (default 10^6)")
    parser.add_argument("--repeats", type=int, default=9, help="calls per kind of page (default 9)")
    parser.add_argument("--captures", type=int, default=400, help="captures per round, 0 for none (default 400)")
    parser.add_argument("--served", type=int, default=200, help="pages asked of gunicorn, 0 for none (default 200)")
    options = parser.parse_args()
    # The tests' helpers, without the servers that tests start.
    os.environ["EVALSVC_TEST_SERVICES"] = "0"
    with stack():
        from evalsvc.ops.gunicorn_conf import leave_imports_alone
        from tests.conftest import new_account, new_caller

        caller = new_caller(name="searching")
        fill([caller.account.pk, *(new_account(f"other {i}").pk for i in range(4))], options.rows)
        for path in (EVALUATIONS, RESULTS):
            post(caller, path, {"limit": 1})
        leave_imports_alone()
        scans = sequential_scans()
        table = [measure(caller, *page, options.repeats) for page in pages(functools.partial(post, caller))]
        report(table)
        scans = sequential_scans() - scans
        print(f"sequential scans of the tables that PostgreSQL has counted meanwhile: {scans}")
        paused = pauses(caller, options.served) if options.served else None
        cost = capture_cost(caller, options.captures) if options.captures else None
    found = {"benchmark": "search", "goal_ms": GOAL_MS, "scans": scans, "rows": table, "pauses": paused}
    print(json.dumps(found | {"capture_cost": cost}))


def post(caller: Any, path: str, body: dict[str, Any]) -> Any:
    """Search through every middleware, and return the answer."""
    answer = client().post(path, json.dumps(body), content_type="application/json", HTTP_X_API_KEY=caller.key)
    if answer.status_code != 200:
        raise SystemExit(f"{body}: {answer.status_code} {answer.content[:500]!r}")
    return answer


@functools.cache
def client() -> Any:
    """Return the one client: each loads every middleware anew."""
    from django.test import Client

    return Client(headers={"host": "localhost"})


def measure(caller: Any, name: str, path: str, body: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Time one kind of page and look at the plans of its statements."""
    from django.db import connection

    statements: list[tuple[str, Any]] = []

    def noted(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((statement, params))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(noted):
        answer = post(caller, path, body).json()
        found = answer["results" if path == RESULTS else "evaluations"]
    me = psutil.Process()  # and the servers, which are its children
    times, used = [], cpu_seconds(me)
    for _ in range(repeats):
        started = time.perf_counter()
        post(caller, path, body)
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
        return "\n".join(re.sub(r"'\{.{40,}?\}'", "'{…}'", line) for (line,) in cursor.fetchall())


def sequential_scans() -> int:
    """Return how many sequential scans of the tables PostgreSQL has counted."""
    from django.db import connections

    connections["default"].close()
    time.sleep(1.5)  # a session tells what it has counted once a second
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE relname = ANY(%s)", [list(TABLES)])
        return int(cursor.fetchone()[0])


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

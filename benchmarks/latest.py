"""Reading the newest 1000 scores of one history while the table grows: 10^4, 10^6 and 10^7 rows.

Every history holds 1000 scores, interleaved with all the others; reads go to random ones. Both ways of reading are
timed: all of it, and what is new since a snapshot.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
from psycopg import sql

from benchmarks.stack import stack

TABLE = "evaluations_historyscore"
PROFILE = "patronus:exact-match"
HISTORY = 1000


def main() -> None:
    """Run the benchmark; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--reads", type=int, default=400, help="reads per size (default 400)")
    options = parser.parse_args()
    with stack():
        from tests.conftest import new_account

        account_id = new_account("latest").pk
        table = [measure(account_id, n, options.reads) for n in sorted(options.rows)]
    first = table[0]
    for row in table:
        row["ratio"] = round(row["all_us"] / first["all_us"], 2)
        row["cpu_ratio"] = round(row["all_cpu_us"] / first["all_cpu_us"], 2)
    report(table)
    print(json.dumps({"benchmark": "latest", "goal_ratio": 2.0, "rows": table}))


def measure(account_id: int, n_rows: int, n_reads: int) -> dict[str, Any]:
    """Fill the table to so many rows and time reads of random histories."""
    from evalsvc.evaluations.database.round_trips import raw_connection
    from evalsvc.evaluations.history import store

    n_histories = n_rows // HISTORY
    fill(account_id, n_rows, n_histories)
    rng = random.Random(n_rows)
    backend = psutil.Process(raw_connection().info.backend_pid)
    names = [f"evaluator-{rng.randrange(n_histories)}" for _ in range(n_reads)]

    def read_all(name: str) -> None:
        store.read_histories(account_id, [(name, PROFILE)])

    def read_new(name: str) -> None:
        store.read_histories(account_id, [(name, PROFILE)], epoch="1")

    for name in names:
        read_new(name)
    row: dict[str, Any] = {"n_rows": n_rows}
    for label, read in (("all", read_all), ("new", read_new)):
        row |= timed(label, read, names, backend)
    return row


def timed(label: str, read: Callable[[str], None], names: list[str], backend: psutil.Process) -> dict[str, float]:
    """Return the median wall time and the mean CPU time of the database's backend."""
    times, used = [], sum(backend.cpu_times()[:2])
    for name in names:
        started = time.perf_counter_ns()
        read(name)
        times.append((time.perf_counter_ns() - started) / 1000)
    used = sum(backend.cpu_times()[:2]) - used
    return {f"{label}_us": round(statistics.median(times), 1), f"{label}_cpu_us": round(used / len(names) * 1e6, 1)}


def fill(account_id: int, n_rows: int, n_histories: int) -> None:
    """Fill the empty table without its indexes, then build them, as one would restore it."""
    from django.db import connections

    print(f"{n_rows} rows: filling", file=sys.stderr, flush=True)
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"TRUNCATE {TABLE}")
        cursor.execute(
            "SELECT indexname, replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes WHERE tablename = %s AND indexname LIKE 'ix%%'",
            [TABLE],
        )
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
        for start in range(0, n_rows, 1_000_000):
            cursor.execute(
                f"INSERT INTO {TABLE} (account_id, evaluator_id, profile_name, score, passed, source, source_id)"
                " SELECT %s, 'evaluator-' || i %% %s, %s, (i %% 7 > 1)::int, i %% 7 > 1, 'import', i"
                " FROM generate_series(%s::bigint, %s::bigint) i",
                [account_id, n_histories, PROFILE, start + 1, min(start + 1_000_000, n_rows)],
            )
        for name, definition in indexes:
            print(f"{n_rows} rows: {name}", file=sys.stderr, flush=True)
            cursor.execute(definition)
        print(f"{n_rows} rows: vacuum", file=sys.stderr, flush=True)
        cursor.execute(f"VACUUM ANALYZE {TABLE}")


def report(table: list[dict[str, Any]]) -> None:
    """Print the table for people."""
    print(
        f"{'rows':>10}  {'all 1000: us':>12}  {'backend CPU us':>14}  {'ratio':>5}  {'only new: us':>12}  {'backend CPU us':>14}"
    )
    for row in table:
        print(
            f"{row['n_rows']:>10}  {row['all_us']:>12}  {row['all_cpu_us']:>14}  {row['ratio']:>5}"
            f"  {row['new_us']:>12}  {row['new_cpu_us']:>14}"
        )


if __name__ == "__main__":
    main()

"""Reading 1000 scores of a window of a history beside the newest 1000 of all of it: apps, projects, experiments, tags.

One account with ten histories, 20 apps, 10 projects, a race of trials on top, and three tags: on every second score, on
one in fifty, and on one in twenty thousand. The reads take turns, so that the ratios are of one moment of the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

import psutil
from psycopg import sql

from benchmarks.latest import PROFILE, TABLE
from benchmarks.stack import stack

N_HISTORIES, N_APPS, N_PROJECTS, N_TRIALS = 10, 20, 10, 100_000
EVALUATOR = "evaluator-3"
EXPERIMENT, PROJECT = 77, "00000000-0000-0000-0000-000000000003"
TAGS = {"half": 2, "some": 50, "few": 20_000}
GOALS = {"tags": 10.0, "other": 3.0}
FILL = f"""
INSERT INTO {TABLE} (
  account_id, id, evaluator_id, profile_name, revision, score, passed, source, source_id, app, project_id, created_at)
SELECT %(account)s, i, 'evaluator-' || i %% {N_HISTORIES}, %(profile)s, 1, (i %% 7 > 1)::int, i %% 7 > 1, 'evaluation', i,
  'app-' || (i / {N_HISTORIES}) %% {N_APPS},
  ('00000000-0000-0000-0000-' || lpad(((i / {N_HISTORIES}) %% {N_PROJECTS})::text, 12, '0'))::uuid, clock_timestamp()
FROM generate_series(%(first)s::bigint, %(last)s::bigint) i
"""
TRIALS = f"""
INSERT INTO {TABLE} (
  account_id, id, evaluator_id, profile_name, revision, score, passed, source, source_id, trial, experiment_id, config_id,
  output_id)
SELECT %(account)s, %(rows)s + i, '{EVALUATOR}', %(profile)s, 1, 1, true, 'experiment', %(rows)s + i, true, {EXPERIMENT},
  i %% 16, %(rows)s + i
FROM generate_series(1, {N_TRIALS}) i
"""
FILL_TAGS = """
INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at, history, score_id)
SELECT %(account)s, i, d.digest, clock_timestamp(),
  history_tag(d.digest, 'evaluator-' || i %% %(histories)s, %(profile)s), i
FROM (SELECT tag_digest(%(account)s, %(name)s, 'yes') AS digest) d, generate_series(1, %(rows)s::bigint) i WHERE (i / %(histories)s) %% %(every)s = 0
"""


def main() -> None:
    """Run the benchmark; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table (default 10^6)")
    parser.add_argument("--reads", type=int, default=200, help="reads of each kind (default 200)")
    options = parser.parse_args()
    with stack():
        from tests.conftest import new_account

        account_id = new_account("scopes").pk
        fill(account_id, options.rows)
        table = measure(account_id, options.reads)
    for row in table:
        print(
            f"{row['window']:<28} {row['n']:>5} scores  {row['us']:>8.0f} us  {row['cpu_us']:>8.0f} us CPU  {row['ratio']:>5.2f}x"
        )
    print(json.dumps({"benchmark": "scopes", "n_rows": options.rows, "goals": GOALS, "rows": table}))


def fill(account_id: int, n_rows: int) -> None:
    """Fill the empty tables without their indexes, then build them."""
    from django.db import connections

    print(f"{n_rows} rows: filling", file=sys.stderr, flush=True)
    values: dict[str, Any] = {"account": account_id, "profile": PROFILE, "rows": n_rows, "histories": N_HISTORIES}
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"TRUNCATE {TABLE}, evaluations_evaluationtag")
        cursor.execute(
            "SELECT indexname, replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes WHERE tablename = %s AND indexname LIKE 'ix%%'",
            [TABLE],
        )
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
        for first in range(1, n_rows + 1, 1_000_000):
            cursor.execute(FILL, {**values, "first": first, "last": min(first + 999_999, n_rows)})
        cursor.execute(TRIALS, values)
        for name, every in TAGS.items():
            cursor.execute(FILL_TAGS, {**values, "name": name, "every": every})
        for _, definition in indexes:
            cursor.execute(definition)
        cursor.execute(f"VACUUM ANALYZE {TABLE}")
        cursor.execute("VACUUM ANALYZE evaluations_evaluationtag")


def measure(account_id: int, n_reads: int) -> list[dict[str, Any]]:
    """Time each kind of read, in turns; the first one is what the others are held to."""
    from evalsvc.evaluations.database.round_trips import raw_connection
    from evalsvc.evaluations.history import store

    pair = (EVALUATOR, PROFILE)
    windows: dict[str, dict[str, Any] | None] = {
        "all of it": None,
        "app": {"include": "none", "app": "app-7"},
        "project": {"include": "none", "project": PROJECT},
        "experiment, trials": {"include": "all", "experiment": EXPERIMENT},
        "without experiments": {"include": "none"},
        "with all experiments": {"include": "all"},
        "since a revision": {"include": "promoted", "revision": 1},
        **{f"tags, one in {every}": {"include": "none", "tags": {name: "yes"}} for name, every in TAGS.items()},
    }
    backend = psutil.Process(raw_connection().info.backend_pid)
    times: dict[str, list[float]] = {name: [] for name in windows}
    used = dict.fromkeys(windows, 0.0)
    lengths = dict.fromkeys(windows, 0)
    for turn in range(n_reads + 5):
        for name, window in windows.items():
            before, started = sum(backend.cpu_times()[:2]), time.perf_counter_ns()
            if window is None:
                (history,) = store.read_histories(account_id, [pair])
            else:
                (history,) = store.read_scoped(account_id, [pair], window)
            if turn >= 5:
                times[name].append((time.perf_counter_ns() - started) / 1000)
                used[name] += sum(backend.cpu_times()[:2]) - before
            lengths[name] = len(history.ids) if history else 0
    base = statistics.median(times["all of it"])
    return [
        {
            "window": name,
            "n": lengths[name],
            "us": round(statistics.median(row), 1),
            "cpu_us": round(used[name] / n_reads * 1e6, 1),
            "ratio": round(statistics.median(row) / base, 2),
        }
        for name, row in times.items()
    ]


if __name__ == "__main__":
    main()

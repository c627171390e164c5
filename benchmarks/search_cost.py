"""What the indexes of searches, and the table of tags, cost POST /v1/evaluate where it captures."""

from __future__ import annotations

import statistics
import time
from typing import Any

from psycopg import sql

from benchmarks.search_rows import TABLES, say


def capture_cost(caller: Any, n: int, rounds: int = 5) -> dict[str, float]:
    """Time captures with the indexes of searches, and without those that were added for them; in alternate rounds.

    Besides, captures with two tags, one after each without.
    """
    from django.db import connections

    say("captures: with and without the indexes of searches")
    with connections["owner"].cursor() as cursor:
        cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, TABLES))))
        cursor.execute(
            "SELECT indexname, replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes WHERE tablename = %s AND indexname LIKE 'ix_evaluation%%'"
            " AND indexname NOT IN ('ix_evaluation_pending', 'ix_evaluation_account')",
            [TABLES[0]],
        )
        indexes = cursor.fetchall()
    times: dict[bool, list[float]] = {True: [], False: []}
    tagged: list[float] = []
    for _ in range(rounds):
        plain, with_tags = captures(caller.account.pk, n)
        times[True].append(plain)
        tagged.append(with_tags / plain)
        with connections["owner"].cursor() as cursor:
            for name, _definition in indexes:
                cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
            times[False].append(captures(caller.account.pk, n)[0])
            for _name, definition in indexes:
                cursor.execute(definition)
    ratio = statistics.median(a / b for a, b in zip(times[True], times[False], strict=True))
    with_us, without_us = (round(statistics.median(times[key]), 1) for key in (True, False))
    print(
        f"one capture of one evaluation, its commit included: {with_us} us; without {len(indexes)} indexes {without_us}"
    )
    print(f"us; ratio {ratio:.3f}; with two tags {statistics.median(tagged):.3f} times as long as without")
    found = {"with_us": with_us, "without_us": without_us, "ratio": round(ratio, 3), "n_indexes": len(indexes)}
    return found | {"ratio_tagged": round(statistics.median(tagged), 3)}


def captures(account_id: int, n: int) -> tuple[float, float]:
    """Return the median microseconds of a capture as the view makes it, without tags and with two: one round trip."""
    from evalsvc.evaluations.evaluate import captures

    request = {"capture": "all", "strategy": "none", "fingerprint": 1, "input": "x" * 200, "output": "y" * 200}
    request |= {"app": "bench", "project_id": "00000000-0000-4000-8000-000000000001"}
    evaluation = {
        "position": 0, "evaluator_id": "exact-match-2026-11-28", "family": "exact-match", "explain_strategy": "always",
        "profile_id": "00000000-0000-4000-9000-000000000001", "profile_name": "patronus:exact-match", "status": "success",
        "profile_revision": 1, "score": 1.0, "passed": True, "captured": True, "in_history": True, "lane": "inline",
    }  # fmt: skip
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(2 * n):
        named = request | {"fingerprint": i, "log_id": f"log-{time.monotonic_ns()}"}
        if i % 2:
            named["tags"] = {"env": "prod", "user": f"u{i % 1000}"}
        started = time.perf_counter_ns()
        captures.capture(account_id, named, [evaluation], [None], epoch=None, lease_seconds=60)
        times[i % 2].append((time.perf_counter_ns() - started) / 1000)
    return statistics.median(times[0]), statistics.median(times[1])

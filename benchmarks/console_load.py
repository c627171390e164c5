"""The console's pages over 10^6 evaluations, 50 profiles and 200 experiments, all in one account: queries and server time.

Every page that the browser's tests look at, filled with the same rows beside the million, and searches that find much,
little and nothing; and every list of the admin pages. The experiments are made and answered through the API. "Cold" is the first answer of a process that has
not opened the page; PostgreSQL's own memory is warm. Each answer comes through every middleware, in this process, which
leaves what it has imported to no garbage collection, as those of the service do: one takes a third of a second.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import string
import time
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.growth_rows import DRAW, ROWS, SHARES, without_indexes
from benchmarks.search_rows import say
from benchmarks.stack import stack

GOAL_QUERIES, GOAL_MS = 15, 300
DAYS, PORTION = 28, 100_000
EVERY = 3
"""Which pages the tiny form opens: each third of those that need nothing but the rows."""
# Five evaluators with ten profiles each; the id of a profile is as made up as in `growth_rows`.
FIFTY = DRAW.replace("i / 5 %% 4", "i / 5 %% 10")
ONE_HISTORY = "histories/one?evaluator=evaluator-0&profile=profile-0"
# Much, little, nothing; and words, which are looked for within a time.
SEARCHES = (
    *(
        "evaluations?app=app-3",
        "evaluations?app=app-3&result=fail",
        "evaluations?tag=user:u5",
        "evaluations?app=nowhere",
    ),
    *(
        "evaluations?result=error",
        "evaluations?q=Paris&in=output&period=24h",
        "evaluations?q=Berlin&in=output&period=24h",
    ),
    *("evaluations?min=2", "evaluations?max=0.5&app=app-3", "evaluations?by=client", "evaluations?feedback=negative"),
    *(f"{ONE_HISTORY}&vs.app=app-3", f"{ONE_HISTORY}&since=2000"),
)


def main() -> None:
    """Run the benchmark; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="captured evaluations (default 10^6)")
    parser.add_argument("--experiments", type=int, default=200, help="experiments (default 200)")
    parser.add_argument("--repeats", type=int, default=20, help="answers per page (default 20)")
    parser.add_argument("--tiny", action="store_true", help="does it run? The figures say nothing")
    options = parser.parse_args()
    if options.tiny:
        options.rows, options.repeats = 500, 1
    os.environ |= {"EVALSVC_TEST_SERVICES": "0", "EVALSVC_OUTBOUND_ALLOW": "127.0.0.0/8"}
    os.environ |= {"EVALSVC_ALLOWED_HOSTS": "testserver", "EVALSVC_ALL_PAGES": "1"}
    with stack():
        from evalsvc.preload.imports import freeze_gc
        from tests.admin.conftest import new_user, signed_in
        from tests.conftest import new_caller

        caller = new_caller(name="console")
        load(caller.account, options.rows)
        found = {} if options.tiny else furnish(caller, options.experiments)
        browser = signed_in(new_user(is_superuser=True)).client
        browser.post("/console/accounts", {"account": caller.account.pk})  # and what every process loads once
        freeze_gc()
        paths = [*addresses(caller.account, found)][:: EVERY if options.tiny else 1]
        rows = [measure(browser, path, options.repeats) for path in paths]
    report(rows)
    print(json.dumps({"benchmark": "console_load", "n": options.rows, "goal_ms": GOAL_MS, "rows": rows}))


def load(account: Any, n_rows: int) -> None:
    """Fill the account, fold its days, and let the planner know."""
    from django.db import connections

    from evalsvc.evaluations.rollups.keep import apply_deltas

    connections["owner"].ensure_connection()
    owner = connections["owner"].connection
    with without_indexes(owner):
        fill(owner, account.pk, n_rows)
    say(f"{apply_deltas(seconds=None)} notes folded")
    for table in ("evaluation", "evaluationrequest", "evaluationtag", "historyscore", "dailyrollup"):
        owner.execute(f"VACUUM ANALYZE evaluations_{table}")


def fill(owner: Any, account_id: int, n_rows: int) -> None:
    """Write the evaluations of the last weeks, evenly, by portions."""
    (now,) = owner.execute("SELECT now()::text").fetchone()
    for first in range(1, n_rows + 1, PORTION):
        last = min(first + PORTION - 1, n_rows)
        values = {"accounts": [account_id] * 5, "shares": SHARES, "ends": now, "days": DAYS, "n": n_rows}
        with owner.transaction():
            owner.execute(FIFTY, {**values, "first": first, "last": last})
            for statement in ROWS:
                owner.execute(statement)
            owner.execute("DROP TABLE drawn")
        done = 30 * last // n_rows
        say(f"[{'#' * done}{'.' * (30 - done)}] {last} of {n_rows} evaluations")


def furnish(caller: Any, n_experiments: int) -> dict[str, Any]:
    """Make what the pages need besides, through the API; return the ids that fill their addresses."""
    from tests.browser.console.furnishing import FURNISHERS
    from tests.console.comparing import answered

    found: dict[str, Any] = {}
    for furnisher in FURNISHERS:
        found |= furnisher(caller)
    for i in range(1, n_experiments):
        answered(caller, {"e0"}, {"e0", "e1"})
        if i % 10 == 9:
            say(f"{i + 1} of {n_experiments} experiments")
    return found


def addresses(account: Any, found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the pages of the browser's tests, those of the million, and searches."""
    from evalsvc.evaluations.models import Evaluation
    from evalsvc.tenancy.scope import account_scope
    from tests.browser.console.pages import ALIKE, PAGES
    from tests.console.addresses import console_address

    paths = dict.fromkeys(path for path, _ in (*PAGES, *ALIKE) if names_in(path) <= found.keys())
    yield from (console_address(account.pk, path.format(**found)) for path in (*paths, ONE_HISTORY, *SEARCHES))
    with account_scope(account.pk):
        of_many = Evaluation.objects.filter(account=account, evaluator_id="evaluator-0").order_by("-id")[0]
    yield console_address(account.pk, f"evaluations/{of_many.pk}")
    yield from lists_of_admin()


def names_in(path: str) -> set[str]:
    """Return what an address must be filled with."""
    return {name for _, name, _, _ in string.Formatter().parse(path) if name}


def lists_of_admin() -> Iterator[str]:
    """Yield the lists of the admin pages."""
    from django.contrib.admin import site
    from django.urls import reverse

    for model in site._registry:
        yield reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def measure(browser: Any, path: str, repeats: int) -> dict[str, Any]:
    """Open a page once cold, then again and again."""
    from tests.queries import queries_of

    cold, answer = timed(browser, path)
    times = sorted(timed(browser, path)[0] for _ in range(repeats))
    queries = queries_of(lambda: browser.get(path))
    return {
        "page": path,
        "status": answer.status_code,
        "bytes": len(answer.content) if not answer.streaming else None,
        "queries": len(queries),
        "cold_ms": round(cold, 1),
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(times[max(0, round(0.95 * len(times)) - 1)], 1),
    }


def timed(browser: Any, path: str) -> tuple[float, Any]:
    """Return the milliseconds that a page took, and the page."""
    began = time.perf_counter()
    answer = browser.get(path)
    return (time.perf_counter() - began) * 1000, answer


def report(rows: list[dict[str, Any]]) -> None:
    """Print the table for people."""
    print(f"{'page':<56} {'status':>6} {'queries':>7} {'cold ms':>8} {'p50 ms':>7} {'p95 ms':>7}")
    for row in rows:
        is_over = row["status"] != 200 or row["queries"] > GOAL_QUERIES or max(row["cold_ms"], row["p95_ms"]) > GOAL_MS
        numbers = f"{row['queries']:>7} {row['cold_ms']:>8} {row['p50_ms']:>7} {row['p95_ms']:>7}"
        print(f"{row['page'][:56]:<56} {row['status']:>6} {numbers}{'  OVER' if is_over else ''}")


if __name__ == "__main__":
    main()

"""What a month, a year and an account cost when there are many rows: five accounts, several months, 10^6 evaluations.

Captures, the newest 1000 scores and pages of a search before and after the rows are there; bytes per row before and
after the indexes of past months are built anew; then what ends: a month of one account by its retention, a month of all
of them, an account.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
import psycopg

from benchmarks.figures import Goal, Row, figure, ratios
from benchmarks.frame import Report, parser, run
from benchmarks.growth_rows import fill, make_past, n_bytes, n_bytes_of_fingerprints, new_accounts, without_indexes
from benchmarks.stack import Stack, stack

ROWS, TINY_ROWS = 1_000_000, 2_000
IN_BULK = 2_000_000
"""More rows than this are filled without indexes: ten times as fast, and the indexes are packed from the beginning."""
PACKED = "; indexes built afterwards, packed"
DAYS = 150
EVALUATE, SEARCH = "/v1/evaluate", "/v1/evaluations/search"
BODY = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_output": "Paris",
    "evaluated_model_gold_answer": "Paris",
    "app": "app-3",
    "capture": "all",
}
PAGES: dict[str, dict[str, Any]] = {
    "newest": {"filters": []},
    "app": {"filters": [{"field": "app", "operation": "eq", "value": "app-3"}]},
    "tag": {"filters": [{"field": "tags.user", "operation": "eq", "value": "u35"}]},
    "app and fails": {
        "filters": [
            {"field": "app", "operation": "eq", "value": "app-3"},
            {"field": "pass", "operation": "eq", "value": False},
        ]
    },
}


def measure(options: argparse.Namespace, report: Report) -> None:
    """Fill, and measure one after the other; each figure is kept as soon as it is known."""
    n = TINY_ROWS if options.tiny else options.rows
    os.environ["EVALSVC_TEST_SERVICES"] = "0"
    with stack() as servers, psycopg.connect(os.environ["DATABASE_MIGRATION_URL"], autocommit=True) as owner:
        from benchmarks import growth_ends

        accounts = prepared(owner)
        caller = caller_of(accounts[0])
        asked = Asked(caller, servers, owner, 5 if options.tiny else options.calls)
        empty = asked.all()
        bytes_per_row(owner, accounts, n, report)
        full = asked.all()
        report.say("asked")
        report.add(*compared(empty, full))
        report.add(Row("  WAL of one capture", "B", figure([asked.wal_bytes()])))
        growth_ends.repacked(owner, n, report)
        growth_ends.retained(owner, accounts, report)
        growth_ends.deleted(owner, accounts, report)


def prepared(owner: Any) -> list[int]:
    """Return five accounts in a database that has run for months."""
    first = datetime.now(UTC) - timedelta(days=DAYS)
    make_past(owner, f"{first:%Y-%m}")
    return new_accounts(owner)


def bytes_per_row(owner: Any, accounts: Sequence[int], n: int, report: Report) -> None:
    """Fill the tables in the order of time, as they would have filled."""
    before, began = n_bytes(owner), time.monotonic()
    owner.execute("SET synchronous_commit = off")
    with without_indexes(owner) if n > IN_BULK else nullcontext():
        fill(owner, accounts, n, days=DAYS)
        report.say(f"{n} rows")
    owner.execute("RESET synchronous_commit")
    report.say(f"with their indexes, after {time.monotonic() - began:.0f} s")
    owner.execute("VACUUM ANALYZE")
    per_row = (n_bytes(owner) - before) / n
    report.add(Row("of it in the index of fingerprints", "B", figure([n_bytes_of_fingerprints(owner) / n])))
    report.add(
        Row(
            f"bytes per evaluation, {n} rows",
            "B",
            figure([per_row]),
            goal=Goal(1250),
            note=f"two of ten with tags{PACKED if n > IN_BULK else ''}",
        )
    )


def caller_of(account_id: int) -> Any:
    """Return a caller of the account, through every middleware, in this process."""
    from evalsvc.accounts.models import Account
    from evalsvc.tenancy.scope import SYSTEM
    from tests.conftest import new_caller

    return new_caller(Account.objects.using(SYSTEM).get(pk=account_id))


class Asked:
    """Questions to the service, their time and what they cost PostgreSQL."""

    def __init__(self, caller: Any, servers: Stack, owner: Any, calls: int) -> None:
        self.caller, self.servers, self.owner, self.calls = caller, servers, owner, calls

    def all(self) -> dict[str, tuple[list[float], float]]:
        """Return by question the milliseconds of each call, and PostgreSQL's CPU milliseconds of one."""
        asked: dict[str, Callable[[], object]] = {
            "capture": lambda: self._post(EVALUATE, BODY),
            "newest 1000 scores": self._latest,
        }
        for name, body in PAGES.items():
            asked[f"search: {name}"] = lambda body=body: self._post(SEARCH, body | {"limit": 50})  # type: ignore[misc]
        return {name: self._timed(ask) for name, ask in asked.items()}

    def wal_bytes(self) -> float:
        """Return how many bytes a capture writes to the log."""
        began = self._wal()
        for _ in range(self.calls):
            self._post(EVALUATE, BODY)
        return (self._wal() - began) / self.calls

    def _timed(self, ask: Callable[[], object]) -> tuple[list[float], float]:
        for _ in range(3):
            ask()
        times, used = [], self._cpu()
        for _ in range(self.calls):
            began = time.perf_counter()
            ask()
            times.append((time.perf_counter() - began) * 1000)
        return times, (self._cpu() - used) / self.calls * 1000

    def _wal(self) -> int:
        (lsn,) = self.owner.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        return int(lsn)

    def _cpu(self) -> float:
        """Return the CPU seconds of the sessions that this process has."""
        total = 0.0
        for process in self.servers.processes()["postgres"].children():
            try:
                if "evalsvc_app" in " ".join(process.cmdline()):
                    total += sum(process.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue
        return total

    def _post(self, path: str, body: dict[str, Any]) -> None:
        from benchmarks.search import post

        post(self.caller, path, body)

    def _latest(self) -> None:
        from evalsvc.evaluations.history import store

        store.read_histories(self.caller.account.pk, [("evaluator-1", "profile-0")])


def compared(empty: dict[str, tuple[list[float], float]], full: dict[str, tuple[list[float], float]]) -> list[Row]:
    """Return what each question takes with the rows, and how much more of PostgreSQL's CPU than without them.

    The two are asked minutes apart: on a busy machine only their CPU times can be held against each other.
    """
    rows = []
    for name, (times, cpu) in full.items():
        rows.append(Row(name, "ms", figure(times)))
        rows.append(Row(f"  of it PostgreSQL's CPU: {name}", "ms", figure([cpu])))
        rows.append(Row(f"  that ÷ without rows: {name}", "x", figure(ratios([cpu], [empty[name][1]]))))
    return rows


def main(argv: list[str] | None = None) -> int:
    """Run it."""
    options = parser(__doc__, deadline=1800)
    options.add_argument("--rows", type=int, default=ROWS, help=f"evaluations (default {ROWS})")
    options.add_argument("--calls", type=int, default=100, help="calls of each kind (default 100)")
    return run("growth", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())

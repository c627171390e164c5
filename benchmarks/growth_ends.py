"""The second half of the benchmark of growth: rows that are packed, that end, and that are migrated."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from benchmarks.figures import Goal, Row, figure
from benchmarks.frame import Report
from benchmarks.growth_rows import fill, n_bytes, new_accounts

MONTH_DAYS = 30
BEFORE = ("evaluations", "0016_computing")
REQUESTS = "evaluations_evaluationrequest"
TABLES = ("evaluationrequest", "evaluation", "evaluationtag", "historyscore")


def repacked(owner: Any, n: int, report: Report) -> None:
    """Build the indexes of the months that are over anew, and say what a row takes then."""
    from django.db import connections

    from evalsvc.evaluations.maintenance.repack import repack

    began = time.monotonic()
    sizes = list(repack(connections["owner"], datetime.now(UTC)))
    seconds = time.monotonic() - began
    report.say("repacked")
    report.add(
        Row("repack of the months that are over", "s", figure([seconds])),
        Row(
            "  their indexes, after ÷ before", "x", figure([sum(s.after for s in sizes) / sum(s.before for s in sizes)])
        ),
        Row("bytes per evaluation, repacked", "B", figure([n_bytes(owner) / n]), goal=Goal(1250)),
    )


def retained(owner: Any, accounts: Sequence[int], report: Report) -> None:
    """End the oldest month: of the largest account by portions, then of all of them by partitions."""
    from evalsvc.evaluations.maintenance.retention import retain

    (oldest,) = owner.execute(f"SELECT extract(day FROM now() - min(created_at))::int FROM {REQUESTS}").fetchone()
    days = max(1, oldest - MONTH_DAYS)
    # The last account keeps everything: nothing may be dropped.
    owner.execute("UPDATE accounts_account SET retention_days = %s, retention_history_days = %s WHERE id = %s",
                  [days, days, accounts[0]])  # fmt: skip
    began = time.monotonic()
    taken = retain(seconds=None)
    seconds = time.monotonic() - began
    report.add(
        Row(f"retention of {MONTH_DAYS} days of one account, by portions", "s", figure([seconds])),
        Row(
            "  requests with all that is theirs",
            "1/s",
            figure([taken.requests / seconds]),
            note=f"{taken.requests} of them",
        ),
    )
    owner.execute("UPDATE accounts_account SET retention_days = %s, retention_history_days = %s", [days, days])
    began = time.monotonic()
    taken = retain(seconds=None)
    report.add(
        Row("  the same of all, by partitions and portions", "s", figure([time.monotonic() - began]),
            note=f"{taken.partitions} partitions dropped, {taken.requests} requests deleted"),
    )  # fmt: skip


def deleted(owner: Any, accounts: Sequence[int], report: Report) -> None:
    """Delete the second account, and then one that has next to nothing."""
    from evalsvc.accounts.models import Account
    from evalsvc.ops.deletion.accounts import delete_account
    from evalsvc.tenancy.scope import SYSTEM

    (all_rows,) = owner.execute(f"SELECT count(*) FROM {REQUESTS}").fetchone()
    for what, account_id in (("an account", accounts[1]), ("an account without rows", new_accounts(owner, 1)[0])):
        account = Account.objects.using(SYSTEM).get(pk=account_id)
        began = time.monotonic()
        gone = delete_account(account, actor="operator", tell=lambda what, n: None, grace_seconds=0)
        seconds = time.monotonic() - began
        note = f"{gone['requests']} requests among {all_rows}"
        report.add(Row(f"deletion of {what}", "s", figure([seconds]), note=note))


def migrated(admin_url: str, n: int, report: Report) -> None:
    """Migrate as many rows of the version before partitions; kill it on the way, and begin again."""
    from tests.growth.databases import columns_of, new_database

    with ExitStack() as exits:
        database = exits.enter_context(new_database(admin_url))
        database.migrate_by_steps("catalog")
        database.migrate_by_steps(*BEFORE)
        owner = exits.enter_context(database.connect("owner"))
        owner.execute("SET synchronous_commit = off")
        fill(owner, new_accounts(owner), n, days=300)
        report.say(f"{n} old rows")
        columns = columns_of(owner, TABLES)
        before = counts(owner, columns)
        killed_after = killed(database)
        half = counts(owner, columns)
        began = time.monotonic()
        database.migrate()
        seconds = time.monotonic() - began
        wrong = sum(one != two for one, two in zip(before, half, strict=True))
        wrong += sum(one != two for one, two in zip(before, counts(owner, columns), strict=True))
        report.add(
            Row(
                f"migration of {n} old rows, killed after {killed_after:.1f} s and begun again", "s", figure([seconds])
            ),
            Row("  tables with other rows than before", "", figure([wrong])),
        )


def killed(database: Any) -> float:
    """Begin to migrate, kill it when three of four tables are checked, and return how many seconds it had."""
    from tests.growth.test_migration import stopped_at

    began = time.monotonic()
    stopped_at(database, "LOCK TABLE evaluations_evaluationtag IN ACCESS SHARE MODE", seconds=1800)
    return time.monotonic() - began


def counts(owner: Any, columns: Mapping[str, str]) -> list[tuple[Any, ...]]:
    """Return how many rows each table has and a digest of these columns of them; later releases add others."""
    sql = "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM (SELECT {} FROM {}) t"
    return [owner.execute(sql.format(names, table)).fetchone() for table, names in columns.items()]

"""The second half of the benchmark of growth: rows that are packed, and that end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks.figures import Goal, Row, figure
from benchmarks.frame import Report
from benchmarks.growth_rows import n_bytes, new_accounts

MONTH_DAYS = 30
REQUESTS = "evaluations_evaluationrequest"


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

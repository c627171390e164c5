"""Delete traces: the spans and logs that match filters, in short transactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.telemetry.selectors import TIMEOUT_SECONDS
from evalsvc.tenancy.scope import account_scope

PORTION = 5000
TIME_SECONDS = 20.0
"""How long one call goes on deleting. It is shorter than the timeouts of clients and of proxies in between."""
TABLES = {"spans": "telemetry_span", "logs": "telemetry_logrecord"}
# Spans and logs store a project's name and not its id, because their sender knows only the name.
CONDITIONS = {
    "app": "app = %(app)s",
    "experiment_id": "experiment_id = %(experiment_id)s",
    "trace_id": "trace_id = %(trace_id)s",
    "project_id": "project_name = ("
    "SELECT name FROM projects_project WHERE account_id = %(account)s AND id = %(project_id)s)",
}
# Newest first. Each batch begins below the previous one, because the index still contains the rows that were just
# deleted.
DELETE = """
WITH doomed AS (
  SELECT id FROM {table} WHERE account_id = %(account)s AND id < %(before)s AND {conditions}
  ORDER BY id DESC LIMIT %(limit)s FOR UPDATE
), gone AS (
  DELETE FROM {table} t USING doomed WHERE t.account_id = %(account)s AND t.id = doomed.id RETURNING t.id
)
SELECT count(*), min(id), (SELECT count(*) FROM gone) FROM doomed
"""


@dataclass(frozen=True, slots=True)
class TelemetryDeletion:
    """The result of a deletion: the numbers of deleted spans and logs, and whether all matches were deleted."""

    n: Mapping[str, int]
    done: bool


def delete_traces(
    *, account: Account, filters: Mapping[str, object], actor: str, clock: Callable[[], float] = time.monotonic
) -> TelemetryDeletion:
    """Delete the spans and the logs that match all filters (keys of CONDITIONS), newest first.

    Stops after TIME_SECONDS with `done` false. Rows that arrive meanwhile are possibly not deleted. Raises Problem
    `search_too_slow` if no index serves the filters and there are too many rows to read. Call it outside a transaction.
    """
    if not filters:
        raise ValueError("a deletion of traces goes by at least one filter")
    ends_at, n = clock() + TIME_SECONDS, dict.fromkeys(TABLES, 0)
    for kind in TABLES:
        before: int | None = 2**63 - 1
        while before is not None:
            if clock() >= ends_at:
                return TelemetryDeletion(n, done=False)
            n_gone, before = _delete_portion(account, kind, filters, before, actor)
            n[kind] += n_gone
    return TelemetryDeletion(n, done=True)


def _delete_portion(
    account: Account, kind: str, filters: Mapping[str, Any], before: int, actor: str
) -> tuple[int, int | None]:
    """Delete one portion. Return how many rows were deleted, and the id below which the next portion begins.

    The id is None after the last portion.
    """
    conditions = " AND ".join(CONDITIONS[name] for name in filters)
    sql = DELETE.format(table=TABLES[kind], conditions=conditions)
    values = {**filters, "account": account.pk, "before": before, "limit": PORTION}
    with account_scope(account.pk), in_time(TIMEOUT_SECONDS, what="Looking for what to delete"):
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            n_found, last, n_gone = cursor.fetchone()
        if n_gone:
            filter_texts = {name: str(value) for name, value in filters.items()}
            record_audit(
                account=account, actor=actor, action=f"{kind}.deleted", target="many", n=n_gone, **filter_texts
            )
    return n_gone, last if n_found == PORTION else None

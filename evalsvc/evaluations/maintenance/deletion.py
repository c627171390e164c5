"""Verbs that take evaluations away, with all that rests on them: history scores, and requests that nothing is left of.

Locks are taken in the order of `locks`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import forget_caches, record_audit
from evalsvc.evaluations.database.locks import LOCK_EVALUATIONS, LOCK_REQUESTS
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.indirect import INDIRECT, resolve_indirect_filter
from evalsvc.rest.idempotency import clear_answers
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import account_scope

TIME_SECONDS = 20.0
"""How long a call goes on deleting: below what servers in between and clients wait."""
DELETE = """
WITH gone AS (
  DELETE FROM evaluations_evaluation WHERE account_id = %(account)s AND id = ANY(%(ids)s)
  RETURNING id, evaluator_id, profile_name,
    history_id(evaluation_type = 'client_evaluation', created_at, id) AS remembered_as
), forgotten AS (
  DELETE FROM evaluations_historyscore h USING gone
  WHERE h.account_id = %(account)s AND h.evaluator_id = gone.evaluator_id AND h.profile_name = gone.profile_name
    AND NOT h.trial AND h.id = gone.remembered_as AND h.source_id = gone.id RETURNING h.id
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM forgotten)
"""
# Unresolved evaluators of a captured request have rows as well; these are deleted with its last captured evaluation.
# Rows that capture does not select are visible for an hour, until the purge.
TIDY = """
WITH emptied AS (
  SELECT q.id FROM evaluations_evaluationrequest q
  WHERE q.account_id = %(account)s AND q.id = ANY(%(requests)s) AND NOT EXISTS (
    SELECT 1 FROM evaluations_evaluation e
    WHERE e.account_id = q.account_id AND e.request_id = q.id AND e.id >= ids_from(q.id) AND e.id < ids_until(q.id)
      AND (q.capture <> 'all' OR e.captured IS TRUE OR e.status = 'pending'))
), rest AS (
  DELETE FROM evaluations_evaluation e USING emptied
  WHERE e.account_id = %(account)s AND e.request_id = emptied.id
    AND e.id >= ids_from(emptied.id) AND e.id < ids_until(emptied.id)
), gone AS (
  DELETE FROM evaluations_evaluationrequest q USING emptied WHERE q.account_id = %(account)s AND q.id = emptied.id
)
UPDATE evaluations_evaluationrequest q SET completed_at = clock_timestamp()
WHERE q.account_id = %(account)s AND q.id = ANY(%(requests)s) AND q.completed_at IS NULL
  AND q.id NOT IN (SELECT id FROM emptied) AND NOT EXISTS (
    SELECT 1 FROM evaluations_evaluation e
    WHERE e.account_id = q.account_id AND e.request_id = q.id AND e.status = 'pending'
      AND e.id >= ids_from(q.id) AND e.id < ids_until(q.id))
"""
CAPTURED = "captured"
PENDING = """status = 'pending' AND EXISTS (
  SELECT 1 FROM evaluations_evaluationrequest q
  WHERE q.account_id = %(account)s AND q.id = request_id AND q.capture <> 'none')"""
# The columns that a bulk delete can filter by; each leads an index of captured evaluations, directly or by lookup.
COLUMNS = {
    "app": "app",
    "project_id": "project_id",
    "experiment_id": "experiment_id",
    "evaluator_family": "family",
    "evaluator_criteria_id": "profile_id",
    "trace_id": "trace_id",
}


@dataclass(frozen=True, slots=True)
class EvaluationDeletion:
    """The result of a bulk delete: how many evaluations were deleted, and whether no match is left."""

    n: int
    done: bool


@dataclass(frozen=True, slots=True)
class _EvaluationRef:
    id: int
    request_id: int
    created_at: datetime


def delete_evaluation(*, account: Account, id: int, actor: str) -> None:
    """Delete one evaluation, pending ones too: its worker then writes nothing. NotFound for missing and foreign."""
    with account_scope(account.pk):
        row = Evaluation.objects.filter(account=account, id=id).values_list("request_id", "captured").first()
        if row is None:
            raise NotFound
        request_id, captured = row
        if _delete(account, [id], [request_id], lock_first=bool(captured)) != 1:
            raise NotFound
        record_audit(account=account, actor=actor, action="evaluation.deleted", target=str(id))


def delete_evaluations(
    *,
    account: Account,
    filters: Mapping[str, str | int | UUID],
    batch_size: int,
    actor: str,
    clock: Callable[[], float] = time.monotonic,
) -> EvaluationDeletion:
    """Delete the evaluations that match all filters (keys of COLUMNS), newest first, in short transactions.

    Covers captured evaluations, and first the pending ones that might be captured a moment later. Stops after
    TIME_SECONDS with `done` false; evaluations that arrive meanwhile might remain. Call it outside a transaction.
    """
    if not filters:
        raise ValueError("a bulk delete goes by at least one filter")
    ends_at, n, audit_details = clock() + TIME_SECONDS, 0, {name: str(value) for name, value in filters.items()}
    with account_scope(account.pk):
        conditions, values = _build_conditions(filters)
    for which in (PENDING, CAPTURED):
        last: _EvaluationRef | None = None
        while True:
            with account_scope(account.pk):
                batch = _next(account, f"{which} AND {conditions}", values, batch_size, last)
                ids, requests = [row.id for row in batch], [row.request_id for row in batch]
                n_gone = _delete(account, ids, requests, lock_first=which == CAPTURED)
                if n_gone:
                    record_audit(
                        account=account,
                        actor=actor,
                        action="evaluations.deleted",
                        target="many",
                        n=n_gone,
                        **audit_details,
                    )
            n += n_gone
            if len(batch) < batch_size:
                break
            if clock() >= ends_at:
                return EvaluationDeletion(n, done=False)
            last = batch[-1]
    return EvaluationDeletion(n, done=True)


def _build_conditions(filters: Mapping[str, str | int | UUID]) -> tuple[str, dict[str, Any]]:
    """Return the conditions that rows meet all filters, and the values in them."""
    conditions, values = [], dict[str, Any](filters)
    for name, column in ((name, COLUMNS[name]) for name in filters):
        if column in INDIRECT:
            by, lookup_values = resolve_indirect_filter(column, [values[name]])
            # As an equation where it can be, for the order of the index.
            values[name], is_one = (
                (lookup_values[0], f"= %({name})s")
                if len(lookup_values) == 1
                else (lookup_values, f"= ANY(%({name})s::text[])")
            )
            conditions.append(f"{by} {is_one} AND {column} IS NOT NULL")
        else:
            conditions.append(f"{column} = %({name})s")
    return " AND ".join(conditions), values


def _next(
    account: Account, which: str, filters: Mapping[str, Any], batch_size: int, last: _EvaluationRef | None
) -> list[_EvaluationRef]:
    """Return the next rows to delete: those after the last batch, since the index still contains the deleted rows."""
    after = "AND (created_at, id) < (%(last_at)s, %(last_id)s)" if last else ""
    sql = (
        "SELECT id, request_id, created_at FROM evaluations_evaluation"  # noqa: S608  # nosec B608  names are ours
        f" WHERE account_id = %(account)s AND {which} {after}"
        " ORDER BY created_at DESC, id DESC LIMIT %(limit)s"
    )
    values: dict[str, Any] = {**filters, "account": account.pk, "limit": batch_size}
    if last:
        values |= {"last_at": last.created_at, "last_id": last.id}
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [_EvaluationRef(*row) for row in cursor.fetchall()]


def _delete(account: Account, ids: Sequence[int], request_ids: Sequence[int], *, lock_first: bool) -> int:
    """Delete evaluations within the account's transaction; return how many were still there."""
    if not ids:
        return 0
    values: dict[str, Any] = {"account": account.pk, "ids": list(ids), "requests": sorted(set(request_ids))}
    with connection.cursor() as cursor:
        if lock_first:
            cursor.execute(LOCK_EVALUATIONS, [account.pk, values["ids"]])
        cursor.execute(LOCK_REQUESTS, [account.pk, values["requests"]])
        cursor.execute(DELETE, values)
        n_gone, n_scores = cursor.fetchone()
        cursor.execute(TIDY, values)
    clear_answers(account.pk, request_ids)
    if n_scores:
        # Processes remember histories and look for new rows only.
        forget_caches(account.pk)
    return int(n_gone)

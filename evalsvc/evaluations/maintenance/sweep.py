"""Maintenance across accounts as the system role: re-enqueue unfinished work, purge uncaptured rows, and recount."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connections, transaction
from django.db.models import QuerySet

from evalsvc.rest.idempotency import KEPT_HOURS
from evalsvc.tenancy.scope import SYSTEM, role_scope

BATCH = 1000
LONGEST_BACKOFF_SECONDS = 600


class LaneRef(NamedTuple):
    """One lane of a request that should be worked off."""

    account_id: int
    request_id: int
    lane: str
    n_attempts: int


# The lease doubles with each sweep, so that evaluations in a long queue are not swept each time. Evaluations that were
# begun retain their lease and can be claimed when it expires. The judge lane has no queue: runners claim from the
# table.
SWEEP = """
WITH due AS (
  SELECT id FROM evaluations_evaluation
  WHERE status = 'pending' AND lane IS DISTINCT FROM 'judge' AND lease_expires_at < clock_timestamp()
  ORDER BY lease_expires_at LIMIT %s FOR UPDATE SKIP LOCKED
)
UPDATE evaluations_evaluation e
SET n_sweeps = e.n_sweeps + 1,
    lease_expires_at = CASE WHEN e.n_attempts > 0 THEN e.lease_expires_at
      ELSE clock_timestamp() + least(%s * 2 ^ least(e.n_sweeps, 10), %s) * interval '1 second' END
FROM due WHERE e.id = due.id
RETURNING e.account_id, e.request_id, e.lane, e.n_attempts
"""

PURGE = """
WITH done AS (
  SELECT id, account_id FROM evaluations_evaluationrequest
  WHERE capture <> 'all' AND NOT purged AND completed_at < clock_timestamp() - %s * interval '1 second'
  ORDER BY completed_at LIMIT %s FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM evaluations_evaluation e USING done
  WHERE e.request_id = done.id AND e.id >= ids_from(done.id) AND e.id < ids_until(done.id)
    AND e.captured IS DISTINCT FROM true RETURNING e.id
), emptied AS (
  DELETE FROM evaluations_evaluationrequest q USING done
  WHERE q.id = done.id AND NOT EXISTS (
    SELECT 1 FROM evaluations_evaluation e
    WHERE e.request_id = q.id AND e.id >= ids_from(q.id) AND e.id < ids_until(q.id)
      AND e.captured IS TRUE) RETURNING q.id
), settled AS (
  -- What is left holds captured fails only: nothing more to purge, so it leaves the index of this query.
  UPDATE evaluations_evaluationrequest q SET purged = true FROM done
  WHERE q.id = done.id AND q.id NOT IN (SELECT id FROM emptied) RETURNING q.id
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM emptied)
"""


def sweep() -> list[LaneRef]:
    """Return the lanes with unanswered evaluations and an expired lease, and renew the lease.

    The caller enqueues them. It can run at any time, in any number of processes.
    """
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(SWEEP, [BATCH, settings.LEASE_SECONDS, LONGEST_BACKOFF_SECONDS])
        rows = [LaneRef(*row) for row in cursor.fetchall()]
    newest = {ref[:3]: ref for ref in sorted(rows, key=lambda ref: ref.n_attempts)}
    return list(newest.values())


def prune_uncaptured() -> dict[str, int]:
    """Delete rows that capture did not select an hour after completion, and idempotency records after a day."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(PURGE, [settings.RETENTION_UNCAPTURED_SECONDS, BATCH])
        n_evaluations, n_requests = cursor.fetchone()
        cursor.execute(
            "DELETE FROM rest_idempotencyrecord WHERE created_at < clock_timestamp() - %s * interval '1 hour'",
            [KEPT_HOURS],
        )
        return {"evaluations": n_evaluations, "requests": n_requests, "idempotency_records": cursor.rowcount}


# Each query names what is wrong and returns ids and their accounts; none of them may return a row.
CHECKS = {
    "a captured success is missing from the history": """
        SELECT e.id, e.account_id FROM evaluations_evaluation e LEFT JOIN evaluations_historyscore h ON
          (h.account_id, h.evaluator_id, h.profile_name, h.trial, h.source_id)
            = (e.account_id, e.evaluator_id, e.profile_name::varchar, false, e.id)
          AND h.id = history_id(e.evaluation_type = 'client_evaluation', e.created_at, e.id)
        WHERE e.in_history AND h.id IS NULL AND NOT EXISTS (
          SELECT 1 FROM evaluations_pruned p WHERE p.account_id = e.account_id
            AND history_id(e.evaluation_type = 'client_evaluation', e.created_at, e.id) < p.scores_until)""",
    "a history score has no captured success behind it": """
        SELECT h.source_id, h.account_id FROM evaluations_historyscore h
        LEFT JOIN evaluations_evaluation e ON e.id = h.source_id
        WHERE h.source <> 'experiment' AND (NOT e.in_history OR e.id IS NULL AND NOT EXISTS (
          SELECT 1 FROM evaluations_pruned p
          WHERE p.account_id = h.account_id AND h.source_id < ids_until(p.evaluations_until)))""",
    "a history score differs from its evaluation": """
        SELECT e.id, e.account_id FROM evaluations_evaluation e JOIN evaluations_historyscore h ON
          (h.account_id, h.evaluator_id, h.profile_name, h.trial, h.source_id)
            = (e.account_id, e.evaluator_id, e.profile_name::varchar, false, e.id)
          AND h.id = history_id(e.evaluation_type = 'client_evaluation', e.created_at, e.id)
        WHERE (h.score, h.passed, h.revision, h.app, h.project_id, h.experiment_id) IS DISTINCT FROM
              (e.score, e.passed, e.profile_revision, e.app, e.project_id, e.experiment_id)""",
    "a history score does not go by the id of what was judged, or stands twice": """
        SELECT h.id, h.account_id FROM evaluations_historyscore h
        WHERE h.id <> history_id(h.source = 'import', h.created_at, h.source_id) OR (h.trial AND EXISTS (
          SELECT 1 FROM evaluations_historyscore o WHERE (o.account_id, o.evaluator_id, o.profile_name, o.trial, o.id)
            = (h.account_id, h.evaluator_id, h.profile_name, false, h.id)))""",
    "a success of a request that captures all is not in the history": """
        SELECT e.id, e.account_id FROM evaluations_evaluation e
        JOIN evaluations_evaluationrequest q ON q.id = e.request_id
        WHERE q.capture = 'all' AND e.status = 'success' AND e.score IS NOT NULL AND NOT e.in_history AND NOT EXISTS (
          SELECT 1 FROM evaluations_evaluation f WHERE f.account_id = e.account_id AND f.request_id = e.request_id
            AND f.position < e.position AND (f.evaluator_id, f.profile_name) = (e.evaluator_id, e.profile_name))""",
    "an evaluation in the history was not captured with all": """
        SELECT e.id, e.account_id FROM evaluations_evaluation e
        JOIN evaluations_evaluationrequest q ON q.id = e.request_id
        WHERE e.in_history AND q.capture <> 'all'""",
    "a request is complete and has a pending evaluation": """
        SELECT DISTINCT q.id, q.account_id FROM evaluations_evaluationrequest q
        JOIN evaluations_evaluation e ON e.request_id = q.id
        WHERE q.completed_at IS NOT NULL AND e.status = 'pending'""",
    "a request has every verdict and is not complete": """
        SELECT q.id, q.account_id FROM evaluations_evaluationrequest q WHERE q.completed_at IS NULL AND NOT EXISTS (
          SELECT 1 FROM evaluations_evaluation e WHERE e.request_id = q.id AND e.status = 'pending')""",
    "an evaluation belongs to no request of its account": """
        SELECT e.id, e.account_id FROM evaluations_evaluation e
        LEFT JOIN evaluations_evaluationrequest q ON q.id = e.request_id AND q.account_id = e.account_id
        WHERE q.id IS NULL""",
    "an evaluation does not know where its request belongs": """
        SELECT e.id, e.account_id FROM evaluations_evaluation e
        JOIN evaluations_evaluationrequest q ON q.id = e.request_id AND q.account_id = e.account_id
        WHERE (e.project_id, e.app, e.experiment_id, e.dataset_id) IS DISTINCT FROM
              (q.project_id, q.app, q.experiment_id, q.dataset_id)
          OR q.log_id IS DISTINCT FROM e.log_id AND q.log_id IS NOT NULL
          OR q.trace_id IS DISTINCT FROM e.trace_id AND q.trace_id IS NOT NULL""",
    "an evaluation is found by other tags, or at another time, than its request has": """
        SELECT coalesce(sent.id, t.evaluation_id), coalesce(sent.account_id, t.account_id) FROM (
          SELECT e.id, own.* FROM evaluations_evaluation e
          JOIN evaluations_evaluationrequest q ON q.id = e.request_id CROSS JOIN LATERAL tags_of(e, q.tags) own
          WHERE q.tags IS NOT NULL AND e.captured) sent
        FULL JOIN evaluations_evaluationtag t
          ON (t.account_id, t.evaluation_id, t.digest) = (sent.account_id, sent.id, sent.digest)
        WHERE (t.created_at, t.history, t.score_id) IS DISTINCT FROM (sent.created_at, sent.history, sent.score_id)""",
    "the counts of a day differ from its evaluations": """
        SELECT account_id, account_id FROM differing_rollups(NULL, NULL)
        -- Until the first fold, what was there before the triggers is not counted.
        WHERE EXISTS (SELECT 1 FROM evaluations_dailyrollup)""",
    "an account is gone and left evaluations behind": """
        SELECT DISTINCT e.account_id, e.account_id FROM evaluations_evaluation e
        LEFT JOIN accounts_account a ON a.id = e.account_id WHERE a.id IS NULL""",
    "a row came before its partition was made": "SELECT id, account_id FROM rows_without_partition()",
    "an evaluation has been pending for too long": """
        SELECT id, account_id FROM evaluations_evaluation
        WHERE status = 'pending' AND created_at < clock_timestamp() - interval '15 minutes'""",
}


class Finding(NamedTuple):
    """Something that `verify` found wrong."""

    what: str
    n: int
    examples: list[int]


def verify(account_id: int | None = None) -> Iterator[tuple[str, Finding | None]]:
    """Recount everything, or one account, in one snapshot; yield each check and what it found."""
    return run_checks(CHECKS, account_id)


def run_checks(checks: Mapping[str, str], account_id: int | None) -> Iterator[tuple[str, Finding | None]]:
    """Run queries that return the ids and accounts of what is wrong, in one snapshot; yield each and what it found."""
    one_account = "" if account_id is None else "WHERE found.account_id = %s"
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            for what, query in checks.items():
                cursor.execute(
                    "SELECT count(*), (array_agg(found.id))[1:5]"  # noqa: S608
                    f" FROM ({query}) AS found(id, account_id) {one_account}",
                    [] if account_id is None else [account_id],
                )
                n, examples = cursor.fetchone()
                yield what, Finding(what, n, examples) if n else None
        finally:
            cursor.execute("ROLLBACK")


def recount_each(
    noun: str, rows: QuerySet[Any], checks: Iterable[str], recount: Callable[[int], Iterable[str]]
) -> Iterator[tuple[str, Finding | None]]:
    """Recount rows as the system role, which name what is wrong with each; yield each check and what it found.

    One row at a time, each in a snapshot of its own: a recount of many runs long.
    """
    ids_by_check: dict[str, list[int]] = {what: [] for what in checks}
    with role_scope(SYSTEM):
        for id in list(rows.using(SYSTEM).order_by("pk").values_list("pk", flat=True)):
            with transaction.atomic(using=SYSTEM):
                with connections[SYSTEM].cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                for what in set(recount(id)):
                    ids_by_check[what].append(id)
    for what, ids in ids_by_check.items():
        yield f"{noun}: {what}", Finding(what, len(ids), ids[:5]) if ids else None

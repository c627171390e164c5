"""The verb that gives what ended in an error another try, within the request that has the other verdicts."""

from __future__ import annotations

from django.conf import settings
from django.db import connections

from evalsvc.evaluations.maintenance.deletion import LOCK_REQUESTS
from evalsvc.tenancy.scope import account_scope, current_role

# In the order of everyone who takes several: see `deleting`.
LOCK_FAILED = """
SELECT id FROM evaluations_evaluation
WHERE account_id = %(account)s AND request_id = %(request)s AND status = 'error' AND captured
  AND id >= ids_from(%(request)s) AND id < ids_until(%(request)s) ORDER BY id FOR UPDATE
"""
# Its patience, as its place in every list, goes by the time of this try. What was quick once is left to a worker:
# nobody waits for it in the web process.
REOPEN = """
UPDATE evaluations_evaluation SET
  status = 'pending', error_code = NULL, error_message = NULL, extra = NULL, duration_us = NULL, captured = NULL,
  lane = CASE WHEN lane = 'inline' THEN 'cpu' ELSE lane END, n_attempts = 0, n_sweeps = 0,
  lease_expires_at = clock_timestamp() + CASE lane WHEN 'judge' THEN 0 ELSE %(lease)s END * interval '1 second',
  created_at = clock_timestamp(), completed_at = NULL
WHERE account_id = %(account)s AND request_id = %(request)s AND status = 'error'
  AND id >= ids_from(%(request)s) AND id < ids_until(%(request)s)
RETURNING lane
"""
# Whoever is told `pending` now has not been told before.
AWAIT = """
UPDATE evaluations_evaluationrequest SET completed_at = NULL, told_pending_at = NULL, delivered_at = NULL
WHERE account_id = %s AND id = %s
"""


def reopen(*, account_id: int, request_id: int) -> list[str]:
    """Make a request's errors pending again, and leave its other verdicts as they are; return the lanes to enqueue.

    An error is no score and has left none, so nothing that counts changes. Empty where no error is left.
    """
    with account_scope(account_id), connections[current_role()].cursor() as cursor:
        values = {"account": account_id, "request": request_id, "lease": settings.LEASE_SECONDS}
        cursor.execute(LOCK_FAILED, values)
        cursor.execute(LOCK_REQUESTS, [account_id, [request_id]])
        cursor.execute(REOPEN, values)
        lanes = sorted({lane for (lane,) in cursor.fetchall()})
        if lanes:
            cursor.execute(AWAIT, [account_id, request_id])
    return lanes

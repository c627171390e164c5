"""Calls that repeat an earlier one: how they are recognised, and how failed evaluations get another try."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import cast

from django.conf import settings
from django.db import connection, connections
from django.utils import timezone
from redis.exceptions import RedisError

from evalsvc.evaluations.database.locks import LOCK_REQUESTS
from evalsvc.evaluations.database.round_trips import raw_connection
from evalsvc.infra.redis import get_shared_client
from evalsvc.tenancy.scope import account_scope, current_role, id_at

log = logging.getLogger(__name__)
RETRY_WINDOW_SECONDS = 600
CLAIM_SECONDS = 10
"""How long a first try may be scored before its retry no longer waits, and by how much a retry may overtake it."""
FIRST_TRY, RETRY = b"first", b"retry"
MAX_PAUSE_SECONDS = 0.25
FIND_MANY = """
SELECT a.place, r.request_id, r.try_again
FROM unnest(%s::bigint[], %s::int[], %s::text[]) WITH ORDINALITY a(digest, n, sign, place),
  LATERAL find_repeated(%s, a.digest, %s, a.n, a.sign) r
"""
# In the order of everyone who takes several: see `locks`.
LOCK_FAILED = """
SELECT id FROM evaluations_evaluation
WHERE account_id = %(account)s AND request_id = %(request)s AND status = 'error' AND captured
  AND id >= ids_from(%(request)s) AND id < ids_until(%(request)s) ORDER BY id FOR UPDATE
"""
# Retry limits and positions in queues start from the time of this try. Inline work moves to a worker, because no web
# process waits for it.
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
# The new `pending` answer counts as the first one.
AWAIT = """
UPDATE evaluations_evaluationrequest SET completed_at = NULL, pending_answered_at = NULL, delivered_at = NULL
WHERE account_id = %s AND id = %s
"""


class RetryEvidence(StrEnum):
    """Why a call might be a retry of an earlier one."""

    HEADER = "header"
    """The client counts its retries."""
    OVERTAKEN = "overtaken"
    """The client says that it is the first try, and a retry of it has been here."""
    NAME = "name"
    """The call names the log or the span that it is about."""


def find_retried(
    *, account_id: int, fingerprint: int, n_results: int, evidence: RetryEvidence | None, now: datetime
) -> RepeatOf | None:
    """Return the request of the last ten minutes that this call repeats, if any.

    A call repeats an earlier one with the same body if the client marks it as a retry, if both name the same log or
    span, or if the earlier caller was answered `pending` and has not returned yet. Other equal calls are separate
    evaluations. For a call that names its log or span, an error does not count as an answer: the failed evaluations are
    tried again and the other verdicts remain. An answer does not count either if capture stored only some of its
    results.
    """
    is_overtaken = evidence is RetryEvidence.OVERTAKEN
    oldest = id_at(now, back_seconds=CLAIM_SECONDS if is_overtaken else RETRY_WINDOW_SECONDS)
    sign = RetryEvidence.HEADER if is_overtaken else evidence
    return find_repeated(account_id, fingerprint, n_results=n_results, evidence=sign, oldest=oldest)


def claim_first_try(account_id: int, fingerprint: int) -> bool:
    """Claim a call before it is scored, so that its retry waits for it; return whether a retry came first."""
    return _exchange_claim(account_id, fingerprint, FIRST_TRY) == RETRY


def await_first_try(*, account_id: int, fingerprint: int, n_results: int) -> None:
    """Return when the first try of a retry is stored, has failed, or is not known; afterwards the retry is claimed.

    A first try whose process was killed is waited for until its claim expires.
    """
    pause_seconds = 0.01
    while _exchange_claim(account_id, fingerprint, RETRY, nx=True) == FIRST_TRY:
        sign, now = RetryEvidence.HEADER, timezone.now()
        with account_scope(account_id):
            found = find_retried(
                account_id=account_id, fingerprint=fingerprint, n_results=n_results, evidence=sign, now=now
            )
        if found:
            return
        time.sleep(pause_seconds)
        pause_seconds = min(2 * pause_seconds, MAX_PAUSE_SECONDS)


def release_try(account_id: int, fingerprint: int) -> None:
    """Drop the claim of a try that failed, so that the next one does not wait for it."""
    try:
        get_shared_client().delete(_claim_name(account_id, fingerprint))
    except RedisError:
        log.warning("account %s: a failed call stays claimed for seconds: Redis is unavailable", account_id)


def _exchange_claim(account_id: int, fingerprint: int, value: bytes, *, nx: bool = False) -> bytes | None:
    """Write a claim and return the one that was there; with `nx`, an existing one stays."""
    name = _claim_name(account_id, fingerprint)
    try:
        return cast("bytes | None", get_shared_client().set(name, value, ex=CLAIM_SECONDS, get=True, nx=nx))
    except RedisError:
        log.warning("account %s: a retry may count twice: Redis is unavailable", account_id)
        return None


def _claim_name(account_id: int, fingerprint: int) -> str:
    return f"try:{{{account_id}}}:{fingerprint}"


@dataclass(frozen=True, slots=True)
class RepeatOf:
    """The earlier request that a call repeats, and whether what failed in it is to be tried again."""

    request_id: int
    try_again: bool


def find_repeated(
    account_id: int, fingerprint: int, *, n_results: int, evidence: str | None, oldest: int
) -> RepeatOf | None:
    """Return the newest request that a call with this digest repeats, as `find_retried` has it, if any."""
    sql = "SELECT request_id, try_again FROM find_repeated(%s, %s, %s, %s, %s)"
    with connection.wrap_database_errors:
        values = [account_id, fingerprint, oldest, n_results, evidence]
        row = raw_connection().execute(sql, values, prepare=True).fetchone()
    return RepeatOf(*row) if row else None


def find_many_retried(
    *, account_id: int, asked: Sequence[tuple[int, int, RetryEvidence | None]], now: datetime
) -> list[RepeatOf | None]:
    """Return for each (fingerprint, number of results, evidence) what `find_retried` would, in one message."""
    oldest = id_at(now, back_seconds=RETRY_WINDOW_SECONDS)
    values = [[call[0] for call in asked], [call[1] for call in asked], [call[2] for call in asked], account_id, oldest]
    with connection.wrap_database_errors:
        rows = raw_connection().execute(FIND_MANY, values, prepare=True).fetchall()
    repeats = {place: RepeatOf(request_id, try_again) for place, request_id, try_again in rows}
    return [repeats.get(place) for place in range(1, len(asked) + 1)]


def reopen(*, account_id: int, request_id: int) -> list[str]:
    """Make a request's errors pending again and leave its other verdicts unchanged; return the lanes to enqueue.

    An error has no score, so no count changes. Returns an empty list if no error is left.
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

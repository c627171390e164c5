"""`Idempotency-Key` of a batch request: each row has its own record.

The record of the key itself only identifies the process that works on the rows; a process that dies loses it after a
short lease. A row's record is written in the transaction that processes the row. An interrupted request therefore
resumes where it stopped, and no row is processed twice.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from evalsvc.rest.basics.metrics import REPLAYS
from evalsvc.rest.idempotency import (
    EXISTING,
    KEPT_HOURS,
    RETRY_HOURS,
    build_claim_params,
    build_replay,
    in_progress,
    open_body,
)
from evalsvc.rest.kept import MADE_PREFIX, MAX_KEPT_BYTES, Seal
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import account_scope

LEASE_SECONDS = 30
"""It is renewed with every part of the work, and while that is waited for."""

HOLD = """
INSERT INTO rest_idempotencyrecord AS r (account_id, key, fingerprint, claim, lease_expires_at, headers)
SELECT %(account)s, %(key)s, %(fingerprint)s, %(claim)s, clock_timestamp() + %(lease)s * interval '1 second', '{}'
WHERE NOT EXISTS (
  SELECT 1 FROM rest_idempotencyrecord p WHERE p.account_id = %(account)s AND p.key = %(plain_key)s
    AND NOT %(anew)s AND p.created_at >= now() - %(kept)s * interval '1 hour'
    AND (p.status IS NOT NULL OR p.resource_id IS NOT NULL OR p.lease_expires_at >= clock_timestamp()
         OR p.fingerprint <> %(plain_fingerprint)s))
ON CONFLICT (account_id, key) DO UPDATE
SET fingerprint = excluded.fingerprint, claim = excluded.claim, lease_expires_at = excluded.lease_expires_at,
    created_at = CASE WHEN %(anew)s OR r.created_at < now() - %(kept)s * interval '1 hour' THEN now()
                 ELSE r.created_at END,
    resource_id = NULL, status = NULL, body = NULL, headers = '{}', cleared_at = NULL
WHERE r.created_at < now() - %(kept)s * interval '1 hour'
   OR (r.status IS NULL AND r.resource_id IS NULL AND r.lease_expires_at < clock_timestamp()
       AND r.fingerprint = excluded.fingerprint)
RETURNING created_at, xmax <> 0
"""
# The key is held on to in the same statement: who has lost it writes no row.
KEEP = """
WITH held AS (
  UPDATE rest_idempotencyrecord SET lease_expires_at = clock_timestamp() + %(lease)s * interval '1 second'
  WHERE account_id = %(account)s AND key = %(key)s AND claim = %(claim)s RETURNING fingerprint
)
INSERT INTO rest_idempotencyrecord AS r
  (account_id, key, fingerprint, claim, lease_expires_at, resource_id, status, body, headers)
SELECT %(account)s, n.key, h.fingerprint, %(claim)s, now(), n.resource_id, n.status, n.body, '{}'
FROM held h, unnest(%(keys)s::text[], %(resources)s::bigint[], %(statuses)s::smallint[], %(bodies)s::bytea[])
  AS n(key, resource_id, status, body)
ON CONFLICT (account_id, key) DO UPDATE
SET fingerprint = excluded.fingerprint, claim = excluded.claim, lease_expires_at = excluded.lease_expires_at,
    resource_id = excluded.resource_id, created_at = now(),
    status = CASE WHEN r.created_at < %(since)s OR r.cleared_at IS NULL THEN excluded.status END,
    body = CASE WHEN r.created_at < %(since)s OR r.cleared_at IS NULL THEN excluded.body END,
    cleared_at = CASE WHEN r.created_at < %(since)s THEN NULL ELSE r.cleared_at END
WHERE r.created_at < %(since)s OR (r.status IS NULL AND r.resource_id = excluded.resource_id)
"""
KEPT = """
SELECT key, status, body, resource_id FROM rest_idempotencyrecord
WHERE account_id = %(account)s AND key = ANY(%(keys)s) AND created_at >= %(since)s
"""
N_KEPT = """
SELECT count(*) FROM rest_idempotencyrecord
WHERE account_id = %(account)s AND key = ANY(%(keys)s) AND created_at >= %(since)s
"""
RENEW = """
UPDATE rest_idempotencyrecord SET lease_expires_at = clock_timestamp() + %(lease)s * interval '1 second'
WHERE account_id = %(account)s AND key = %(key)s AND claim = %(claim)s
"""


@dataclass(frozen=True, slots=True)
class IdempotentResult:
    """The stored result of a row: its response, or the id of the work it started."""

    status: int | None
    body: bytes | None
    resource_id: int | None

    def drop_long_body(self) -> IdempotentResult:
        """Return the result without a body that is long and can be read from its resource."""
        is_long = self.body is not None and len(self.body) > MAX_KEPT_BYTES
        return IdempotentResult(None, None, self.resource_id) if is_long and self.resource_id is not None else self


@dataclass(frozen=True, slots=True)
class RowsClaim:
    """The right to process the rows of one key. `is_known` is true if the key was claimed before."""

    seal: Seal
    token: uuid.UUID
    since: datetime
    is_known: bool

    @property
    def account_id(self) -> int:
        return self.seal.account_id

    def n_kept(self, n_rows: int) -> int:
        """Return how many of the rows are done, or under way."""
        if not self.is_known:
            return 0
        with account_scope(self.account_id), connection.cursor() as cursor:
            cursor.execute(N_KEPT, self._values | {"keys": self._keys(range(n_rows))})
            n_kept = int(cursor.fetchone()[0])
        if n_kept:
            REPLAYS.inc()
        return n_kept

    def load_results(self, indexes: Sequence[int]) -> dict[int, IdempotentResult]:
        """Return the stored results of rows, by index."""
        if not self.is_known:
            return {}
        places = dict(zip(self._keys(indexes), indexes, strict=True))
        with account_scope(self.account_id), connection.cursor() as cursor:
            cursor.execute(KEPT, self._values | {"keys": list(places)})
            return {
                places[key]: IdempotentResult(
                    status, None if body is None else open_body(self.seal, bytes(body), key), resource_id
                )
                for key, status, body, resource_id in cursor.fetchall()
            }

    def keep(self, rows: dict[int, IdempotentResult]) -> None:
        """Write rows, inside the transaction that does their work; a lost claim rolls that back."""
        keys = self._keys(rows)
        values: dict[str, Any] = {
            "keys": keys,
            "resources": [row.resource_id for row in rows.values()],
            "statuses": [row.status for row in rows.values()],
            "bodies": [self._sealed(row, key) for key, row in zip(keys, rows.values(), strict=True)],
        }
        with connection.cursor() as cursor:
            cursor.execute(KEEP, self._values | values)
            if cursor.rowcount != len(rows):
                raise in_progress(1)

    def renew(self, seconds: float = LEASE_SECONDS) -> None:
        """Extend the lease of the key by `seconds` from now.

        Raise `in_progress` if another request has taken it over.
        """
        with account_scope(self.account_id), connection.cursor() as cursor:
            cursor.execute(RENEW, self._values | {"lease": seconds})
            if not cursor.rowcount:
                raise in_progress(1)

    def leave(self) -> None:
        """Let the same request be sent again at once: what is not done is done then."""
        try:
            self.renew(0)
        except Problem:
            return

    def _sealed(self, row: IdempotentResult, key: str) -> bytes | None:
        return None if row.body is None else self.seal.close(row.body, key)

    @property
    def _values(self) -> dict[str, Any]:
        return {
            "account": self.account_id,
            "key": self.seal.key,
            "claim": self.token,
            "since": self.since,
            "lease": LEASE_SECONDS,
        }

    def _keys(self, indexes: Iterable[int]) -> list[str]:
        # Of one length, whatever a caller's key is, and none that a caller may send.
        digest = hashlib.sha256(self.seal.plain_key.encode()).hexdigest()
        return [f"{MADE_PREFIX}row {digest} {index}" for index in indexes]


def claim_rows(*, account_id: int, key: str, fingerprint: bytes) -> RowsClaim:
    """Claim the rows of a caller's key. Raises `idempotency_key_reused` and `in_progress` as `claim_key` does."""
    return _acquire_rows(account_id, key, fingerprint, KEPT_HOURS, anew=False)


def claim_rows_for_attempt(*, account_id: int, actor: str, fingerprint: bytes, is_retry: bool) -> RowsClaim | None:
    """Claim the key derived from a request of a client that counts retries; a first attempt is always new work.

    Returns None for a first attempt while an identical request is still running: the caller intends to run both.
    """
    key = f"{MADE_PREFIX}{actor} {fingerprint.hex()}"
    try:
        return _acquire_rows(account_id, key, fingerprint, RETRY_HOURS, anew=not is_retry)
    except Problem:
        if is_retry:
            raise
        return None


def _acquire_rows(account_id: int, key: str, fingerprint: bytes, kept_hours: float, *, anew: bool) -> RowsClaim:
    seal, token = Seal(account_id, key, fingerprint), uuid.uuid4()
    values = build_claim_params(seal, token) | {"lease": LEASE_SECONDS}
    with account_scope(account_id), connection.cursor() as cursor:
        cursor.execute(HOLD, values | {"kept": kept_hours, "anew": anew})
        if lease_row := cursor.fetchone():
            since, is_known = lease_row
            return RowsClaim(seal, token, since, is_known and not anew)
        cursor.execute(EXISTING, values)
        row = cursor.fetchone()
    build_replay(row, seal)
    # Another kind of request has answered under this key; no batch does so itself.
    raise Problem(code="idempotency_key_reused")

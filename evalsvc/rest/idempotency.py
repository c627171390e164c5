"""`Idempotency-Key`: a POST that is sent twice is executed once and returns the same response both times.

The claim is committed first, so that a second request sees that the first one is running. The response is written in
the transaction that does the work, so that both are stored or neither is. A claim of a process that died expires with
its lease; a claim that could not be released because the database was unavailable is released once the database
responds again. Stored bodies are sealed (`kept`); the response of a deleted resource is cleared (`clear_answers`).

Some clients count their retries (`X-Stainless-Retry-Count`) and send no key. For these a key is derived from the
request.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse

from evalsvc.rest.answering.answers import WrittenAnswer
from evalsvc.rest.basics.metrics import REPLAYS
from evalsvc.rest.kept import MADE_PREFIX, MAX_KEPT_BYTES, Seal, SealError
from evalsvc.rest.models import IdempotencyRecord
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.rest.releases import DATABASE_AWAY, releases
from evalsvc.tenancy.scope import account_scope

log = logging.getLogger(__name__)
HEADER = "Idempotency-Key"
KEY_META = "HTTP_IDEMPOTENCY_KEY"
REPLAYED_HEADER = "Idempotency-Replayed"
LEASE_SECONDS = 90
KEPT_HOURS = 24
RETRY_COUNT_META = "HTTP_X_STAINLESS_RETRY_COUNT"
RETRY_HOURS = 1 / 6
# After a process died, the retry of its request is refused for so long. Clients go on retrying for longer.
TRY_LEASE_SECONDS = 20
KEPT_HEADERS = ("Content-Type", "Location", "Preference-Applied")
EVALUATIONS = 0
"""The resource of answers that show any evaluations of the account: they are cleared when one of these is deleted."""

# Versions before 0.3 find a record by the caller's own key, and run in parallel with this version during an upgrade.
CLAIM = """
INSERT INTO rest_idempotencyrecord AS r (account_id, key, fingerprint, claim, lease_expires_at, headers)
SELECT %(account)s, %(key)s, %(fingerprint)s, %(claim)s, now() + %(lease)s * interval '1 second', '{}'
WHERE NOT EXISTS (
  SELECT 1 FROM rest_idempotencyrecord p WHERE p.account_id = %(account)s AND p.key = %(plain_key)s
    AND p.created_at >= now() - %(kept)s * interval '1 hour'
    AND (p.status IS NOT NULL OR p.resource_id IS NOT NULL OR p.lease_expires_at >= now()
         OR p.fingerprint <> %(plain_fingerprint)s))
ON CONFLICT (account_id, key) DO UPDATE
SET fingerprint = excluded.fingerprint, claim = excluded.claim, lease_expires_at = excluded.lease_expires_at,
    resource_id = NULL, status = NULL, body = NULL, headers = '{}', cleared_at = NULL,
    created_at = now()
WHERE r.created_at < now() - %(kept)s * interval '1 hour'
   OR (r.status IS NULL AND r.resource_id IS NULL AND r.lease_expires_at < now()
       AND r.fingerprint = excluded.fingerprint)
RETURNING claim
"""
CLAIM_FIRST_TRY = """
INSERT INTO rest_idempotencyrecord AS r (account_id, key, fingerprint, claim, lease_expires_at, headers)
SELECT %(account)s, %(key)s, %(fingerprint)s, %(claim)s, now() + %(lease)s * interval '1 second', '{}'
WHERE NOT EXISTS (
  SELECT 1 FROM rest_idempotencyrecord p WHERE p.account_id = %(account)s AND p.key = %(plain_key)s
    AND p.status IS NULL AND p.resource_id IS NULL AND p.lease_expires_at >= now())
ON CONFLICT (account_id, key) DO UPDATE
SET claim = excluded.claim, lease_expires_at = excluded.lease_expires_at,
    resource_id = NULL, status = NULL, body = NULL, headers = '{}', cleared_at = NULL,
    created_at = now()
WHERE r.status IS NOT NULL OR r.resource_id IS NOT NULL OR r.lease_expires_at < now()
RETURNING claim
"""
EXISTING = """
SELECT fingerprint, status, body, headers, resource_id,
       greatest(1, ceil(extract(epoch FROM lease_expires_at - now())))::int
FROM rest_idempotencyrecord WHERE account_id = %(account)s AND key IN (%(key)s, %(plain_key)s)
ORDER BY created_at DESC LIMIT 1
"""
# By id, as two deletions may clear the same.
CLEAR = """
UPDATE rest_idempotencyrecord SET status = NULL, body = NULL, cleared_at = now() WHERE id = ANY(ARRAY(
  SELECT id FROM rest_idempotencyrecord
  WHERE account_id = %(account)s AND resource_id = ANY(%(resources)s) AND cleared_at IS NULL ORDER BY id FOR UPDATE))
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to do the work of one key."""

    seal: Seal
    token: uuid.UUID

    @property
    def account_id(self) -> int:
        return self.seal.account_id


@dataclass(frozen=True, slots=True)
class Replay:
    """An answer given before, or the id of accepted work that has none yet."""

    response: HttpResponse | None
    resource_id: int | None = None


def read_idempotency_key(request: HttpRequest) -> str | None:
    """Return the request's key; 422 for one that is empty, too long or not printable ASCII."""
    key = request.META.get(KEY_META)
    if key is None:
        return None
    if not 1 <= len(key) <= 255 or not key.isascii() or not key.isprintable():
        raise Invalid(FieldError("", f"{HEADER} must be 1 to 255 printable ASCII characters."))
    return key


def compute_fingerprint(request: HttpRequest) -> bytes:
    """Return a digest of method, address and body: a repeated request has the same digest."""
    head = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(head + request.body).digest()


def read_retry_flag(request: HttpRequest) -> bool | None:
    """Return whether the client marks this request as a retry; None when it sends no count of retries."""
    count = request.META.get(RETRY_COUNT_META, "")
    # Never read as a number, because a caller may send thousands of digits.
    return count.strip("0") != "" if count.isascii() and count.isdigit() else None


def claim_attempt(*, account_id: int, actor: str, fingerprint: bytes, is_retry: bool) -> Claim | Replay | None:
    """Claim the key derived from a request of one actor. For a retry, return the earlier response if there is one.

    A first attempt is always new work, even after an identical request. Returns None while an identical request is
    still running: the caller intends to run both.
    """
    key = f"{MADE_PREFIX}{actor} {fingerprint.hex()}"
    if is_retry:
        return claim_key(account_id=account_id, key=key, fingerprint=fingerprint, kept_hours=RETRY_HOURS)
    claim = Claim(Seal(account_id, key, fingerprint), uuid.uuid4())
    with _release_if_uncertain(claim), account_scope(account_id), connection.cursor() as cursor:
        cursor.execute(CLAIM_FIRST_TRY, build_claim_params(claim.seal, claim.token) | {"lease": TRY_LEASE_SECONDS})
        return claim if cursor.fetchone() else None


def claim_key(*, account_id: int, key: str, fingerprint: bytes, kept_hours: float = KEPT_HOURS) -> Claim | Replay:
    """Claim the key, or return the earlier answer.

    Raises `idempotency_key_reused` for another request under the same key, `in_progress` while the first one runs.
    """
    claim = Claim(Seal(account_id, key, fingerprint), uuid.uuid4())
    values = build_claim_params(claim.seal, claim.token)
    with _release_if_uncertain(claim), account_scope(account_id), connection.cursor() as cursor:
        cursor.execute(CLAIM, values | {"lease": LEASE_SECONDS, "kept": kept_hours})
        if cursor.fetchone():
            return claim
        cursor.execute(EXISTING, values)
        row = cursor.fetchone()
    return build_replay(row, claim.seal)


def build_claim_params(seal: Seal, token: uuid.UUID) -> dict[str, Any]:
    """Return the parameters of the statements that claim a key."""
    digests = {"key": seal.key, "fingerprint": seal.fingerprint}
    plain = {"plain_key": seal.plain_key, "plain_fingerprint": seal.plain_fingerprint}
    return {"account": seal.account_id, "claim": token, **digests, **plain}


def build_replay(row: tuple[Any, ...] | None, seal: Seal) -> Replay:
    """Return the response stored in a key's record; raise if it belongs to another request or is still running."""
    if row is None:
        # Released between the two statements, so the next try can claim the key.
        raise in_progress(1)
    stored_fingerprint, status, body, headers, resource_id, seconds = row
    if not seal.matches(bytes(stored_fingerprint)):
        raise Problem(f"This {HEADER} was used for a request with another body.", code="idempotency_key_reused")
    if status is not None:
        return Replay(_build_response(status, open_body(seal, bytes(body)), headers))
    if resource_id is not None:
        return Replay(None, resource_id)
    raise in_progress(seconds)


def open_body(seal: Seal, kept: bytes, place: str = "") -> bytes:
    """Return a stored body decrypted; raise `idempotency_key_reused` if this request cannot open it."""
    try:
        return seal.open(kept, place)
    except SealError as exc:
        raise Problem(code="idempotency_key_reused") from exc


def in_progress(seconds: int) -> Problem:
    """Make the 409."""
    # Some clients retry a 409 by themselves, and obey these two headers.
    return Problem(code="in_progress", headers={"Retry-After": str(min(seconds, 5)), "x-should-retry": "true"})


def _build_response(status: int, body: bytes, headers: Mapping[str, str] | str) -> HttpResponse:
    REPLAYS.inc()
    response = HttpResponse(body, status=status)
    # Django sets a Content-Type on every response. An answer without a body had none; others get theirs back below.
    del response["Content-Type"]
    for name, value in (json.loads(headers) if isinstance(headers, str) else headers).items():
        response[name] = value
    response[REPLAYED_HEADER] = "true"
    return response


def mark_accepted(claim: Claim, resource_id: int) -> None:
    """Record the id of the accepted work for the key, inside the accepting transaction."""
    _update(claim, "resource_id = %s", [resource_id])


def finish_claim(
    claim: Claim, answer: WrittenAnswer, *, resource_id: int | None = None, is_rebuilt: bool = False
) -> None:
    """Record the response, inside the transaction that did the work; a lost claim rolls that work back.

    `resource_id` is the resource shown in the response; once it is deleted, no part of the response is retained.
    `is_rebuilt`: the response can be rebuilt from that resource, so that a long one need not be stored.
    """
    headers = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
    values: list[Any] = [resource_id, json.dumps(headers)]
    if is_rebuilt and resource_id is not None and len(answer.body) > MAX_KEPT_BYTES:
        _update(claim, "resource_id = %s, headers = %s", values)
        return
    sql = (
        "resource_id = coalesce(%s, resource_id), headers = %s,"
        " status = CASE WHEN cleared_at IS NULL THEN %s::smallint END,"
        " body = CASE WHEN cleared_at IS NULL THEN %s::bytea END"
    )
    _update(claim, sql, [*values, answer.status, claim.seal.close(answer.body)])


def clear_answers(account_id: int, resource_ids: Iterable[int]) -> None:
    """Clear the stored responses of resources, in the transaction that deletes them: a repeated request gets a 404.

    Responses that are being produced at the same time are not stored either.
    """
    with connection.cursor() as cursor:
        cursor.execute(CLEAR, {"account": account_id, "resources": [EVALUATIONS, *resource_ids]})


def _update(claim: Claim, assignments: str, values: list[Any]) -> None:
    sql = f"UPDATE rest_idempotencyrecord SET {assignments} WHERE account_id = %s AND key = %s AND claim = %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, claim.account_id, claim.seal.key, claim.token])
        # Another request took the claim over after its lease; the error rolls this request's work back.
        if cursor.rowcount != 1:
            raise in_progress(1)


def release_claim(claim: Claim) -> None:
    """Give the key back after a refused or broken request, so that a corrected one may use it.

    Without a database it is given back later; the request has its own error, which is the one to answer.
    """
    try:
        _delete(claim)
    except DATABASE_AWAY:
        log.warning("releasing an Idempotency-Key later: the database does not respond")
        releases.later(partial(_delete, claim), seconds=LEASE_SECONDS)


@contextmanager
def _release_if_uncertain(claim: Claim) -> Iterator[None]:
    """Release the key if the connection broke during the claim, when it is unknown whether the claim was committed.

    Without this, retries after a failover would be refused until its lease ends.
    """
    try:
        yield
    except DATABASE_AWAY:
        releases.later(partial(_delete, claim), seconds=LEASE_SECONDS)
        raise


def _delete(claim: Claim) -> None:
    with account_scope(claim.account_id):
        IdempotencyRecord.objects.filter(
            account_id=claim.account_id, key=claim.seal.key, claim=claim.token, status=None, resource_id=None
        ).delete()

"""From the request's key to its account, with no database call while nothing has changed."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from evalsvc.accounts.access import permits
from evalsvc.accounts.access.keys import PREFIX, KeyText, parse_key, same_secret
from evalsvc.accounts.access.rate_limiter import Admission, count_requests
from evalsvc.accounts.access.uses import note_use
from evalsvc.accounts.models import Account
from evalsvc.accounts.selectors import KeyRow, find_key
from evalsvc.infra.cache import AccountCache, CacheEntry
from evalsvc.rest.edge.door import set_account
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.rows import KeyLocks


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: an API key and its account. DRF stores it as `request.user`."""

    key: KeyRow
    account: Account
    admission: Admission
    is_authenticated: bool = True

    @property
    def actor(self) -> str:
        """Return the caller's name in the audit trail."""
        return f"key:{self.key.id}"


@dataclass(frozen=True, slots=True)
class CachedKey:
    """A key row and its account."""

    row: KeyRow
    account: Account
    proof: bytes


MAX_CACHED = 10_000
_cache: AccountCache[str, CachedKey] = AccountCache(MAX_CACHED, seconds=lambda: settings.API_KEY_CACHE_SECONDS)
_word = secrets.token_bytes(32)
_locks = KeyLocks()


def get_limits(row: KeyRow | Account) -> tuple[int, int]:
    """Return the account's limits a minute and a month."""
    return (
        settings.RPM_LIMIT if row.rpm_limit is None else row.rpm_limit,
        settings.MONTHLY_LIMIT if row.monthly_limit is None else row.monthly_limit,
    )


class ApiKeyAuthentication(BaseAuthentication):
    """`X-API-KEY: ek_…` or `Authorization: Bearer ek_…`."""

    def authenticate(self, request: Request) -> tuple[Caller, KeyRow]:
        """Return the caller, or raise `unauthenticated`."""
        caller = authenticate_request(request)
        return caller, caller.key

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of the 401."""
        return 'Bearer realm="evalsvc"'


def authenticate_request(request: Request | HttpRequest) -> Caller:
    """Return the caller; raise `unauthenticated` for a missing, unknown, wrong, expired or revoked key alike.

    A valid key of an account that is off is `account_off`.
    """
    return authenticate_headers(request.META.get("HTTP_X_API_KEY", ""), request.META.get("HTTP_AUTHORIZATION", ""))


def authenticate_headers(api_key: str, authorization: str) -> Caller:
    """Return the caller of a request with these two headers, as `authenticate_request` does."""
    caller = identify(read_api_key(api_key, authorization))
    if caller is None:
        raise unauthenticated("The API key is unknown, expired or revoked.")
    if caller.key.off_at is not None:
        raise Problem(code="account_off")
    set_account(caller.account.pk)
    return caller


def unauthenticated(detail: str) -> Problem:
    """Make the 401."""
    return Problem(detail, code="unauthenticated", headers={"WWW-Authenticate": 'Bearer realm="evalsvc"'})


def read_api_key(api_key: str, authorization: str) -> KeyText:
    """Read the key from either header; raise `unauthenticated` if both lack one or the two differ.

    Next to a key in `X-API-KEY`, an Authorization header without one of our keys is ignored: a proxy might have added
    it.
    """
    scheme, _, text = authorization.partition(" ")
    bearer = text if scheme.lower() == "bearer" else ""
    if not api_key:
        return _read_one(bearer)
    key, other = _read_one(api_key), parse_key(bearer)
    if other not in (None, key):
        raise unauthenticated("The request carries two keys, one in X-API-KEY and another in Authorization; send one.")
    return key


def _read_one(text: str) -> KeyText:
    if not text.strip():
        raise unauthenticated("The request carries no API key.")
    if (key := parse_key(text)) is not None:
        return key
    # Servers join the values of a header that is sent twice.
    if sum(part.startswith(PREFIX) for part in re.split(r"[\s,]+", text)) > 1:
        raise unauthenticated("The request carries more than one key; send one.")
    raise unauthenticated("The API key is not of the form `ek_…`, as it was shown when it was made.")


def identify(text: KeyText) -> Caller | None:
    """Check a key against the cache, count the request, and read the row again if the account's epoch has moved."""
    # An entry of any age will do: it identifies the account to count the request for, and the count returns the epoch.
    entry = _cache.find(text.public)
    if entry is None:
        return _identify_anew(text)
    cached = entry.value
    if not (hmac.compare_digest(cached.proof, compute_proof(text.secret)) and _is_valid(cached.row)):
        return None
    rpm, monthly = get_limits(cached.row)
    admission = permits.take_permit(cached.row.account_id, rpm=rpm, monthly=monthly)
    if _cache.holds(entry, admission.epoch):
        return Caller(cached.row, cached.account, admission)
    if admission.epoch is None:
        return _identify_anew(text, admission)
    # All requests of the key find it old at once, and one reads it.
    with _locks.turn(text.public):
        again = _cache.find(text.public)
        if again is not None and again is not entry and _is_held(again, admission):
            return Caller(again.value.row, again.value.account, admission)
        return _identify_anew(text, admission)


def _is_held(entry: CacheEntry[CachedKey], admission: Admission) -> bool:
    return _cache.holds(entry, admission.epoch) and _is_valid(entry.value.row)


def _identify_anew(text: KeyText, admission: Admission | None = None) -> Caller | None:
    """Read the row; remember it under the epoch that was read *before* it, so that no change can slip between."""
    caller = _read(text, admission)
    if caller is None:
        _cache.drop(text.public)
    return caller


def _read(text: KeyText, admission: Admission | None) -> Caller | None:
    row = find_key(text.public)
    if row is None or not _opens(row, text):
        return None
    if admission is None:
        admission = count_requests(row.account_id)
        row = find_key(text.public)
        if row is None or not _opens(row, text):
            return None
    account = Account(id=row.account_id, name=row.account_name)
    note_use(row.id)
    _cache.put(text.public, CachedKey(row, account, compute_proof(text.secret)), admission.epoch)
    return Caller(row, account, admission)


def compute_proof(secret: str) -> bytes:
    """Return what tells this process a secret that it has checked before, at a tenth of the cost of the stored hash.

    Under a word that is drawn at each start and leaves the process nowhere.
    """
    return hashlib.blake2b(secret.encode(), key=_word, digest_size=32).digest()


def _opens(row: KeyRow, text: KeyText) -> bool:
    return same_secret(text.secret, row.secret_hash) and _is_valid(row)


def _is_valid(row: KeyRow) -> bool:
    expired = row.expires_at is not None and row.expires_at <= datetime.now(UTC)
    return row.revoked_at is None and not expired

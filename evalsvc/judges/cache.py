"""Answers of judges, remembered for their own account: the same question is paid for once.

In Redis for a week, and at most so many answers for each account; the oldest go first. Failures are never kept. While
one worker asks, others with the same question wait for its answer instead of asking as well.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings
from redis.exceptions import RedisError

from evalsvc.judges.book import book, script
from evalsvc.judges.facts import ConnectionFacts
from evalsvc.judges.failures import TIMEOUT, CallFailed

log = logging.getLogger(__name__)
FORM = 1
"""Goes into every key: answers that an older release has kept in another form are not found."""
KEPT_SECONDS = 7 * 86_400
MAX_BYTES = 256 * 1024
LONGEST_LEASE_SECONDS = 30.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.25

KEEP = """
local time = redis.call('TIME')
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('ZADD', KEYS[2], tonumber(time[1]), KEYS[1])
redis.call('EXPIRE', KEYS[2], ARGV[2])
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[3])
if over > 0 then
  local oldest = redis.call('ZPOPMIN', KEYS[2], over)
  for i = 1, #oldest, 2 do redis.call('DEL', oldest[i]) end
end
return 0
"""
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is remembered of an answer."""

    data: Mapping[str, Any]
    provenance: Mapping[str, Any]


def digest_of(connection: ConnectionFacts, asked: Mapping[str, Any]) -> str:
    """Return the digest of a question: everything that decides what a judge answers, and who asks it.

    The order of a schema's properties is part of the question, as it is the order in which the judge thinks.
    """
    schema = json.dumps(asked.get("schema"))
    whole = {
        **asked,
        "schema": schema,
        "form": FORM,
        "account": connection.account_id,
        "connection": str(connection.id),
        "base_url": connection.base_url,
    }
    # ASCII, so that half a surrogate pair can be hashed too.
    return hashlib.sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def find(account_id: int, digest: str) -> Kept | None:
    """Return the account's own answer to this question; None without one, or without Redis."""
    try:
        found = book().get(_key(account_id, digest))
    except RedisError:
        return None
    if not isinstance(found, bytes):
        return None
    kept = orjson.loads(found)
    return Kept(kept["data"], kept["provenance"])


def keep(account_id: int, digest: str, kept: Kept) -> None:
    """Remember an answer."""
    written = orjson.dumps({"data": kept.data, "provenance": kept.provenance})
    if len(written) > MAX_BYTES:
        return
    try:
        script(KEEP)(
            keys=[_key(account_id, digest), f"judge:{{{account_id}}}:answers"],
            args=[written, KEPT_SECONDS, settings.JUDGE_CACHE_ANSWERS],
        )
    except RedisError:
        log.warning("an answer of account %s not kept: Redis does not answer", account_id)


@contextmanager
def turn(account_id: int, digest: str, *, until: float) -> Iterator[Kept | None]:
    """Wait for the turn to ask a question, and hold it; yields the answer where another has brought it meanwhile.

    `until` is of time.monotonic(). A holder's turn ends by itself after 30 s, so one that has died holds up nobody for
    longer; a call that takes longer may be made twice. Raises CallFailed `timeout` when the turn does not come in time.
    """
    key, token = f"{_key(account_id, digest)}:turn", secrets.token_hex(8)
    found = _await_turn(account_id, digest, key, token, until)
    try:
        yield found
    finally:
        if found is None:
            _release(key, token)


def _await_turn(account_id: int, digest: str, key: str, token: str, until: float) -> Kept | None:
    pause = FIRST_PAUSE_SECONDS
    while True:
        left = until - time.monotonic()
        if left <= 0:
            detail = "The time was up while another worker asked the same question."
            raise CallFailed(TIMEOUT, detail, is_transient=True)
        has_turn = _take(key, token, min(left, LONGEST_LEASE_SECONDS))
        # Looked up after the turn is had: the one before may have kept its answer just now.
        found = find(account_id, digest)
        if found is not None and has_turn:
            _release(key, token)
        if found is not None or has_turn:
            return found
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _take(key: str, token: str, seconds: float) -> bool:
    try:
        return bool(book().set(key, token, nx=True, px=max(1, int(seconds * 1000))))
    except RedisError:
        return True


def _release(key: str, token: str) -> None:
    try:
        script(RELEASE)(keys=[key], args=[token])
    except RedisError:
        log.warning("a turn was not given back: Redis does not answer")


def _key(account_id: int, digest: str) -> str:
    return f"judge:{{{account_id}}}:answer:{digest}"

"""Cache of judge answers for each account: the same question is paid for only once.

Answers stay in Redis for a week, up to a maximum number for each account; the oldest are evicted first. Failures are
never cached. While one worker queries the judge, others with the same question wait for its answer; within one process
they wait for one another, and only one of them polls Redis.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings
from redis.exceptions import RedisError

from evalsvc.infra.redis import CLOCK, Script, Word
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import TIMEOUT, CallFailed
from evalsvc.judges.ledger.client import ledger

log = logging.getLogger(__name__)
FORM = 1
"""Goes into every key: answers that an older release has kept in another form are not found."""
KEPT_SECONDS = 7 * 86_400
MAX_BYTES = 256 * 1024
LONGEST_LEASE_SECONDS = 30.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.25

# Returns the answer; else 1 where the flight is the caller's, and 0 where it is another's.
FIND_OR_TAKE = Script("""
local found = redis.call('GET', KEYS[1])
if found then return found end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0
""")
# An empty answer is none.
KEEP_AND_RELEASE = Script(
    CLOCK,
    """
if redis.call('GET', KEYS[3]) == ARGV[4] then redis.call('DEL', KEYS[3]) end
if ARGV[1] == '' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
local now = clock()
redis.call('ZADD', KEYS[2], now, KEYS[1])
redis.call('EXPIRE', KEYS[2], ARGV[2])
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[3])
if over > 0 then
  local oldest = redis.call('ZPOPMIN', KEYS[2], over)
  for i = 1, #oldest, 2 do redis.call('DEL', oldest[i]) end
end
return 0
""",
)
_asked: dict[tuple[asyncio.AbstractEventLoop, int, str], asyncio.Future[CachedAnswer | None]] = {}


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """What is remembered of an answer."""

    data: Mapping[str, Any]
    provenance: Mapping[str, Any]
    chances: Mapping[str, float] | None = None


def compute_question_digest(connection: ConnectionFacts, asked: Mapping[str, object]) -> str:
    """Return the digest of a question: everything that determines a judge's answer, and the account.

    The order of a schema's properties is part of the question, since it is the order in which the judge reasons.
    """
    schema = json.dumps(asked.get("schema"))
    payload = {
        **asked,
        "schema": schema,
        "form": FORM,
        "account": connection.account_id,
        "connection": str(connection.id),
        "base_url": connection.base_url,
    }
    # ASCII, so that half a surrogate pair can be hashed too.
    return hashlib.sha256(json.dumps(payload, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


class Flight:
    """A question that one caller sends for all; `found` is an earlier answer, `brought` the new one."""

    def __init__(self) -> None:
        self.found: CachedAnswer | None = None
        self.brought: CachedAnswer | None = None

    def keep(self, kept: CachedAnswer) -> None:
        """Have an answer remembered when the flight ends."""
        self.brought = kept


@asynccontextmanager
async def single_flight(account_id: int, digest: str, *, until: float) -> AsyncIterator[Flight]:
    """Be the only caller that sends a question; `found` is the answer if another caller has obtained it meanwhile.

    `until` is in terms of time.monotonic(). A flight expires after 30 s, so a dead one blocks others no longer; a call
    that takes longer might be made twice. Raises CallFailed `timeout` if others use up all the time.
    """
    key, flight = (asyncio.get_running_loop(), account_id, digest), Flight()
    while (other := _asked.get(key)) is not None:
        flight.found = await _await_other_flight(other, until)
        if flight.found is not None:
            yield flight
            return
    mine = _asked[key] = key[0].create_future()
    token = ""
    try:
        flight.found, token = await _await_flight(account_id, digest, until)
        yield flight
    finally:
        del _asked[key]
        mine.set_result(flight.found or flight.brought)
        if token:
            await _keep_and_release(account_id, digest, token, flight.brought)


async def _await_other_flight(asked: asyncio.Future[CachedAnswer | None], until: float) -> CachedAnswer | None:
    try:
        async with asyncio.timeout(until - time.monotonic()):
            return await asyncio.shield(asked)
    except TimeoutError:
        raise _build_timeout_error() from None


async def _await_flight(account_id: int, digest: str, until: float) -> tuple[CachedAnswer | None, str]:
    """Return the answer, or the token of the flight; if Redis is down every caller proceeds, with an empty token."""
    pause, token = FIRST_PAUSE_SECONDS, secrets.token_hex(8)
    key = _key(account_id, digest)
    while True:
        seconds_left = until - time.monotonic()
        if seconds_left <= 0:
            raise _build_timeout_error()
        lease = max(1, int(1000 * min(seconds_left, LONGEST_LEASE_SECONDS)))
        try:
            reply = await ledger().run(
                FIND_OR_TAKE,
                keys=[key, f"{key}:flight"],
                args=[token, lease],
                lost=lambda answer: _release(account_id, digest, token) if answer == 1 else None,
            )
        except RedisError:
            return None, ""
        if isinstance(reply, bytes):
            fields = orjson.loads(reply)
            return CachedAnswer(fields["data"], fields["provenance"], fields.get("chances")), ""
        if reply == 1:
            return None, token
        await asyncio.sleep(min(pause, seconds_left))
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def _keep_and_release(account_id: int, digest: str, token: str, kept: CachedAnswer | None) -> None:
    keys, args = _build_release_arguments(account_id, digest, token, kept)
    try:
        await ledger().run(KEEP_AND_RELEASE, keys=keys, args=args)
    except RedisError:
        log.warning("answer of account %s not cached: Redis does not answer", account_id)


def _release(account_id: int, digest: str, token: str) -> None:
    keys, args = _build_release_arguments(account_id, digest, token, None)
    ledger().tell_script(KEEP_AND_RELEASE, keys=keys, args=args)


def _build_release_arguments(
    account_id: int, digest: str, token: str, kept: CachedAnswer | None
) -> tuple[list[str], list[Word]]:
    payload = b"" if kept is None else orjson.dumps(_serialize_answer(kept))
    key = _key(account_id, digest)
    keys = [key, f"judge:{{{account_id}}}:answers", f"{key}:flight"]
    return keys, [payload if len(payload) <= MAX_BYTES else b"", KEPT_SECONDS, settings.JUDGE_CACHE_ANSWERS, token]


def _serialize_answer(kept: CachedAnswer) -> dict[str, object]:
    return {"data": kept.data, "provenance": kept.provenance, "chances": kept.chances}


def _build_timeout_error() -> CallFailed:
    return CallFailed(TIMEOUT, "The time was up while another worker asked the same question.", is_transient=True)


def _key(account_id: int, digest: str) -> str:
    return f"judge:{{{account_id}}}:answer:{digest}"

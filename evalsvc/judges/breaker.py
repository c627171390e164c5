"""A breaker for each account, connection and model: an endpoint that is down is left alone for a while.

It opens after several failures in a row, or at once when the endpoint says that its quota is spent or the key is wrong.
After a pause one call is let through: when it succeeds the breaker closes, when it fails the next pause is longer. All
workers share it in Redis; without Redis it stays closed, as each call has its own deadline anyway.
"""

from __future__ import annotations

import logging
from typing import Any, cast

import orjson
from redis.exceptions import RedisError

from evalsvc.judges import failures
from evalsvc.judges.book import book, key_of, script
from evalsvc.judges.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed

log = logging.getLogger(__name__)
FAILURES_TO_OPEN = 5
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 15, 300
FORGOTTEN_SECONDS = 900
PROBE_SECONDS = 30
"""While one call tries whether the endpoint is back, the others stay out for so long."""

# Returns {milliseconds to stay out, code, detail}; a caller that is let through an open breaker is the only one.
ENTER = """
local until_ms = tonumber(redis.call('HGET', KEYS[1], 'until') or '0')
if until_ms == 0 then return {0, '', ''} end
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local found = redis.call('HMGET', KEYS[1], 'code', 'detail')
if ms < until_ms then return {until_ms - ms, found[1] or '', found[2] or ''} end
redis.call('HSET', KEYS[1], 'until', string.format('%d', ms + tonumber(ARGV[1])))
return {0, '', ''}
"""
# The pause doubles with each failure after the opening one.
FAIL = """
local n = redis.call('HINCRBY', KEYS[1], 'n', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[6])
local needed = tonumber(ARGV[2])
if n < needed then return 0 end
local pause = math.min(tonumber(ARGV[4]), tonumber(ARGV[3]) * 2 ^ math.min(n - needed, 10))
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local reason = cjson.decode(ARGV[5])
redis.call('HSET', KEYS[1], 'until', string.format('%d', ms + pause * 1000), 'code', reason[1], 'detail', reason[2])
return 1
"""


class Shut(CallFailed):
    """The breaker is open: nothing was sent."""


def enter(connection: ConnectionFacts, model: str) -> None:
    """Raise Shut while the breaker is open, with the code of the failure that opened it."""
    try:
        wait, code, detail = cast(
            "tuple[int, bytes, bytes]", script(ENTER)(keys=[_key(connection, model)], args=[PROBE_SECONDS * 1000])
        )
    except RedisError:
        return
    if wait:
        raise Shut(
            code.decode() or failures.CONNECTION,
            f"{detail.decode()} The endpoint is left alone for {wait / 1000:.0f} s.",
            is_transient=True,
            retry_after_seconds=wait / 1000,
        )


def note(connection: ConnectionFacts, model: str, failed: CallFailed | None) -> None:
    """Tell how a call ended. An endpoint that refuses a text, or writes nonsense, is there all the same."""
    weight = 0 if failed is None else _weight(failed)
    if failed is None or (not weight and failed.code != failures.RATE_LIMITED):
        _close(connection, model)
        return
    if not weight:
        return
    code = failures.CONNECTION if failed.code == failures.TIMEOUT else failed.code
    reason = orjson.dumps([code, failed.detail[:500]])
    pauses: list[Any] = [FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS]
    try:
        script(FAIL)(
            keys=[_key(connection, model)], args=[weight, FAILURES_TO_OPEN, *pauses, reason, FORGOTTEN_SECONDS]
        )
    except RedisError:
        log.warning("failure of connection %s not shared: Redis does not answer", connection.id)


def _close(connection: ConnectionFacts, model: str) -> None:
    try:
        book().delete(_key(connection, model))
    except RedisError:
        log.warning("success of connection %s not shared: Redis does not answer", connection.id)


def _weight(failed: CallFailed) -> int:
    """Return for how many failures in a row this one counts."""
    was_answered = failed.status is not None
    if was_answered and (failed.code == failures.BUDGET_EXHAUSTED or failed.status in (401, 403)):
        return FAILURES_TO_OPEN
    return int(failed.code in (failures.CONNECTION, failures.TIMEOUT))


def _key(connection: ConnectionFacts, model: str) -> str:
    return key_of(connection, model, "breaker")

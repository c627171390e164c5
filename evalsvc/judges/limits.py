"""How fast and for how much money connections may be called: one book in Redis for all workers.

Calls and tokens are counted in slots of a second over the last minute, for each connection and model, so that no minute
ever holds more than the limit, wherever it begins. Money is counted for each connection and day (UTC), in billionths.

When Redis does not answer, rates are not limited (the endpoint's own 429 still is heeded by its callers), but a
connection with a daily budget is not called: money that cannot be counted is not spent.
"""

from __future__ import annotations

import hashlib
import logging
import math
import uuid
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache

import redis
from prometheus_client import Counter
from redis.commands.core import Script
from redis.exceptions import RedisError

from evalsvc.judges.facts import ConnectionFacts
from evalsvc.judges.failures import BUDGET_EXHAUSTED, CallFailed
from evalsvc.rest.redis_client import make_client

log = logging.getLogger(__name__)
UNCOUNTED = Counter("evalsvc_judge_limits_skipped_total", "Calls to LLMs uncounted because Redis did not answer.")
NANOS = 1_000_000_000
WAIT_WITHOUT_REDIS_SECONDS = 5.0
LONGEST_BLOCK_SECONDS = 3600.0
KEPT_SPEND_SECONDS = 3 * 86_400
# What TAKE answers when the calls are taken and the endpoint has refused some lately: a success then ends its pauses.
REFUSED_BEFORE = -2
_refused: set[tuple[uuid.UUID, str]] = set()

# A slot counts as long as any call in it may be within the last 60 s, so it is let go 61 s after its beginning.
TAKE = """
local time = redis.call('TIME')
local now, ms = tonumber(time[1]), tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local wait = 0
local blocked = tonumber(redis.call('GET', KEYS[3]) or '0')
if blocked > ms then wait = blocked - ms end
local function window(key, n, limit)
  local slots, total, old = {}, 0, {}
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local slot = tonumber(all[i])
    if now - slot >= 61 then old[#old + 1] = all[i]
    else slots[#slots + 1] = {slot, tonumber(all[i + 1])}; total = total + tonumber(all[i + 1]) end
  end
  if #old > 0 then redis.call('HDEL', key, unpack(old)) end
  if total + n <= limit then return end
  table.sort(slots, function(a, b) return a[1] < b[1] end)
  for _, entry in ipairs(slots) do
    total = total - entry[2]
    if total + n <= limit then wait = math.max(wait, (entry[1] + 61) * 1000 - ms); return end
  end
end
local calls, tokens, rpm, tpm = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local cost, budget = tonumber(ARGV[5]), tonumber(ARGV[6])
if rpm > 0 then calls = math.min(calls, rpm); window(KEYS[1], calls, rpm) end
if tpm > 0 then tokens = math.min(tokens, tpm); window(KEYS[2], tokens, tpm) end
if budget >= 0 then
  local spent = tonumber(redis.call('GET', KEYS[4]) or '0')
  if spent + cost > budget or spent >= budget then return -1 end
end
if wait > 0 then return wait end
if rpm > 0 then redis.call('HINCRBY', KEYS[1], now, calls); redis.call('EXPIRE', KEYS[1], 62) end
if tpm > 0 then redis.call('HINCRBY', KEYS[2], now, tokens); redis.call('EXPIRE', KEYS[2], 62) end
if cost > 0 then redis.call('INCRBY', KEYS[4], ARGV[5]); redis.call('EXPIRE', KEYS[4], ARGV[7]) end
if redis.call('EXISTS', KEYS[5]) == 1 then return -2 end
return 0
"""
# Tokens that were not used are taken from the oldest slots: those are let go first, so the sum is never too small.
SETTLE = """
local now, more, tpm = redis.call('TIME')[1], tonumber(ARGV[1]), tonumber(ARGV[2])
if tpm > 0 and more > 0 then redis.call('HINCRBY', KEYS[1], now, more); redis.call('EXPIRE', KEYS[1], 62) end
if tpm > 0 and more < 0 then
  local all = redis.call('HGETALL', KEYS[1])
  local slots = {}
  for i = 1, #all, 2 do slots[#slots + 1] = {tonumber(all[i]), tonumber(all[i + 1])} end
  table.sort(slots, function(a, b) return a[1] < b[1] end)
  for _, entry in ipairs(slots) do
    local part = math.min(entry[2], -more)
    if part > 0 then redis.call('HINCRBY', KEYS[1], entry[1], -part); more = more + part end
  end
end
local spend = tonumber(ARGV[3])
if spend ~= 0 then
  local spent = tonumber(redis.call('INCRBY', KEYS[2], ARGV[3]))
  if spent < 0 then redis.call('SET', KEYS[2], 0) end
  redis.call('EXPIRE', KEYS[2], ARGV[4])
end
if ARGV[5] == '1' then redis.call('DEL', KEYS[3]) end
return 0
"""
# A refusal while the connection is blocked belongs to a call that was under way, and says nothing new.
BLOCK = """
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local blocked, wait = tonumber(redis.call('GET', KEYS[1]) or '0'), tonumber(ARGV[1])
if wait < 0 then
  if blocked > ms then return blocked - ms end
  local strikes = redis.call('INCR', KEYS[2])
  redis.call('EXPIRE', KEYS[2], 300)
  wait = math.min(60000, 1000 * 2 ^ (math.min(strikes, 10) - 1))
end
blocked = math.max(blocked, ms + wait)
redis.call('SET', KEYS[1], string.format('%d', blocked), 'PX', string.format('%d', blocked - ms + 1000))
return blocked - ms
"""
# Seats are leases: one that is not given back falls free when its call must be over.
SIT = """
local time = redis.call('TIME')
local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ms)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], ms + tonumber(ARGV[2]), ARGV[3])
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]) + 60000)
return 1
"""


@cache
def _redis() -> redis.Redis:
    return make_client(timeout=1.0)


@cache
def _script(text: str) -> Script:
    return _redis().register_script(text)


def estimated_cost(connection: ConnectionFacts, tokens: int) -> float:
    """Return the most that so many tokens can cost: all of them at the dearer price. 0 without prices."""
    prices = (connection.price_input_per_million or 0.0, connection.price_output_per_million or 0.0)
    return tokens * max(prices) / 1_000_000


def take(connection: ConnectionFacts, model: str, *, tokens: int, calls: int = 1, cost: float | None = None) -> float:
    """Ask to make `calls` calls that need up to `tokens` tokens in all; return the seconds to wait before asking again.

    0.0 means that they are taken: counted against both limits, and `cost` (the estimate, if not given) is reserved of
    the day's budget. Then make the calls, and `settle`. What is larger than a whole limit takes the whole limit.
    Raises CallFailed `budget_exhausted` when the budget does not hold the cost; it comes back at midnight UTC.
    """
    budget = connection.daily_budget
    reserved = estimated_cost(connection, tokens) if cost is None else cost
    amounts = (calls, tokens, connection.rpm or 0, connection.tpm or 0, _nanos(reserved), _nanos_or_none(budget))
    try:
        wait = _script(TAKE)(keys=_keys(connection, model), args=[*amounts, KEPT_SPEND_SECONDS])
    except RedisError:
        UNCOUNTED.inc()
        log.warning("limits of connection %s not counted: Redis does not answer", connection.id)
        return 0.0 if budget is None else WAIT_WITHOUT_REDIS_SECONDS
    if wait == REFUSED_BEFORE:
        _refused.add((connection.id, model))
        return 0.0
    if wait < 0:
        detail = f"The daily budget of the connection {connection.name} does not hold this call."
        raise CallFailed(BUDGET_EXHAUSTED, detail, retry_after_seconds=seconds_of_day_left())
    return float(wait) / 1000


def settle(
    connection: ConnectionFacts,
    model: str,
    *,
    taken_tokens: int,
    used_tokens: int,
    used_cost: float | None,
    taken_cost: float | None = None,
    succeeded: bool = True,
) -> None:
    """Put what calls used in the place of what was taken for them; the same `tokens` and `cost` as were given to take.

    `used_cost` None (prices are not known) counts nothing. A success ends the growth of pauses after 429.
    """
    reserved = estimated_cost(connection, taken_tokens) if taken_cost is None else taken_cost
    spend = _nanos(used_cost or 0.0) - _nanos(reserved)
    taken = min(taken_tokens, connection.tpm) if connection.tpm else taken_tokens
    was_refused = (connection.id, model) in _refused
    if not (connection.tpm or spend or (succeeded and was_refused)):
        return
    _, tokens, _, spent, strikes = _keys(connection, model)
    if succeeded:
        _refused.discard((connection.id, model))
    try:
        _script(SETTLE)(
            keys=[tokens, spent, strikes],
            args=[used_tokens - taken, connection.tpm or 0, spend, KEPT_SPEND_SECONDS, int(succeeded)],
        )
    except RedisError:
        log.warning("calls of connection %s not settled: Redis does not answer", connection.id)


def feed_back_429(connection: ConnectionFacts, model: str, retry_after_seconds: float | None = None) -> float:
    """Tell all workers that the endpoint has said 429; return the seconds for which `take` now says to wait.

    Without a Retry-After the pause doubles from 1 s to 60 s while no call succeeds.
    """
    wait = -1 if retry_after_seconds is None else int(1000 * min(retry_after_seconds, LONGEST_BLOCK_SECONDS))
    _, _, block, _, strikes = _keys(connection, model)
    _refused.add((connection.id, model))
    try:
        return float(_script(BLOCK)(keys=[block, strikes], args=[wait])) / 1000
    except RedisError:
        log.warning("429 of connection %s not shared: Redis does not answer", connection.id)
        return 1.0 if retry_after_seconds is None else retry_after_seconds


def occupy(connection: ConnectionFacts, *, seconds: float) -> str | None:
    """Take one of the connection's `max_concurrency` seats for at most `seconds`; None when all are taken.

    Empty where there is no limit, or no Redis to count by. Give the seat to `vacate` after the call.
    """
    if connection.max_concurrency is None:
        return ""
    seat = uuid.uuid4().hex
    try:
        args: list[int | str] = [connection.max_concurrency, math.ceil(seconds * 1000), seat]
        return seat if _script(SIT)(keys=[_seats(connection)], args=args) else None
    except RedisError:
        log.warning("seats of connection %s not counted: Redis does not answer", connection.id)
        return ""


def vacate(connection: ConnectionFacts, seat: str) -> None:
    """Give a seat back; twice is as once."""
    if not seat:
        return
    try:
        _redis().zrem(_seats(connection), seat)
    except RedisError:
        log.warning("seat of connection %s not given back: Redis does not answer", connection.id)


def spent_today(*, account_id: int, connection_id: uuid.UUID) -> float | None:
    """Return the money spent and reserved today (UTC); None when Redis does not answer."""
    try:
        return int(_redis().get(_spend(account_id, connection_id)) or 0) / NANOS
    except RedisError:
        return None


def seconds_of_day_left() -> float:
    """Return the seconds until the next day (UTC)."""
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds()


def _keys(connection: ConnectionFacts, model: str) -> list[str]:
    calls, tokens, blocked, strikes = _keys_of_model(connection.account_id, connection.id, model)
    return [calls, tokens, blocked, _spend(connection.account_id, connection.id), strikes]


@lru_cache(maxsize=4096)
def _keys_of_model(account_id: int, connection_id: uuid.UUID, model: str) -> list[str]:
    # The model's name is a stranger's text; the braces keep a connection's keys in one slot of a cluster.
    of_model = hashlib.blake2b(model.encode(), digest_size=12).hexdigest()
    base = f"judge:{_tag(account_id, connection_id)}:{of_model}"
    return [f"{base}:calls", f"{base}:tokens", f"{base}:blocked", f"{base}:strikes"]


def _tag(account_id: int, connection_id: uuid.UUID) -> str:
    return f"{{{account_id}:{connection_id.hex}}}"


def _spend(account_id: int, connection_id: uuid.UUID) -> str:
    return f"judge:{_tag(account_id, connection_id)}:spent:{datetime.now(UTC):%Y%m%d}"


def _seats(connection: ConnectionFacts) -> str:
    return f"judge:{_tag(connection.account_id, connection.id)}:seats"


def _nanos(money: float) -> int:
    return math.ceil(money * NANOS)


def _nanos_or_none(money: float | None) -> int:
    return -1 if money is None else _nanos(money)

"""How the calls of each connection have ended lately: counted in Redis by hour, code and time, once for all workers.

Every call that was let through the limits is counted, tests too. Nothing waits for it, and where Redis does not answer
nothing is counted.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from redis.exceptions import RedisError

from evalsvc.infra.redis import CLOCK, Script, get_shared_client
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.ledger.client import ledger

HOURS = 24
KEPT_SECONDS = 8 * 86_400
FIRST_EDGE_MS, STEP = 10.0, 2**0.5
LAST_BIN = 34
"""Its edge lies above the longest timeout."""
MAX_DETAIL = 300
# Fields are `<hour>|<what>`; what is older than a day goes when an hour begins.
NOTE = Script(
    CLOCK,
    """
local now, ms = clock()
local hour = math.floor(now / 3600)
local code, bin, detail = ARGV[1], ARGV[2], ARGV[3]
if redis.call('HINCRBY', KEYS[1], hour .. '|' .. code, 1) == 1 then
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
    local of = tonumber(string.match(name, '^(%d+)|'))
    if of and of <= hour - tonumber(ARGV[4]) then redis.call('HDEL', KEYS[1], name) end
  end
end
redis.call('HINCRBY', KEYS[1], hour .. '|#' .. bin, 1)
redis.call('HSET', KEYS[1], 'at', ms, 'code', code)
if code ~= 'ok' then redis.call('HSET', KEYS[1], 'failed_at', ms, 'failed_code', code, 'detail', detail) end
redis.call('EXPIRE', KEYS[1], ARGV[5])
return 0
""",
)


@dataclass(frozen=True, slots=True)
class ConnectionHealth:
    """The calls of a connection within the last 24 hours, by the clock's hours: the newest one is not over."""

    n_calls: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    """How many calls ended with each code."""
    p50_ms: float | None = None
    p95_ms: float | None = None
    """What so many calls took at most, rounded up to a step of 41 %; failed calls count too."""
    last_at: datetime | None = None
    last_code: str | None = None
    """None when the last call was answered."""
    failed_at: datetime | None = None
    failed_code: str | None = None
    failed_detail: str | None = None

    @property
    def n_failed(self) -> int:
        """How many calls had no usable answer."""
        return sum(self.failed.values())


def note_call(connection: ConnectionFacts, *, failed: CallFailed | None, latency_ms: float) -> None:
    """Count a call that has ended, some time soon."""
    code, detail = ("ok", "") if failed is None else (failed.code, failed.detail[:MAX_DETAIL])
    ledger().tell_script(
        NOTE,
        keys=[_key(connection.account_id, connection.id)],
        args=[code, _bin(latency_ms), detail, HOURS, KEPT_SECONDS],
    )


def load_connection_health(
    *, account_id: int, connection_ids: Sequence[uuid.UUID], now: datetime
) -> list[ConnectionHealth | None]:
    """Return how each connection does, in one round trip; None for all when Redis does not answer."""
    try:
        pipe: Any = get_shared_client().pipeline(transaction=False)
        for id in connection_ids:
            pipe.hgetall(_key(account_id, id))
        replies = pipe.execute() if connection_ids else []
    except RedisError:
        return [None] * len(connection_ids)
    return [_read(cast("dict[bytes, bytes]", reply), now) for reply in replies]


def _read(kept: Mapping[bytes, bytes], now: datetime) -> ConnectionHealth:
    since = int(now.timestamp()) // 3600 - HOURS
    codes: Counter[str] = Counter()
    bins: Counter[int] = Counter()
    last_values: dict[str, str] = {}
    for name, value in kept.items():
        hour, is_counted, what = name.decode().partition("|")
        if not is_counted:
            last_values[hour] = value.decode(errors="replace")
        elif int(hour) > since and what.startswith("#"):
            bins[int(what[1:])] += int(value)
        elif int(hour) > since:
            codes[what] += int(value)
    n = codes.total()
    codes.pop("ok", None)
    last = last_values.get("code")
    return ConnectionHealth(
        n_calls=n,
        failed=dict(codes.most_common()),
        p50_ms=_quantile(bins, 0.5),
        p95_ms=_quantile(bins, 0.95),
        last_at=_moment(last_values.get("at")),
        last_code=None if last == "ok" else last,
        failed_at=_moment(last_values.get("failed_at")),
        failed_code=last_values.get("failed_code"),
        failed_detail=last_values.get("detail"),
    )


def _bin(latency_ms: float) -> int:
    edge, bin = FIRST_EDGE_MS, 0
    while latency_ms > edge and bin < LAST_BIN:
        edge, bin = edge * STEP, bin + 1
    return bin


def _quantile(bins: Counter[int], share: float) -> float | None:
    """Return the upper edge of the bin in which so many calls are reached."""
    n, cumulative = bins.total(), 0
    for bin in sorted(bins):
        cumulative += bins[bin]
        if cumulative >= share * n:
            return float(round(FIRST_EDGE_MS * STEP**bin))
    return None


def _moment(millis: str | None) -> datetime | None:
    return None if millis is None else datetime.fromtimestamp(int(millis) / 1000, UTC)


def _key(account_id: int, connection_id: uuid.UUID) -> str:
    return f"judge:{{{account_id}:{connection_id.hex}}}:health"

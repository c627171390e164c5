"""The rate limiter of /v1: one Redis round trip counts requests and reads the account's epoch.

An account's epoch changes when anything that processes cache about it changes (its keys, its profiles). Every request
reads it together with the counters, so a revoked key stops working on the next request of every process. A process in
which an account calls often reads both for several requests at once: see `evalsvc.accounts.access.permits`.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from prometheus_client import Counter
from redis.exceptions import RedisError

from evalsvc.infra.cache import BoundedCache
from evalsvc.infra.redis import CLOCK, Script, get_shared_client

log = logging.getLogger(__name__)
UNCOUNTED = Counter("evalsvc_throttle_skipped_total", "Requests let through uncounted because Redis did not answer.")

# One script, so that two requests cannot both take the last place. A window is a clock minute or a calendar month, as
# clients of this API compute their pauses from it. The epoch is a time: a lost key never brings an old one back.
COUNT = Script(
    CLOCK,
    """
local function count(key, by, seconds)
  local n = redis.call('INCRBY', key, by)
  if n == tonumber(by) then redis.call('EXPIRE', key, seconds) end
  return n
end
local minute, month = count(KEYS[1], ARGV[1], 120), count(KEYS[2], ARGV[2], 2764800)
local epoch = redis.call('GET', KEYS[3])
if not epoch then
  local _, _, micros = clock()
  epoch = string.format('%d', micros)
  redis.call('SET', KEYS[3], epoch)
end
return {minute, month, epoch, redis.call('EXISTS', KEYS[4])}
""",
)


HELD_SECONDS = 0.05
"""For so long a process may go by what it has read here; whoever moves an epoch waits until nobody does."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What the rate limiter answers: requests of this minute and month, this one included, and the account's epoch."""

    n_minute: int
    n_month: int
    epoch: str | None
    second: int
    expects_repeats: bool = False
    """Whether the account may repeat calls that look as if there was nothing to repeat: see `expect_repeats`."""


def window(now: time.struct_time) -> tuple[int, int]:
    """Return the clock minute and the calendar month (UTC) in which a request is counted, as numbers."""
    return (now.tm_yday * 100 + now.tm_hour) * 100 + now.tm_min, now.tm_year * 100 + now.tm_mon


def count_requests(
    account_id: int, *, n: int = 1, now: time.struct_time | None = None, unused: tuple[int, int] = (0, 0)
) -> Admission:
    """Count `n` requests more; return the counts with all of them.

    `unused` were counted in this minute, and in this month, and never came. When Redis is down requests pass
    uncounted and uncached: verdicts outrank limits.
    """
    now = now or time.gmtime()
    tag, (minute, month) = f"{{{account_id}}}", window(now)
    keys = [f"rl:{tag}:{minute}", f"rl:{tag}:{month}", f"epoch:{tag}", f"repeats:{tag}"]
    try:
        n_minute, n_month, epoch, repeats = COUNT.run(keys=keys, args=[n - unused[0], n - unused[1]])
    except RedisError:
        UNCOUNTED.inc()
        log.warning("rate limit skipped: Redis does not answer")
        return Admission(0, 0, None, now.tm_sec, expects_repeats=True)
    return Admission(n_minute, n_month, epoch.decode(), now.tm_sec, bool(repeats))


def requests_so_far(account_id: int) -> tuple[int | None, int | None]:
    """Return the requests counted in this minute and in this month, to show them; None when Redis does not answer."""
    tag, (minute, month) = f"{{{account_id}}}", window(time.gmtime())
    try:
        counts = cast("list[bytes | None]", get_shared_client().mget(f"rl:{tag}:{minute}", f"rl:{tag}:{month}"))
    except RedisError:
        return None, None
    return int(counts[0] or 0), int(counts[1] or 0)


_bump_lock = threading.Lock()
_never = threading.Event()


def _wait_until_nobody_holds_it() -> None:
    """Wait for as long as any process may go by what it has read before."""
    _never.wait(HELD_SECONDS)


def bump_epoch(account_id: int) -> None:
    """Make every process forget what it cached about the account; on return all of them have.

    A failure is logged, not raised: the change itself is committed, and caches end by themselves after
    EVALSVC_API_KEY_CACHE_SECONDS.
    """
    bump_epochs([account_id])


def bump_epochs(account_ids: Collection[int]) -> None:
    """Make every process forget what it cached about these accounts, as `bump_epoch`."""
    if not account_ids:
        return
    try:
        with _bump_lock:
            # One by one: in a cluster they are not on one node.
            for account_id in account_ids:
                get_shared_client().set(f"epoch:{{{account_id}}}", f"{time.time_ns() // 1000}")
    except RedisError:
        log.error("epochs of accounts %s not bumped: Redis does not answer", list(account_ids))
        return
    _wait_until_nobody_holds_it()


RENEWED_SECONDS = 60.0
MAX_EXPECTED = 10_000
_expected: BoundedCache[int, float] = BoundedCache(MAX_EXPECTED)


def expect_repeats(account_id: int, *, seconds: int) -> None:
    """Announce to every process, for `seconds`, that the account may repeat a call without marking it as a retry.

    On return every process has read it. Without Redis, every process assumes it. The flag is stored for longer than
    requested: an early renewal does nothing, and a later one is written by one process while the flag is still valid
    for the others.
    """
    now = time.monotonic()
    until = _expected.get(account_id)
    if until is not None and now < until:
        return
    is_known = until is not None and now < until + RENEWED_SECONDS
    if is_known:
        _expected.put(account_id, now + RENEWED_SECONDS)
    try:
        get_shared_client().set(f"repeats:{{{account_id}}}", 1, ex=math.ceil(seconds + 2 * RENEWED_SECONDS))
    except RedisError:
        _expected.drop(account_id)
        log.warning("account %s: repeated calls may be missed: Redis does not answer", account_id)
        return
    if is_known:
        return
    _wait_until_nobody_holds_it()
    _expected.put(account_id, now + RENEWED_SECONDS)

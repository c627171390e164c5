"""Signs of life of workers and clock: one sorted set in Redis, whose scores are Redis' own time."""

from __future__ import annotations

import logging
from collections import Counter

from redis.exceptions import RedisError

from evalsvc.infra.redis import CLOCK, Script, shared_client

KEY = "evalsvc:alive"
EVERY_SECONDS = 2.0
SILENT_SECONDS = 15  # a busy host may hold a process up for some seconds
BEAT = "beat"
PARTS = ("cpu", "judge", "experiments", "system", BEAT)

log = logging.getLogger(__name__)

# What has long been silent is dropped on the way.
SHOW = Script(
    CLOCK,
    """
local now = clock()
for _, member in ipairs(ARGV) do redis.call('ZADD', KEYS[1], now, member) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3600)
""",
)
READ = Script(CLOCK, "local now = clock() return redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[1], '+inf')")


def show(parts: list[str], name: str) -> None:
    """Say that the process `name` does the work of these parts. A failure is logged: silence says the same."""
    try:
        SHOW.run(keys=[KEY], args=_members(parts, name))
    except RedisError as error:
        log.warning("no sign of life: Redis does not answer (%s)", type(error).__name__)


def leave(parts: list[str], name: str) -> None:
    """Say that the process `name` does no work any more."""
    try:
        shared_client().zrem(KEY, *_members(parts, name))
    except RedisError as error:
        log.warning("no last sign of life: Redis does not answer (%s)", type(error).__name__)


def alive() -> Counter[str]:
    """Count the processes of each part that gave a sign of life lately. Raises RedisError."""
    return Counter(member.decode().partition(" ")[0] for member in READ.run(keys=[KEY], args=[SILENT_SECONDS]))


def _members(parts: list[str], name: str) -> list[str]:
    return [f"{part} {name}" for part in parts]

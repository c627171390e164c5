"""Signs of life of workers and the clock: one sorted set in Redis, scored by Redis' own time."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping

import orjson
from redis.exceptions import RedisError

from evalsvc.infra.redis import CLOCK, Script, get_shared_client

KEY = "evalsvc:alive"
EVERY_SECONDS = 2.0
SILENT_SECONDS = 15  # a busy host can delay a process for some seconds
BEAT = "beat"
PARTS = ("cpu", "judge", "experiments", "system", BEAT)

FIGURES, RAN = "evalsvc:figures", "evalsvc:ran"
PERIODIC = {
    "evalsvc.evaluations.sweep": "sweep",
    "evalsvc.experiments.plan": "plan",
    "evalsvc.evaluations.prune": "prune",
    "evalsvc.evaluations.retain": "retain",
    "evalsvc.evaluations.make_partitions": "make_partitions",
    "evalsvc.evaluations.fold_rollups": "fold_rollups",
    "evalsvc.evaluations.recount_rollups": "recount_rollups",
    "evalsvc.telemetry.prune": "prune_telemetry",
    "evalsvc.comparisons.sweep": "sweep_comparisons",
    "evalsvc.rules.sweep": "sweep_rules",
    "evalsvc.rules.prune": "prune_rules",
    "evalsvc.monitors.advance": "advance_monitors",
    "evalsvc.events.deliver": "deliver_events",
    "evalsvc.events.prune": "prune_events",
    "evalsvc.accounts.prune_sessions": "prune_sessions",
    "evalsvc.ops.delete_accounts": "delete_accounts",
}
"""The tasks that the clock orders, and what they are called in figures."""

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
NOTE_RAN = Script(CLOCK, "redis.call('HSET', KEYS[1], ARGV[1], tostring(clock()))")
AGES = Script(
    CLOCK,
    """
local now, found = clock(), redis.call('HGETALL', KEYS[1])
for i = 2, #found, 2 do found[i] = tostring(math.max(0, now - tonumber(found[i]))) end
return found
""",
)
BEATS = Script(
    CLOCK,
    """
local now, found = clock(), redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 2, #found, 2 do found[i] = tostring(math.max(0, now - tonumber(found[i]))) end
return found
""",
)
READ = Script(CLOCK, "local now = clock() return redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[1], '+inf')")


def show(parts: list[str], name: str, *, figures: Mapping[str, int] | None = None) -> None:
    """Report that the process `name` does the work of these parts. A failure is logged: silence means the same."""
    try:
        SHOW.run(keys=[KEY], args=_members(parts, name))
        if figures:
            get_shared_client().hset(FIGURES, name, orjson.dumps(figures))
    except RedisError as error:
        log.warning("sign of life not sent: Redis does not answer (%s)", type(error).__name__)


def leave(parts: list[str], name: str) -> None:
    """Report that the process `name` has stopped working."""
    try:
        get_shared_client().zrem(KEY, *_members(parts, name))
        get_shared_client().hdel(FIGURES, name)
    except RedisError as error:
        log.warning("sign of life not removed: Redis does not answer (%s)", type(error).__name__)


def alive() -> Counter[str]:
    """Count the processes of each part that gave a sign of life lately. Raises RedisError."""
    return Counter(member.decode().partition(" ")[0] for member in READ.run(keys=[KEY], args=[SILENT_SECONDS]))


def beats() -> list[tuple[str, str, float]]:
    """Return each process that gave a sign within the hour: its part, its name, and how many seconds ago it last did.

    Raises RedisError.
    """
    reply = BEATS.run(keys=[KEY])
    pairs = [(member.decode(), float(age)) for member, age in zip(reply[::2], reply[1::2], strict=True)]
    return sorted((*member.split(" ", 1), age) for member, age in pairs)


def worker_figures() -> list[dict[str, int]]:
    """Return the figures reported by running workers; those of other workers are deleted. Raises RedisError."""
    live_names = {member.decode().partition(" ")[2] for member in READ.run(keys=[KEY], args=[SILENT_SECONDS])}
    raw_figures: dict[bytes, bytes] = get_shared_client().hgetall(FIGURES)  # type: ignore[assignment]
    figures_by_name = {name.decode(): text for name, text in raw_figures.items()}
    if stale := figures_by_name.keys() - live_names:
        get_shared_client().hdel(FIGURES, *stale)
    return [orjson.loads(text) for name, text in figures_by_name.items() if name in live_names]


def note_ran(name: str) -> None:
    """Note that a task of the clock has ended well now, by Redis' time."""
    try:
        NOTE_RAN.run(keys=[RAN], args=[name])
    except RedisError as error:
        log.warning("run of %s not recorded: Redis does not answer (%s)", name, type(error).__name__)


def ages() -> dict[str, float]:
    """Return how many seconds ago each of the clock's tasks ended well, of those that have. Raises RedisError."""
    reply = AGES.run(keys=[RAN])
    ages_by_task = {name.decode(): float(age) for name, age in zip(reply[::2], reply[1::2], strict=True)}
    return {name: ages_by_task[name] for name in PERIODIC.values() if name in ages_by_task}


def _members(parts: list[str], name: str) -> list[str]:
    return [f"{part} {name}" for part in parts]

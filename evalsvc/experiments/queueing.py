"""Keep the wanted number of pumps going. A pump too many ends at once; a message that is lost is sent again by beat."""

from __future__ import annotations

import logging
import uuid

from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.experiments.notices import WORK, tell_after_commit
from evalsvc.infra.redis import CLOCK, Script, shared_client
from evalsvc.tenancy.scope import current_role

log = logging.getLogger(__name__)
KEY, TASK = "experiments:pumps", "evalsvc.experiments.pump"
ALIVE_SECONDS = 6.0
# The sender's clock sets the end and the worker's clock reads it, so it must not be near. A pump too many ends at once.
MESSAGE_SECONDS = 600
# By Redis' own clock, since a pump whose clock runs ahead would pass for alive long after its end. What lies in the
# future was noted before that clock was set back; who lives shows itself again.
ALIVE = """
local _, _, micros = clock()
local now = micros / 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[1]))
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + 1, '+inf')
local function show(name) redis.call('ZADD', KEYS[1], now, name) end
"""
COUNT = Script(CLOCK, ALIVE, "return redis.call('ZCARD', KEYS[1])")
SHOW = Script(CLOCK, ALIVE, "show(ARGV[2]) return 1")
JOIN = Script(
    CLOCK, ALIVE, "if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end show(ARGV[2]) return 1"
)


def enqueue_pumps() -> int:
    """Enqueue the pumps that are missing; return how many messages were sent."""
    missing = settings.EXPERIMENT_PUMPS - n_alive()
    for sent in range(missing):
        try:
            current_app.send_task(TASK, queue="experiments", retry=False, expires=MESSAGE_SECONDS)
        except (OperationalError, RedisError, OSError):
            log.warning("no pump enqueued: the broker does not answer; beat will do it")
            return sent
    return max(0, missing)


def enqueue_after_commit() -> None:
    """Wake the pumps, and enqueue those that are missing, when what they shall work on is there."""
    tell_after_commit(WORK)
    transaction.on_commit(lambda: enqueue_pumps(), using=current_role())


def n_alive() -> int:
    """Count the pumps that have shown themselves lately; 0 when Redis cannot say."""
    try:
        return _run(COUNT)
    except RedisError:
        return 0


def join() -> str | None:
    """Take a place among the pumps; None when there are as many as wanted."""
    name = uuid.uuid4().hex
    try:
        return name if _run(JOIN, name, settings.EXPERIMENT_PUMPS) else None
    except RedisError:
        log.warning("pumps are not counted: Redis does not answer")
    return name


def show(name: str) -> None:
    """Say that a pump is alive."""
    try:
        _run(SHOW, name)
    except RedisError:
        log.warning("pumps are not counted: Redis does not answer")


def _run(script: Script, *values: str | int) -> int:
    return int(script.run(keys=[KEY], args=[ALIVE_SECONDS, *values]))


def leave(name: str) -> None:
    """Give a place back."""
    try:
        shared_client().zrem(KEY, name)
    except RedisError:
        log.warning("pumps are not counted: Redis does not answer")

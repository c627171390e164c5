"""Maintain the configured number of schedulers. A surplus one exits at once; beat sends a lost message again."""

from __future__ import annotations

import logging
import uuid

from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.experiments.notices import WORK, publish_on_commit
from evalsvc.infra.redis import CLOCK, Script, get_shared_client
from evalsvc.tenancy.scope import current_role

log = logging.getLogger(__name__)
SCHEDULERS_KEY, TASK = "experiments:schedulers", "evalsvc.experiments.schedule_units"
ALIVE_SECONDS = 6.0
# The sender's clock sets the end and the worker's clock reads it, so it must not be near. One too many ends at once.
MESSAGE_SECONDS = 600
# Uses the clock of Redis: a scheduler with a clock that runs ahead would count as alive long after its end. Entries in
# the future were written before that clock was set back; a running scheduler registers again.
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


def enqueue_schedulers() -> int:
    """Enqueue the schedulers that are missing; return how many messages were sent."""
    missing = settings.EXPERIMENT_SCHEDULERS - count_alive()
    for n_sent in range(missing):
        try:
            current_app.send_task(TASK, queue="experiments", retry=False, expires=MESSAGE_SECONDS)
        except (OperationalError, RedisError, OSError):
            log.warning("scheduler not enqueued: the broker does not answer; beat will retry")
            return n_sent
    return max(0, missing)


def enqueue_after_commit() -> None:
    """After the commit, wake the schedulers and enqueue those that are missing."""
    publish_on_commit(WORK)
    transaction.on_commit(lambda: enqueue_schedulers(), using=current_role())


def count_alive() -> int:
    """Count the schedulers that have reported recently; 0 when Redis does not answer."""
    try:
        return _run(COUNT)
    except RedisError:
        return 0


def add_scheduler() -> str | None:
    """Add a scheduler and return its name; None when as many run as are wanted."""
    name = uuid.uuid4().hex
    try:
        return name if _run(JOIN, name, settings.EXPERIMENT_SCHEDULERS) else None
    except RedisError:
        log.warning("scheduler not registered: Redis does not answer")
    return name


def show_scheduler(name: str) -> None:
    """Note that a scheduler is alive."""
    try:
        _run(SHOW, name)
    except RedisError:
        log.warning("scheduler heartbeat not recorded: Redis does not answer")


def _run(script: Script, *values: str | int) -> int:
    return int(script.run(keys=[SCHEDULERS_KEY], args=[ALIVE_SECONDS, *values]))


def remove_scheduler(name: str) -> None:
    """Remove a scheduler that has ended."""
    try:
        get_shared_client().zrem(SCHEDULERS_KEY, name)
    except RedisError:
        log.warning("scheduler not removed: Redis does not answer")

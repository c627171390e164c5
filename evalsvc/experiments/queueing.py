"""Keep the wanted number of pumps going. A pump too many ends at once; a message that is lost is sent again by beat."""

from __future__ import annotations

import logging
import time
import uuid
from functools import cache

import redis
from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.rest.redis_client import make_client

log = logging.getLogger(__name__)
KEY = "experiments:pumps"
ALIVE_SECONDS = 15.0
MESSAGE_SECONDS = 10


@cache
def _redis() -> redis.Redis:
    return make_client(timeout=1.0)


def enqueue_pumps() -> int:
    """Enqueue the pumps that are missing; return how many messages were sent."""
    from evalsvc.experiments.tasks import pump

    missing = settings.EXPERIMENT_PUMPS - n_alive()
    for sent in range(missing):
        try:
            pump.apply_async(queue="experiments", retry=False, expires=MESSAGE_SECONDS)
        except (OperationalError, RedisError, OSError):
            log.warning("no pump enqueued: the broker does not answer; beat will do it")
            return sent
    return max(0, missing)


def n_alive() -> int:
    """Count the pumps that have shown themselves lately; 0 when Redis cannot say."""
    try:
        return int(_redis().zcount(KEY, time.time() - ALIVE_SECONDS, "+inf"))
    except RedisError:
        return 0


def join() -> str | None:
    """Take a place among the pumps; None when there are as many as wanted."""
    name = uuid.uuid4().hex
    try:
        client = _redis()
        client.zremrangebyscore(KEY, "-inf", time.time() - ALIVE_SECONDS)
        client.zadd(KEY, {name: time.time()})
        if int(client.zcard(KEY)) > settings.EXPERIMENT_PUMPS:
            client.zrem(KEY, name)
            return None
    except RedisError:
        log.warning("pumps are not counted: Redis does not answer")
    return name


def show(name: str) -> None:
    """Say that a pump is alive."""
    try:
        _redis().zadd(KEY, {name: time.time()})
    except RedisError:
        log.warning("pumps are not counted: Redis does not answer")


def leave(name: str) -> None:
    """Give a place back."""
    try:
        _redis().zrem(KEY, name)
    except RedisError:
        log.warning("pumps are not counted: Redis does not answer")

"""How this service talks to Redis: with short timeouts and without the client's own back-off."""

from __future__ import annotations

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry


def make_client(*, timeout: float) -> redis.Redis:
    """Return a thread-safe, pooled client.

    One immediate retry, for a connection that a restart of Redis has cut; the client's own back-off would hold every
    request for seconds while Redis is down.
    """
    retry = Retry(NoBackoff(), 1)
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=timeout, socket_connect_timeout=1.0, retry=retry)

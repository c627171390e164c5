"""How this service talks to Redis: with short timeouts and without the client's own back-off."""

from __future__ import annotations

from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

try:
    from redis.driver_info import DriverInfo
except ImportError:  # redis < 7.2 keeps its version at hand
    OPTIONS: dict[str, Any] = {}
else:
    # Made once. Otherwise each connection reads the client's version from its package's metadata, which takes longer
    # than to connect; and threads that come in a burst make a connection each.
    OPTIONS = {"driver_info": DriverInfo()}


def make_client(*, timeout: float) -> redis.Redis:
    """Return a thread-safe, pooled client.

    One immediate retry, for a connection that a restart of Redis has cut; the client's own back-off would hold every
    request for seconds while Redis is down.
    """
    retry = Retry(NoBackoff(), 1)
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=timeout, socket_connect_timeout=1.0, retry=retry, **OPTIONS
    )

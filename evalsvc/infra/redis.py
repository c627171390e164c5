"""Clients and Lua scripts for Redis: with short timeouts, without the client's back-off, and by Redis' clock."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError
from redis.retry import Retry

try:
    from redis.driver_info import DriverInfo
except ImportError:  # redis < 7.2 does not read its version from the metadata
    OPTIONS: dict[str, Any] = {}
else:
    # Made once. Otherwise each new connection reads the client's version from the package's metadata, which takes
    # longer than connecting. A burst of threads opens many connections.
    OPTIONS = {"driver_info": DriverInfo()}

Word: TypeAlias = str | bytes | int | float

# Redis' own clock, since the clocks of the hosts may differ. One reading in three units, so that the three agree.
CLOCK = """
local function clock()
  local time = redis.call('TIME')
  local seconds, micros = tonumber(time[1]), tonumber(time[2])
  return seconds, seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros
end
"""


def make_client(*, timeout: float) -> redis.Redis:
    """Return a thread-safe client with its own pool, for a caller that blocks on Redis.

    Others use `get_shared_client`.

    It retries once, immediately, for connections that were cut by a restart of Redis. The client's own back-off would
    delay every request by seconds while Redis is down.
    """
    retry = Retry(NoBackoff(), 1)
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=timeout, socket_connect_timeout=1.0, retry=retry, **OPTIONS
    )


@cache
def get_shared_client(*, timeout: float = 1.0) -> redis.Redis:
    """Return this process' client with this timeout in seconds. Its calls may raise RedisError."""
    return make_client(timeout=timeout)


class Script:
    """A Lua script. Its digest is sent; the whole text only to a Redis that does not have the script yet.

    Put CLOCK before what reads the time: `local seconds, millis, micros = clock()`.
    """

    def __init__(self, *parts: str) -> None:
        self._text = "".join(parts)
        self._digest = hashlib.sha1(self._text.encode(), usedforsecurity=False).hexdigest()

    def run(self, *, keys: Sequence[str], args: Sequence[Word] = ()) -> Any:
        """Run the script and return its answer. Raises RedisError."""
        client: Any = get_shared_client()
        try:
            return client.execute_command(*self.build_evalsha(keys, args))
        except NoScriptError:
            return client.execute_command(*self.build_eval(keys, args))

    def build_evalsha(self, keys: Sequence[str], args: Sequence[Word] = ()) -> tuple[Word, ...]:
        """Return the command that runs the script by digest. Redis answers NoScriptError if it lacks the script."""
        return ("EVALSHA", self._digest, len(keys), *keys, *args)

    def build_eval(self, keys: Sequence[str], args: Sequence[Word] = ()) -> tuple[Word, ...]:
        """Return the command that sends the whole script and runs it."""
        return ("EVAL", self._text, len(keys), *keys, *args)

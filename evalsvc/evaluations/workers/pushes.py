"""Pushes that wake workers when there is work. A push is without content, so one is as good as many."""

from __future__ import annotations

from redis.client import Pipeline

from evalsvc.infra.redis import make_client

PUSHING_SECONDS = 2.0


def push(pipe: Pipeline, key: str) -> None:
    """Wake one of those who wait at `key`, now or the next that comes."""
    pipe.lpush(key, 1)
    pipe.ltrim(key, 0, 0)


class PushListener:
    """What hears pushes at `key`. A client of its own, as it blocks."""

    def __init__(self, key: str, seconds: float) -> None:
        self._key = key
        self._seconds = seconds
        self._client = make_client(timeout=seconds + 5)

    def wait_for_push(self) -> bool:
        """Wait for a push, at most so long. Raises RedisError."""
        return self._client.blpop([self._key], timeout=self._seconds) is not None

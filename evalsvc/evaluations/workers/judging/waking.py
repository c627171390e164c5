"""How runners hear that a judge is waited for.

PostgreSQL is the truth: a push that is lost costs a runner's next poll.
"""

from __future__ import annotations

import logging
from functools import cache

import redis
from redis.exceptions import RedisError

from evalsvc.evaluations.evaluate.replies import listen
from evalsvc.evaluations.workers.pushes import push
from evalsvc.rest.redis_client import make_client

log = logging.getLogger(__name__)
KEY = "evalsvc:judging"


@cache
def _redis() -> redis.Redis:
    return make_client(timeout=2.0)


def wake(request_id: int, *, reply_to: str | None) -> bool:
    """Tell the runners that there is work, and where its verdicts are waited for; say whether that could be told."""
    try:
        with _redis().pipeline(transaction=False) as pipe:
            if reply_to:
                listen(pipe, request_id, reply_to)
            push(pipe, KEY)
            pipe.execute()
    except RedisError:
        log.warning("request %s: Redis does not answer; a runner finds it by itself", request_id)
        return False
    return True


def nudge() -> None:
    """Let another runner look, of what this one has heard and cannot do, or gives back."""
    try:
        with _redis().pipeline(transaction=False) as pipe:
            push(pipe, KEY)
            pipe.execute()
    except RedisError:
        log.warning("no runner was told of work that was given back: Redis does not answer")

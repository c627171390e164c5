"""How runners hear that a judge is waited for.

PostgreSQL is the truth: a push that is lost costs a runner's next poll.
"""

from __future__ import annotations

import logging

from redis.exceptions import RedisError

from evalsvc.evaluations.evaluate.replies import listen
from evalsvc.evaluations.workers.pushes import PUSHING_SECONDS, push
from evalsvc.infra.redis import get_shared_client

log = logging.getLogger(__name__)
KEY = "evalsvc:judging"


def wake_judging(*request_ids: int, reply_to: str | None) -> bool:
    """Notify the runners of work and of the verdicts' reply channel; return whether that succeeded."""
    try:
        with get_shared_client(timeout=PUSHING_SECONDS).pipeline(transaction=False) as pipe:
            for request_id in request_ids if reply_to else ():
                listen(pipe, request_id, reply_to or "")
            push(pipe, KEY)
            pipe.execute()
    except RedisError:
        log.warning("requests %s: Redis is not responding; a runner will find them by polling", request_ids[:3])
        return False
    return True


def nudge_judging() -> None:
    """Let another runner look, of what this one has heard and cannot do, or gives back."""
    try:
        with get_shared_client(timeout=PUSHING_SECONDS).pipeline(transaction=False) as pipe:
            push(pipe, KEY)
            pipe.execute()
    except RedisError:
        log.warning("no runner was notified of released work because Redis is not responding")

"""Tell workers of work: by Celery's queues, and what waits for a judge by a push to its runners.

What cannot be told is not lost: the sweep, or a runner, finds it in the database.
"""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.evaluations.judging.waking import wake
from evalsvc.evaluations.upkeep import LaneRef
from evaluators.base import Lane

log = logging.getLogger(__name__)


def enqueue_lane(ref: LaneRef, *, reply_to: str | None) -> bool:
    """Enqueue one task for one lane of a request, after its commit; say whether the broker took it."""
    if ref.lane == Lane.JUDGE:
        return wake(ref.request_id, reply_to=reply_to)
    from evalsvc.evaluations.tasks import score_lane

    try:
        score_lane.apply_async(
            args=[ref.account_id, ref.request_id, ref.lane, ref.n_attempts, reply_to], queue=ref.lane, retry=False
        )
    except (OperationalError, RedisError, OSError):
        log.warning("request %s not enqueued: the broker does not answer; the sweep will do it", ref.request_id)
        return False
    return True

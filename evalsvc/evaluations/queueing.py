"""Put work on Celery's queues. What cannot be put there is not lost: the sweep finds it in the database."""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.evaluations.upkeep import LaneRef

log = logging.getLogger(__name__)


def enqueue_lane(ref: LaneRef, *, reply_to: str | None) -> bool:
    """Enqueue one task for one lane of a request, after its commit; say whether the broker took it."""
    from evalsvc.evaluations.tasks import score_lane

    try:
        score_lane.apply_async(
            args=[ref.account_id, ref.request_id, ref.lane, ref.n_attempts, reply_to], queue=ref.lane, retry=False
        )
    except (OperationalError, RedisError, OSError):
        log.warning("request %s not enqueued: the broker does not answer; the sweep will do it", ref.request_id)
        return False
    return True

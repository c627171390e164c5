"""Notify workers of rules. Lost notifications are recovered by beat."""

from __future__ import annotations

import logging

from celery import current_app
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
TASK, QUEUE = "evalsvc.rules.run", "experiments"
MESSAGE_SECONDS = 10
"""Beat sends the next one before: a worker that is busy finds one message of a rule, and not all of an hour."""


def enqueue(account_id: int, id: int) -> bool:
    """Enqueue a rule that may have work; return whether the broker accepted it."""
    try:
        current_app.send_task(TASK, args=[account_id, id], queue=QUEUE, retry=False, expires=MESSAGE_SECONDS)
    except (OperationalError, RedisError, OSError):
        log.warning("rule %s: broker unavailable; beat will enqueue it", id)
        return False
    return True

"""Notify workers of comparisons after the commit. Lost notifications are recovered by beat."""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.tenancy.scope import current_role

log = logging.getLogger(__name__)
TASK, QUEUE = "evalsvc.comparisons.judge", "judge"
# One too many ends at once, so an old message does no harm; it must outlast clocks that differ.
MESSAGE_SECONDS = 600


def enqueue(account_id: int, id: int) -> bool:
    """Enqueue a comparison that has work to do; return whether the broker accepted it."""
    try:
        current_app.send_task(TASK, args=[account_id, id], queue=QUEUE, retry=False, expires=MESSAGE_SECONDS)
    except (OperationalError, RedisError, OSError):
        log.warning("comparison %s: broker unavailable; beat will enqueue it", id)
        return False
    return True


def enqueue_comparison_after_commit(account_id: int, id: int) -> None:
    """Tell it once the transaction has been committed."""
    transaction.on_commit(lambda: enqueue(account_id, id), using=current_role())

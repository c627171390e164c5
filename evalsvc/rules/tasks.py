"""Celery tasks: three lines, call a service."""

from __future__ import annotations

import logging

from celery import current_app, shared_task
from django.db import connections
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from evalsvc.evaluations.queueing import enqueue_lanes
from evalsvc.rules import retention, worker

log = logging.getLogger(__name__)
TASK, QUEUE = "evalsvc.rules.run", "experiments"
MESSAGE_SECONDS = 10
"""Beat sends the next one before: a worker that is busy finds one message of a rule, and not all of an hour."""


def enqueue_rule(account_id: int, id: int) -> bool:
    """Enqueue a rule that may have work; return whether the broker accepted it. Beat enqueues it again."""
    try:
        current_app.send_task(TASK, args=[account_id, id], queue=QUEUE, retry=False, expires=MESSAGE_SECONDS)
    except (OperationalError, RedisError, OSError):
        log.warning("rule %s: broker unavailable; beat will enqueue it", id)
        return False
    return True


@shared_task(name=TASK)
def run_rule(account_id: int, id: int) -> None:
    """Score spans of one rule for a while, and tell others if there is more to do."""
    try:
        has_more = worker.run_rule(account_id=account_id, rule_id=id, enqueue=enqueue_lanes)
    finally:
        connections.close_all()
    if has_more:
        enqueue_rule(account_id, id)


@shared_task(name="evalsvc.rules.sweep")
def sweep_rules() -> int:
    """Enqueue every rule that may have work to do."""
    try:
        rules = worker.list_due_rules()
    finally:
        connections.close_all()
    return sum(enqueue_rule(account_id, id) for account_id, id in rules)


@shared_task(name="evalsvc.rules.prune")
def prune_rules() -> int:
    """Delete the rows of spans after the retention of telemetry."""
    try:
        return retention.prune_rule_spans()
    finally:
        connections.close_all()

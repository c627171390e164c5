"""Celery tasks: three lines, call a service."""

from __future__ import annotations

import logging
from typing import Any

from celery import Task, shared_task
from celery.signals import celeryd_after_setup, worker_process_init
from django.db import close_old_connections, connections

from evalsvc.evaluations import upkeep
from evalsvc.evaluations.queueing import enqueue_lane
from evalsvc.evaluations.replies import send_reply
from evalsvc.evaluations.work import work_off
from evaluators.base import Lane
from evaluators.registry import families

log = logging.getLogger(__name__)
ANY_ATTEMPT = 1_000_000
consumed: set[str] = set()


@shared_task(name="evalsvc.evaluations.score_lane", bind=True)
def score_lane(
    self: Task[Any, Any], account_id: int, request_id: int, lane: str, expected_attempts: int, reply_to: str | None
) -> None:
    """Work off one lane of a request and tell the waiting web process."""
    # A redelivered message means that its first worker is dead: do not wait for that worker's lease.
    redelivered = (self.request.delivery_info or {}).get("redelivered", False)
    expected = ANY_ATTEMPT if redelivered else expected_attempts
    try:
        verdicts = work_off(account_id=account_id, request_id=request_id, lane=lane, expected_attempts=expected)
    except Exception:
        # The evaluation stays pending with its lease, so the sweep brings it back; the pool child lives on.
        log.exception("request %s: lane %s broke", request_id, lane)
        return
    finally:
        connections.close_all()
    if verdicts and reply_to:
        send_reply(reply_to, request_id, verdicts)


@shared_task(name="evalsvc.evaluations.sweep")
def sweep() -> int:
    """Enqueue again what has no answer."""
    refs = upkeep.sweep()
    for ref in refs:
        enqueue_lane(ref, reply_to=None)
    close_old_connections()
    return len(refs)


@shared_task(name="evalsvc.evaluations.prune")
def prune() -> dict[str, int]:
    """Delete what was not captured."""
    pruned = upkeep.prune()
    close_old_connections()
    return pruned


@celeryd_after_setup.connect
def note_queues(instance: Any, **kwargs: Any) -> None:
    """Remember what this worker consumes, for the children that are forked from it."""
    consumed.update(instance.app.amqp.queues.consume_from)


@worker_process_init.connect
def warm_up(**kwargs: Any) -> None:
    """Load the models of the cpu lane before the first task, in the child that will run it.

    Workers of other queues load a model when an experiment first asks for it: most never do.
    """
    if Lane.CPU.value not in consumed:
        return
    for family in families():
        if family.lane == Lane.CPU:
            family.warm_up()

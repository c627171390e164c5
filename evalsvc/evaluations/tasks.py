"""Celery tasks: three lines, call a service."""

from __future__ import annotations

import logging
from typing import Any

from celery import Task, shared_task
from celery.signals import celeryd_after_setup
from django.db import close_old_connections, connections

from evalsvc.evaluations import upkeep
from evalsvc.evaluations.judging import store as judging
from evalsvc.evaluations.judging.waking import wake
from evalsvc.evaluations.queueing import enqueue_lane
from evalsvc.evaluations.replies import send_reply
from evalsvc.evaluations.work import work_off
from evaluators.base import CannotScore, Lane
from evaluators.registry import families

log = logging.getLogger(__name__)
ANY_ATTEMPT = 1_000_000


@shared_task(name="evalsvc.evaluations.score_lane", bind=True)
def score_lane(
    self: Task[Any, Any], account_id: int, request_id: int, lane: str, expected_attempts: int, reply_to: str | None
) -> None:
    """Work off one lane of a request and tell the waiting web process."""
    if lane == Lane.JUDGE:
        hand_over(account_id, request_id, expected_attempts, reply_to)
        return
    # A redelivered message means that its first worker is dead: do not wait for that worker's lease.
    redelivered = (self.request.delivery_info or {}).get("redelivered", False)
    expected = ANY_ATTEMPT if redelivered else expected_attempts

    def deliver(verdicts: list[dict[str, Any]]) -> None:
        send_reply(reply_to, request_id, verdicts)

    try:
        work_off(account_id=account_id, request_id=request_id, lane=lane, expected_attempts=expected, deliver=deliver)
    except Exception:
        # The evaluation stays pending with its lease, so the sweep brings it back; the pool child lives on.
        log.exception("request %s: lane %s broke", request_id, lane)
    finally:
        connections.close_all()


def hand_over(account_id: int, request_id: int, expected_attempts: int, reply_to: str | None) -> None:
    """Leave to the runners what a process of an earlier version has sent: they claim it from the database."""
    judging.free(account_id=account_id, request_id=request_id, expected_attempts=expected_attempts)
    wake(request_id, reply_to=reply_to)
    connections.close_all()


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
def warm_up(instance: Any, **kwargs: Any) -> None:
    """Load the models of the cpu lane before the pool's children are forked: they share the memory, and start at once.

    Workers of other queues load a model when an experiment first asks for it: most never do.
    """
    if Lane.CPU.value not in instance.app.amqp.queues.consume_from:
        return
    for family in families():
        try:
            family.warm_up()
        except CannotScore as exc:
            log.warning("family %s cannot be warmed up: %s", family.name, exc.detail)

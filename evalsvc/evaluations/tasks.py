"""Celery tasks: three lines, call a service."""

from __future__ import annotations

import logging
from typing import Any

from celery import Task, shared_task
from celery.signals import celeryd_after_setup, worker_shutting_down
from django.db import close_old_connections, connections

from evalsvc.evaluations.database import partitions
from evalsvc.evaluations.evaluate.replies import send_reply
from evalsvc.evaluations.maintenance import retention
from evalsvc.evaluations.maintenance import sweep as upkeep
from evalsvc.evaluations.queueing import enqueue_again, enqueue_lane
from evalsvc.evaluations.rollups import keep as rollups
from evalsvc.evaluations.workers.computing import wakeups
from evalsvc.evaluations.workers.computing.drain import drain, shutting_down, take_over
from evalsvc.evaluations.workers.judging import store as judging
from evalsvc.evaluations.workers.lane import work_off
from evaluators.base import CannotScore, Lane
from evaluators.registry import families

log = logging.getLogger(__name__)
ANY_ATTEMPT = 1_000_000
COMPUTE_LIMIT_SECONDS = 120
"""Then a process is killed, with what could not be ended otherwise: far longer than it may compute for, or drain."""


@shared_task(name=wakeups.TASK, bind=True, time_limit=COMPUTE_LIMIT_SECONDS)
def compute(self: Task[Any, Any]) -> None:
    """Work on the cpu lane for a while; leave the rest to a message that comes after those of others."""
    name = str(self.request.id)
    wakeups.answer_call()
    try:
        if (self.request.delivery_info or {}).get("redelivered"):
            take_over(name)
        if drain(name):
            wakeups.start_process()
    except Exception:
        # Claimed evaluations stay pending with their lease; the pool's process continues.
        log.exception("cpu lane failed")
    finally:
        connections.close_all()


@shared_task(name="evalsvc.evaluations.score_lane", bind=True)
def score_lane(
    self: Task[Any, Any], account_id: int, request_id: int, lane: str, expected_attempts: int, reply_to: str | None
) -> None:
    """Work off one lane of a request, as enqueued by a process of an earlier version; newer versions push and claim."""
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
        # The evaluation stays pending with its lease, so the sweep re-enqueues it; the pool's child process continues.
        log.exception("request %s: lane %s failed", request_id, lane)
    finally:
        connections.close_all()


def hand_over(account_id: int, request_id: int, expected_attempts: int, reply_to: str | None) -> None:
    """Leave to the runners what a process of an earlier version has sent: they claim it from the database."""
    judging.free(account_id=account_id, request_id=request_id, expected_attempts=expected_attempts)
    enqueue_lane(request_id, Lane.JUDGE.value, reply_to=reply_to)
    connections.close_all()


@worker_shutting_down.connect
def stop_claiming(**kwargs: object) -> None:
    """Tell the processes of this worker to stop between two evaluations."""
    shutting_down.set()


@shared_task(name="evalsvc.evaluations.sweep")
def run_sweep() -> int:
    """Re-enqueue unanswered evaluations."""
    refs = upkeep.sweep()
    enqueue_again(refs)
    close_old_connections()
    return len(refs)


@shared_task(name="evalsvc.evaluations.prune")
def run_prune() -> dict[str, int]:
    """Delete what was not captured."""
    pruned = upkeep.prune_uncaptured()
    close_old_connections()
    return pruned


@shared_task(name="evalsvc.evaluations.retain")
def run_retention() -> dict[str, int]:
    """Delete what is older than its account's rule, for a while."""
    result = retention.retain()
    close_old_connections()
    return result._asdict()


@shared_task(name="evalsvc.evaluations.make_partitions")
def run_partitions() -> list[str]:
    """Make the partitions of the next months."""
    names = partitions.make_partitions()
    close_old_connections()
    return names


@shared_task(name="evalsvc.evaluations.fold_rollups")
def run_fold() -> int:
    """Add what was noted of evaluations to the counts of their days."""
    n = rollups.apply_deltas()
    close_old_connections()
    return n


@shared_task(name="evalsvc.evaluations.recount_rollups")
def run_recount() -> int:
    """Recount the days and correct wrong counts."""
    n = sum(n for _, n in rollups.recount_days())
    if n:
        log.error("%s daily counts were wrong and have been corrected", n)
    close_old_connections()
    return n


@celeryd_after_setup.connect
def warm_up(instance: Any, **kwargs: Any) -> None:
    """Load the models of the cpu lane before the pool forks, so that its children share the memory and start at once.

    Workers of other queues load a model when an experiment first uses it; most never do.
    """
    if Lane.CPU.value in instance.app.amqp.queues.consume_from:
        load_lane_models()


def load_lane_models() -> None:
    """Load what the first scores of any family would load."""
    for family in families():
        try:
            family.warm_up()
        except CannotScore as exc:
            log.warning("family %s could not be warmed up: %s", family.name, exc.detail)

"""Celery tasks: three lines, call a service."""

from __future__ import annotations

import logging
import random

from celery import shared_task
from celery.signals import worker_shutting_down
from django.db import connections

from evalsvc.experiments import queueing
from evalsvc.experiments.decisions import step
from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.scheduling.scheduler import run_scheduler, shutting_down

log = logging.getLogger(__name__)
LONGEST_SCHEDULER_SECONDS = 3600


@shared_task(name=queueing.TASK, time_limit=LONGEST_SCHEDULER_SECONDS)
def schedule_units() -> None:
    """Run a scheduler for a while; enqueue a fresh one if there is more to do."""
    name = queueing.add_scheduler()
    if name is None:
        return
    try:
        run_scheduler(on_beat=lambda: queueing.show_scheduler(name))
        has_more = not shutting_down.is_set() and store.has_claimable_work()
    finally:
        queueing.remove_scheduler(name)
        connections.close_all()
    if has_more:
        queueing.enqueue_schedulers()


@shared_task(name="evalsvc.experiments.plan")
def plan() -> None:
    """Take every experiment that is not all counted a step further, and enqueue the schedulers that are missing."""
    try:
        unsettled = store.unsettled_experiments()
        # Should the time not suffice for all of them, it is others that come last the next time.
        random.shuffle(unsettled)
        for account_id, experiment_id in unsettled:
            try:
                step.step(account_id=account_id, experiment_id=experiment_id)
            except Exception:
                # One experiment that breaks must not stop the others.
                log.exception("experiment %s: planner failed", experiment_id)
        if store.has_claimable_work():
            queueing.enqueue_schedulers()
    finally:
        connections.close_all()


@worker_shutting_down.connect
def drain_schedulers(**kwargs: object) -> None:
    """Tell the schedulers of this worker to stop between two queries."""
    shutting_down.set()

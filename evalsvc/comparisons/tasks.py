"""Celery tasks: three lines, call a service."""

from __future__ import annotations

from celery import shared_task
from django.db import connections

from evalsvc.comparisons import queueing, worker
from evalsvc.comparisons.judgements import store


@shared_task(name=queueing.TASK)
def judge(account_id: int, id: int) -> None:
    """Judge pairs of one comparison for a while, and tell others if there is more to do."""
    try:
        has_more = worker.work_on(account_id=account_id, id=id)
    finally:
        connections.close_all()
    if has_more:
        queueing.enqueue(account_id, id)


@shared_task(name="evalsvc.comparisons.sweep")
def sweep_comparisons() -> int:
    """Enqueue every comparison that has work to do."""
    try:
        comparisons = store.list_due_comparisons()
    finally:
        connections.close_all()
    return sum(queueing.enqueue(account_id, id) for account_id, id in comparisons)

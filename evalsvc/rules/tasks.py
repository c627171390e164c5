"""Celery tasks: three lines, call a service."""

from __future__ import annotations

from celery import shared_task
from django.db import connections

from evalsvc.evaluations.queueing import enqueue_lanes
from evalsvc.rules import queueing, retention, worker


@shared_task(name=queueing.TASK)
def run_rule(account_id: int, id: int) -> None:
    """Score spans of one rule for a while, and tell others if there is more to do."""
    try:
        has_more = worker.run_rule(account_id=account_id, rule_id=id, enqueue=enqueue_lanes)
    finally:
        connections.close_all()
    if has_more:
        queueing.enqueue(account_id, id)


@shared_task(name="evalsvc.rules.sweep")
def sweep_rules() -> int:
    """Enqueue every rule that may have work to do."""
    try:
        rules = worker.list_due_rules()
    finally:
        connections.close_all()
    return sum(queueing.enqueue(account_id, id) for account_id, id in rules)


@shared_task(name="evalsvc.rules.prune")
def prune_rules() -> int:
    """Delete the rows of spans whose retention has ended."""
    try:
        return retention.prune_rule_spans()
    finally:
        connections.close_all()

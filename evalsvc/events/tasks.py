"""Celery tasks: three lines, call a service."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections
from django.utils import timezone

from evalsvc.events.services import notify_endpoints, prune_events


@shared_task(name="evalsvc.events.deliver")
def run_deliveries() -> int:
    """Make deliveries of new events, and send what is due."""
    n = notify_endpoints(timezone.now())
    close_old_connections()
    return n


@shared_task(name="evalsvc.events.prune")
def run_event_prune() -> int:
    """Delete events, with their deliveries, that are older than retention allows."""
    n = prune_events(timezone.now())
    close_old_connections()
    return n

"""Celery tasks: three lines, call a service."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections
from django.utils import timezone

from evalsvc.monitors.progress import advance_monitors


@shared_task(name="evalsvc.monitors.advance")
def run_monitors() -> int:
    """Advance every active monitor over its new scores."""
    n = advance_monitors(timezone.now())
    close_old_connections()
    return n

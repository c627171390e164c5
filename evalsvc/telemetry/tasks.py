"""Celery tasks: three lines, call a service."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections

from evalsvc.telemetry import services


@shared_task(name="evalsvc.telemetry.prune")
def run_telemetry_prune() -> dict[str, int]:
    """Delete what is older than retention allows."""
    pruned = services.prune_telemetry()
    close_old_connections()
    return pruned

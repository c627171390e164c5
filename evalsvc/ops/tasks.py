"""Celery tasks: three lines, call a service."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections

from evalsvc.ops.deletion.departures import work_on_deletions


@shared_task(name="evalsvc.ops.delete_accounts")
def run_account_deletions() -> int:
    """Go on deleting what accounts have left that their admins have ended."""
    n = work_on_deletions()
    close_old_connections()
    return n

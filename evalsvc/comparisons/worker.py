"""The worker for comparisons: lease pairs, judge them outside any transaction, record each judgement once."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import close_old_connections

from evalsvc.comparisons.judgements import store
from evalsvc.comparisons.judges.llm import judge_rows
from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.services import advance_comparison
from evalsvc.tenancy.scope import account_scope

BATCH, MAX_HOLDERS, LONGEST_SECONDS = 8, 4, 120.0


def work_on(*, account_id: int, id: int, seconds: float = LONGEST_SECONDS) -> bool:
    """Work on a comparison for a while; return whether work remains. Surplus workers return at once."""
    until = time.monotonic() + seconds
    while advance_comparison(account_id=account_id, id=id):
        with account_scope(account_id):
            comparison = OutputComparison.objects.get(account_id=account_id, id=id)
            if store.count_holders(id) >= MAX_HOLDERS:
                return False
            token, rows = store.claim(id, limit=BATCH, seconds=settings.WORK_LEASE_SECONDS)
        if not rows:
            return False
        with renew_lease(account_id, id, token):
            outcomes = judge_rows(comparison, rows)
        with account_scope(account_id):
            store.record_judgements(id, token, outcomes)
        if time.monotonic() > until:
            return True
    return False


@contextmanager
def renew_lease(account_id: int, id: int, token: uuid.UUID) -> Iterator[None]:
    """Extend a lease for as long as this lasts: a judge may take its time, and a killed worker extends nothing."""
    stop_event = threading.Event()

    def extend() -> None:
        while not stop_event.wait(settings.WORK_LEASE_SECONDS / 3):
            with account_scope(account_id):
                store.extend_lease(id, token, seconds=settings.WORK_LEASE_SECONDS)
        close_old_connections()

    thread = threading.Thread(target=extend, name="comparison-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()

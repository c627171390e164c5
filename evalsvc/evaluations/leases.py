"""Who holds an evaluation, and until when: by the database's clock, as workers' clocks may differ."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from evalsvc.evaluations.models import Evaluation
from evalsvc.tenancy.scope import account_scope

FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 2.0, 30.0


def extend(account_id: int, rows: Sequence[Evaluation]) -> None:
    """Say that a worker is alive and busy with these: their lease begins anew. Ones that another has taken stay his."""
    with account_scope(account_id):
        for row in rows:
            held = _held(account_id, row)
            held.update(lease_expires_at=Now() + timedelta(seconds=settings.WORK_LEASE_SECONDS))


def postpone(account_id: int, row: Evaluation, *, retry_after_seconds: float) -> bool:
    """Put an evaluation off until its turn may have come; say whether there is time for that.

    It stays pending and holds no thread: the sweep enqueues it when its lease has ended. What was no attempt counts as
    none. The delay grows with each turn that was missed. False when it would end later than JUDGE_PATIENCE_SECONDS
    after the request was accepted, or when another worker has taken it.
    """
    grown = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** min(row.n_sweeps, 10))
    # Those that were put off together do not come back together.
    delay = max(grown, retry_after_seconds * random.uniform(1.0, 1.25))  # noqa: S311  # nosec B311 - not a secret
    latest = settings.JUDGE_PATIENCE_SECONDS
    if delay > latest:
        return False
    with account_scope(account_id):
        in_time = _held(account_id, row).filter(created_at__gt=Now() - timedelta(seconds=latest - delay))
        n = in_time.update(lease_expires_at=Now() + timedelta(seconds=delay), n_attempts=F("n_attempts") - 1)
    return n == 1


def is_held(account_id: int, row: Evaluation) -> bool:
    """Say whether the evaluation is still this worker's to answer: nobody has answered it or taken it since."""
    with account_scope(account_id):
        return _held(account_id, row).exists()


def _held(account_id: int, row: Evaluation) -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(
        account_id=account_id, id=row.pk, status=Evaluation.Status.PENDING, n_attempts=row.n_attempts
    )

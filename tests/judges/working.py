"""A runner in this process, for tests that want its work done and nothing else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.utils import timezone

from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.workers.judging.runner import JudgeRunner
from tests.conftest import Caller, wait_until


def rows_of(*callers: Caller) -> Any:
    return Evaluation.objects.using("system").filter(account_id__in=[caller.account.pk for caller in callers])


def put_off_others(*callers: Caller) -> None:
    """Leave nothing that other tests have left pending to the runners of this one, which serve every account."""
    later = timezone.now() + timedelta(days=1)
    others = Evaluation.objects.using("system").filter(status="pending")
    others.exclude(account_id__in=[caller.account.pk for caller in callers]).update(lease_expires_at=later)


@contextmanager
def running(*callers: Caller, slots: int = 64, grace_seconds: float = 60.0) -> Iterator[JudgeRunner]:
    """Let a runner work for these accounts; it drains at the end."""
    put_off_others(*callers)
    runner = JudgeRunner(slots=slots)
    runner.start()
    try:
        yield runner
    finally:
        runner.drain(grace_seconds)


def work(caller: Caller, request_id: int) -> None:
    """Work off a request, as if it had waited long: until each evaluation has its verdict or is put off."""
    rows = rows_of(caller).filter(request_id=request_id)
    rows.filter(status="pending").update(lease_expires_at=timezone.now() - timedelta(days=1))
    n_sweeps = dict(rows.values_list("pk", "n_sweeps"))
    with running(caller):
        wait_until(
            lambda: all(n > n_sweeps[pk] for pk, n in rows.filter(status="pending").values_list("pk", "n_sweeps")),
            pause=0.02,
        )

"""A runner in this process, for tests that want its work done and nothing else's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.utils import timezone

from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.workers.judging.runner import JudgeRunner
from tests.conftest import Caller, wait_until
from tests.factories import make_profile


def rows_of(*callers: Caller) -> Any:
    return Evaluation.objects.using("system").filter(account_id__in=[caller.account.pk for caller in callers])


@contextmanager
def running(*, slots: int = 64, grace_seconds: float = 60.0) -> Iterator[JudgeRunner]:
    """Let a runner work; it drains at the end."""
    runner = JudgeRunner(slots=slots)
    runner.start()
    try:
        yield runner
    finally:
        runner.drain(grace_seconds)


def work(caller: Caller, *request_ids: int) -> None:
    """Work off requests, as if they had waited long: until each evaluation has its verdict or is put off."""
    rows = rows_of(caller).filter(request_id__in=request_ids)
    if not rows.filter(status="pending").update(lease_expires_at=timezone.now() - timedelta(days=1)):
        return
    n_sweeps = dict(rows.values_list("pk", "n_sweeps"))
    with running():
        wait_until(
            lambda: all(n > n_sweeps[pk] for pk, n in rows.filter(status="pending").values_list("pk", "n_sweeps")),
            pause=0.02,
        )


CRITERIA = "The MODEL OUTPUT is polite."


def profile(caller: Caller, **config: Any) -> str:
    """Make a profile of the judge's family; return its name."""
    return str(make_profile(caller, "judge", **{"pass_criteria": CRITERIA, **config})["name"])


def accept(caller: Caller, *names: str, **fields: Any) -> int:
    """Accept an evaluation that no worker is told about; return the request's id."""
    body = {
        "evaluators": [{"evaluator": "judge", "criteria": name} for name in names],
        "evaluated_model_input": "Hello?",
        "evaluated_model_output": f"Good morning, {uuid.uuid4().hex}.",
        "app": "judged",
        **fields,
    }
    answer = caller.post("/v1/evaluate", body, prefer="respond-async")
    assert answer.status_code == 202, answer.content
    return int(answer.json()["id"])


def results(caller: Caller, request_id: int) -> list[dict[str, Any]]:
    return caller.get(f"/v1/evaluate/{request_id}").json()["results"]

"""kill -9 of a judge's worker: what it was busy with is judged by the next one, and counts once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.tasks import run_sweep
from tests.conftest import Caller, findings, new_caller, scores_of, start_worker, stop_group, wait_until
from tests.factories import make_connection, make_profile

N_REQUESTS = 12


@pytest.fixture(scope="module")
def stub() -> Iterator[RunningStub]:
    with running_stub(latency_ms=700) as running:
        yield running


@pytest.fixture
def judge_worker() -> Iterator[Callable[[], Any]]:
    """Start a worker of the judge's queue; all of them end with the test."""
    started = []

    def start() -> Any:
        started.append(start_worker("judge", pool="threads", concurrency=4))
        return started[-1]

    yield start
    for worker in started:
        stop_group(worker)


def accept(caller: Caller, profile: str) -> int:
    body = {
        "evaluators": [{"evaluator": "judge", "criteria": profile}] * 2,
        "evaluated_model_output": f"Good morning, {uuid.uuid4().hex}.",
        "app": "judged",
    }
    answer = caller.post("/v1/evaluate", body, prefer="respond-async")
    assert answer.status_code == 202, answer.content
    return int(answer.json()["id"])


def statuses(caller: Caller) -> list[str]:
    rows = Evaluation.objects.using("system").filter(account_id=caller.account.pk)
    return list(rows.values_list("status", flat=True))


def is_done(caller: Caller) -> bool:
    run_sweep()
    return "pending" not in statuses(caller)


@pytest.mark.timeout(240)
def test_a_killed_worker_s_evaluations_end_and_count_once(stub: RunningStub, judge_worker: Callable[[], Any]) -> None:
    caller = new_caller(name="faults")
    key = uuid.uuid4().hex
    make_connection(caller, stub.base_url, model="stub-judge-pass", key=key)
    make_profile(caller, "judge", "polite", pass_criteria="It is polite.")
    worker = judge_worker()
    ids = [accept(caller, "polite") for _ in range(N_REQUESTS)]
    wait_until(lambda: "success" in statuses(caller))

    stop_group(worker)
    judge_worker()
    wait_until(lambda: is_done(caller), seconds=120, pause=0.5)

    assert statuses(caller) == ["success"] * 2 * N_REQUESTS
    assert len({source for _, _, source in scores_of(caller, "judge")}) == N_REQUESTS
    assert len(scores_of(caller, "judge")) == len(ids)
    # Two evaluations of a request ask the same: one call is enough, and what was on its way is asked again.
    assert stub.calls()["by_key"][key] <= 2 * N_REQUESTS
    assert findings(caller) == {}

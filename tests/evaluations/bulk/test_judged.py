"""Samples that a judge is asked about: all at once, waited for as a single call waits."""

from __future__ import annotations

from typing import Any

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller, findings, scores_of
from tests.evaluations.bulk.shapes import BATCH, request_ids, rows_of, statuses
from tests.factories import make_connection
from tests.judges.conftest import stub
from tests.judges.working import profile, running

__all__ = ["stub"]


def judged(caller: Caller, stub: RunningStub, n: int) -> dict[str, Any]:
    name = profile(caller, connection=make_connection(caller, stub.base_url, model="stub-judge-pass"))
    samples = [{"input": "Hello?", "output": f"Good morning, {i}."} for i in range(n)]
    return {"evaluators": [{"evaluator": "judge", "criteria": name}], "app": "judged", "samples": samples}


def test_a_batch_waits_for_its_judge(alice: Caller, stub: RunningStub) -> None:
    with running():
        rows = rows_of(alice.post(BATCH, judged(alice, stub, 12), Prefer="wait=60"))

    assert statuses(rows) == [200] * 12
    assert {row["answer"]["results"][0]["status"] for row in rows} == {"success"}
    assert len(scores_of(alice, "judge")) == 12


def test_without_a_runner_its_rows_are_pending_and_found_later(alice: Caller, stub: RunningStub) -> None:
    body = judged(alice, stub, 5)
    first = rows_of(alice.post(BATCH, body, Prefer="wait=0", Idempotency_Key="k"))
    assert statuses(first) == [202] * 5
    assert all(row["location"] and row["retry_after"] for row in first)

    with running():
        again = rows_of(alice.post(BATCH, body, Prefer="wait=60", Idempotency_Key="k"))

    assert (statuses(again), request_ids(again)) == ([200] * 5, request_ids(first))
    assert len(scores_of(alice, "judge")) == 5
    assert findings(alice) == {}

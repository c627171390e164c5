"""kill -9 of the workers that grade the samples of an eval's run: each is graded once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evalsvc.experiments.models import Score
from tests.conftest import new_caller, wait_until
from tests.factories import ok
from tests.faults.experiment_tools import Crew, kill_worker, positions, running_crew, wait_for
from tests.openai_evals.shapes import NUMBER, SAME, row

pytestmark = pytest.mark.slow

N = 3_000


@pytest.fixture
def crew(servers: Any) -> Iterator[Crew]:
    with running_crew(servers) as running:
        yield running


@pytest.mark.timeout(300)
def test_a_killed_worker_grades_each_sample_once(crew: Crew) -> None:
    caller = new_caller(name="evals")
    config = {"type": "custom", "item_schema": {"type": "object"}}
    made = ok(caller.post("/v1/evals", {"data_source_config": config, "testing_criteria": [SAME, NUMBER]}))
    rows = [row("a", "a" if i % 4 else "b", n=7, i=i) for i in range(N)]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    run = ok(caller.post(f"/v1/evals/{made['id']}/runs", {"data_source": source}))
    scores = Score.objects.using("system").filter(experiment_id=run["evalsvc"]["experiment_id"])

    wait_until(lambda: scores.count() > 0, seconds=60, pause=0.02)
    assert scores.count() < 2 * N
    kill_worker(crew)

    assert wait_for(caller, run["evalsvc"]["experiment_id"], "done") == "done"
    assert ok(caller.get(f"/v1/experiments/{run['evalsvc']['experiment_id']}/recount"))["differences"] == []
    assert [*positions(run["evalsvc"]["experiment_id"]).values()] == [list(range(N))]
    assert scores.count() == 2 * N
    answer = ok(caller.get(f"/v1/evals/{made['id']}/runs/{run['id']}"))
    assert (answer["status"], answer["result_counts"]) == (
        "completed",
        {"total": N, "passed": N * 3 // 4, "failed": N // 4, "errored": 0},
    )

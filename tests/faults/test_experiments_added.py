"""Metrics that are added to stored outputs, through kills: every score once, and nothing of the run is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from evalsvc.evaluations.models import HistoryScore
from evalsvc.experiments.models import Score, WorkUnit
from tests.conftest import Caller, new_caller, stop_group, wait_until
from tests.experiments.conftest import live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import Runner
from tests.faults.experiment_tools import Crew, running_crew

pytestmark = pytest.mark.slow

N_EXAMPLES = 1500
ADDED = [
    {"name": "clean", "evaluator": "toxicity"},
    {"name": "near", "evaluator": "metrics", "criteria": "compute-levenshtein"},
]


@pytest.fixture
def crew() -> Iterator[Crew]:
    from tests import services

    with running_crew(services.servers) as running:
        yield running


def n_units_done(id: str) -> int:
    return WorkUnit.objects.using("system").filter(experiment_id=id, addition=1, state="done").count()


def progress(caller: Caller, id: str) -> dict[str, tuple[int, int]]:
    rows = ok(caller.get(f"/v1/experiments/{id}/metrics"))["metrics"]
    return {row["name"]: (row["n_scored"], row["n_pending"]) for row in rows}


@pytest.mark.timeout(300)
def test_added_metrics_are_scored_once_however_often_a_worker_dies(crew: Crew) -> None:
    caller = new_caller(name="faults")
    made = make_experiment(caller, make_dataset(caller, n=N_EXAMPLES), [{"name": "mine", "kind": "push"}])
    Runner(caller, made).run()
    before = live(caller, made["id"])

    ok(caller.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": ADDED}))
    for n_done in (1, 4):
        wait_until(lambda n=n_done: n_units_done(made["id"]) >= n, seconds=120, pause=0.02)
        stop_group(crew.worker)
    wait_until(lambda: progress(caller, made["id"])["clean"][1] == 0, seconds=180, pause=0.1)

    assert progress(caller, made["id"]) == dict.fromkeys(("accuracy", "clean", "near"), (N_EXAMPLES, 0))
    assert recounted(caller, made["id"]) == []
    scores = Score.objects.using("system").filter(experiment_id=made["id"])
    assert set(Counter(scores.values_list("metric", "pos")).values()) == {1}
    told = HistoryScore.objects.using("system").filter(experiment_id=made["id"])
    rows = Counter(told.values_list("evaluator_id", "output_id"))
    assert (len(rows), set(rows.values())) == (3 * N_EXAMPLES, {1})
    after = live(caller, made["id"])
    assert after["experiment"] == before["experiment"]
    assert after["configs"][0]["metrics"]["accuracy"] == before["configs"][0]["metrics"]["accuracy"]
    assert after["configs"][0]["metrics"]["clean"]["n"] == N_EXAMPLES

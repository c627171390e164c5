"""Experiments from the request to the last estimate, through a real stub endpoint."""

from __future__ import annotations

from benchmarks.stub_llm import RunningStub
from benchmarks.stub_tasks import accuracy_of, seeded_task
from tests.conftest import Caller
from tests.experiments.conftest import (
    by_name,
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    recounted,
    run_units,
)


def test_it_runs_every_config_to_the_exact_accuracy(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    models = ["stub-accuracy-0.60-a", "stub-accuracy-0.80-c"]
    experiment = make_experiment(alice, make_dataset(alice), [chat(connection, model) for model in models])
    run_units()
    view = live(alice, experiment["id"])
    assert view["experiment"]["state"] == "done"
    for model in models:
        found = by_name(view)[model]["metrics"]["accuracy"]
        assert (found["n"], found["N"], found["n_error"]) == (40, 40, 0)
        on_set = found["this_set"]
        assert found["value"] == on_set["lower"] == on_set["upper"] == accuracy_of(model, seeded_task(40, 1))
        assert (found["covers"], on_set["exact"], found["lower"] < found["value"]) == ("new data", True, True)
    assert recounted(alice, experiment["id"]) == []

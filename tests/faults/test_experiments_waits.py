"""kill -9 of the runners while outputs wait for their endpoint: nothing is lost, and nothing counts twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evalsvc.experiments.models import Output, WorkUnit
from tests.conftest import new_caller, wait_until
from tests.experiments.conftest import (
    by_name,
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
)
from tests.faults.experiment_tools import Crew, check_whole, kill_worker, running_crew, wait_for
from tests.judges.outages import Endpoint, running_endpoint

pytestmark = pytest.mark.slow

N = 120


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as running:
        yield running


@pytest.fixture
def crew(endpoint: Endpoint, servers: Any) -> Iterator[Crew]:
    """The processes that work experiments off; they end before the endpoint that they ask."""
    with running_crew(servers) as running:
        yield running


@pytest.mark.timeout(300)
def test_a_killed_runner_loses_no_output_that_waits(crew: Crew, endpoint: Endpoint) -> None:
    caller = new_caller(name="waits")
    connection = make_connection(
        caller, endpoint.base_url, price_input_per_million=1000.0, price_output_per_million=1000.0
    )
    configs = [chat(connection, "stub-accuracy-0.60-a@15", "only")]
    made = make_experiment(caller, make_dataset(caller, n=N), configs)
    units = WorkUnit.objects.using("system").filter(experiment_id=made["id"])
    outputs = Output.objects.using("system").filter(experiment_id=made["id"])
    wait_until(lambda: outputs.count() > 20, pause=0.02)
    endpoint.fail()
    wait_until(lambda: units.filter(waiting_since__isnull=False).exists(), pause=0.02)

    kill_worker(crew)
    n_asked = endpoint.n_asked
    wait_until(lambda: endpoint.n_asked > n_asked, seconds=60, pause=0.02)
    # Units that have waited are with a runner again, and the endpoint is still away.
    kill_worker(crew)
    endpoint.recover()

    assert wait_for(caller, made["id"], "done") == "done"
    check_whole(caller, made["id"], n_configs=1, n_examples=N)
    config = by_name(live(caller, made["id"]))["only"]
    assert (config["n_ok"], config["n_error"], config["waiting"]) == (N, 0, None)
    assert config["cost"] == pytest.approx(sum(output.cost or 0.0 for output in outputs))
    assert not units.filter(waiting_since__isnull=False).exists()

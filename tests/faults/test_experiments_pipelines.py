"""Pipelines through kills: every example once for every config, and a shared stage once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.models import StageOutput
from tests.conftest import new_caller, wait_until
from tests.experiments.conftest import chat, live, make_connection, make_dataset, make_experiment, recounted
from tests.faults.experiment_tools import (
    MICRO_BATCH,
    N_RUNNERS,
    N_SCHEDULERS,
    Crew,
    crew,
    kill_worker,
    n_lost_leases,
    positions,
    restart_postgres,
    restart_valkey,
    slow_stub,
    strike,
    wait_for,
)

pytestmark = pytest.mark.slow

__all__ = ["crew", "slow_stub"]

N_EXAMPLES = 60
SHARED, OWN = "stub-echo", "stub-accuracy-0.80-c"
N_CONFIGS = 3
N_SAMPLES = 3
UNRECORDED = N_SCHEDULERS * N_RUNNERS * MICRO_BATCH


def pipeline(connection: str, number: int) -> dict[str, Any]:
    """A stage that all configs share, and one of the config's own that reads it and is sampled."""
    shared = {"kind": "chat", "connection": connection, "model": SHARED, "prompt": "{{input}}", "temperature": 0}
    own = {**shared, "model": OWN, "temperature": 0.5, "system": f"{number} {{{{first.output}}}}"}
    return {"name": f"c{number}", "kind": "pipeline", "parameters": {"nodes": {"first": shared, "second": own}}}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", [kill_worker, restart_valkey, restart_postgres])
def test_a_pipeline_is_run_once_for_every_example(
    crew: Crew, slow_stub: RunningStub, fault: Callable[[Crew], None]
) -> None:
    caller = new_caller(name="faults")
    connection = make_connection(caller, slow_stub.base_url)
    dataset = make_dataset(caller, n=N_EXAMPLES)
    slow_stub.reset()
    made = make_experiment(caller, dataset, [pipeline(connection, number) for number in range(N_CONFIGS)])
    wait_until(lambda: slow_stub.calls()["total"] > N_EXAMPLES, pause=0.02)

    strike(crew, fault, caller, made["id"], n_configs=N_CONFIGS, n_examples=N_EXAMPLES)

    rows = StageOutput.objects.using("system").filter(experiment_id=made["id"])
    # None is left that somebody only meant to ask; sampled answers stand in outputs alone.
    assert (rows.count(), rows.filter(output__isnull=True).count()) == (N_EXAMPLES, 0)
    head = live(caller, made["id"])["experiment"]
    assert (head["n_queries"], head["n_saved"]) == (N_EXAMPLES * (1 + N_CONFIGS), N_EXAMPLES * (N_CONFIGS - 1))
    lost = max(UNRECORDED, MICRO_BATCH * n_lost_leases(made["id"])) if fault is not restart_valkey else 0
    calls = slow_stub.calls()["by_model"]
    assert N_EXAMPLES <= calls[SHARED] <= N_EXAMPLES + min(lost, N_SCHEDULERS * N_RUNNERS)
    assert N_EXAMPLES * N_CONFIGS <= calls[OWN] <= N_EXAMPLES * N_CONFIGS + lost


@pytest.mark.timeout(300)
def test_an_example_is_recorded_once_with_all_its_samples(crew: Crew, slow_stub: RunningStub) -> None:
    caller = new_caller(name="faults")
    config = chat(make_connection(caller, slow_stub.base_url), OWN, temperature=0.5)
    slow_stub.reset()
    made = make_experiment(caller, make_dataset(caller, n=N_EXAMPLES), [config], n_samples=N_SAMPLES)
    wait_until(lambda: slow_stub.calls()["total"] > N_EXAMPLES, pause=0.02)

    kill_worker(crew)

    assert wait_for(caller, made["id"], "done") == "done"
    assert recounted(caller, made["id"]) == []
    assert list(positions(made["id"]).values()) == [list(range(N_EXAMPLES))]
    assert live(caller, made["id"])["experiment"]["n_queries"] == N_EXAMPLES * N_SAMPLES
    lost = max(UNRECORDED, MICRO_BATCH * n_lost_leases(made["id"])) * N_SAMPLES
    assert N_EXAMPLES * N_SAMPLES <= slow_stub.calls()["total"] <= N_EXAMPLES * N_SAMPLES + lost

"""Experiments through kills, restarts and doubled messages: each example is asked, scored and counted once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.stub_llm import RunningStub
from tests.conftest import new_caller, wait_until
from tests.experiments.conftest import chat, make_connection, make_dataset, make_experiment
from tests.faults.experiment_tools import (
    MICRO_BATCH,
    MODELS,
    N_RUNNERS,
    N_SCHEDULERS,
    Crew,
    crew,
    kill_worker,
    n_lost_leases,
    restart_postgres,
    restart_valkey,
    slow_stub,
    strike,
)

pytestmark = pytest.mark.slow

__all__ = ["crew", "slow_stub"]

N_EXAMPLES = 120
N_QUERIES = N_EXAMPLES * len(MODELS)
# What a process that dies can have asked and not yet recorded: a unit in each runner.
UNRECORDED = N_RUNNERS * MICRO_BATCH


def nothing(crew: Crew) -> None:
    """The same without a fault: what the others are compared with."""


def kill_pool_child(crew: Crew) -> None:
    crew.pool_children()[0].kill()


def double_messages(crew: Crew) -> None:
    from evalsvc.experiments.tasks import plan, schedule_units

    for _ in range(10):
        schedule_units.apply_async(queue="experiments")
        plan.apply_async(queue="system")


FAULTS: dict[Callable[[Crew], None], int] = {
    nothing: 0,
    double_messages: 0,
    kill_pool_child: UNRECORDED,
    kill_worker: N_SCHEDULERS * UNRECORDED,
    restart_valkey: 0,
    # An answer that came while the database was away is kept and written when it is back.
    restart_postgres: N_SCHEDULERS * UNRECORDED,
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", FAULTS)
def test_it_asks_scores_and_counts_every_example_once(
    crew: Crew, slow_stub: RunningStub, fault: Callable[[Crew], None]
) -> None:
    caller = new_caller(name="faults")
    connection = make_connection(caller, slow_stub.base_url)
    dataset = make_dataset(caller, n=N_EXAMPLES)
    slow_stub.reset()
    experiment = make_experiment(caller, dataset, [chat(connection, model) for model in MODELS])
    wait_until(lambda: slow_stub.calls()["total"] > N_QUERIES // 4, pause=0.02)

    strike(crew, fault, caller, experiment["id"], n_configs=len(MODELS), n_examples=N_EXAMPLES)

    # Nothing is asked again but what the holder of a lost lease may have asked and not recorded.
    n_again = slow_stub.calls()["total"] - N_QUERIES
    assert 0 <= n_again <= max(FAULTS[fault], MICRO_BATCH * n_lost_leases(experiment["id"]))

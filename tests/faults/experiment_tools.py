"""Experiments on real workers, and what must be true of them however rough the way was."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import psutil
import pytest
from django.db import connections

from benchmarks.stub_llm import RunningStub, running_stub
from tests.conftest import Caller, forget_messages, start_worker, stop_group, wait_until
from tests.experiments.conftest import live, ok, recounted
from tests.faults.conftest import start_beat
from tests.preloaded import Child

N_RUNNERS, N_SCHEDULERS, MICRO_BATCH = 4, 2, 10
WORKER = {"EVALSVC_EXPERIMENT_UNIT_RUNNERS": str(N_RUNNERS), "EVALSVC_EXPERIMENT_LEASE_SECONDS": "2"}
MODELS = ("stub-accuracy-0.60-a", "stub-accuracy-0.70-b", "stub-accuracy-0.80-c", "stub-echo")


@dataclass
class Crew:
    """A worker for experiments and a beat; as under the supervisor, what ends is started again."""

    servers: Any
    worker: Child
    beat: Child
    stopping: threading.Event = field(default_factory=threading.Event)

    def supervise(self) -> None:
        while not self.stopping.wait(0.2):
            if self.worker.poll() is not None:
                self.worker = start_worker("experiments", "system")
            if self.beat.poll() is not None:
                self.beat = start_beat()

    def pool_children(self) -> list[psutil.Process]:
        """The processes that do the worker's work."""
        return wait_until(lambda: psutil.Process(self.worker.pid).children())


@contextmanager
def running_crew(servers: Any, environment: Mapping[str, str] = WORKER) -> Iterator[Crew]:
    forget_messages()
    with mock.patch.dict("os.environ", environment):
        crew = Crew(servers, start_worker("experiments", "system"), start_beat())
        supervisor = threading.Thread(target=crew.supervise)
        supervisor.start()
        try:
            yield crew
        finally:
            repair(servers)
            crew.stopping.set()
            supervisor.join()
            stop_group(crew.beat)
            stop_group(crew.worker)


@pytest.fixture(scope="module")
def slow_stub() -> Iterator[RunningStub]:
    """An LLM slow enough to be cut short."""
    with running_stub(latency_ms=15) as running:
        yield running


@pytest.fixture(scope="module")
def crew(slow_stub: RunningStub) -> Iterator[Crew]:
    """The processes that work experiments off; they end before the LLM that they ask."""
    from tests import services

    with running_crew(services.servers) as running:
        yield running


def strike(
    crew: Crew, fault: Callable[[Crew], None], caller: Caller, id: str, *, n_configs: int, n_examples: int
) -> None:
    """Let a fault happen, and see that the experiment is done and whole all the same."""
    fault(crew)
    repair(crew.servers)

    assert wait_for(caller, id, "done") == "done"
    check_whole(caller, id, n_configs=n_configs, n_examples=n_examples)


def repair(servers: Any) -> None:
    """Start the servers again that a test has killed."""
    for server in (servers.postgres, servers.valkey):
        if server.process is None:
            server.restart()
    connections.close_all()


def kill_worker(crew: Crew) -> None:
    stop_group(crew.worker)


def restart_valkey(crew: Crew) -> None:
    crew.servers.valkey.kill_hard()
    crew.servers.valkey.restart()


def restart_postgres(crew: Crew) -> None:
    crew.servers.postgres.kill_hard()
    time.sleep(0.5)
    crew.servers.postgres.restart()


def n_lost_leases(experiment_id: str) -> int:
    """How often a unit had to be given to a second worker: on a machine that stands still a living one loses it too."""
    from evalsvc.experiments.models import WorkUnit

    attempts = WorkUnit.objects.using("system").filter(experiment_id=experiment_id).values_list("attempt", flat=True)
    return sum(max(0, attempt - 1) for attempt in attempts)


def state_of(caller: Caller, id: str) -> str:
    return str(live(caller, id)["experiment"]["state"])


def wait_for(caller: Caller, id: str, *states: str, seconds: float = 120) -> str:
    """Wait until an experiment is in one of these states; the recount must agree whenever one looks."""
    wait_until(lambda: state_of(caller, id) in states, seconds=seconds, pause=0.1)
    return state_of(caller, id)


def positions(id: str) -> dict[int, list[int]]:
    """The positions that have an output, by config."""
    from evalsvc.experiments.models import Output

    found: dict[int, list[int]] = {}
    for config_id, pos in Output.objects.using("system").filter(experiment_id=id).values_list("config_id", "pos"):
        found.setdefault(config_id, []).append(pos)
    return {config_id: sorted(places) for config_id, places in found.items()}


def check_whole(caller: Caller, id: str, *, n_configs: int, n_examples: int) -> None:
    """Every example once for every config, every score once in the history, and books that agree."""
    assert ok(caller.get(f"/v1/experiments/{id}/recount")) == {"equal": True, "differences": []}
    assert sorted(positions(id).values()) == [list(range(n_examples))] * n_configs
    check_history(id)


def check_history(id: str) -> None:
    """One row of history for each output that the evaluator scored."""
    from evalsvc.evaluations.models import HistoryScore
    from evalsvc.experiments.models import Output, Score

    scores = Score.objects.using("system").filter(experiment_id=id, metric="accuracy", value__isnull=False)
    scored = set(scores.values_list("config_id", "pos"))
    outputs = Output.objects.using("system").filter(experiment_id=id).values_list("id", "config_id", "pos")
    told = HistoryScore.objects.using("system").filter(source="experiment", experiment_id=id)
    assert Counter(told.values_list("output_id", flat=True)) == Counter(
        output_id for output_id, *place in outputs if tuple(place) in scored
    )


def check_books(caller: Caller, id: str) -> None:
    assert recounted(caller, id) == []

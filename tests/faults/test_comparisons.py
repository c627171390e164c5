"""Comparisons through kills of worker, Valkey and PostgreSQL: each pair is judged once, and the books agree."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from tests.comparisons.shapes import answered, compare, shown
from tests.conftest import forget_messages, new_caller, start_worker, stop_group, wait_until
from tests.factories import make_connection
from tests.faults.conftest import start_beat
from tests.faults.experiment_tools import repair
from tests.preloaded import Child

pytestmark = pytest.mark.slow

N, CONFIGS = 20, {"a": 0, "b b": 0, "c c c": 0}
N_PAIRS = 3 * N
# What killed workers may have asked and not recorded: two orders of a batch for each thread.
UNRECORDED = 2 * 8 * 2


@dataclass
class Judges:
    """A worker for judges and a beat; what ends is started again."""

    servers: Any
    worker: Child
    beat: Child
    stopping: threading.Event = field(default_factory=threading.Event)

    def supervise(self) -> None:
        while not self.stopping.wait(0.2):
            if self.worker.poll() is not None:
                self.worker = start_judges()
            if self.beat.poll() is not None:
                self.beat = start_beat()


def start_judges() -> Child:
    return start_worker("judge", "system", pool="threads")


@contextmanager
def running_judges(servers: Any) -> Iterator[Judges]:
    forget_messages()
    with mock.patch.dict("os.environ", {"EVALSVC_WORK_LEASE_SECONDS": "2"}):
        judges = Judges(servers, start_judges(), start_beat())
        supervisor = threading.Thread(target=judges.supervise)
        supervisor.start()
        try:
            yield judges
        finally:
            repair(servers)
            judges.stopping.set()
            supervisor.join()
            stop_group(judges.beat)
            stop_group(judges.worker)


@pytest.fixture(scope="module")
def slow_stub() -> Iterator[RunningStub]:
    with running_stub(latency_ms=150) as running:
        yield running


@pytest.fixture(scope="module")
def judges(slow_stub: RunningStub) -> Iterator[Judges]:
    from tests import services

    with running_judges(services.servers) as running:
        yield running


def kill_worker(judges: Judges) -> None:
    stop_group(judges.worker)


def kill_valkey(judges: Judges) -> None:
    judges.servers.valkey.kill_hard()
    judges.servers.valkey.restart()


def kill_postgres(judges: Judges) -> None:
    judges.servers.postgres.kill_hard()
    time.sleep(0.5)
    judges.servers.postgres.restart()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("fault", [kill_worker, kill_valkey, kill_postgres])
def test_each_pair_is_judged_once(judges: Judges, slow_stub: RunningStub, fault: Callable[[Judges], None]) -> None:
    from evalsvc.comparisons.maintenance import recount_comparisons

    caller = new_caller(name="faults")
    made = answered(caller, n=N, right=CONFIGS)
    slow_stub.reset()
    connection = make_connection(caller, slow_stub.base_url, model="stub-judge-pass")
    judge = {"connection": connection, "criteria": f"The longer one. {uuid.uuid4().hex}"}
    comparison = compare(caller, made, judge)
    wait_until(lambda: shown(caller, comparison)["comparison"]["n_judged"] > 5, pause=0.05)

    fault(judges)
    repair(judges.servers)

    wait_until(lambda: shown(caller, comparison)["comparison"]["state"] == "finished", seconds=120, pause=0.2)
    head = shown(caller, comparison)["comparison"]
    assert (head["n"], head["n_judged"], head["n_errors"], head["n_open"]) == (N_PAIRS, N_PAIRS, 0, 0)
    assert 0 <= slow_stub.calls()["total"] - 2 * N_PAIRS <= UNRECORDED
    assert [finding for _, finding in recount_comparisons(caller.account.pk) if finding is not None] == []

"""Two accounts on the same workers: neither can shut the other out."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from tests import leftovers
from tests.conftest import Caller, wait_until
from tests.experiments.conftest import chat, make_connection, make_dataset, make_experiment, ok, run_units
from tests.faults.experiment_tools import MODELS, check_whole, positions, state_of

N_RUNNERS = 4
# Far longer than a test takes: no call of a hanging endpoint ends before the test does, however slow the machine.
TIMEOUT_SECONDS = 120


@pytest.fixture
def stub() -> Iterator[RunningStub]:
    with running_stub(latency_ms=10) as running:
        yield running


class Working:
    """A scheduler in the background. It ends with the endpoint, whose hanging calls it would wait for."""

    def __init__(self, stub: RunningStub) -> None:
        self.stub = stub

    def __enter__(self) -> Working:
        self.thread = threading.Thread(target=run_units, kwargs={"n_runners": N_RUNNERS, "idle_seconds": 0.5})
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        leftovers.end_work()
        os.kill(self.stub.pid, signal.SIGKILL)
        self.thread.join()


def n_outputs(experiment: Any) -> int:
    return sum(len(places) for places in positions(experiment["id"]).values())


def hanging(caller: Caller, stub: RunningStub, n_configs: int = N_RUNNERS) -> Any:
    connection = make_connection(caller, stub.base_url, timeout_seconds=TIMEOUT_SECONDS)
    configs = [chat(connection, "stub-hang", f"stuck {i}", temperature=i / 10) for i in range(n_configs)]
    return make_experiment(caller, make_dataset(caller, n=20), configs)


def healthy(caller: Caller, stub: RunningStub, models: tuple[str, ...] = ("stub-echo",), n: int = 60) -> Any:
    connection = make_connection(caller, stub.base_url)
    return make_experiment(caller, make_dataset(caller, n=n), [chat(connection, model) for model in models])


def test_two_accounts_take_turns(alice: Caller, charlie: Caller, stub: RunningStub) -> None:
    """Four configs against one: by accounts, not by configs, so both have had as many when the small one is through."""
    large = healthy(alice, stub, (*MODELS[:3], "stub-accuracy-0.90-f"))
    small = healthy(charlie, stub)
    with Working(stub):
        calls = wait_until(lambda: finished(stub, "stub-echo", 60), pause=0.02)
        # A call is counted as it arrives, and its output is recorded later.
        wait_until(lambda: n_outputs(small) == 60)
    assert sum(calls.values()) - 60 <= 2 * 60
    assert sum(calls.values()) - 60 >= 60 // 3
    assert n_outputs(large) >= 60 // 3
    assert n_outputs(small) == 60


def finished(stub: RunningStub, model: str, n: int) -> dict[str, int] | None:
    calls = stub.calls()["by_model"]
    return calls if calls.get(model, 0) >= n else None


def test_a_stuck_account_does_not_hold_up_the_other(alice: Caller, charlie: Caller, stub: RunningStub) -> None:
    """It came first and holds every runner; the other is through before a single one of those calls has ended."""
    stuck = hanging(alice, stub)
    with Working(stub):
        wait_until(lambda: stub.calls()["by_model"].get("stub-hang", 0) >= N_RUNNERS, pause=0.02)
        other = healthy(charlie, stub)
        wait_until(lambda: n_outputs(other) == 60, pause=0.05)
        n_hanging = stub.calls()["by_model"]["stub-hang"]
        assert n_outputs(stuck) == 0
        assert n_hanging == N_RUNNERS
        wait_until(lambda: state_of(charlie, other["id"]) == "done")
    check_whole(charlie, other["id"], n_configs=1, n_examples=60)


def test_a_stuck_newcomer_takes_no_more_than_its_share(alice: Caller, charlie: Caller, stub: RunningStub) -> None:
    working = healthy(charlie, stub, MODELS[:2], n=120)
    with Working(stub):
        wait_until(lambda: stub.calls()["total"] > 20, pause=0.02)
        stuck = hanging(alice, stub)
        wait_until(lambda: state_of(charlie, working["id"]) == "done", pause=0.05)
        n_hanging = stub.calls()["by_model"].get("stub-hang", 0)
        assert n_outputs(stuck) == 0
    assert n_hanging <= N_RUNNERS
    check_whole(charlie, working["id"], n_configs=2, n_examples=120)
    assert ok(alice.get(f"/v1/experiments/{stuck['id']}/recount"))["differences"] == []

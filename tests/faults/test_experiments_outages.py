"""Stalls of our own PostgreSQL and Valkey while outputs are made: units wait, and nothing is counted as a failure."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DataError, OperationalError
from redis.exceptions import TimeoutError as RedisTimeout

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.experiments.runner.units import pipelines, unit
from tests.conftest import Caller, wait_until
from tests.experiments.conftest import chat, live, make_connection, make_dataset, make_experiment, run_units, scheduling
from tests.faults.experiment_tools import MODELS, check_whole, state_of

N = 40


@pytest.fixture
def stub() -> Iterator[RunningStub]:
    with running_stub(latency_ms=5) as running:
        yield running


def made(caller: Caller, stub: RunningStub) -> Any:
    connection = make_connection(caller, stub.base_url)
    return make_experiment(caller, make_dataset(caller, n=N), [chat(connection, model) for model in MODELS[:2]])


def n_errors(caller: Caller, experiment: Any) -> int:
    return sum(config["n_error"] for config in live(caller, experiment["id"])["configs"])


@pytest.mark.parametrize("error", [OperationalError("server closed the connection"), RedisTimeout("no answer")])
def test_an_outage_leaves_the_unit_to_the_next_lease(
    alice: Caller, stub: RunningStub, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Each seventh query meets an outage; every output is there all the same, and is an answer."""
    experiment = made(alice, stub)
    ask, count = pipelines.produce, itertools.count(1)  # type: ignore[attr-defined]  # as it is patched

    def ask_or_break(*args: Any) -> Any:
        if next(count) % 7 == 0:
            raise error
        return ask(*args)

    monkeypatch.setattr(pipelines, "produce", ask_or_break)
    monkeypatch.setattr(unit, "OUTAGE_PAUSE_SECONDS", 0.01)
    run_units()
    assert state_of(alice, experiment["id"]) == "done"
    assert n_errors(alice, experiment) == 0
    check_whole(alice, experiment["id"], n_configs=2, n_examples=N)
    assert stub.calls()["total"] == 2 * N


def test_what_the_database_will_never_take_is_a_failure_of_the_example(
    alice: Caller, stub: RunningStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its unit would be leased for ever."""

    def refuse(*args: Any) -> Any:
        raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")

    experiment = made(alice, stub)
    monkeypatch.setattr(pipelines, "produce", refuse)
    run_units()
    assert n_errors(alice, experiment) > 0


@pytest.mark.timeout(300)
def test_a_valkey_that_hangs_fails_nothing(alice: Caller, stub: RunningStub, servers: Any) -> None:
    experiment = made(alice, stub)
    with scheduling():
        wait_until(lambda: stub.calls()["total"] > 10, pause=0.01)
        os.kill(servers.valkey.process.pid, signal.SIGSTOP)
        try:
            time.sleep(5)
        finally:
            os.kill(servers.valkey.process.pid, signal.SIGCONT)
        wait_until(lambda: state_of(alice, experiment["id"]) == "done", seconds=200)
    assert n_errors(alice, experiment) == 0
    check_whole(alice, experiment["id"], n_configs=2, n_examples=N)

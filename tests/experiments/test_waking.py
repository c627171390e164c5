"""Schedulers are woken by a push: what is started or stopped is seen without asking the database for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from redis.exceptions import ConnectionError as NoRedis

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments import notices
from evalsvc.experiments.models import WorkUnit
from evalsvc.experiments.notices import EPOCHS, WORK, NoticeListener
from evalsvc.experiments.runner.scheduling import scheduler as module
from tests.conftest import Caller, wait_until
from tests.experiments.conftest import (
    by_name,
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    scheduling,
)

# Far longer than a test takes: what happens sooner happens because of a push.
NEVER = 600.0


@pytest.fixture
def deaf_without_pushes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let schedulers look for work and for stops only when they are told to."""
    for name in ("LONGEST_WATCH_SECONDS", "SHORTEST_POLL_SECONDS", "LONGEST_POLL_SECONDS"):
        monkeypatch.setattr(module, name, NEVER)


@contextmanager
def listening() -> Iterator[None]:
    """A scheduler that waits for pushes, also for the one that lets it see that it shall end."""
    with scheduling():
        try:
            yield
        finally:
            module.shutting_down.set()
            notices.publish(WORK)


def is_done(caller: Caller, experiment: Any) -> bool:
    return bool(live(caller, experiment["id"])["experiment"]["state"] == "done")


@pytest.mark.usefixtures("deaf_without_pushes")
def test_a_start_a_clone_and_a_resume_wake_an_idle_scheduler(alice: Caller, stub: RunningStub) -> None:
    connection, dataset = make_connection(alice, stub.base_url), make_dataset(alice, n=20)
    with listening():
        experiment = make_experiment(alice, dataset, [chat(connection, "stub-echo", "one")], start=False)
        root = f"/v1/experiments/{experiment['id']}"
        ok(alice.post(f"{root}/start"))
        wait_until(lambda: is_done(alice, experiment))
        config = experiment["configs"][0]["id"]
        ok(alice.post(f"{root}/configs/{config}/clone", {"name": "two", "changes": {"temperature": 0.5}}))
        wait_until(lambda: by_name(live(alice, experiment["id"]))["two"]["watermark"] == 20)
        wait_until(lambda: is_done(alice, experiment))


@pytest.mark.usefixtures("deaf_without_pushes")
def test_a_stop_is_heard_and_a_resume_goes_on(alice: Caller, stub: RunningStub) -> None:
    models = ["stub-slow-100", "stub-echo@100"]
    configs = [chat(make_connection(alice, stub.base_url), model) for model in models]
    experiment = make_experiment(alice, make_dataset(alice, n=60), configs, start=False)
    root = f"/v1/experiments/{experiment['id']}"
    with listening():
        ok(alice.post(f"{root}/start"))
        wait_until(lambda: stub.calls()["by_model"].get(models[0], 0) > 3)
        ok(alice.post(f"{root}/configs/stop", {"config_ids": "all"}))
        leased = WorkUnit.objects.using("system").filter(experiment_id=experiment["id"], state="leased")
        wait_until(lambda: not leased.exists(), pause=0.002)
        n_asked = sum(stub.calls()["by_model"].get(model, 0) for model in models)
        assert n_asked < 60
        ok(alice.post(f"{root}/configs/resume", {"config_ids": "all"}))
        wait_until(lambda: is_done(alice, experiment))


def test_without_redis_schedulers_look_by_themselves(
    alice: Caller, stub: RunningStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> Any:
        raise NoRedis

    monkeypatch.setattr(notices, "get_shared_client", nobody)
    monkeypatch.setattr(notices, "_silent_until", 0.0)
    with scheduling():
        experiment = make_experiment(
            alice, make_dataset(alice, n=20), [chat(make_connection(alice, stub.base_url), "stub-echo@20")]
        )
        wait_until(lambda: is_done(alice, experiment))


def test_ears_hear_what_is_told_and_say_so_when_they_begin() -> None:
    ears = NoticeListener()
    try:
        assert ears.listen(0.01) == {WORK, EPOCHS}
        assert ears.is_connected
        notices.publish(EPOCHS)
        assert ears.listen(30) == {EPOCHS}
        assert ears.listen(0.01) == set()
    finally:
        ears.close()


def test_after_a_failure_nothing_is_told_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis may hang for seconds each time, and whoever tells has other work."""
    calls = []

    def hanging() -> Any:
        calls.append(WORK)
        raise NoRedis

    monkeypatch.setattr(notices, "get_shared_client", hanging)
    monkeypatch.setattr(notices, "_silent_until", 0.0)
    monkeypatch.setattr(notices, "SILENT_SECONDS", NEVER)
    for _ in range(50):
        notices.publish(WORK)
    assert len(calls) == 1

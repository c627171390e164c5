"""A seeded task with known accuracies, connections to a stub, and schedulers that run in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub, running_stub
from tests.conftest import Caller
from tests.factories import EXACT, chat, make_connection, make_dataset, make_experiment, ok  # noqa: F401  # for tests


@pytest.fixture(scope="session")
def stub() -> Iterator[RunningStub]:
    with running_stub() as running:
        yield running


def run_units(
    *, seconds: float = 60, n_runners: int = 4, idle_seconds: float = 0.4, lease_seconds: float = 60.0
) -> None:
    """Work in this process until there is nothing left to do; its leases outlast a machine that stands still."""
    from evalsvc.experiments.runner.scheduling.scheduler import Scheduler

    Scheduler(n_runners=n_runners, n_schedulers=1, lease_seconds=lease_seconds).run(
        seconds=seconds, idle_seconds=idle_seconds
    )


def finish(caller: Caller, id: str, *, seconds: float = 120) -> None:
    """Run units until an experiment is done: what is put off comes back later than one scheduler waits for more."""
    from evalsvc.experiments.models import WorkUnit

    deadline = time.monotonic() + seconds
    while live(caller, id)["experiment"]["state"] != "done":
        if time.monotonic() > deadline:
            units = WorkUnit.objects.using("system").filter(experiment_id=id).exclude(state="done")
            raise AssertionError(f"not done after {seconds} s; left: {list(units.values())}")
        run_units()


@contextmanager
def scheduling() -> Iterator[None]:
    """Work in this process beside what the test does."""
    from evalsvc.experiments.runner.scheduling import scheduler as module

    worker = module.Scheduler(n_runners=2, n_schedulers=1, lease_seconds=60.0)
    thread = threading.Thread(target=lambda: worker.run(seconds=3600, idle_seconds=3600))
    thread.start()
    try:
        yield
    finally:
        module.shutting_down.set()
        thread.join()
        module.shutting_down.clear()


def live(caller: Caller, id: str) -> Any:
    return ok(caller.get(f"/v1/experiments/{id}/live"))


def recounted(caller: Caller, id: str) -> Any:
    return ok(caller.get(f"/v1/experiments/{id}/recount"))["differences"]


def by_name(view: Any) -> dict[str, Any]:
    return {config["name"]: config for config in view["configs"]}


@pytest.fixture
def rag() -> Iterator[Any]:
    """A retriever and a reader that answer."""
    from tests.experiments.piping import Rag

    made = Rag()
    threading.Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()

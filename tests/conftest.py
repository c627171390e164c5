"""Alice and Bob share an account (Bob's key only reads); Charlie is the stranger in every test."""

from __future__ import annotations

import gc
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests import leftovers, services
from tests.caller import Caller
from tests.factories import new_account, new_caller  # noqa: F401  # for tests
from tests.preloaded import OURS, Child, Program, start_module

CHECKOUT = Path(__file__).resolve().parent.parent

SHORT, FULL = 25, 200


def pytest_configure(config: pytest.Config) -> None:
    """Draw few examples in each build, many in `make test-full`, and as many as `--examples` says."""
    n_examples = config.getoption("--examples") or (FULL if config.getoption("--full") else SHORT)
    # No example fails for being slow: the machine may stand still for seconds.
    hypothesis_settings.register_profile(
        "evalsvc", max_examples=n_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    hypothesis_settings.load_profile("evalsvc")


def pytest_collection() -> None:
    """Look for no garbage while tests are collected: nearly all that is made then stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep ten thousand collected tests from the garbage collector, which would walk through them all run long."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def alice() -> Caller:
    """Write access to her account."""
    return new_caller(name="alice")


@pytest.fixture
def bob(alice: Caller) -> Caller:
    """Read access to Alice's account."""
    return new_caller(alice.account, scope="read")


@pytest.fixture
def charlie() -> Caller:
    """A stranger with write access to an account of his own."""
    return new_caller(name="charlie")


@pytest.fixture
def servers() -> Any:
    """The throw-away PostgreSQL and Valkey of this run."""
    from tests import services

    return services.servers


def scores_of(caller: Caller, evaluator: str) -> list[tuple[str, float, int]]:
    """Read an account's history rows as the system role: (profile, score, source id), oldest first."""
    from evalsvc.evaluations.models import HistoryScore

    rows = HistoryScore.objects.using("system").filter(account_id=caller.account.pk, evaluator_id__startswith=evaluator)
    return list(rows.order_by("id").values_list("profile_name", "score", "source_id"))


def findings(*callers: Caller) -> dict[str, int]:
    """What `verify` finds wrong with the accounts of these callers, by check."""
    from evalsvc.evaluations.maintenance.sweep import verify

    checks = [check for caller in callers for check in verify(caller.account.pk)]
    return {what: finding.n for what, finding in checks if finding}


def wait_until(question: Callable[[], Any], *, seconds: float = 100, pause: float = 0.05) -> Any:
    """Ask until the answer is true; fail when it never is."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if answer := question():
            return answer
        time.sleep(pause)
    raise AssertionError(f"still not so after {seconds} s")


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Which of these processes still run; each may end at any moment."""

    def lives(process: psutil.Process) -> bool:
        try:
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return [process for process in processes if lives(process)]


def start_worker(*queues: str, pool: str = "prefork", concurrency: int = 2, program: Program = OURS) -> Child:
    """Start a real Celery worker in its own process group and wait until it takes work."""
    log = Path(os.environ["EVALSVC_HOME"]) / f"worker-{uuid.uuid4().hex[:8]}.log"
    name = f"{'-'.join(queues)}-{uuid.uuid4().hex[:6]}@tests"
    options = ["-A", "evalsvc.celery", "worker", "-Q", ",".join(queues), "-P", pool, "-c", str(concurrency), "-n", name]
    with log.open("wb") as out:
        worker = start_module(
            "celery", *options, "--without-mingle", "--without-gossip", "-l", "INFO", out=out, program=program
        )
    wait_until(lambda: b" ready." in log.read_bytes() or worker.poll() is not None)
    assert worker.poll() is None, log.read_text()
    return worker


def stop_group(process: Child, sig: int = signal.SIGKILL) -> None:
    """End a process and everything it started."""
    try:
        os.killpg(process.pid, sig)
    except ProcessLookupError:
        return
    process.wait(timeout=100)


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_wrong() -> Iterator[None]:
    """Fail the run when `verify` finds anything wrong with what all its tests have left."""
    yield
    if services.servers is not None:
        wrong = leftovers.wrong()
        assert not wrong, "\n".join(["verify finds what tests have left:", *wrong])


@pytest.fixture(scope="module", autouse=True)
def _ended_with_its_file() -> Iterator[None]:
    """Begin with an empty Redis, and end what the accounts that a file's tests share have under way."""
    if services.servers is not None:
        leftovers.forget_in_redis()
    with leftovers.cleaned():
        yield


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """End what the accounts that a test makes have under way: no runner, sweep or scheduler of another test meets it."""
    with leftovers.cleaned():
        yield


def forget_messages() -> None:
    """Forget what earlier tests have told workers: there was none to hear it."""
    from evalsvc.celery import app
    from evalsvc.evaluations.workers.computing import wakeups as computing
    from evalsvc.evaluations.workers.judging import wakeups as judging
    from evalsvc.experiments.queueing import SCHEDULERS_KEY
    from evalsvc.infra.redis import get_shared_client

    app.control.purge()
    get_shared_client().delete(computing.KEY, computing.CALLED_KEY, judging.KEY, SCHEDULERS_KEY)


@pytest.fixture(scope="module")
def worker() -> Iterator[Child]:
    """A real worker for the cpu and system queues, for a file all of whose tests ask for one."""
    forget_messages()
    process = start_worker("cpu", "system")
    yield process
    stop_group(process)


SLOW_FIRST = ("benchmarks", "faults", "contract", "cli", "scripts", "growth", "ops", "browser", "docs", "evaluators")
"""Folders whose tests take seconds each: begun last, all processes but one would wait at the end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switches of `make deploy-test` and `make test-full`."""
    parser.addoption("--deploy", action="store_true", help="run the tests that are marked deploy, and no others")
    parser.addoption("--examples", type=int, metavar="N", help="how many examples each property test draws")
    parser.addoption("--full", action="store_true", help="run slow tests and property tests, and no others")


def is_selected(item: pytest.Item, config: pytest.Config) -> bool:
    """Return whether a test belongs to this run. A slow test whose file is named on the command line does."""
    deploys = item.get_closest_marker("deploy") is not None
    if deploys or config.getoption("--deploy"):
        return deploys and config.getoption("--deploy")
    is_slow = item.get_closest_marker("slow") is not None
    if config.getoption("--full"):
        return is_slow or item.get_closest_marker("hypothesis") is not None
    return not is_slow or any(item.path.name in argument for argument in config.args)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with slow files, and refuse one with a worker that some of its tests do not ask for.

    The worker would work off what those leave waiting. Within each part the order stays random.
    """
    if others := [item for item in items if not is_selected(item, config)]:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if is_selected(item, config)]
    items.sort(key=lambda item: item.path.parent.name not in SLOW_FIRST)
    asking = [item for item in items if "worker" in fixtures_of(item)]
    paths = {item.path for item in asking}
    if others := [item.nodeid for item in items if item.path in paths and "worker" not in fixtures_of(item)]:
        raise pytest.UsageError(f"These tests share a file with a worker that they do not ask for: {others}")


def fixtures_of(item: pytest.Item) -> Sequence[str]:
    """Return the names of the fixtures that a test gets."""
    return getattr(item, "fixturenames", ())

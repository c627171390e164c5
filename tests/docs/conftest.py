"""The service as a reader of the documents has it: a real web server and real workers on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import connections
from django.utils import timezone

from evalsvc.evaluations.queueing import enqueue_lanes
from evalsvc.local.supervisor.demo.evaluation import write_demo_env
from evalsvc.monitors.progress import advance_monitors
from evalsvc.rules.worker import list_due_rules, run_rule
from tests.conftest import Caller, new_caller
from tests.experiments.conftest import scheduling
from tests.serving import serving


@dataclass(frozen=True)
class Reader:
    """Someone with a terminal, after `make up`: the address, a key, and a checkout with `.evalsvc/demo.env`."""

    url: str
    caller: Caller
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Return what the shell holds before anything is sourced: nothing of the service."""
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        return keep | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{keep['PATH']}"}

    def run(self, command: list[str], text: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a program over a text in the folder."""
        return subprocess.run(
            command, input=text, env=self.environment | extra, cwd=self.folder, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip


@pytest.fixture(scope="session")
def web() -> Iterator[str]:
    """The address of a real gunicorn. A file whose calls wait for a worker asks for `worker`, too."""
    with serving(Path(os.environ["EVALSVC_HOME"]) / "web-of-the-docs.log") as url:
        yield url


@pytest.fixture
def scheduler_running() -> Iterator[None]:
    """A scheduler of experiments, for metrics that are added to their outputs."""
    with scheduling():
        yield


@pytest.fixture
def rules_running() -> Iterator[None]:
    """A worker of rules."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.2):
            for account_id, id in list_due_rules():
                run_rule(account_id=account_id, rule_id=id, enqueue=enqueue_lanes)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture
def monitors_running() -> Iterator[None]:
    """The monitors, which read new scores meanwhile."""
    ended = threading.Event()

    def advance() -> None:
        while not ended.wait(0.5):
            advance_monitors(timezone.now())
        connections.close_all()

    thread = threading.Thread(target=advance)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.fixture
def reader(web: str, scheduler_running: None, rules_running: None, monitors_running: None) -> Iterator[Reader]:
    """A reader with an account as the first `make up` leaves it: nothing is in it."""
    caller = new_caller(name="reader")
    with tempfile.TemporaryDirectory(prefix="evalsvc-reader-") as name:
        folder = Path(name)
        write_demo_env(folder / ".evalsvc", web, {"EVALSVC_API_KEY": caller.key})
        yield Reader(web, caller, folder)

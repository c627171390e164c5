"""`make up` in a copy of the checkout, as a newcomer runs it, up to the first evaluation and a clean stop.

EVALSVC_E2E_VENV names an environment to reuse; without it the copy uses the one that runs the tests.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

import evalsvc
from evalsvc.local.embedded.home import read_env_file
from tests.conftest import alive

CHECKOUT = Path(evalsvc.__file__).parents[1]
PARTS = ("Makefile", "manage.py", "pyproject.toml", "scripts", "requirements", "evalsvc", "evaluators")
QUESTION = {
    "evaluators": [{"evaluator": "exact-match"}, {"evaluator": "toxicity"}],
    "evaluated_model_input": "What is the capital of France?",
    "evaluated_model_output": "Paris",
    "evaluated_model_gold_answer": "Paris",
}

OURS = ("gunicorn", "-Q cpu", "otlp over grpc", "evalsvc.preload")
SERVICES = ("/postgres -D", "valkey-server", *OURS)
"""Words in the command line of each service that stands on its own."""

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not shutil.which("make"), reason="needs make"),
]


def told(process: psutil.Process, question: Callable[[psutil.Process], Any]) -> Any:
    """What a process says of itself; None when it has just ended, as sessions of PostgreSQL do at any time."""
    try:
        return question(process)
    except psutil.NoSuchProcess:
        return None


@dataclass
class Installation:
    checkout: Path
    home: Path
    service: "Running | None" = None
    """What runs now, if anything does."""

    def start(self) -> "Running":
        """Start anew; what ran before has been stopped."""
        assert self.service is None
        self.service = self.make_up()
        return self.service.wait_ready()

    def stop(self) -> None:
        """Stop what runs as Ctrl-C does, and look whether anything of it is left."""
        service, self.service = self.service, None
        if service is not None:
            processes = service.processes()
            service.stop()
            assert "Stopped." in service.output
            assert alive(processes) == []

    def environment(self) -> dict[str, str]:
        # Of another make, for example `make test ARGS=...`, nothing may reach this one.
        foreign = ("DATABASE_", "REDIS", "CELERY", "ARGS", "MAKE", "MFLAGS")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        venv = os.environ.get("EVALSVC_E2E_VENV") or sys.prefix
        return {
            **ours,
            "EVALSVC_HOME": str(self.home),
            "EVALSVC_VENV": venv,
            "EVALSVC_PORT": "0",
            "EVALSVC_OTLP_GRPC_PORT": "0",
            "HOME": "",
        }

    def make_up(self) -> "Running":
        process = subprocess.Popen(
            ["make", "up"],
            cwd=self.checkout,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return Running(process, self)


@dataclass
class Running:
    process: subprocess.Popen[str]
    installation: Installation
    output: str = ""

    def wait_ready(self) -> "Running":
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line
            if line.startswith("Ready after"):
                return self
        raise AssertionError(self.output)

    @property
    def demo(self) -> dict[str, str]:
        return read_env_file(self.installation.checkout / ".evalsvc" / "demo.env")

    def supervisor(self) -> psutil.Process:
        return psutil.Process(json.loads((self.installation.home / "run" / "lock").read_text())["pid"])

    def processes(self) -> list[psutil.Process]:
        supervisor = self.supervisor()
        return [supervisor, *supervisor.children(recursive=True)]

    def child(self, word: str, seconds: float = 60) -> psutil.Process:
        """Return the process with this word in its command; it may be starting anew after another test's kill."""
        deadline = time.monotonic() + seconds
        while True:
            children = self.supervisor().children(recursive=True)
            found = [child for child in children if word in " ".join(told(child, psutil.Process.cmdline) or [])]
            if found:
                return found[0]
            assert time.monotonic() < deadline, f"there is no process with {word!r}"
            time.sleep(0.2)

    def evaluate(self) -> tuple[int, Any]:
        address = urlsplit(self.demo["EVALSVC_URL"])
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        with contextlib.closing(connection):
            headers = {"X-API-KEY": self.demo["EVALSVC_API_KEY"], "Content-Type": "application/json"}
            connection.request("POST", "/v1/evaluate", json.dumps(QUESTION), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def evaluates(self) -> bool:
        try:
            status, body = self.evaluate()
        except (OSError, http.client.HTTPException):
            return False
        return status == 200 and [result["status"] for result in body["results"]] == ["success", "success"]

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            self.output += self.process.communicate(timeout=200)[0]
        if self.process.stdout:
            self.process.stdout.close()


def eventually_evaluates(running: Running, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not running.evaluates():
        assert time.monotonic() < deadline, "the service did not recover"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    folder = Path(tempfile.mkdtemp(prefix="evalsvc end to end "))
    folder.chmod(0o755)
    checkout = folder / "check out"
    checkout.mkdir()
    for part in PARTS:
        source = CHECKOUT / part
        if source.is_dir():
            shutil.copytree(source, checkout / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, checkout / part)
    installed = Installation(checkout, folder / "home")
    yield installed
    try:
        installed.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def running(installation: Installation) -> Running:
    """The service as another test of this file has left it, or a new one."""
    return installation.service or installation.start()


def test_it_prints_all_that_a_newcomer_needs(running: Running) -> None:
    demo = running.demo
    for name in ("EVALSVC_URL", "EVALSVC_API_KEY", "EVALSVC_ADMIN_URL", "EVALSVC_ADMIN_USER", "EVALSVC_ADMIN_PASSWORD"):
        assert demo[name] in running.output
    assert demo["EVALSVC_API_KEY_B"] != demo["EVALSVC_API_KEY"]
    assert f"{demo['EVALSVC_URL']}/docs/" in running.output
    assert "interval" in running.output
    assert "Ctrl-C" in running.output
    assert stat.S_IMODE((running.installation.checkout / ".evalsvc" / "demo.env").stat().st_mode) == 0o600


def test_every_lane_answers(running: Running) -> None:
    eventually_evaluates(running)


def test_no_child_gets_the_owners_password(running: Running) -> None:
    secrets = read_env_file(running.installation.home / "secrets.env")
    # How many processes there are depends on the machine, and what is not ours may write over its environment.
    assert all(running.child(service).environ() for service in OURS)
    told_of = [told(process, psutil.Process.environ) for process in running.supervisor().children(recursive=True)]
    for found in filter(None, told_of):
        values = " ".join(found.values())
        assert secrets["DATABASE_OWNER_PASSWORD"] not in values
        assert secrets["POSTGRES_PASSWORD"] not in values


def test_a_second_one_names_the_first(running: Running) -> None:
    second = subprocess.run(
        ["make", "up"],
        cwd=running.installation.checkout,
        env=running.installation.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert second.returncode == 0
    assert f"already runs at {running.demo['EVALSVC_URL']}" in second.stdout


@pytest.mark.parametrize("victim", SERVICES)
def test_it_recovers_from_kill_9_of(running: Running, victim: str) -> None:
    eventually_evaluates(running)
    running.child(victim).kill()
    eventually_evaluates(running)


def test_ctrl_c_leaves_no_process_and_a_second_start_keeps_the_account(running: Running) -> None:
    key, processes = running.demo["EVALSVC_API_KEY"], running.processes()
    assert {running.child(service) for service in SERVICES} <= set(processes)
    running.installation.stop()
    assert alive(processes) == []
    assert running.installation.start().demo["EVALSVC_API_KEY"] == key


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the kernel's parent-death signal")
def test_kill_9_of_the_supervisor_leaves_no_process(running: Running) -> None:
    processes = running.processes()
    processes[0].kill()
    running.process.wait(200)
    assert psutil.wait_procs(processes, timeout=200)[1] == []
    running.stop()
    running.installation.service = None
    eventually_evaluates(running.installation.start())

"""`make up` in a copy of the checkout, as a newcomer runs it: for tests of what starts, and of what is left.

EVALSVC_E2E_VENV names an environment to reuse; without it the copy uses the one that runs the tests.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

import evalsvc
from benchmarks.stack import copy_template
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
    arguments: tuple[str, ...] = ()
    """Of make, beside `up`."""
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
        foreign = ("DATABASE_", "REDIS", "CELERY", "ARGS", "MAKE", "MFLAGS", "HTTPS", "EVALSVC_REQUIRE_HTTPS")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        venv = os.environ.get("EVALSVC_E2E_VENV") or sys.prefix
        return {
            **ours,
            "EVALSVC_HOME": str(self.home),
            "EVALSVC_VENV": venv,
            "EVALSVC_PORT": "0",
            "EVALSVC_HTTPS_PORT": "0",
            "EVALSVC_OTLP_GRPC_PORT": "0",
            "HOME": "",
        }

    def make_up(self) -> "Running":
        process = subprocess.Popen(
            ["make", "up", *self.arguments],
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

    def settled(self, words: Sequence[str], seconds: float = 60) -> list[psutil.Process]:
        """Return all processes once each of the named ones lives: one that lost its server may be starting anew."""
        deadline = time.monotonic() + seconds
        while True:
            named, processes = {self.child(word) for word in words}, self.processes()
            if named <= set(alive(processes)):
                return processes
            assert time.monotonic() < deadline, "processes keep ending"
            time.sleep(0.2)

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

    def evaluate(self, **more: str) -> tuple[int, Any]:
        """Evaluate once; again where the web process that took the connection was being ended by another test."""
        try:
            return self._evaluate(**more)
        except http.client.RemoteDisconnected:
            time.sleep(1)
            return self._evaluate(**more)

    def _evaluate(self, **more: str) -> tuple[int, Any]:
        return self.post("/v1/evaluate", QUESTION | more)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        address = urlsplit(self.demo["EVALSVC_URL"])
        connection = self._connection(address.hostname or "", address.port)
        with contextlib.closing(connection):
            headers = {"X-API-KEY": self.demo["EVALSVC_API_KEY"], "Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def _connection(self, host: str, port: int | None) -> http.client.HTTPConnection:
        authority = self.demo.get("EVALSVC_CA_FILE")
        if authority is None:
            return http.client.HTTPConnection(host, port, timeout=60)
        trusted = ssl.create_default_context(cafile=authority)
        return http.client.HTTPSConnection(host, port, timeout=60, context=trusted)

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


@contextlib.contextmanager
def installed(*arguments: str, is_new: bool = True) -> Iterator[Installation]:
    """Copy the checkout; what runs of it at the end is stopped, and looked through for remains.

    Unless it is new, its servers have been migrated where the test run has such servers.
    """
    folder = Path(tempfile.mkdtemp(prefix="evalsvc end to end "))
    folder.chmod(0o755)
    checkout = folder / "check out"
    checkout.mkdir()
    for part in PARTS:
        source = CHECKOUT / part
        if source.is_dir():
            # With bytecode, which each of a dozen processes would make at once, but for files that are being written.
            shutil.copytree(source, checkout / part, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy2(source, checkout / part)
    copy = Installation(checkout, folder / "home", arguments)
    if not is_new:
        copy.home.mkdir()
        copy_template(copy.home)
    try:
        yield copy
    finally:
        try:
            copy.stop()
        finally:
            shutil.rmtree(folder)

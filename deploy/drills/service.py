"""The product's roles, each a program of its own as on several hosts, and its commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from deploy.drills.servers import ADDRESS, DebianRedis, free_port
from evalsvc.local.embedded.urls import DatabaseUrls
from evalsvc.local.process import Command, kill_tree, spawn, stop_tree, tail
from evalsvc.local.supervisor.roster import WORKERS, answers

CHECKOUT = Path(__file__).resolve().parent.parent.parent
SECONDS_TO_START = 120
# One process for each, but for the lane that the load uses.
PROCESSES = {"cpu": 2, "experiments": 2, "judge": 8, "system": 1}
OF_THIS_SHELL = (
    "EVALSVC_",
    "DATABASE_",
    "DJANGO_",
    "PG",
    "REDIS_",
    "CELERY_",
    "PROMETHEUS_",
    "SECRET_",
    "KEY_",
    "ENCRYPTION_",
)


class CommandFailed(Exception):
    """A command of the product ended with an error; the message is what it printed."""


def environment(
    home: Path, urls: DatabaseUrls, secrets: Mapping[str, str], redis: DebianRedis | None = None, **more: str
) -> dict[str, str]:
    """Return the settings of a service. What this shell has of another one is not in it."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(OF_THIS_SHELL)}
    queues = {"REDIS_URL": redis.redis_url, "CELERY_BROKER_URL": redis.broker_url} if redis else {}
    return {
        **bare,
        **urls.environment(),
        **secrets,
        **queues,
        "EVALSVC_HOME": str(home),
        "EVALSVC_REQUIRE_HTTPS": "0",  # nothing leaves this machine
        "EVALSVC_OUTBOUND_ALLOW": "127.0.0.0/8",
        "EVALSVC_ACCESS_LOG": "0",
        "EVALSVC_DRAIN_SECONDS": "0",
        "EVALSVC_WEB_WORKERS": "2",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **more,
    }


def manage(env: Mapping[str, str], *arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run one of the product's commands to its end. Raises CommandFailed with what it printed."""
    command = [sys.executable, "manage.py", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=CHECKOUT, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if check and done.returncode != 0:
        raise CommandFailed(f"manage.py {arguments[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done


@dataclass
class Service:
    """Web, a worker for each queue, and the clock."""

    home: Path
    env: dict[str, str]
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{ADDRESS}:{self.port}"

    def start(self) -> None:
        """Start all of them, and wait until each takes work."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        web = ["-m", "gunicorn", "-c", "evalsvc/ops/gunicorn_conf.py", "evalsvc.wsgi:application"]
        self._start("web", *web, EVALSVC_HOST=ADDRESS, EVALSVC_PORT=str(self.port))
        celery = ["-m", "celery", "-A", "evalsvc.celery"]
        for queue, (pool, _) in WORKERS.items():
            options = ["-Q", queue, "-P", pool, "-c", str(PROCESSES[queue]), "-n", f"{queue}@{self.port}"]
            ready = self.home / f"{queue}.ready"
            self._start(queue, *celery, "worker", *options, "--without-mingle", EVALSVC_READY_FILE=str(ready))
        self._start("beat", *celery, "beat", "-s", str(self.home / "beat"), "--pidfile=")
        self._wait()

    def _start(self, name: str, *arguments: str, **more: str) -> None:
        command = Command([sys.executable, *arguments], self.env | more, cwd=CHECKOUT, death_signal=signal.SIGKILL)
        self.processes[name] = spawn(command, self.home / f"{name}.log")

    def _wait(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        ready = [self.home / f"{queue}.ready" for queue in WORKERS]
        while not (all(path.exists() for path in ready) and answers(ADDRESS, self.port)):
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise CommandFailed(f"{name} ended with {process.returncode}:\n{tail(self.home / f'{name}.log')}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the service was not ready within {SECONDS_TO_START} s; see {self.home}")
            time.sleep(0.1)

    def kill_hard(self) -> None:
        """SIGKILL all of it."""
        for process in self.processes.values():
            kill_tree(process)
        self.processes.clear()

    def stop(self) -> None:
        """Stop the clock, the web, then the workers."""
        for name in ("beat", "web", *WORKERS):
            if process := self.processes.pop(name, None):
                stop_tree(process, signal.SIGTERM, 40)

    def call(self, key: str, method: str, path: str, body: Any = None) -> httpx.Response:
        """Call the API."""
        headers = {"X-API-KEY": key}
        return httpx.request(method, self.url + path, json=body, headers=headers, timeout=60, trust_env=False)

    def answer(self, key: str, method: str, path: str, body: Any = None) -> Any:
        """Call the API; return what it answers. Raises CommandFailed where it refuses."""
        answer = self.call(key, method, path, body)
        if answer.is_error:
            raise CommandFailed(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

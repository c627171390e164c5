"""Machines of an installation: each with an address, folders and processes of its own, run as the page says."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from evalsvc.local.embedded.throwaway import throwaway
from evalsvc.local.process import Command, spawn
from tests.conftest import wait_until
from tests.deploy.upgrade.page import LEAVE, WEB, WORKER
from tests.deploy.upgrade.releases import Release

BEAT = [*WORKER[: WORKER.index("worker")], "beat"]
CLOCK = "clock"
STOP_SECONDS = 40.0
SETTINGS = {
    "EVALSVC_BEHIND_PROXY": "1",
    "EVALSVC_ALLOWED_HOSTS": "localhost,127.0.0.1",
    "EVALSVC_METRICS_KEY": "metrics-key-of-the-tests",
    "EVALSVC_LEASE_SECONDS": "3",
    "EVALSVC_WORK_LEASE_SECONDS": "10",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Of every process; all else is as it is shipped."""
FROM_HERE = ("PATH", "HOME", "LANG", "TMPDIR")


@contextlib.contextmanager
def servers() -> Iterator[dict[str, str]]:
    """Run PostgreSQL and Valkey for an installation; the environment of its processes is what it yields."""
    ours = {name: os.environ[name] for name in FROM_HERE if name in os.environ}
    with throwaway() as services:
        yield ours | SETTINGS | services.env


@dataclass
class Host:
    """A machine with a web server and some workers."""

    name: str
    address: str
    folder: Path
    env: Mapping[str, str]
    queues: Sequence[str]
    """Also `clock`: of all hosts one has it."""
    port: int = 8000
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    n_starts: int = 0

    @property
    def upstream(self) -> str:
        return f"{self.address}:{self.port}"

    def environment(self) -> dict[str, str]:
        """Return what every process and command of this machine is given."""
        return {
            **self.env,
            "EVALSVC_HOST": self.address,
            "EVALSVC_PORT": str(self.port),
            "EVALSVC_HOME": str(self.folder),
            "EVALSVC_DRAIN_FILE": str(self.folder / "draining"),
        }

    def replace(self, release: Release) -> None:
        """Go over to a release: workers, the clock, then web, as its traffic is taken by others meanwhile."""
        for queue in self.queues:
            self._replace_worker(queue, release)
        if "web" in self.running:
            self._leave(release)
        self._start_web(release)

    def _leave(self, release: Release) -> None:
        process = self.running["web"]
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", LEAVE], cwd=release.folder, check=True,
            env=self.environment() | {"WEB_PID": str(process.pid)},
        )  # fmt: skip
        _wait(process)

    def _start_web(self, release: Release) -> None:
        self.n_starts += 1
        figures = self.folder / f"figures-{self.n_starts}"
        figures.mkdir(parents=True)
        self.running["web"] = self._start(release, WEB, "web", {"PROMETHEUS_MULTIPROC_DIR": str(figures)})
        wait_until(lambda: self.is_ready() or self.running["web"].poll() is not None)
        assert self.running["web"].poll() is None, self.log("web")

    def _replace_worker(self, queue: str, release: Release) -> None:
        """Start the new worker first: both may work side by side. Clocks may not."""
        old = self.running.get(queue)
        if queue == CLOCK:
            if old:
                _stop(old)
            beat = [*BEAT, "-s", str(self.folder / "beat-schedule")]
            self.running[queue] = self._start(release, beat, queue)
            return
        self.n_starts += 1
        pool = ("-P", "threads") if queue == "judge" else ()
        name = f"{queue}-{self.n_starts}@{self.name}"
        ready = self.folder / f"ready-{name}"
        worker = [*WORKER[:-1], queue, "-n", name, "-c", "2", *pool]
        self.running[queue] = self._start(release, worker, queue, {"EVALSVC_READY_FILE": str(ready)})
        wait_until(lambda: ready.exists() or self.running[queue].poll() is not None)
        assert self.running[queue].poll() is None, self.log(queue)
        if old:
            _stop(old)

    def _start(
        self, release: Release, arguments: Sequence[str], log: str, more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        self.folder.mkdir(exist_ok=True)
        env = self.environment() | dict(more or {})
        command = Command([release.python, *arguments], env=env, cwd=release.folder, death_signal=signal.SIGTERM)
        return spawn(command, self.folder / f"{log}.log")

    def is_ready(self) -> bool:
        """Say whether its web server would be given requests by a proxy."""
        try:
            return bool(urlopen(f"http://{self.upstream}/readyz", timeout=5).status == 200)
        except OSError:
            return False

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """End all of its processes."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            _wait(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    _wait(process)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait for one that was told to stop; if it needs KILL it would have lost work."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise

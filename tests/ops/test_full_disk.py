"""`make up` on a small file system: full, with servers that crash, and with room again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.stack import copy_template
from evalsvc.local.embedded.home import read_env_file
from tests.conftest import wait_until
from tests.installation import Installation, Running, eventually_evaluates, installed, told

SIZE = "600m"
N_CRASHES = 7
"""One more than a part of the service may have within a minute."""
SERVERS = ("/postgres -D", "valkey-server")
APP = "full-disk"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs tmpfs"),
    pytest.mark.skipif(not shutil.which("make"), reason="needs make"),
]


@pytest.fixture
def running() -> Iterator[Running]:
    with installed() as copy, small_disk(copy.home):
        copy_template(copy.home)
        try:
            yield copy.start()
        finally:
            copy.stop()


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={SIZE},mode=711", "tmpfs", str(folder)]
    done = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(home: Path) -> None:
    """Take what room is left; the service may have freed some since the last time."""
    with (home / "filler").open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(65_536))


class Caller:
    """Evaluates, and remembers what was accepted and what was not."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.accepted: list[str] = []
        self.refused: list[dict[str, Any]] = []
        self.longest = 0.0

    def call(self) -> int:
        began = time.monotonic()
        status, body = self.running.evaluate(capture="all", app=APP)
        self.longest = max(self.longest, time.monotonic() - began)
        if status == 200:
            results = [result["evaluation_result"] for result in body["results"] if result["status"] == "success"]
            self.accepted += [result["id"] for result in results]
        else:
            assert status == 503, body
            assert body["code"] == "unavailable"
            self.refused.append(body)
        return int(status)


def crash_servers(running: Running, caller: Caller) -> None:
    """Kill each server as often as a part may crash, and once more, while the disk stays full and requests come in."""
    crashed: dict[str, set[int]] = {word: set() for word in SERVERS}

    def have_crashed() -> bool:
        for process in running.supervisor().children():
            command = " ".join(told(process, psutil.Process.cmdline) or [])
            for word in SERVERS:
                if word in command:
                    crashed[word].add(process.pid)
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
        return min(map(len, crashed.values())) >= N_CRASHES

    with ThreadPoolExecutor(1) as pool:
        stopping = threading.Event()
        calls = pool.submit(call_on_full_disk, running.installation.home, caller, stopping)
        try:
            wait_until(have_crashed, pause=0.01)
        finally:
            stopping.set()
        calls.result()


def call_on_full_disk(home: Path, caller: Caller, stopping: threading.Event) -> None:
    while not stopping.is_set():
        fill(home)
        caller.call()


def stored(running: Running) -> Counter[str]:
    status, body = running.post("/v1/evaluation-results/search", {"app": APP, "limit": 10_000})
    assert status == 200, body
    return Counter(result["id"] for result in body["results"])


def verify(installation: Installation) -> None:
    environment = installation.environment() | read_env_file(installation.home / "run" / "services.env")
    python = Path(environment["EVALSVC_VENV"]) / "bin" / "python"
    command = [str(python), "manage.py", "verify"]
    done = subprocess.run(
        command, cwd=installation.checkout, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_full_disk_is_an_outage_that_passes(running: Running, record_property: Callable[[str, object], None]) -> None:
    home = running.installation.home
    eventually_evaluates(running)
    assert (home / "ballast").stat().st_size == 64 * 1024 * 1024
    caller = Caller(running)
    for _ in range(10):
        assert caller.call() == 200
    service, web = running.child("evalsvc.preload"), running.child("gunicorn")

    fill(home)
    wait_until(lambda: not (home / "ballast").exists())
    crash_servers(running, caller)
    assert service.is_running()
    assert web.is_running()
    assert caller.refused
    assert {body["detail"] for body in caller.refused} <= {
        "The disk of the database is full.",
        "The disk of the service is full.",
        "Redis cannot write to its disk.",
    }

    os.unlink(home / "filler")
    began = time.monotonic()
    wait_until(running.evaluates)
    seconds = round(time.monotonic() - began, 1)
    record_property("seconds_to_serve", seconds)
    print(f"served {seconds} s after there was room; {len(caller.refused)} refused, longest {caller.longest:.1f} s")
    assert caller.call() == 200
    counts = stored(running)
    assert {counts[result] for result in caller.accepted} == {1}
    verify(running.installation)
    running.installation.stop()
    assert running.output.count(" is full.") == 1
    assert running.output.count(" has room again.") == 1

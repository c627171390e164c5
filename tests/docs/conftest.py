"""The service as a reader of the documents has it: a real web server and a real worker on this machine."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalsvc.ops.supervisor.demo import first_evaluation
from tests.conftest import CHECKOUT, Caller, new_caller, stop_group, wait_until


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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@pytest.fixture(scope="session")
def web(worker: Any) -> Iterator[str]:
    """The address of a real gunicorn, with a real worker behind it."""
    port = free_port()
    log = Path(os.environ["EVALSVC_HOME"]) / "web-of-the-docs.log"
    command = [sys.executable, "-m", "gunicorn", "--config", "evalsvc/ops/gunicorn_conf.py", "evalsvc.wsgi:application"]
    env = os.environ | {"EVALSVC_PORT": str(port), "EVALSVC_HOST": "127.0.0.1", "EVALSVC_WEB_WORKERS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=CHECKOUT, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        wait_until(lambda: answers(port) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        stop_group(process)


@pytest.fixture
def reader(web: str) -> Iterator[Reader]:
    """A reader whose account holds what the first `make up` captures."""
    caller = new_caller(name="reader")
    with tempfile.TemporaryDirectory(prefix="evalsvc-reader-") as name:
        folder = Path(name)
        (folder / ".evalsvc").mkdir()
        (folder / ".evalsvc" / "demo.env").write_text(f"EVALSVC_URL={web}\nEVALSVC_API_KEY={caller.key}\n")
        first_evaluation(web, caller.key)
        yield Reader(web, caller, folder)

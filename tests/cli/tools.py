"""The command line as people start it: a process, an address, a key."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import CHECKOUT, Caller

DATA = ("--data", "capitals.jsonl", "-e", "exact-match")
"""What is run in `folder`."""


def environment(web: str, caller: Caller, home: Path) -> dict[str, str]:
    """Return what a shell has that knows the service, and nothing of the tests'."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return kept | {"EVALSVC_URL": web, "EVALSVC_API_KEY": caller.key, "HOME": str(home)}


def start_command(*arguments: str, env: dict[str, str]) -> subprocess.Popen[str]:
    """Start `evalsvc` in a process of its own."""
    command = [sys.executable, "-m", "evalsvc.cli", *arguments]
    return subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_command(*arguments: str, env: dict[str, str], timeout: float = 240) -> subprocess.CompletedProcess[str]:
    """Run `evalsvc` to its end."""
    with start_command(*arguments, env=env) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def result_of(done: subprocess.CompletedProcess[str]) -> Any:
    """Return the one object that `--json` prints."""
    return json.loads(done.stdout)


class OldService:
    """The stand-in of `tests.cli.old_service`, which can be killed and started again at its address."""

    def __init__(self, port: int, *options: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "tests.cli.old_service", str(port), *options]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@contextlib.contextmanager
def old_service(*options: str) -> Iterator[OldService]:
    """Run the stand-in until the block ends."""
    with listen_on_free_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    service = OldService(port, *options)
    service.start()
    try:
        yield service
    finally:
        service.kill()

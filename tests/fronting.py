"""A real Caddy for tests, from the Caddyfile that is shipped, before an address of theirs."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from evalsvc.local.process import start
from evalsvc.local.supervisor.front.caddy import CaddyFront, find_caddy
from evalsvc.local.supervisor.front.caddyfile import CaddyPlan
from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import wait_until

NAMES = ("localhost", "127.0.0.1")


@contextlib.contextmanager
def fronting(folder: Path, web: str, otlp: str | None = None) -> Iterator[tuple[CaddyFront, psutil.Process]]:
    """Run Caddy before a server at host:port until the block ends."""
    program = find_caddy()
    assert program, "the development lock has it"
    with listen_on_free_port("127.0.0.1", 0) as listener:
        plan = lambda at, storage: CaddyPlan(at, NAMES, storage, web, otlp)  # noqa: E731
        front = CaddyFront(program, folder, listener, "127.0.0.1", plan)
        with (folder / "caddy.log").open("wb") as log:
            process = start(front.command(), stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: front.answers() or process.poll() is not None)
            assert process.poll() is None, (folder / "caddy.log").read_text()
            yield front, psutil.Process(process.pid)
        finally:
            process.kill()
            process.wait()

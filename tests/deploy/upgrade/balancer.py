"""The shipped Caddyfile before several hosts, with the lines that docs/deploy/upgrade.md adds to it."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsvc.local.process import start
from evalsvc.local.supervisor.front.caddy import CaddyFront, find_caddy
from evalsvc.local.supervisor.front.caddyfile import CaddyPlan
from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import wait_until
from tests.deploy.upgrade.page import PROXY

NAMES = ("localhost", "127.0.0.1")
AFTER = "request_buffers {args[0]}\n"


@dataclass(frozen=True)
class BalancingPlan(CaddyPlan):
    """The template, with several servers behind it."""

    lines: str = PROXY

    def text(self) -> str:
        text = super().text()
        assert text.count(AFTER) == 1, "the shipped Caddyfile has changed"
        return text.replace(AFTER, AFTER + self.lines)


@contextlib.contextmanager
def balancing(folder: Path, upstreams: Sequence[str], lines: str = PROXY) -> Iterator[CaddyFront]:
    """Run Caddy before several gunicorns until the block ends."""
    program = find_caddy()
    assert program, "the development lock has it"
    with listen_on_free_port("127.0.0.1", 0) as listener:

        def plan(at: str, storage: Path) -> CaddyPlan:
            return BalancingPlan(at, NAMES, storage, " ".join(upstreams), lines=lines)

        front = CaddyFront(program, folder, listener, "127.0.0.1", plan)
        folder.mkdir()
        with (folder / "caddy.log").open("wb") as log:
            process = start(front.command(), stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: front.answers() or process.poll() is not None)
            assert process.poll() is None, (folder / "caddy.log").read_text()
            yield front
        finally:
            process.terminate()
            process.wait()

"""Run a drill as an operator does, and read its summary."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import CHECKOUT
from tests.deploy.containers import install

PACKAGES = ("postgresql", "redis-server", "pgbouncer", "pgbackrest")


@dataclass(frozen=True)
class Ended:
    """What a drill has said."""

    code: int
    said: str
    summary: dict[str, Any]

    @property
    def lost(self) -> int:
        return sum(one["lost"] for one in self.summary["losses"].values())

    @property
    def wrong(self) -> list[str]:
        return [name for name, is_so in self.summary["checks"].items() if not is_so]

    def losses(self, what: str) -> int:
        return sum(one[what] for one in self.summary["losses"].values())


def run_drill(name: str, folder: Path, *options: str) -> Ended:
    """Install what it needs, run it to its end, and print what it says: the times are wanted."""
    install(*PACKAGES)
    told = folder / "summary.json"
    command = [sys.executable, "-m", f"deploy.drills.{name}", "--json", str(told), *options]
    done = subprocess.run(
        command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500, check=False
    )
    print(f"\n{done.stdout}", flush=True)
    assert told.exists(), done.stdout
    return Ended(done.returncode, done.stdout, json.loads(told.read_text()))

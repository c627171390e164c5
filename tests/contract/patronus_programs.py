"""Users' programs with the package `patronus`, each run in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import CHECKOUT, Caller

PROGRAMS = CHECKOUT / "tests" / "contract" / "programs"


def settings_of(web: str, caller: Caller) -> dict[str, str]:
    """Return what a user sets to come here, by the names in `patronus.yaml`."""
    return {
        "api_url": web,
        "otel_endpoint": web,
        "otel_exporter_otlp_protocol": "http/protobuf",
        "api_key": caller.key,
    }


def run(program: str, folder: Path, *arguments: str, environment: dict[str, str], python: str = sys.executable) -> str:
    """Run one of the programs, by the packages of that Python; return what it printed."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    ours = {f"PATRONUS_{name.upper()}": value for name, value in environment.items()}
    done = subprocess.run(
        [python, str(PROGRAMS / program), *arguments],
        env=keep | ours | {"NO_PROXY": "127.0.0.1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def evaluations(caller: Caller, **where: Any) -> list[dict[str, Any]]:
    """Return the caller's evaluations, those that are so."""
    filters = [{"field": name, "operation": "eq", "value": value} for name, value in where.items()]
    return list(caller.post("/v1/evaluations/search", {"filters": filters}).json()["evaluations"])

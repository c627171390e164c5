"""Old versions of the package `patronus`, each with what it needs in an environment of its own beside ours."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

from scripts import bootstrap
from tests.conftest import CHECKOUT

VERSIONS = ("0.1.5", "0.1.16")
"""The first with what people use, and the last whose only way to send spans is gRPC."""
LOCKS = CHECKOUT / "tests" / "contract" / "locks"


def python_with(version: str) -> str:
    """Return the Python of the environment with that version. It is made once, and anew when its lock changes."""
    folder = Path(sys.prefix) / "patronus"
    folder.mkdir(exist_ok=True)
    with (folder / f"{version}.making").open("w") as file:
        # Of test runs that begin at once, one makes it.
        fcntl.flock(file, fcntl.LOCK_EX)
        venv = folder / version
        if not bootstrap.check_venv(venv):
            bootstrap.run([sys.executable, "-m", "venv", str(venv)])
        bootstrap.install(venv, LOCKS / f"patronus-{version}.txt")
    return str(bootstrap.venv_python(venv))

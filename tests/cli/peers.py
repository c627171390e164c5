"""Packages of other products at their pinned versions, each in an environment of its own beside ours."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

from scripts import bootstrap

RECORDERS = Path(__file__).parent / "recorders"
PINS = {
    "langfuse": ("langfuse==5.0.4",),
    "phoenix": ("arize-phoenix-client==3.5.0", "arize-phoenix-evals==3.9.4", "pandas==3.1.1"),
}


def record(peer: str, folder: Path) -> None:
    """Write the files of a product with its own package. The environment is made once."""
    home = Path(sys.prefix) / "peers"
    home.mkdir(exist_ok=True)
    pins = "\n".join(PINS[peer])
    with (home / f"{peer}.making").open("a+") as lock:
        # Of test runs that begin at once, one makes it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        venv, made = home / peer, home / f"{peer}.made"
        if not made.exists() or made.read_text() != pins:
            bootstrap.run([sys.executable, "-m", "venv", "--clear", str(venv)])
            bootstrap.run([str(bootstrap.venv_python(venv)), "-m", "pip", "install", "--quiet", *PINS[peer]])
            made.write_text(pins)
    program = RECORDERS / f"record_{peer}.py"
    subprocess.run([str(bootstrap.venv_python(venv)), str(program), str(folder)], check=True, timeout=600)

"""Programs of Prometheus for tests: those of the machine, or Debian's, unpacked and not installed."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

MONITORING = CHECKOUT / "deploy" / "monitoring"
PACKAGES = {"prometheus": "prometheus", "promtool": "prometheus", "amtool": "prometheus-alertmanager"}


def program(name: str) -> str:
    """Return where a program lies; skip the test where it cannot be had, and say why."""
    found = shutil.which(name) or _unpacked(PACKAGES[name]).get(name)
    if not found:
        pytest.skip(f"{name} is not there, and apt-get has not given it")
    return found


@functools.cache
def _unpacked(package: str) -> dict[str, str]:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return {}
    folder = Path(tempfile.mkdtemp(prefix="evalsvc-tools-"))
    command = ["apt-get", "-qq", "download", package]
    # Lists of packages may be old, or not there at all.
    for first in ([], [["apt-get", "-qq", "update"]]):
        for one in [*first, command]:
            subprocess.run(one, cwd=folder, capture_output=True, timeout=240, check=False)
        for archive in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], capture_output=True, timeout=120, check=True)
            return {path.name: str(path) for path in (folder / "usr/bin").iterdir()}
    return {}


def run(name: str, *args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        [program(name), *map(str, args)], capture_output=True, text=True, timeout=120, cwd=cwd, check=False
    )

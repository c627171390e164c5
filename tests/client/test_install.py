"""`pip install .` brings the client, httpx and click, and no server."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

LOOK = """
import importlib.util, sys
import evalsvc.client
missing = [name for name in ("django", "rest_framework", "celery", "numpy", "psycopg") if importlib.util.find_spec(name)]
assert not missing, missing
print(evalsvc.client.__file__)
with evalsvc.client.Client("http://localhost", "ek_a.b") as client:
    print(type(client).__name__)
"""
# Stands for an installation without the server where no index can be reached: whatever is imported but the client's
# own dependency fails.
BLOCKED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"django", "rest_framework", "celery", "numpy", "scipy", "pandas", "psycopg", "redis"}:
            raise ImportError(f"{name} is not there")
sys.meta_path.insert(0, Refuse())
import evalsvc.client
others = {name.split(".")[1] for name in sys.modules if name.startswith("evalsvc.")}
assert others == {"client", "digits", "thoughts"}, others  # the last two know numbers and texts only
"""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=540, cwd=CHECKOUT.parent, check=False
    )


def test_it_depends_on_httpx_and_click_alone() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]

    assert [one.split(">")[0] for one in project["dependencies"]] == ["click", "httpx"]


def test_it_imports_nothing_of_the_server() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=60, cwd=CHECKOUT, check=False
    )

    assert done.returncode == 0, done.stderr


# It builds a wheel and fetches what that needs: minutes where machine and line are busy.
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_installs_alone(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for package in ("evalsvc", "evaluators"):
        shutil.copytree(CHECKOUT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / file, source)
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    # A connection to the index that stalls is given up soon and made anew.
    patience = ("--timeout", "10", "--retries", "5")
    done = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *patience, source)
    if done.returncode != 0 and "No matching distribution found" in done.stderr:
        pytest.skip("no package index can be reached")

    assert done.returncode == 0, done.stderr
    look = run(python, "-c", LOOK)
    assert look.returncode == 0, look.stderr
    assert look.stdout.splitlines()[0].startswith(str(tmp_path))
    assert look.stdout.splitlines()[1] == "Client"

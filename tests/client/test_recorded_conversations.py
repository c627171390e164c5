"""Recorded conversations through the client: the program of docs/datasets.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import CHECKOUT, Caller
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "datasets.md"


def test_the_program_of_the_page_runs(web: str, alice: Caller, tmp_path: Path) -> None:
    program = "\n".join(block.text for block in blocks(PAGE) if block.language == "python")
    env = os.environ | {"EVALSVC_BASE_URL": web, "EVALSVC_API_KEY": alice.key, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["2 added, 1 open; version 1 has 2 examples", "a1 0.0", "a2 1.0"]

"""docs/client.md does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import evalsvc.client
from tests.conftest import CHECKOUT, Caller
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "client.md"


def test_its_python_runs_from_top_to_bottom(web: str, scheduler_running: None, alice: Caller, tmp_path: Path) -> None:
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
    assert "capitals: 3 of 3, 0 failed, exact-match 0.67 [" in done.stdout


def test_it_names_every_error() -> None:
    text = PAGE.read_text(encoding="utf-8")
    errors = [name for name in evalsvc.client.__all__ if name.endswith("Error")]

    assert [name for name in errors if name not in text] == []

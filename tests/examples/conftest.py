"""An example as a reader has it: a copy of its folder, an address and a key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.caller import Caller
from tests.conftest import CHECKOUT
from tests.docs.conftest import web
from tests.experiments.conftest import scheduling

__all__ = ["web"]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def example(web: str, alice: Caller, tmp_path: Path) -> Iterator[Callable[[str], Run]]:
    """Copy an example; what it returns runs a program in the copy."""
    known = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = known | {"HOME": str(tmp_path), "PYTHONPATH": str(CHECKOUT), "EVALSVC_URL": web, "EVALSVC_API_KEY": alice.key}

    def copy(name: str) -> Run:
        folder = tmp_path / name
        shutil.copytree(CHECKOUT / "examples" / name, folder, ignore=shutil.ignore_patterns("__pycache__"))

        def run(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, *arguments]
            return subprocess.run(
                command, cwd=folder, env=env, input=text, capture_output=True, text=True, timeout=120, check=False
            )

        return run

    with scheduling():
        yield copy

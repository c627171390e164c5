"""docs/from-another-framework.md: its blocks run, with the packages of the frameworks where tests are slow."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.caller import Caller
from tests.cli.peers import PINS, python_with
from tests.conftest import CHECKOUT
from tests.docs.framework_uses import USES
from tests.docs.pages import blocks
from tests.serving import serving

QUIET = {
    "OPENAI_API_KEY": "none", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "RAGAS_DO_NOT_TRACK": "true",
    "OPIK_TRACK_DISABLE": "true", "LANGSMITH_TRACING": "false", "MLFLOW_DISABLE_TELEMETRY": "true",
    "HAYSTACK_TELEMETRY_ENABLED": "false", "PYTHONPATH": str(CHECKOUT),
}  # fmt: skip
SHARED, *BLOCKS = [block.text for block in blocks(CHECKOUT / "docs" / "from-another-framework.md")]
PROGRAMS = dict(zip(USES, BLOCKS, strict=True))
WITHOUT_PACKAGE = ("langsmith", "promptfoo")
"""What these take is a plain function."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(Path(os.environ["EVALSVC_HOME"]) / "framework-page.log") as url:
        yield url


def run_block(python: str, name: str, address: str, caller: Caller, folder: Path) -> list[str]:
    (folder / "judging.py").write_text(SHARED)
    (folder / "use.py").write_text(PROGRAMS[name] + USES[name])
    env = os.environ | QUIET | {"EVALSVC_URL": address, "EVALSVC_API_KEY": caller.key}
    done = subprocess.run(
        [python, "use.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-2:]


@pytest.mark.parametrize("name", USES)
def test_each_block_is_a_program_that_calls_the_shared_lines(name: str) -> None:
    tree = ast.parse(PROGRAMS[name])
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "judge" in calls
    assert len([line for line in PROGRAMS[name].splitlines() if line]) <= 11


@pytest.mark.parametrize("name", WITHOUT_PACKAGE)
def test_a_block_without_a_package_runs(name: str, address: str, alice: Caller, tmp_path: Path) -> None:
    assert run_block(sys.executable, name, address, alice, tmp_path) == ["1.0", "0.0"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in USES if name in PINS])
def test_each_block_runs_in_its_framework(name: str, address: str, alice: Caller, tmp_path: Path) -> None:
    assert run_block(python_with(name), name, address, alice, tmp_path) == ["1.0", "0.0"]

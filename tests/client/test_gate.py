"""docs/gate.md: its programs decide as the page says, run as a build server would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Caller
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "gate.md"
VERSUS, LIMIT = (block.text for block in blocks(PAGE) if block.language == "bash")
(WORKFLOW,) = (block.text for block in blocks(PAGE) if block.language == "yaml")
PRELUDE = f'set -eu\nevalsvc() {{ "{sys.executable}" -m evalsvc.cli "$@"; }}\n'
APP = """
def answer(question):
    number = int(question.split()[0])
    if {broken}:
        raise RuntimeError("no answer")
    return str(number) if {right} else "no idea"
"""


def run_gate(program: str, folder: Path, web: str, caller: Caller, n: int, **apps: tuple[str, str]) -> tuple[int, str]:
    """Run a program of the page over n examples; `apps` maps modules to when they are right, and when they break."""
    rows = ({"question": f"{i} is which number?", "answer": str(i)} for i in range(n))
    (folder / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name, (right, broken) in apps.items():
        (folder / f"{name}.py").write_text(APP.format(right=right, broken=broken), encoding="utf-8")
    env = os.environ | {"EVALSVC_URL": web, "EVALSVC_API_KEY": caller.key, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        ["bash", "-c", PRELUDE + program], env=env, cwd=folder, capture_output=True, text=True, timeout=250, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("n", "right", "broken", "status", "word"),
    [
        (60, "number % 30", "False", 0, "Pass."),
        (60, "number % 8", "False", 2, "Undecided."),
        # Half of them break, which counts as wrong.
        (60, "number % 30", "number % 2 == 0", 1, "Fail."),
    ],
)
def test_a_limit_passes_fails_or_stays_open(
    web: str, alice: Caller, tmp_path: Path, n: int, right: str, broken: str, status: int, word: str
) -> None:
    found, said = run_gate(LIMIT, tmp_path, web, alice, n, app=(right, broken))

    assert (found, word in said) == (status, True), said


@pytest.mark.parametrize(
    ("right", "status", "word"),
    [
        ("number % 10", 0, "Pass."),  # equal answers everywhere
        ("number % 10 not in (0, 3, 4, 5)", 1, "Fail."),
    ],
)
def test_a_candidate_is_compared_pair_by_pair(
    web: str, alice: Caller, tmp_path: Path, right: str, status: int, word: str
) -> None:
    apps = {"app": (right, "False"), "app_released": ("number % 10", "False")}
    found, said = run_gate(VERSUS, tmp_path, web, alice, 100, **apps)

    assert (found, word in said) == (status, True), said
    assert word.rstrip(".") in (tmp_path / "gate.md").read_text(encoding="utf-8").splitlines()[0]
    assert len(ET.parse(tmp_path / "gate.xml").findall(".//failure")) == status


def test_the_workflow_runs_what_the_page_runs() -> None:
    """Its steps are the programs above, under a name of their own."""
    yaml: Any = pytest.importorskip("yaml")
    steps = yaml.safe_load(WORKFLOW)["jobs"]["gate"]["steps"]
    commands = [step["run"].split() for step in steps if step.get("run", "").startswith("evalsvc")]

    assert [command[1] for command in commands] == ["run", "gate"]
    for command, program in zip(commands, VERSUS.replace("\\\n", " ").strip().splitlines(), strict=True):
        shared = [word for word in program.split() if word.startswith("--")]
        assert set(shared) - {"--quiet"} <= set(command)

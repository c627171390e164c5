"""docs/gate.md: its programs decide as the page says, run as a build server would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT, Caller
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "gate.md"
LIMIT, VERSUS = (block.text for block in blocks(PAGE) if block.language == "python")
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
    (folder / "gate.py").write_text(program, encoding="utf-8")
    env = os.environ | {"EVALSVC_BASE_URL": web, "EVALSVC_API_KEY": caller.key, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "gate.py"], env=env, cwd=folder, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("n", "right", "broken", "status", "word"),
    [
        (60, "number % 30", "False", 0, "PASS"),
        (60, "number % 2", "False", 1, "FAIL: at most"),
        (60, "number % 8", "False", 2, "UNDECIDED"),
        (3, "True", "False", 2, "UNDECIDED"),  # three of three prove nothing
        (60, "True", "number == 7", 1, "FAIL: 1 of 60 examples have no score"),
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
        ("number % 10", 0, "PASS"),  # equal answers everywhere
        ("number % 10 not in (0, 3, 4, 5)", 1, "FAIL: worse by more than"),
        ("number % 10 and number % 25", 2, "UNDECIDED"),
    ],
)
def test_a_candidate_is_compared_pair_by_pair(
    web: str, alice: Caller, tmp_path: Path, right: str, status: int, word: str
) -> None:
    apps = {"app": (right, "False"), "app_released": ("number % 10", "False")}
    found, said = run_gate(VERSUS, tmp_path, web, alice, 100, **apps)
    assert (found, word in said) == (status, True), said

"""The lines for CI on a gate's page, run as they stand there: they decide about what was just run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.tools import environment
from tests.conftest import CHECKOUT, Caller
from tests.console.conftest import Visitor
from tests.console.shown import copied
from tests.factories import ok
from tests.gates.shapes import against, answers, ask, finished

RIGHT = "def answer(question):\n    return question.replace('question', 'answer')\n"
WRONG = "def answer(question):\n    return 'no'\n"
COMMAND = 'evalsvc() { "$PYTHON" -m evalsvc.cli "$@"; }'
LIMIT = {"metric": "accuracy", "at_least": 0.8}
NOT_WORSE = {"metric": "accuracy", "not_worse_by": 0.2}


def build(text: str, app: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the page's "Run" and "evalsvc" lines in one shell, with this app."""
    (folder / "app.py").write_text(app)
    lines = "\n".join([COMMAND, *(copied(text, label) for label in ("Run", "evalsvc"))])
    return subprocess.run(
        ["bash", "-c", lines], cwd=folder, env=env | {"PYTHONPATH": str(CHECKOUT), "PYTHON": sys.executable},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["prompts", "PR: prompt A", "2026"])
@pytest.mark.parametrize("rule", [LIMIT, NOT_WORSE], ids=["limit", "not worse"])
def test_what_is_wrong_on_every_example_fails(
    web: str, alice: Caller, reader: Visitor, tmp_path: Path, name: str, rule: dict[str, Any]
) -> None:
    made = finished(alice, 40, answers(set()), answers(set()))
    ok(alice.patch(f"/v1/experiments/{made['id']}", {"name": name}))
    sides = against(made) if rule is NOT_WORSE else {"candidate": against(made)["candidate"]}
    gate = ask(alice, sides, rule)
    assert gate["outcome"] == "pass"
    text, env = reader.text(f"gates/{gate['id']}"), environment(web, alice, tmp_path)

    wrong, right = (build(text, app, tmp_path, env) for app in (WRONG, RIGHT))
    assert (wrong.returncode, wrong.stdout.count("Fail")) == (1, 1), wrong.stdout + wrong.stderr
    assert right.returncode == 0, right.stdout + right.stderr


def test_the_run_is_over_the_examples_of_the_gate(web: str, alice: Caller, reader: Visitor, tmp_path: Path) -> None:
    made = finished(alice, 60, answers(set()), answers(set()), limit=40, seed=7)
    gate = ask(alice, {"candidate": against(made)["candidate"]}, LIMIT)

    done = build(reader.text(f"gates/{gate['id']}"), RIGHT, tmp_path, environment(web, alice, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from 40 examples" in done.stdout

"""Every example does what its page says."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.conftest import CHECKOUT
from tests.docs.pages import blocks

EXAMPLES = CHECKOUT / "examples"
FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
SHELL = 'import subprocess, sys; sys.exit(subprocess.run(["bash", "-euc", sys.stdin.read()]).returncode)'
COMMANDS = 'evalsvc() { "{python}" -m evalsvc.cli "$@"; }\npytest() { "{python}" -m pytest -p evalsvc.cli.deciding.plugin "$@"; }\n'

Example = Callable[[str], Any]


def out_of(done: Any) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def shell(example: Any, text: str) -> Any:
    """Run shell lines of a page with the command of this checkout."""
    return example("-c", SHELL, text=COMMANDS.replace("{python}", sys.executable) + text)


def test_every_folder_is_on_the_page() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert sorted(["evaluate-dataset", "haystack-rag", "nightly-gate", "tonic-benchmark", "two-prompts"]) == FOLDERS
    assert [name for name in FOLDERS if f"]({name}/README.md)" not in page] == []


@pytest.mark.skipif(importlib.util.find_spec("haystack") is None, reason="Haystack is not installed")
def test_haystack_names_the_broken_component(example: Example) -> None:
    told = out_of(example("haystack-rag")("evaluate.py"))

    (shown,) = [block.text for block in blocks(EXAMPLES / "haystack-rag" / "README.md") if block.language == "text"]
    assert told == shown


def test_two_prompts_are_compared(example: Example) -> None:
    told = out_of(example("two-prompts")("compare.py"))

    (shown,) = [block.text for block in blocks(EXAMPLES / "two-prompts" / "README.md") if block.language == "text"]
    assert told.startswith(shown)
    assert len(told.splitlines()) == 5


def test_the_notebook_of_the_sweep_runs(example: Example) -> None:
    notebook = json.loads((EXAMPLES / "tonic-benchmark" / "sweep.ipynb").read_text(encoding="utf-8"))
    program = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")

    told = out_of(example("tonic-benchmark")("-c", program))

    assert [line.split()[0] for line in told.splitlines()] == ["1", "2", "3", "5"]
    assert told.splitlines()[-1].endswith("n = 10")
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])


def test_the_benchmark_runs_from_the_command_line(example: Example) -> None:
    page = EXAMPLES / "tonic-benchmark" / "README.md"
    (command,) = [block.text for block in blocks(page) if block.text.startswith("evalsvc")]

    told = out_of(shell(example("tonic-benchmark"), command))

    assert "rag:answer_with_three: 10 of 10 (completed)" in told


def test_the_nightly_gate_passes_as_a_build_server_runs_it(example: Example) -> None:
    workflow = yaml.safe_load((EXAMPLES / "nightly-gate" / ".github" / "workflows" / "quality.yml").read_text())
    steps = {step["name"]: step["run"] for step in workflow["jobs"]["gate"]["steps"] if "name" in step}
    (typed, tested) = [block.text for block in blocks(EXAMPLES / "nightly-gate" / "README.md")]
    assert " ".join(typed.split()) == " ".join(f"{steps['run']} {steps['gate']}".split())

    done = shell(example("nightly-gate"), f"{steps['run']}\n{steps['gate']}\nhead -1 gate.md\n{tested}")

    told = out_of(done)
    assert "\nPass" in told
    assert "## ✅ Pass" in told
    assert "1 passed" in told


def test_the_steps_of_the_intelligence_layer(example: Example) -> None:
    told = out_of(example("evaluate-dataset")("steps.py"))

    words = [line.split()[0] for line in told.splitlines()]
    assert list(dict.fromkeys(words)) == ["dataset", "run", "evaluate", "aggregate", "compare", "amend"]
    assert "amend 1 both: completed, accuracy 1.00 [" in told

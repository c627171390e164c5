"""docs/command-line.md does what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalsvc.cli.main import command_line
from tests.caller import Caller
from tests.docs.pages import CHECKOUT, blocks, differences

pytestmark = pytest.mark.slow

PAGE = CHECKOUT / "docs" / "command-line.md"


def test_its_commands_answer_as_shown(web: str, judging: None, alice: Caller, tmp_path: Path) -> None:
    """The command is the one of this checkout; the first block installs it and logs in, which the environment does here."""
    found = blocks(PAGE)[1:]
    program = f'set -eu\nevalsvc() {{ "{sys.executable}" -m evalsvc.cli "$@"; printf "\\036"; }}\n'
    program += "".join(block.text for block in found if block.language == "sh")
    env = os.environ | {"EVALSVC_URL": web, "EVALSVC_API_KEY": alice.key, "PYTHONPATH": str(CHECKOUT)}

    done = subprocess.run(
        ["bash", "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240, check=False
    )

    assert done.returncode == 0, done.stderr
    shown = [json.loads(block.text) for block in found if block.language == "json"]
    answers = [json.loads(text) for text in done.stdout.split("\036")[:-1]]
    (tests,) = [block.text for block in found if block.language == "python"]
    (tmp_path / "test_page.py").write_text(tests)
    plugin = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rN",
        "-p",
        "evalsvc.cli.deciding.plugin",
        "-p",
        "no:cacheprovider",
    ]
    # Whoever runs these tests may have told pytest to use several processes.
    env.pop("PYTEST_ADDOPTS", None)
    tested = subprocess.run(plugin, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert "2 failed" in tested.stdout and tested.stdout.count("Undecided is no pass") == 2, tested.stdout
    wrong = [line for pair in zip(shown, answers, strict=True) for line in differences(*pair)]
    assert wrong == []


def test_it_names_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [name for name in command_line.commands if f"`{name}`" not in text] == []

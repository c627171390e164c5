"""docs/moving-in.md does what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from evalsvc.cli.main import command_line
from tests.caller import Caller
from tests.cli.importing import datasets, results
from tests.docs.pages import CHECKOUT, blocks, differences

PAGE = CHECKOUT / "docs" / "moving-in.md"
SOURCES = ("langfuse", "phoenix", "openai-evals", "scores")


def test_its_commands_answer_as_shown(web: str, alice: Caller, tmp_path: Path) -> None:
    """The command is the one of this checkout; the first block sets the address and the key, as the environment does here."""
    found = blocks(PAGE)[1:]
    program = f'set -eu\nevalsvc() {{ "{sys.executable}" -m evalsvc.cli "$@"; printf "\\036"; }}\n'
    program += "".join(block.text for block in found if block.language == "sh")
    env = os.environ | {"EVALSVC_URL": web, "EVALSVC_API_KEY": alice.key, "PYTHONPATH": str(CHECKOUT)}

    done = subprocess.run(
        ["bash", "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    shown = [json.loads(block.text) for block in found if block.language == "json"]
    answers = [json.loads(text) for text in done.stdout.split("\036")[:-1]]
    assert [differences(*pair) for pair in zip(shown, answers, strict=True)] == [[], [], []]
    assert sorted((row["app"], row["evaluator_id"], row["evaluated_model_output"]) for row in results(alice)) == [
        ("chat", "external:helpful", "Oslo."),
        ("scores", "external:faithfulness", "Oslo"),
    ]
    assert len(datasets(alice)["sums"]) == 2


def test_it_names_every_option_of_the_commands() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for source in SOURCES:
        shown = CliRunner().invoke(command_line, ["import", source, "--help"]).stdout
        options = {word.strip(",") for word in shown.split() if word.startswith("--")} - {"--help"}
        assert {option for option in options if f"`{option}`" not in text} == set()
        assert {"--app", "--dry-run", "--json"} <= options

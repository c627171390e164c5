"""The hook on commit messages."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from scripts import message
from scripts.commits import CHECKOUT
from tests.scripts.conftest import IDENTITY

BODY = "\n\nIt was wrong. Checked by its test.\n"


@pytest.mark.parametrize(
    "subject",
    ["Count a retry once", "Pass by what is over", "Bring back a test", "Address the reader", "Embed it", "X" * 60],
)
def test_a_heading_and_a_reason_pass(subject: str) -> None:
    assert message.problems(subject + BODY) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("X" * 61 + BODY, "61 characters"),
        ("Count a retry once." + BODY, "no full stop"),
        ("count a retry once" + BODY, "capital letter"),
        ("Added a test" + BODY, "imperative"),
        ("Adding a test" + BODY, "imperative"),
        ("Adds a test" + BODY, "imperative"),
        ("Count a retry once\nIt was wrong.\n", "second line is blank"),
        ("Count a retry once\n", "A body says why"),
        ("Count a retry once\n\n# Please enter the commit message\n", "A body says why"),
        ("Count a retry once\n\n# ------ >8 ------\ndiff --git a b\n", "A body says why"),
        ("# Only comments\n", "The message is empty"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    assert any(problem in said for said in message.problems(text))


@pytest.mark.parametrize(
    "text", ["Merge branch 'side'\n", 'Revert "Count a retry once"\n', "fixup! Count a retry once\n"]
)
def test_what_git_writes_itself_passes(text: str) -> None:
    assert message.problems(text) == []


def test_a_trailer_alone_is_not_refused() -> None:
    assert message.problems("Move a function\n\nNo-Changelog: moves code\n") == []


def test_git_refuses_a_commit_that_the_hook_refuses(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "commit-msg"
    path, python = shlex.quote(str(CHECKOUT)), shlex.quote(sys.executable)
    hook.write_text(f'#!/bin/sh\nfile=$(realpath "$1")\ncd {path} && exec {python} -m scripts.message "$file"\n')
    hook.chmod(0o755)

    def commit(text: str) -> subprocess.CompletedProcess[str]:
        command = ["git", *IDENTITY, "commit", "--allow-empty", "--message", text]
        return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)

    refused = commit("Added a test.")
    assert refused.returncode != 0
    assert "no full stop" in refused.stderr
    assert commit("Add a test" + BODY).returncode == 0


def test_pre_commit_knows_the_hook_and_when_to_run_it() -> None:
    settings = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = {hook["id"]: hook for hook in settings["repos"][0]["hooks"]}

    assert settings["default_install_hook_types"] == ["pre-commit", "commit-msg"]
    assert settings["default_stages"] == ["pre-commit"]
    assert hooks["message"]["stages"] == ["commit-msg"]
    assert hooks["message"]["entry"].endswith("-m scripts.message")

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
    [
        "evaluations: Fix 500 on trace ids with line breaks",
        "evaluations: fix 500 on trace ids with line breaks",
        "console, cli: Address the reader",
        "tests/faults: Embed it",
        "a: " + "X" * 69,
    ],
)
def test_a_component_an_imperative_and_a_reason_pass(subject: str) -> None:
    assert message.problems(subject + BODY) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: " + "X" * 70 + BODY, "73 characters"),
        ("rest: Count a retry once." + BODY, "full stop"),
        ("Count a retry once" + BODY, "names a component"),
        ("Fix: count a retry once" + BODY, "names a component"),
        ("rest:" + BODY, "names a component"),
        ("rest: Added a test" + BODY, "imperative"),
        ("rest: Adding a test" + BODY, "imperative"),
        ("rest: adds a test" + BODY, "imperative"),
        ("rest: Count a retry once\nIt was wrong.\n", "second line is blank"),
        ("rest: Count a retry once\n", "body is missing"),
        ("rest: Count a retry once\n\n# Please enter the commit message\n", "body is missing"),
        ("rest: Count a retry once\n\n# ------ >8 ------\ndiff --git a b\n", "body is missing"),
        ("# Only comments\n", "The message is empty"),
    ],
)
def test_each_fault_is_reported(text: str, problem: str) -> None:
    assert any(problem in sentence for sentence in message.problems(text))


@pytest.mark.parametrize(
    "text",
    ["Merge branch 'side'\n", 'Revert "rest: Count a retry once"\n', "fixup! rest: Count\n", "Release 0.4.0\n"],
)
def test_messages_of_git_and_of_a_release_pass(text: str) -> None:
    assert message.problems(text) == []


def test_a_trailer_alone_is_not_refused() -> None:
    assert message.problems("stats: Move a function\n\nNo-Changelog: moves code\n") == []


def test_git_refuses_a_commit_that_the_hook_refuses(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "commit-msg"
    path, python = shlex.quote(str(CHECKOUT)), shlex.quote(sys.executable)
    hook.write_text(f'#!/bin/sh\nfile=$(realpath "$1")\ncd {path} && exec {python} -m scripts.message "$file"\n')
    hook.chmod(0o755)

    def commit(text: str) -> subprocess.CompletedProcess[str]:
        command = ["git", *IDENTITY, "commit", "--allow-empty", "--message", text]
        return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)

    refused = commit("rest: Added a test.")
    assert refused.returncode != 0
    assert "full stop" in refused.stderr
    assert commit("rest: Add a test" + BODY).returncode == 0


def test_pre_commit_knows_the_hook_and_when_to_run_it() -> None:
    settings = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = {hook["id"]: hook for hook in settings["repos"][0]["hooks"]}

    assert settings["default_install_hook_types"] == ["pre-commit", "commit-msg"]
    assert settings["default_stages"] == ["pre-commit"]
    assert hooks["message"]["stages"] == ["commit-msg"]
    assert hooks["message"]["entry"].endswith("-m scripts.message")

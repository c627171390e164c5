"""A small repository of its own for what asks git."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

IDENTITY = ("-c", "user.name=Alice", "-c", "user.email=alice@example.com", "-c", "commit.gpgsign=false")


@pytest.fixture
def git(repository: Path) -> Callable[..., str]:
    """Run git in the small repository."""

    def run(*arguments: str) -> str:
        return git_in(repository, *arguments)

    return run


def git_in(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as Alice, and return what it prints."""
    command = ["git", *IDENTITY, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit of one module."""
    files = {"evalsvc/a.py": "a = 1\n", "pyproject.toml": "", "tests/docs/test_contracts.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git_in(tmp_path, "init", "--quiet", "--initial-branch=main")
    git_in(tmp_path, "add", ".")
    git_in(tmp_path, "commit", "--quiet", "--message=Begin")
    return tmp_path

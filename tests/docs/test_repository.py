"""What the repository must hold, and what no file of it may mention."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator

import pytest
from django.conf import settings

from evalsvc import __version__
from tests.docs.pages import CHECKOUT

# Put together here, so that this file does not match itself.
REGISTRIES = ("pypi" + ".org", "python" + "hosted", "registry" + ".npmjs", "files" + ".pypi", "crates" + ".io/api")
MACHINE_PATHS = ("root", "work", "home", "Users")
NEEDED = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
    "Makefile",
    "pyproject.toml",
    "requirements/runtime.txt",
    "requirements/dev.txt",
    "requirements/models.txt",
    ".ci/run",
)


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.split("\0") if name]


def texts() -> Iterator[tuple[str, str]]:
    """Yield every tracked text file."""
    for name in tracked():
        path = CHECKOUT / name
        if path.is_file():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def mentions(pattern: str) -> list[str]:
    """Return where a pattern occurs, as `file:line`."""
    expression = re.compile(pattern)
    return [
        f"{name}:{number}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if expression.search(line)
    ]


def test_no_file_names_a_package_registry() -> None:
    assert mentions("|".join(map(re.escape, REGISTRIES))) == []


def test_no_file_names_a_path_of_somebody_s_machine() -> None:
    # Where an absolute path begins: the same letters within an address belong to somebody's page.
    assert mentions(rf"(?<![\w.}}$/*-])/({'|'.join(MACHINE_PATHS)})/") == []


def test_the_files_that_a_reader_looks_for_are_there() -> None:
    assert [name for name in NEEDED if not (CHECKOUT / name).is_file()] == []


def test_the_gate_can_be_run() -> None:
    assert (CHECKOUT / ".ci" / "run").stat().st_mode & 0o111


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))

    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "evalsvc.__version__"}
    assert settings.SPECTACULAR_SETTINGS["VERSION"] == __version__
    assert re.search(rf"^## {re.escape(__version__)}\b", (CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE)


def imported_by(text: str) -> Iterator[str]:
    """Yield the full name of everything that a module imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or '.'}.{one.name}" for one in node.names)


def test_no_test_is_imported() -> None:
    """What tests share is in a module beside them, so that a test may be moved or split without a look around."""
    found = [
        f"{name}: {imported}"
        for name, text in texts()
        if name.startswith("tests/") and name.endswith(".py")
        for imported in imported_by(text)
        if imported.startswith(("tests.", ".")) and re.search(r"\.test_", imported)
    ]
    assert found == []

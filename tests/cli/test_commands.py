"""What every command has, and what an installation without extras brings."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement

from evalsvc.cli.main import command_line
from tests.cli.inside import invoke
from tests.conftest import CHECKOUT

MOST_PACKAGES = 12


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command that does something, with its words."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


# These become the service's own command, with its options and its help.
OF_THE_SERVICE = (("up",), ("manage",), ("models",))
ALL = {path: command for path, command in commands(command_line) if path not in OF_THE_SERVICE}


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_answers_in_json_and_explains_itself(path: tuple[str, ...]) -> None:
    done = invoke(*path, "--help", env={})

    assert done.exit_code == 0
    assert "--json" in done.stdout


@pytest.mark.parametrize("path", [path for path in ALL if path[0] not in ("import", "export")], ids=" ".join)
def test_help_has_an_example(path: tuple[str, ...]) -> None:
    shown = invoke(*path, "--help", env={}).stdout

    assert re.search(rf"Examples?:[\s\S]*evalsvc {' '.join(path)} ", shown)


@pytest.mark.parametrize(
    ("arguments", "shown"), [("up --help", "--no-demo"), ("manage", "create_account"), ("models --help", "check")]
)
def test_commands_of_the_service_show_its_own_help(arguments: str, shown: str, tmp_path: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(CHECKOUT), "EVALSVC_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "evalsvc.cli", *arguments.split()],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, shown in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize("command", ["up", "manage", "models"])
def test_without_the_server_they_name_the_extra(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = invoke(command, env={})

    assert (done.exit_code, "pip install 'evalsvc[server]'" in done.stderr) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    done = invoke("completion", shell, env={})

    assert (done.exit_code, f"_EVALSVC_COMPLETE={shell}_complete" in done.stdout) == (0, True)


def test_bash_completes_a_command() -> None:
    asked = {"_EVALSVC_COMPLETE": "bash_complete", "COMP_WORDS": "evalsvc ga", "COMP_CWORD": "1"}
    program = "from evalsvc.cli.main import command_line; command_line(prog_name='evalsvc')"
    done = subprocess.run(
        [sys.executable, "-c", program], env=asked, cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert done.stdout.split() == ["plain,gate", "plain,gates"]


def needed(names: list[str]) -> set[str]:
    """Return the packages that these bring, as their own metadata says, without extras."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        one = waiting.pop()
        name = one.name.lower().replace("_", "-")
        if name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += [Requirement(text) for text in requires(name) or ()]
    return found


def test_the_base_installation_stays_small() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]

    brought = needed(project["dependencies"])

    assert {"click", "httpx"} <= brought
    assert "rich" not in brought
    assert len(brought) + 1 <= MOST_PACKAGES, brought


def test_it_works_without_rich() -> None:
    program = (
        "import sys; sys.modules['rich'] = None\n"
        "from evalsvc.cli.main import command_line; command_line(['--help'], prog_name='evalsvc')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr

"""Releases as folders to run: the one before this commit, from its tag, and what the checkout holds now."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.commits import previous_release
from tests.conftest import CHECKOUT

LOCKS = "requirements"
VENV = ".venv"
REMEDY = (
    "No release before this commit is known here, and there is nothing to upgrade from. Fetch what is missing: "
    "`git fetch --tags` (with `--unshallow` where the clone is shallow)."
)


class MissingRelease(AssertionError):
    """A failure, never a reason to skip: an upgrade that nobody has tried is not known to work."""


@dataclass(frozen=True)
class Release:
    """A version's own code, with an environment of what its lock names in `.venv`."""

    name: str
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / VENV / "bin" / "python")

    def run(self, *arguments: str, env: Mapping[str, str], seconds: float = 280) -> str:
        """Run its Python to the end; return what it prints. A failure raises with that."""
        done = subprocess.run(
            [self.python, *arguments], cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=seconds, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{self.name}: {' '.join(arguments)}\n{done.stdout}"
        return done.stdout

    def manage(self, *arguments: str, env: Mapping[str, str], seconds: float = 280) -> str:
        """Run one of its commands."""
        return self.run("manage.py", *arguments, env=env, seconds=seconds)


def name_of_previous(root: Path = CHECKOUT) -> str:
    """Return the tag of the release before. Raises MissingRelease."""
    tag = previous_release(root)
    if tag is None:
        raise MissingRelease(REMEDY)
    return tag


def unpacked_previous(folder: Path, root: Path = CHECKOUT) -> Release:
    """Unpack the release before into a folder, with an environment of its own where its lock is another one."""
    tag = name_of_previous(root)
    done = subprocess.run(["git", "archive", "--format=tar", tag], cwd=root, capture_output=True, check=False)
    if done.returncode != 0:
        raise MissingRelease(f"{done.stderr.decode()}\n{REMEDY}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    if locks_of(folder) == locks_of(root):
        share_environment(folder)
    else:
        make_environment(folder)
    return Release(tag, folder)


def share_environment(folder: Path) -> None:
    """Give a version the environment that runs these tests."""
    (folder / VENV).symlink_to(sys.prefix)


def locks_of(folder: Path) -> dict[str, bytes]:
    """Return what decides which packages a version runs with."""
    return {path.name: path.read_bytes() for path in sorted((folder / LOCKS).glob("*.txt"))}


def make_environment(folder: Path) -> None:
    """Install the development lock of a version beside its code, as its own `make test` does."""
    env = {name: value for name, value in os.environ.items() if name != "EVALSVC_VENV"}
    command = [sys.executable, "scripts/bootstrap.py", "--dev"]
    subprocess.run(command, cwd=folder, env=env, timeout=1800, check=True)

"""What an upgrade starts from, and where it leads: a tag that must be there, a change of the schema that the gate takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.migrations import problems_of
from tests.conftest import CHECKOUT
from tests.deploy.upgrade import page
from tests.deploy.upgrade.next_release import CHANGES, CONTRACTION, EXPANSION, ROOM, added, with_lines
from tests.deploy.upgrade.releases import MissingRelease, name_of_previous, unpacked_previous
from tests.docs.pages import blocks

GIT = ("git", "-c", "user.name=Alice", "-c", "user.email=alice@example.com", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits without a tag."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for subject in ("Begin", "Go on"):
        git(tmp_path, "commit", "--quiet", "--allow-empty", f"--message={subject}")
    return tmp_path


def test_a_missing_tag_is_a_failure_with_its_remedy(repository: Path) -> None:
    with pytest.raises(MissingRelease, match="git fetch --tags") as failure:
        unpacked_previous(repository / "old", repository)
    # pytest.skip raises another kind, which is no AssertionError.
    assert isinstance(failure.value, AssertionError)


def test_a_folder_without_history_fails_the_same(tmp_path: Path) -> None:
    with pytest.raises(MissingRelease, match="git fetch --tags"):
        name_of_previous(tmp_path)


def test_the_nearest_release_is_the_one_before(repository: Path) -> None:
    git(repository, "tag", "v0.3.0", "HEAD^")
    assert name_of_previous(repository) == "v0.3.0"

    # A release is upgraded to from the one before it.
    git(repository, "tag", "v0.4.0")
    assert name_of_previous(repository) == "v0.3.0"

    git(repository, "commit", "--quiet", "--allow-empty", "--message=Go on")
    assert name_of_previous(repository) == "v0.4.0"


def problems_in(templates: Path, folder: Path) -> list[str]:
    migrations = folder / ROOM / "migrations"
    migrations.mkdir(parents=True)
    (migrations / "0099_last.py").touch()
    made = added(migrations, templates)
    assert made
    return [one for path in made for one in problems_of(str(path.relative_to(folder)), path.read_text("utf-8"))]


def test_the_gate_takes_the_expansion_and_refuses_the_contraction(tmp_path: Path) -> None:
    assert problems_in(EXPANSION, tmp_path / "a") == []
    [problem] = problems_in(CONTRACTION, tmp_path / "b")
    assert "takes away what the version before names" in problem
    assert (CHECKOUT / ROOM).is_dir()


@pytest.mark.parametrize("path", CHANGES, ids=str)
def test_what_the_next_release_changes_is_there(path: Path) -> None:
    """The upgrade itself is run by `make deploy-test` alone: its change of the checkout must not fall behind unseen."""
    assert with_lines(CHECKOUT / path, CHANGES[path])


def test_every_command_of_the_page_is_one_that_the_tests_run() -> None:
    shown = [block.text for block in blocks(page.PAGE) if block.language == "sh"]
    commands = [page.MIGRATE, page.WORKER, page.WEB, page.CHECK]

    assert len(shown) == len(commands) + len([page.LEAVE])
    assert page.LEAVE in shown

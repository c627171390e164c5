"""The gate on entries for the change log: what it lets pass, and what history it can do without."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import changes
from tests.scripts.conftest import git_in

Git = Callable[..., str]


@pytest.fixture
def product(repository: Path, git: Git) -> Path:
    """A repository that has been released once."""
    (repository / "changes").mkdir()
    (repository / "changes" / "README.md").write_text("How.\n")
    git("add", ".")
    git("commit", "--quiet", "--message=Begin changes")
    git("tag", "v1.0.0")
    return repository


def commit(folder: Path, path: str, *paragraphs: str) -> str:
    """Change a file, commit it, and return the commit's id."""
    file = folder / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{file.read_text() if file.exists() else ''}x = 1\n")
    git_in(folder, "add", ".")
    git_in(folder, "commit", "--quiet", *(f"--message={text}" for text in paragraphs))
    return git_in(folder, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize("path", ["evalsvc/a.py", "evaluators/b.py"])
def test_a_commit_to_the_product_that_says_nothing_is_named(
    product: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sha = commit(product, path, "Change it")

    assert changes.untold(product, "v1.0.0") == [sha]
    assert changes.main(product) == 1
    assert f"{sha[:7]} Change it: add a file" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["tests/a.py", "docs/a.md", "pyproject.toml"])
def test_other_commits_need_no_entry(product: Path, path: str) -> None:
    commit(product, path, "Change it")

    assert changes.main(product) == 0


def test_an_entry_in_the_same_commit_is_enough(product: Path) -> None:
    (product / "changes" / "new.added.md").write_text("New.\n")
    commit(product, "evalsvc/a.py", "Change it")

    assert changes.main(product) == 0


def test_an_entry_of_another_commit_is_not(product: Path) -> None:
    commit(product, "changes/new.added.md", "Say it")
    sha = commit(product, "evalsvc/a.py", "Change it")

    assert changes.untold(product, "v1.0.0") == [sha]


@pytest.mark.parametrize(("trailer", "passes"), [("No-Changelog: moves code", True), ("No-Changelog:", False)])
def test_a_reason_is_enough_and_has_to_be_one(product: Path, trailer: str, passes: bool) -> None:
    sha = commit(product, "evalsvc/a.py", "Change it", "Because.", trailer)

    assert changes.untold(product, "v1.0.0") == ([] if passes else [sha])


def test_a_later_commit_may_make_up_for_it(product: Path) -> None:
    first, second = (commit(product, "evalsvc/a.py", f"Change {n}") for n in (1, 2))
    commit(product, "changes/new.added.md", "Say it", f"Changelog-For: {first[:10]}")

    assert changes.untold(product, "v1.0.0") == [second]


def test_a_merge_brings_nothing_of_its_own(product: Path, git: Git) -> None:
    git("checkout", "--quiet", "-b", "side")
    commit(product, "evalsvc/a.py", "Change it", "No-Changelog: moves code")
    git("checkout", "--quiet", "main")
    commit(product, "docs/a.md", "Write")
    git("merge", "--quiet", "--no-edit", "side")

    assert changes.main(product) == 0


def test_what_a_release_took_away_was_told(product: Path, git: Git) -> None:
    (product / "changes" / "new.added.md").write_text("New.\n")
    commit(product, "evalsvc/a.py", "Change it")
    (product / "changes" / "new.added.md").unlink()
    commit(product, "evalsvc/a.py", "Release")

    assert changes.main(product) == 0
    git("tag", "v1.1.0")
    assert changes.known_release(product) == "v1.1.0"


def test_history_that_is_not_there_is_not_looked_at(product: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    commit(product, "evalsvc/a.py", "Change it")
    folder = tmp_path_factory.mktemp("clones")
    source = f"file://{product}"
    for name, options in (("shallow", ["--depth=1"]), ("tagless", ["--no-tags"]), ("whole", [])):
        subprocess.run(["git", "clone", "--quiet", *options, source, folder / name], check=True, capture_output=True)
    (folder / "copied" / "changes").mkdir(parents=True)

    found = {name: changes.main(folder / name) for name in ("shallow", "tagless", "whole", "copied")}
    assert found == {"shallow": 0, "tagless": 0, "whole": 1, "copied": 0}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("two-words.fixed.md", "Fixed.\n", None),
        ("v2.security.md", "Closed.\n", None),
        ("thing.improved.md", "Better.\n", "is not named"),
        ("Thing.added.md", "New.\n", "is not named"),
        ("thing.md", "New.\n", "is not named"),
        ("thing.added.rst", "New.\n", "is not named"),
        ("thing.added.md", " \n", "is empty"),
    ],
)
def test_an_entry_has_a_kind_and_a_text(product: Path, name: str, text: str, problem: str | None) -> None:
    (product / "changes" / name).write_text(text)

    [entry] = changes.entries(product)
    said = changes.problem_of(entry)
    assert said is None if problem is None else said is not None and problem in said
    assert changes.main(product) == (0 if problem is None else 1)


def test_the_entries_of_this_checkout_are_well_formed() -> None:
    assert [problem for entry in changes.entries() if (problem := changes.problem_of(entry))] == []

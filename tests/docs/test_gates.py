"""The gates: what they let pass, and that none of them can fail unseen."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from scripts import check, licences
from tests.docs.pages import CHECKOUT


@pytest.mark.parametrize(
    ("statement", "fine"),
    [
        ("MIT", True),
        ("mit license", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("Mozilla Public License 2.0 (MPL 2.0)", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only AND (Apache-2.0 OR MIT)", False),
        ("(MIT", False),
        ("MIT OR", False),
        ("()", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("", False),
    ],
)
def test_a_licence_passes_when_we_may_choose_an_allowed_one(statement: str, fine: bool) -> None:
    assert licences.is_fine(statement, licences.ALLOWED) is fine


def test_an_exception_holds_for_its_package_only() -> None:
    assert licences.problem_of("psycopg") is None
    assert not licences.is_fine("LGPL-3.0-only", licences.ALLOWED)


def test_a_package_that_is_not_installed_is_named() -> None:
    assert licences.problem_of("no-such-package-as-this") == "is in the lock and not installed"


def test_the_lock_is_read() -> None:
    assert {"django", "celery", "psycopg", "numpy"} <= set(licences.locked())


def test_a_failing_step_fails_the_gate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    steps = (("good", [sys.executable, "-c", ""]), ("bad", [sys.executable, "-c", "print('because'); exit(3)"]))
    monkeypatch.setattr(check, "STEPS", (*steps[::-1], steps[0]))
    monkeypatch.setattr(sys, "argv", ["check.py"])

    assert check.main() == 1
    said = capsys.readouterr().out
    assert "because" in said
    assert said.count("  ok") == 2
    assert said.endswith("make check: bad failed\n")


def test_every_step_is_explained_to_contributors() -> None:
    page = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    assert [name for name, _ in check.STEPS if f"`{name}`" not in page] == []


def test_the_build_s_script_is_well_formed() -> None:
    assert subprocess.run(["bash", "-n", str(CHECKOUT / ".ci" / "run")], check=False).returncode == 0


def test_every_place_that_contributors_are_sent_to_is_there() -> None:
    page = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    places = set(re.findall(r"`((?:evalsvc|evaluators|tests|docs|scripts|changes)/[\w/.-]*)`", page))

    assert len(places) > 20
    assert sorted(place for place in places if not (CHECKOUT / place).exists()) == []

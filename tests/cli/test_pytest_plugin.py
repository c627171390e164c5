"""The pytest plugin: a gate as a test, run by a pytest of its own as a project would."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.caller import Caller
from tests.conftest import CHECKOUT
from tests.gates.shapes import answers, finished

PLUGIN = "evalsvc.cli.deciding.plugin"


def run_pytest(folder: Path, test: str, env: dict[str, str], *options: str, setting: str = "") -> Any:
    (folder / "test_quality.py").write_text(test)
    (folder / "pytest.ini").write_text(f"[pytest]\n{setting}\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        PLUGIN,
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        *options,
    ]
    known = {name: os.environ[name] for name in ("PATH",) if name in os.environ} | env
    return subprocess.run(
        command,
        cwd=folder,
        env=known | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def gate_of(id: str, *, rules: str = "['accuracy not_worse_by 0.05']", more: str = "") -> str:
    call = f"evalsvc_gate(candidate='{id}:new', baseline='{id}:old', rules={rules}{more})"
    return f"def test_quality(evalsvc_gate):\n    {call}\n"


@pytest.fixture
def home(shell: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return shell | {"HOME": str(tmp_path)}


def test_a_gate_that_passes_is_a_test_that_passes(home: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    made = finished(alice, 100, answers(set()), answers(set()))

    done = run_pytest(tmp_path, gate_of(made["id"]), home, f"--junitxml={tmp_path}/junit.xml")

    assert done.returncode == 0, done.stdout
    assert 'name="evalsvc_gate"' in (tmp_path / "junit.xml").read_text()


def test_one_that_fails_says_decision_rule_numbers_and_regressions(
    home: dict[str, str], alice: Caller, tmp_path: Path
) -> None:
    made = finished(alice, 100, answers(set()), answers(set(range(30))))

    done = run_pytest(tmp_path, gate_of(made["id"]), home)

    assert done.returncode == 1
    for words in ("Fail", "30 regressed", "now wrong"):
        assert words in done.stdout
    assert "Traceback" not in done.stdout and "evalsvc/cli" not in done.stdout


def test_undecided_fails_in_its_own_words_unless_it_may_not(
    home: dict[str, str], alice: Caller, tmp_path: Path
) -> None:
    made = finished(alice, 100, answers(set()), answers(set(range(4))))
    test = gate_of(made["id"]) + gate_of(made["id"], more=", undecided='pass'").replace("test_quality", "test_lenient")

    strict = run_pytest(tmp_path, test, home)
    lenient = run_pytest(tmp_path, test, home, setting="evalsvc_undecided = skip")

    assert "1 failed, 1 passed" in strict.stdout
    assert "Undecided is no pass: add examples, or set evalsvc_undecided." in strict.stdout
    assert "1 passed, 1 skipped" in lenient.stdout


def test_functions_are_run_and_decided_about(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "golden.jsonl").write_text("".join(f'{{"question": "{i}", "answer": "{i}"}}\n' for i in range(60)))
    test = (
        "def test_quality(evalsvc_gate):\n"
        "    found = evalsvc_gate(str, ['exact-match at_least 0.8'], data='golden.jsonl', evaluators=['exact-match'])\n"
        "    assert found.outcome == 'pass'\n"
    )

    done = run_pytest(tmp_path, test, home)

    assert done.returncode == 0, done.stdout


def test_without_a_service_it_is_skipped_with_the_reason(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, gate_of("1"), {"HOME": str(tmp_path)}, "-rs")

    assert done.returncode == 0
    assert "No evalsvc service is configured. The address of the service is not known" in done.stdout


@pytest.mark.parametrize("ci", ["true", "1", "woodpecker"])
def test_without_a_service_it_fails_on_a_build_server(tmp_path: Path, ci: str) -> None:
    done = run_pytest(tmp_path, gate_of("1"), {"HOME": str(tmp_path), "CI": ci})

    assert done.returncode == 1
    assert "No evalsvc service is configured. The address of the service is not known" in done.stdout
    assert "A gate is required here" in done.stdout


@pytest.mark.parametrize(
    ("ci", "setting", "code"),
    [("true", "evalsvc_required = no", 0), ("", "evalsvc_required = yes", 1), ("false", "", 0)],
)
def test_the_project_says_whether_a_gate_is_required(tmp_path: Path, ci: str, setting: str, code: int) -> None:
    done = run_pytest(tmp_path, gate_of("1"), {"HOME": str(tmp_path), "CI": ci}, setting=setting)

    assert done.returncode == code


def test_junit_names_are_those_of_the_last_run(home: dict[str, str], alice: Caller, tmp_path: Path) -> None:
    made = finished(alice, 100, answers(set()), answers(set()))
    names = []
    for number in range(2):
        run_pytest(tmp_path, gate_of(made["id"]), home, f"--junitxml={tmp_path}/{number}.xml")
        cases = ElementTree.parse(tmp_path / f"{number}.xml").iter("testcase")
        names.append([(case.get("classname"), case.get("name")) for case in cases])

    assert names[0] == names[1] == [("test_quality", "test_quality")]


def test_what_cannot_be_asked_is_no_pass(home: dict[str, str], tmp_path: Path) -> None:
    done = run_pytest(tmp_path, gate_of("999"), home)

    assert done.returncode == 1
    assert "The gate could not be asked, so nothing was decided." in done.stdout


def test_it_costs_nothing_where_nobody_asks(tmp_path: Path) -> None:
    test = "import sys\ndef test_nothing():\n    assert not {'httpx', 'click', 'evalsvc.client'} & set(sys.modules)\n"

    assert run_pytest(tmp_path, test, {"HOME": str(tmp_path)}).returncode == 0


def test_an_installation_offers_it_to_pytest() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"evalsvc": PLUGIN}

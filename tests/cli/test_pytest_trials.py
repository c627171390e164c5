"""The marker `evalsvc_trials`: tests that are run several times, run by a pytest of its own as a project would."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "trials.md"


def run_pytest(folder: Path, test: str, env: dict[str, str], *options: str) -> Any:
    (folder / "test_agent.py").write_text(test)
    (folder / "pytest.ini").write_text("[pytest]\n")
    plugins = ("-p", "evalsvc.cli.deciding.plugin", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist")
    known = {name: os.environ[name] for name in ("PATH",) if name in os.environ} | env
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--strict-markers", *plugins, *options],
        cwd=folder,
        env=known | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture
def home(shell: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return shell | {"HOME": str(tmp_path)}


def page_test() -> str:
    (test,) = [block.text for block in blocks(PAGE) if "evalsvc_trials" in block.text]
    return test


def test_forty_tests_of_the_page_pass_their_gate(home: dict[str, str], tmp_path: Path) -> None:
    done = run_pytest(tmp_path, page_test(), home, f"--junitxml={tmp_path}/junit.xml")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "pass^3 0.81 [" in done.stdout
    assert "pass^5 0.75; 8 of 40 tests flaky (" in done.stdout
    assert "Pass" in done.stdout and ", level 0.95" in done.stdout
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("flaky: ")) == [
        f"flaky: test_agent[task {i}]" for i in range(30, 38)
    ]
    assert "179 passed, 22 xfailed" in done.stdout
    cases = ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
    assert [case.get("name") for case in cases][-1] == "test_agent[pass^3]"


def test_a_gate_that_fails_fails_one_test(home: dict[str, str], tmp_path: Path) -> None:
    done = run_pytest(tmp_path, page_test().replace("at_least=0.65", "at_least=0.95"), home)

    assert done.returncode == 1
    assert "1 failed, 178 passed, 22 xfailed" in done.stdout
    for words in ("pass^3 0.81 [", "flaky: test_agent[task 30]", "Fail", "at least 0.95"):
        assert words in done.stdout
    assert "evalsvc/cli" not in done.stdout


UNEVEN = """
import pytest

TRIED = []


@pytest.mark.evalsvc_trials(4, k=2)
@pytest.mark.parametrize("task", ["a", "b", "c"])
def test_agent(task, evalsvc_trial, tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "left").touch()
    TRIED.append((task, evalsvc_trial))
    if task == "a" and evalsvc_trial == 3:
        pytest.skip("rate limit")
    assert task != "b" or evalsvc_trial != 1


def test_each_trial_has_its_number():
    assert sorted(TRIED) == [(task, number) for task in "abc" for number in range(4)]
"""


def test_a_skipped_trial_is_lost_and_each_has_fixtures_of_its_own(home: dict[str, str], tmp_path: Path) -> None:
    done = run_pytest(tmp_path, UNEVEN, home)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 passed, 1 skipped, 1 xfailed" in done.stdout
    assert "1 of 3 tests flaky (1); 1 with lost trials" in done.stdout
    assert "flaky: test_agent[b]" in done.stdout


BROKEN_FIXTURES = """
import pytest


@pytest.fixture
def service(evalsvc_trial):
    if evalsvc_trial == 0:
        pytest.skip("rate limit")
    yield
    assert evalsvc_trial != 1, "still running"


@pytest.mark.evalsvc_trials(4, k=2)
def test_agent(service, evalsvc_trial):
    assert evalsvc_trial != 3
"""


def test_fixtures_that_break_lose_a_trial_and_their_end_loses_none(home: dict[str, str], tmp_path: Path) -> None:
    done = run_pytest(tmp_path, BROKEN_FIXTURES, home)

    # Two of the three trials that ran pass.
    assert "pass^2 0.33 [" in done.stdout, done.stdout + done.stderr
    assert "1 with lost trials" in done.stdout
    assert "1 error" in done.stdout and "still running" in done.stdout


@pytest.mark.parametrize("arguments", ["0", "3, k=4", "3, of='best'", "3, tries=2", "'3'"])
def test_other_arguments_are_refused(tmp_path: Path, arguments: str) -> None:
    test = f"import pytest\n\n@pytest.mark.evalsvc_trials({arguments})\ndef test_agent(): pass\n"

    done = run_pytest(tmp_path, test, {"HOME": str(tmp_path)})

    assert done.returncode not in (0, 1)
    assert "run each test n times" in done.stdout + done.stderr


def test_without_a_service_trials_are_run_and_nothing_is_decided(tmp_path: Path) -> None:
    test = "import pytest\n\n@pytest.mark.evalsvc_trials(2)\ndef test_agent(): assert False\n"

    lenient = run_pytest(tmp_path, test, {"HOME": str(tmp_path)}, "-rs")
    strict = run_pytest(tmp_path, test, {"HOME": str(tmp_path), "CI": "true"})

    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert "1 skipped, 2 xfailed" in lenient.stdout and "No evalsvc service is configured." in lenient.stdout
    assert "A gate is required here" in strict.stdout

"""`make deploy-test`: what it remembers of what it has deployed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import deploy_test
from tests.conftest import CHECKOUT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("deploy/compose/compose.yaml", "evalsvc/ops/alive.py", "requirements/runtime.txt", "docs/deploy.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_what_was_deployed_is_known_again(checkout: Path) -> None:
    assert not deploy_test.is_tested(checkout)
    deploy_test.note(checkout)

    assert deploy_test.is_tested(checkout)


@pytest.mark.parametrize("name", ["deploy/compose/compose.yaml", "evalsvc/ops/new.py", "requirements/runtime.txt"])
def test_a_change_of_what_is_deployed_asks_for_a_run(checkout: Path, name: str) -> None:
    deploy_test.note(checkout)
    (checkout / name).write_text("other")

    assert not deploy_test.is_tested(checkout)


@pytest.mark.parametrize(
    "name", ["docs/deploy.md", "deploy/compose/.env", "deploy/compose/secrets/key_pepper", "deploy/a.whl"]
)
def test_what_is_made_here_asks_for_none(checkout: Path, name: str) -> None:
    deploy_test.note(checkout)
    (checkout / name).parent.mkdir(exist_ok=True)
    (checkout / name).write_text("other")

    assert deploy_test.is_tested(checkout)


def test_what_is_digested_is_there() -> None:
    for name in deploy_test.DIGESTED:
        assert deploy_test.files(CHECKOUT, [name]), name


def test_each_part_has_its_tests() -> None:
    for path in deploy_test.PARTS.values():
        assert (CHECKOUT / path).exists(), path


def test_a_part_that_is_not_there_is_refused_with_those_that_are() -> None:
    command = [sys.executable, "-m", "scripts.deploy_test", "swarm"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert "no part is named swarm; there are compose, single, upgrade" in done.stderr

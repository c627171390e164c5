"""The release before runs on the schema of the next: its own API tests pass there, with its own code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.deploy.upgrade.next_release import CONTRACTION, built_next
from tests.deploy.upgrade.releases import Release, unpacked_previous
from tests.deploy.upgrade.suites import run_on_schema_of

SECONDS = 2700
pytestmark = [pytest.mark.deploy, pytest.mark.timeout(SECONDS + 300)]

SUITE = ("tests/rest", "tests/client", "tests/projects", "tests/evaluations")
N_AT_LEAST = 2000
ABOUT_THE_SCHEMA = (
    # Compares a table's columns with those of its own release's model; the table has more now.
    "tests/evaluations/test_columns.py::test_every_partition_has_the_columns_of_its_table_in_their_order",
)


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return unpacked_previous(tmp_path_factory.mktemp("releases") / "previous")


def test_its_api_tests_pass_on_the_schema_of_the_next(previous: Release, tmp_path: Path) -> None:
    newer = built_next(tmp_path / "next")
    newer.manage("makemigrations", "--check", "--dry-run", env=os.environ)
    (tmp_path / "plugin").mkdir()
    left = [f"--deselect={test}" for test in ABOUT_THE_SCHEMA]
    outcome = run_on_schema_of(newer, previous, tmp_path / "plugin", [*SUITE, *left], SECONDS)

    print(outcome.output[-2000:])
    assert outcome.code == 0
    assert outcome.count("passed") >= N_AT_LEAST
    assert {name.partition(".")[0] for name in outcome.applied} >= {"evaluations"}


def test_a_release_that_breaks_the_contract_is_noticed(previous: Release, tmp_path: Path) -> None:
    newer = built_next(tmp_path / "next", migrations=CONTRACTION)
    (tmp_path / "plugin").mkdir()
    outcome = run_on_schema_of(newer, previous, tmp_path / "plugin", ["tests/projects"], SECONDS)

    assert outcome.code == 1
    assert outcome.count("failed") > 10
    assert "created_by" in outcome.output
    assert [name for name in outcome.applied if name.endswith("_renamed")]

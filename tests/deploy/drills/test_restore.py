"""2 000 evaluations and a running experiment: backed up under load, destroyed, restored, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.drills.running import run_drill

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(1600)]

CHECKS = {
    "a wrong pepper is refused with a sentence",
    "nothing was written by the refused one",
    "restore finds no difference",
    "verify is clean after the restore",
    "20 histories are the manifest's to the byte",
    "PUBLIC cannot connect",
    "the API key works",
    "20 histories are answered as before to the byte",
    "a new evaluation is answered",
    "it was backed up while it ran",
    "the experiment goes on to its end",
    "its books are equal to a recount",
    "verify is clean after the experiment's end",
}


def test_nothing_is_lost_that_was_answered_before_the_backup(tmp_path: Path) -> None:
    ended = run_drill("restore", tmp_path)

    assert ended.code == 0, ended.wrong
    assert set(ended.summary["checks"]) == CHECKS
    assert ended.losses("expected") == ended.losses("found") >= 2000
    assert (ended.lost, ended.losses("double")) == (0, 0)
    assert ended.summary["counts"]["answered_during_backup"] > 0
    assert "after a restore no API key would match" in ended.said
    assert ended.said.endswith("Nothing was lost.\n")


def test_rows_that_are_lost_are_counted(tmp_path: Path) -> None:
    ended = run_drill("restore", tmp_path, "--evaluations", "60", "--lose", "3")

    assert (ended.code, ended.lost, ended.wrong) == (1, 3, [])
    assert ended.said.endswith("FAILED; lost: 3.\n")
